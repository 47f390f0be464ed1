"""Groups and transactional ids that the brokers have now. A new namespace takes over the ids that
have its prefix.

A broker lists only the ids that it coordinates, and of these only the ids that the gateway's
principal may describe. So all brokers are queried. The listing fails if a broker does not respond,
or a partition of the topics that hold groups and ids has no leader.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Final

from gateway.brokers.messages import ClusterAdmin
from gateway.brokers.one_each import one_each
from gateway.changes.base.rejected import Rejected, try_again
from gateway.slices import InSlices, Turns, all_in_slices, sliced
from protocol.errors import ProtocolError
from protocol.messages import Request
from protocol.pausing import paced
from protocol.schema import api_key_of

SECONDS: Final = 10.0
"""Seconds that one listing takes at most."""

_REST_PER_WORK: Final = 3
_MOST_WORK: Final = 1.0

_METADATA: Final = 9
_COORDINATED: Final = ("__consumer_offsets", "__transaction_state")
_LIST_GROUPS: Final = Request("ListGroupsRequest", 5, {})
_LIST_TRANSACTIONS: Final = Request("ListTransactionsRequest", 2, {})
_TRANSACTIONS_KEY: Final = api_key_of(_LIST_TRANSACTIONS.name)
_LEADER_NOT_AVAILABLE: Final = 5


@dataclass(frozen=True, slots=True)
class Ids:
    """Groups and transactional ids, as brokers know them."""

    groups: tuple[str, ...] = ()
    transactional: tuple[str, ...] = ()

    def beginning(self, prefixes: tuple[str, ...]) -> Ids:
        """The ids that begin with one of these prefixes."""
        return Ids(_beginning(self.groups, prefixes), _beginning(self.transactional, prefixes))


NO_IDS: Final = Ids()


class IdListing:
    """Lists the ids of one cluster, for a quarter of the time at most.

    Callers that come while a listing is in progress share the next listing, so a listing is never
    older than its callers' requests. ``turns``: the turns that reading long lists takes, or None if
    nothing else is served meanwhile.
    """

    def __init__(self, turns: Turns | None = None) -> None:
        self._turns = turns
        self._running: asyncio.Task[Ids] | None = None
        self._next: asyncio.Task[Ids] | None = None
        self._not_before = 0.0

    async def beginning(
        self,
        admin: ClusterAdmin,
        versions: Mapping[int, tuple[int, int]],
        prefixes: tuple[str, ...],
    ) -> Ids:
        """The ids with one of these prefixes.

        ``versions``: the versions that the cluster serves, by API key. Before Kafka 3.0 brokers do
        not list transactional ids, so the result has none. Raises :class:`Rejected` if not all ids
        could be listed in time.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._list_after(self._running, admin, versions))
            self._next.add_done_callback(_retrieve)
        try:
            # A cancelled caller must not cancel the listing of the other callers.
            ids = await asyncio.shield(self._next)
        except (OSError, ProtocolError):
            raise Rejected.of(_NOT_ALL) from None
        return await sliced(self._turns, partial(ids.beginning, prefixes))

    async def _list_after(
        self,
        running: asyncio.Task[Ids] | None,
        admin: ClusterAdmin,
        versions: Mapping[int, tuple[int, int]],
    ) -> Ids:
        if running is not None:
            await asyncio.wait([running])
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._not_before - loop.time())
        self._running, self._next = self._next, None
        began = loop.time()
        async with asyncio.timeout(SECONDS):
            listing = self._list(admin, versions)
            listed = await (listing if self._turns is None else InSlices(self._turns, listing))
        # The pause grows with the listing's work, but only up to _MOST_WORK, because the time of a
        # slow broker is no work of the gateway.
        took = min(loop.time() - began, _MOST_WORK)
        self._not_before = loop.time() + _REST_PER_WORK * took
        return listed

    async def _list(self, admin: ClusterAdmin, versions: Mapping[int, tuple[int, int]]) -> Ids:
        topics = [{"name": name} for name in _COORDINATED]
        values = {"topics": topics, "allow_auto_topic_creation": False}
        request = Request("MetadataRequest", _METADATA, values)
        metadata = await admin.ask(request, changes=False)
        coordinated = one_each(_COORDINATED, metadata.topics, attrgetter("name"))
        if any(map(_lacks_leaders, coordinated.values())):
            raise Rejected.of(_NOT_ALL)
        addresses = [(broker.host, int(broker.port)) for broker in metadata.brokers]
        groups = [_of_broker(admin, one, _LIST_GROUPS) for one in addresses]
        ids = []
        if _TRANSACTIONS_KEY in versions:
            ids = [_of_broker(admin, one, _LIST_TRANSACTIONS) for one in addresses]
        works = [*groups, *ids]
        if self._turns is None:
            listed = await asyncio.gather(*works)
        else:
            listed = await all_in_slices(self._turns, works)
        return Ids(
            tuple(one for some in listed[: len(groups)] for one in paced(some)),
            tuple(one for some in listed[len(groups) :] for one in paced(some)),
        )


_NOT_ALL: Final = try_again(
    "Not all brokers list their groups and transactional ids now, which the namespace might take"
    " over"
)


async def _of_broker(admin: ClusterAdmin, address: tuple[str, int], request: Request) -> list[str]:
    response = await admin.ask_at(address, request)
    if int(response.error_code):
        raise Rejected.of(_NOT_ALL)  # a coordinator that loads knows some of them
    if request is _LIST_GROUPS:
        return [one.group_id for one in paced(response.groups)]
    return [one.transactional_id for one in paced(response.transaction_states)]


def _lacks_leaders(topic: Any) -> bool:
    """Whether a partition of this topic has no leader, so that no broker lists its groups or
    ids."""
    if topic is None or int(topic.error_code) == _LEADER_NOT_AVAILABLE:
        return True
    return any(int(each.leader_id) < 0 for each in paced(topic.partitions))


def _beginning(ids: Iterable[str], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in paced(ids) if one.startswith(prefixes))


def _retrieve(task: asyncio.Task[Ids]) -> None:
    """Retrieve the error of a listing that no caller waits for any more, so asyncio does not log
    it."""
    if not task.cancelled():
        task.exception()
