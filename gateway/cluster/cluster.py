"""The state of a backing cluster, kept up to date: its brokers, topics and API versions.

Everything is discovered through ApiVersions and Metadata. A listing of the whole cluster is made
every ``poll_interval`` and on request (``Cluster.refresh``), but never more often than the rate
limit allows.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from time import thread_time
from typing import Any

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.messages import is_address
from gateway.brokers.opening_turns import OpeningTurns
from gateway.brokers.security import BrokerSecurity
from gateway.cluster.heard import HeardBrokers
from gateway.cluster.link import ClusterLink, ClusterUnreachable
from gateway.cluster.listing import Address, Listing, ListingReader, all_topics_request
from gateway.cluster.listing_schedule import ListingSchedule, settle
from gateway.cluster.node_watch import NodeWatch
from gateway.cluster.served import Ranges, ServedByNode
from gateway.slices import Slices, Turns, in_slices
from gateway.topic_ids import TopicIndex
from protocol.errors import ProtocolError

__all__ = ["Cluster", "ClusterUnreachable"]

log = logging.getLogger(__name__)


class Cluster:
    """A backing cluster. All of it belongs to one event loop.

    - ``index``: the topics.
    - ``brokers``: node id -> (host, port) as the cluster lists it; replaced, never changed. While
      the whole cluster is gone, the last list stays, as do the ``racks``.
    - ``racks``: node id -> the broker's rack.
    - ``nodes``: the API versions and features that each broker serves.
    - ``reachable``: the last listing succeeded.
    - ``suspected``: a request has failed since (``suspect``).
    - ``awaited``: a broker's response to a listing's request is being awaited now.
    - ``listed_at``: the loop's time at which the last successful listing began.
    - ``heard``: the brokers that responses to clients have named since.
    - ``opening_turns``: the turns of clients' new connections, by node id.
    - ``on_change``: functions that are called, without arguments, after a listing, if brokers or
      the set of topic names differ from the last call.
    """

    def __init__(
        self,
        name: str,
        bootstrap_servers: Sequence[Address],
        *,
        security: BrokerSecurity | None = None,
        poll_interval: float = 5.0,
        request_timeout: float = 5.0,
        min_refresh_interval: float = 0.05,
        start_timeout: float = 30.0,
        settle_time: float = 1.0,
        turns: Turns | None = None,
        watches: bool = False,
    ) -> None:
        """Set up the state of a cluster; :meth:`start` connects. All times are seconds.

        - ``name``: the cluster's name in the configuration.
        - ``security``: how every part of the gateway connects to the cluster's brokers.
        - ``request_timeout``: for each step with a broker (connecting, ApiVersions, Metadata).
        - ``settle_time``: of the TopicIndex.
        - ``turns``: the turns that the reading of long listings takes.
        - ``watches``: request ApiVersions from each broker, not only from brokers that give
          listings.
        """
        if not bootstrap_servers:
            raise ValueError(f"cluster {name!r} has no bootstrap servers")
        self.name = name
        self.bootstrap_servers = tuple(bootstrap_servers)
        self.security = security or BrokerSecurity()
        self.index = TopicIndex(settle_time)
        self.brokers: dict[int, Address] = {}
        self.racks: dict[int, str | None] = {}
        self.nodes = ServedByNode()
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.reachable = False
        self.suspected = False
        self.awaited = False
        self.on_change: list[Callable[[], None]] = []
        self._schedule = ListingSchedule(poll_interval, min_refresh_interval)
        self._start_timeout = start_timeout
        self._reader = ListingReader()
        self._slices = turns or Turns()
        self._link = ClusterLink(
            name, bootstrap_servers, timeout=request_timeout, security=self.security
        )
        self._watch: NodeWatch | None = None
        if watches:
            self._watch = NodeWatch(
                self.nodes, self._schedule.request, security=self.security, timeout=request_timeout
            )
        self._task: asyncio.Task[None] | None = None
        self._failure: ClusterUnreachable | None = None
        self._turns = count()
        self.heard = HeardBrokers(poll_interval)
        self.opening_turns: defaultdict[int, OpeningTurns] = defaultdict(OpeningTurns)
        self.listed_at = float("-inf")
        self._announced: tuple[dict[int, Address], int] = (self.brokers, self.index.version)

    @property
    def started(self) -> bool:
        """Whether ``start`` has completed."""
        return self._task is not None

    async def start(self) -> None:
        """Make the first listing, and keep listing from then on.

        A cluster that is still starting up is waited for: after ``start_timeout`` no new try is
        made, and ClusterUnreachable is raised. Every address is tried at least once.
        """
        deadline = _now() + self._start_timeout
        while (failure := await self._try_to_list()) is not None:
            delay = self._schedule.backoff()
            if _now() + delay >= deadline:
                raise failure
            await asyncio.sleep(delay)
        if self._watch is not None:
            await self._watch.met()
        self._task = asyncio.create_task(self._keep_listing(), name=f"cluster {self.name}")

    async def stop(self) -> None:
        """End the listing and the connection; waiting callers get ClusterUnreachable."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self.reachable = False
        self._failure = ClusterUnreachable(self.name, "the gateway has stopped asking it")
        settle(self._schedule.take_waiting(), self._failure)
        if self._watch is not None:
            self._watch.stop()
        self._link.close()

    @property
    def api_versions(self) -> Ranges:
        """The (lowest, highest) version that all known brokers serve, by API key."""
        return self.nodes.by_all().ranges

    @property
    def served(self) -> Any:
        """The ApiVersionsResponse of a broker that serves the versions that all known brokers
        serve; None before the first response."""
        return self.nodes.by_all().response

    def versions_of(self, node_id: int | None) -> Ranges:
        """The (lowest, highest) version that a broker serves, by API key; for an unknown broker, or
        any broker (None), the versions that all known brokers serve."""
        return self.nodes.by(node_id).ranges

    def served_by(self, node_id: int | None) -> Any:
        """The ApiVersionsResponse of a broker, with the same two exceptions."""
        return self.nodes.by(node_id).response

    async def refresh(self) -> None:
        """Return when a listing is in that was requested after this call.

        A listing in progress does not count, because it may lack the change that the caller has
        just heard of; all callers meanwhile share the next listing. Raises ClusterUnreachable; at
        once if the cluster is known to be unreachable, as it is tried again and again anyway.
        """
        if self._task is None or self._failure is not None:
            raise self._failure or ClusterUnreachable(self.name, "the gateway has not asked it yet")
        await self._schedule.next_listing()

    def any_broker(self) -> tuple[int, str, int]:
        """(node id, host, port) of each broker in turn, for connections that may go to any broker.

        Brokers that lately rejected a connection are left out while there are others. Raises
        ClusterUnreachable if no broker is known.
        """
        if not self.brokers:
            raise self._failure or ClusterUnreachable(self.name, "the gateway has not asked it yet")
        nodes = sorted(self.brokers)
        good = [node for node in nodes if not self._link.lately_failed(self.brokers[node])]
        candidates = good or nodes
        node = candidates[next(self._turns) % len(candidates)]
        return (node, *self.brokers[node])

    def suspect(self) -> None:
        """Note that a request to this cluster has failed, so that it is listed soon."""
        self.suspected = True
        self._schedule.request()

    @property
    def answers(self) -> bool:
        """Whether a request is likely to get a response soon: the last listing succeeded, and since
        then not every broker has been given up."""
        if not self.reachable or not self.suspected:
            return self.reachable
        others = self.brokers.values() if len(self.brokers) > 1 else ()
        return not all(map(self.lately_failed, others))

    def note_silent(self, address: Address) -> None:
        """Prefer other brokers for a while: a caller has given up waiting for this address."""
        self._link.note_failure(address)

    def lately_failed(self, address: Address) -> bool:
        """Whether the broker at this address was given up, or rejected a connection, lately."""
        return self._link.lately_failed(address)

    def report_connect_failure(self, node_id: int) -> None:
        """Prefer other brokers for a while, and list the cluster: a connection to this broker
        failed."""
        address = self.brokers.get(node_id)
        if address is not None:
            self._link.note_failure(address)
            self._schedule.request()

    def hear(self, node_id: int, host: str, port: int) -> None:
        """Note that a response to a client names this broker. If the last listing lacks it at this
        address, the broker is new, back, or has moved: the cluster is listed now, because the
        client may connect next. After a listing that contradicted the response, the cluster is not
        listed again for it, for ``poll_interval``."""
        address = (host, port)
        if self.brokers.get(node_id) == address or not is_address(host, port):
            return
        if self.heard.hear(node_id, address, _now()):
            self._schedule.request()

    async def _keep_listing(self) -> None:
        while True:
            await self._schedule.due()
            # A caller from here on wants the next listing, not this listing.
            waiting = self._schedule.take_waiting()
            try:
                failure = await self._try_to_list()
            except asyncio.CancelledError:
                settle(waiting, ClusterUnreachable(self.name, "the gateway stops asking it"))
                raise
            settle(waiting, failure)
            if failure is not None:
                settle(self._schedule.take_waiting(), failure)

    async def _try_to_list(self) -> ClusterUnreachable | None:
        """Make a listing, from the first broker that gives it; returns the failure, if any."""
        try:
            await self._link.ask(self._list)
        except ClusterUnreachable as failure:
            self._set_failure(failure)
        # A defect here must not end the listing for good, with callers still waiting.
        except Exception as error:
            log.exception("listing cluster %r failed", self.name)
            self._set_failure(ClusterUnreachable(self.name, f"listing it failed: {error!r}"))
        else:
            self._set_failure(None)
            self._announce()
        return self._failure

    async def _list(self, connection: BrokerConnection) -> None:
        began, worked = _now(), thread_time()
        version = connection.version_for("MetadataRequest")
        mark = self.index.mark()
        named = self.heard.take()
        self.awaited = True
        try:
            body = await connection.exchange(
                "MetadataRequest", version, all_topics_request(version)
            )
        finally:
            self.awaited = False
        waited = _now() - began
        try:
            reading = Slices(partial(self._reader.read, version, body))
            listing = await in_slices(self._slices, reading)
        except ProtocolError as error:
            raise BrokerError(f"its Metadata v{version} makes no sense: {error}") from None
        self._check(listing)
        indexing = partial(self.index.replace_in_slices, listing.topics, mark, listing.partitions)
        await in_slices(self._slices, Slices(indexing))
        self.cluster_id = listing.cluster_id
        self.controller_id = listing.controller_id
        self.racks = listing.racks
        self._set_brokers(listing.brokers)
        self.heard.compare(named, listing.brokers)
        self.listed_at = began
        self._learn(connection)
        self._schedule.rest(began, waited, thread_time() - worked)

    def _check(self, listing: Listing) -> None:
        """Reject a listing of another cluster, or of a broker that does not know the cluster
        yet."""
        if not listing.brokers:
            raise BrokerError("lists no brokers")
        if self.cluster_id is not None and listing.cluster_id != self.cluster_id:
            raise BrokerError(
                f"belongs to cluster {listing.cluster_id}, while {self.name!r} was"
                f" {self.cluster_id} so far"
            )

    def _set_brokers(self, brokers: dict[int, Address]) -> None:
        if brokers == self.brokers:
            return
        log.info(
            "cluster %r has brokers %s",
            self.name,
            ", ".join(f"{node} ({host}:{port})" for node, (host, port) in sorted(brokers.items())),
        )
        self.brokers = brokers
        self._link.know(brokers.values())

    def _learn(self, connection: BrokerConnection) -> None:
        """Note the API versions of the broker that gave the listing; if brokers are watched, watch
        the listed brokers, each for its own."""
        self.nodes.learn_of_any(connection.served)
        if self._watch is not None:
            self._watch.see(self.brokers)
            return
        self.nodes.keep(self.brokers.keys())
        for node_id, address in self.brokers.items():
            if address == self._link.address:
                self.nodes.learn(node_id, connection.served)

    def _set_failure(self, failure: ClusterUnreachable | None) -> None:
        """Note the outcome of the last try; only a change is logged."""
        if failure is None:
            if self._schedule.failures:
                log.info("cluster %r answers again", self.name)
            self._schedule.failures = 0
        else:
            if not self._schedule.failures:
                log.warning("%s", failure)
            self._schedule.failures += 1
        self.reachable = failure is None
        self.suspected = False
        self._failure = failure

    def _announce(self) -> None:
        """Call ``on_change`` after a change of brokers or topic names, learnt and forgotten names
        included."""
        brokers, version = self._announced
        if brokers is self.brokers and version == self.index.version:
            return
        self._announced = (self.brokers, self.index.version)
        for callback in tuple(self.on_change):
            try:
                callback()
            except Exception:
                log.exception("on_change of cluster %r failed", self.name)


def _now() -> float:
    return asyncio.get_running_loop().time()
