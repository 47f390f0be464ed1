"""Lanes: parts of a client's requests that are decided in another volume than the node's own.

A lane is a session of its own over the view that the client's listener has of a volume, for the
principal that the volume takes the client for. Its requests go to any of the volume's brokers over
connections of the gateway's own. A lane lives for one request, so it always begins with the current
access.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from gateway.acl_model import ResourceType, code_of
from gateway.apis.table import APIS, DIVIDED
from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.cluster.link import ClusterUnreachable
from gateway.config.models import Listener
from gateway.connections.connection import Waiting
from gateway.connections.lane import Lane, Outdated
from gateway.connections.tenants import line_of
from gateway.connections.under_way import UnderWay
from gateway.connections.volumes import Volume, Volumes, describable
from gateway.decision import Denied
from gateway.exchanges.exchange import Unanswerable
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import TreeFacts, VolumeUnreachable
from gateway.flows import Flow
from gateway.mounts import Mount
from gateway.node_ids import virtual_node_id
from gateway.rules import api_versions
from gateway.rules.acl_spellings import volume_of_pattern
from gateway.rules.declaration import Effect, Shadows
from gateway.rules.other_versions import at_version, response_at
from gateway.rules.tree_brokers import Broker
from gateway.session.deciding import MAX_TRIES, Deciding
from gateway.session.session import Session
from gateway.slices import Turns, all_in_slices, in_slices
from gateway.tree.far_lanes import FarLanes, OtherGateways
from gateway.tree.far_topics import FarTopics
from gateway.tree.lane_flows import LaneFlows
from gateway.tree.lane_frames import request_payload, response_body
from gateway.tree.lane_seconds import LOOKUP_SECONDS, seconds_for
from gateway.tree.patience import Patience
from gateway.tree.referred_topics import ReferredTopics
from gateway.tree.shadow_topics import ShadowTopics
from gateway.views.access import DESCRIBE, Access
from gateway.virtual_brokers import ListenerAddresses
from protocol.headers import SIZE_PREFIX, frame

_NO_CONTROLLER: Final = -1


@dataclass(frozen=True, slots=True)
class LaneHub:
    """The parts of a worker that its lanes need."""

    turns: Turns
    volumes: Volumes
    under_way: UnderWay
    # (listener, mount path) -> the listener's addresses for the brokers of the volume.
    addresses: Callable[[str, str], ListenerAddresses]
    # Does the work that a session waits for; returns the response body if the gateway makes it.
    perform: Callable[[Session, Waiting], Coroutine[Any, Any, bytes | None]]
    # Mount path -> the shadows that the volume's groups have of other volumes' topics.
    shadows: Mapping[str, ShadowTopics]
    # None if the tree has no other gateways.
    gateways: OtherGateways | None


class Lanes:
    """The volumes of a tree for a client connection: see :class:`gateway.exchanges.tree.Tree`."""

    __slots__ = ("_client", "_far", "_flows", "_hub", "_listener")

    def __init__(self, hub: LaneHub, listener: Listener, client: ConnectionState) -> None:
        self._hub = hub
        self._listener = listener
        self._client = client
        self._flows = LaneFlows()
        gateways = hub.gateways
        self._far = FarLanes(gateways, listener, self.own, client, hub.turns, hub.volumes.have_id)

    # -- whose a name is ---------------------------------------------------------------------------

    @property
    def own(self) -> str:
        """The mount path of the listener's volume."""
        return self._hub.volumes.own_path(self._listener.name)

    def reach(self) -> Sequence[str]:
        """The mount paths of this gateway's volumes that the listener's clients can reach."""
        return [volume.path for volume in self._reach()]

    def topic(self, name: bytes) -> str:
        """The mount path of the volume that a topic's name belongs to."""
        return self._client.view.volume_of_topic(name)

    def topic_id(self, topic_id: bytes) -> str | None:
        """The mount path of the volume that has a topic of this id, or None if no volume is known
        to have it, or the client is not shown the volume."""
        for volume in self._reach():
            index = volume.cluster.index
            if volume.state.catalog.snapshot.by_topic_id(topic_id) or index.name_of(topic_id):
                return volume.path if self._is_shown(volume) else None
        return self._far.path_of_id(topic_id)

    def group(self, group_id: bytes) -> str:
        """The mount path of the volume that a group id or transactional id belongs to."""
        return self._client.view.volume_of_group(group_id)

    def acl_pattern(self, resource_type: int, pattern_type: int, name: str | None) -> str:
        """The mount path of the volume that an ACL pattern, or a filter of patterns, belongs to."""
        kind = code_of(ResourceType, resource_type)
        return volume_of_pattern(self._client.view, kind, name)

    def api_versions(self, version: int) -> bytes:
        """The body of an ApiVersions response of the connection's node."""
        served = [each.cluster.served for each in self._reach() if each.cluster.served is not None]
        cluster = self._hub.volumes.of(self._client.worker).cluster
        node = cluster.served_by(self._client.node_id)
        if node is None:
            node = served[0] if served else api_versions.NOTHING_SERVED
        return api_versions.in_tree(version, node, [*served, *self._far.served()], APIS, DIVIDED)

    def flat(self, name: bytes) -> bytes | None:
        """The name of a topic in its own cluster, as far as it is known here, or None if no topic
        can have this name, or the client may not describe it."""
        path = self.topic(name)
        if path in self._far.paths:
            names = self._far.names(path)
            inside = names.parse(name.decode(errors="replace"))
            return None if inside is None else names.flat(inside)
        found = self._access(self._hub.volumes[path]).topic(DESCRIBE, name)
        return None if isinstance(found, Denied) else found.flat

    def far(self, shadows: Shadows, *, final: bool, thawed: bool = False) -> FarTopics:
        """The topics of all volumes but the node's, for a request of a group's member. ``final``:
        nothing more is prepared for the request. ``thawed``: no topic counts as frozen."""
        home = self._hub.volumes.of(self._client.worker)
        made = self._hub.shadows[home.path]
        referred = (
            ReferredTopics(home, self._far, shadows, made, final=final) if self._far.paths else None
        )
        return FarTopics(
            home,
            self._reach(),
            self.topic,
            self._access,
            shadows,
            made,
            referred,
            final=final,
            thawed=thawed,
        )

    # -- what all answers tell ---------------------------------------------------------------------

    def facts(self) -> TreeFacts:
        """The brokers that this client's listener shows, as last known."""
        brokers = [
            broker
            for volume in self._reach()
            if self._is_shown(volume)
            for broker in self._brokers(volume)
        ]
        brokers += self._far.brokers()
        cluster_id, controller = self._own_cluster()
        shown = [each.node_id for each in brokers]
        if controller not in shown:
            # Admin clients wait for a controller; any broker will do, as in KRaft.
            controller = shown[0] if shown else _NO_CONTROLLER
        own = self._hub.volumes.of_listener(self._listener.name)
        gateways = own.state.listed_gateways(own.state.catalog.snapshot, self._listener.name)
        return TreeFacts([*brokers, *gateways], cluster_id, controller)

    def _own_cluster(self) -> tuple[str | None, int]:
        """The cluster id of the listener's volume, and the virtual id of its controller."""
        if self.own in self._far.paths:
            return self._far.cluster(self.own)
        own = self._hub.volumes[self.own]
        known = own.cluster.controller_id in own.cluster.brokers
        controller = virtual_node_id(own.state.number, own.cluster.controller_id)
        return own.cluster.cluster_id, controller if known else _NO_CONTROLLER

    def _brokers(self, volume: Volume) -> list[Broker]:
        addresses = self._addresses(volume)
        found = []
        for node_id in sorted(volume.cluster.brokers):
            endpoint = addresses.endpoint(node_id)
            if endpoint is not None:
                virtual = virtual_node_id(volume.state.number, node_id)
                rack = volume.cluster.racks.get(node_id)
                found.append(Broker(virtual, endpoint.host, endpoint.port, rack))
        return found

    def remembered(
        self, path: str, names: Iterable[str] | None, ids: Iterable[bytes]
    ) -> Mapping[str, tuple[bytes | None, int]]:
        """The given topics that a volume had when it was last seen, and that the client may
        describe: topic id and partition count, by the client's name. All listed topics if ``names``
        is None."""
        if path in self._far.paths:
            return self._far.remembered(path, names, ids)
        volume = self._hub.volumes[path]
        access, index = self._access(volume, last=True), volume.cluster.index
        if names is None:
            names = volume.state.listings.of(access, index).names
        flats = (access.view.flat_of_id(topic_id, index) for topic_id in ids)
        shown = (access.view.spell(flat) for flat in flats if flat is not None)
        by_id = (name.decode() for name in shown if name is not None)
        return describable(access, index, (*names, *by_id))

    # -- asking ------------------------------------------------------------------------------------

    async def ask(
        self, path: str, api_key: int, version: int, body: bytes, *, alone: bool = True
    ) -> bytes:
        """Request a part of a request for this client from the volume at ``path``, and return the
        response body. ``alone``: no other volume's response waits for this one. Raises
        VolumeUnreachable."""
        if path in self._far.paths:
            return await self._far.ask(path, api_key, version, body)
        volume = self._hub.volumes[path]
        if volume not in self._reach():
            raise VolumeUnreachable(
                f"Volume '{volume.mount}' is not in the reach of listener '{self._listener.name}'."
            )
        cluster, effect = volume.cluster, APIS[api_key].effect
        near = alone and path == self._client.worker.mount
        # Another client's request that took too long is no reason to reject a request for this
        # cluster alone. A closed view would remove topics from clients' metadata only because they
        # were not read anew yet.
        doubted = not near and not cluster.answers
        if not cluster.reachable or (
            effect is Effect.LOOKUP and (doubted or self._access(volume).view.closed)
        ):
            raise VolumeUnreachable(_down(volume.mount))
        patience = Patience(seconds_for(effect, near=near))
        try:
            return await self._ask(volume, api_key, version, body, patience)
        except (TimeoutError, ClusterUnreachable, BrokerError, Unanswerable) as error:
            raise VolumeUnreachable(_down(volume.mount)) from error

    async def at_once(self, parts: Iterable[Coroutine[Any, Any, bytes]]) -> list[bytes]:
        """The results of coroutines, which run together; long ones let other connections be
        served."""
        return await all_in_slices(self._turns, parts)

    async def meet(self, path: str, node_ids: Collection[int]) -> None:
        """Look up the brokers of a volume unless the brokers in its response (virtual ids) are the
        known ones, so that the list of brokers in all responses has the leaders of its
        partitions."""
        if path in self._far.paths:
            return  # the response had its brokers, and they are remembered
        volume = self._hub.volumes[path]
        if {each.node_id for each in self._brokers(volume)} != {*node_ids}:
            with suppress(TimeoutError, ClusterUnreachable):
                async with asyncio.timeout(LOOKUP_SECONDS):
                    await volume.cluster.refresh()

    async def _ask(
        self, volume: Volume, api_key: int, version: int, body: bytes, patience: Patience
    ) -> bytes:
        api = APIS[api_key]
        served = version
        if not api.answered_here:
            _, highest = volume.cluster.api_versions.get(api_key, (0, version))
            served = min(version, highest)
        client_id = self._client.client_id
        request = at_version(api, version, served, body)
        framed = frame(request_payload(api_key, served, client_id, request))
        for _ in range(MAX_TRIES):
            with suppress(Outdated):
                response = await self._decided(volume, api.effect, framed, patience)
                answer = response_body(api_key, served, response[SIZE_PREFIX.size :])
                return response_at(api, served, version, answer, body)
        raise VolumeUnreachable(_down(volume.mount))

    async def _decided(
        self, volume: Volume, effect: Effect, request: bytes, patience: Patience
    ) -> bytes:
        """Decide a request frame now, and return the response frame. Raises Outdated if the
        decision was not allowed any more before a broker had carried it out."""
        session = Session(self._state(volume))
        changes = effect is Effect.CHANGE
        lane = Lane(session, partial(self._access, volume), self._listener.name, changes=changes)
        self._flows.opened(volume.path, session.state, self._client)
        self._hub.under_way.lanes.add(lane)
        try:
            session.client_data(request)
            return await self._answer(volume, lane, patience)
        finally:
            session.abandon()
            self._hub.under_way.lane_ended(lane)
            self._flows.closed(self._client)
            volume.state.lane_accesses.add(session.state.access)

    async def _answer(self, volume: Volume, lane: Lane, patience: Patience) -> bytes:
        """Do the session's work until it has a response, a whole frame. The time that it waits for
        a cluster takes ``patience``, the work in this process does not."""
        session = lane.session
        while not session.to_client:
            if session.to_broker:
                request = b"".join(session.to_broker)
                session.to_broker.clear()
                session.broker_data(await self._forwarded(volume, lane, request, patience))
            elif session.waiting is not None:
                session.resume(await self._performed(volume, session, session.waiting, patience))
            elif session.restoring is not None:
                await in_slices(self._turns, session.restoring.slices)
                session.restored()
            else:
                raise AssertionError("a lane has neither an answer nor anything to wait for")
        return b"".join(session.to_client)

    async def _forwarded(
        self, volume: Volume, lane: Lane, request: bytes, patience: Patience
    ) -> bytes:
        """Forward a request to a volume's brokers, and return the response. If the cluster does not
        answer, it is suspected."""

        async def ready(connection: BrokerConnection) -> None:
            with patience.paused():
                await lane.check(connection, self._turns)

        try:
            response = await patience.wait(
                volume.lanes.forward(request, changes=lane.changes, ready=ready)
            )
        except (TimeoutError, ClusterUnreachable, BrokerError):
            if not lane.outdated:
                volume.cluster.suspect()
            raise
        finally:
            lane.answered()
        if lane.outdated and not lane.changes:
            raise Outdated
        return response

    async def _performed(
        self, volume: Volume, session: Session, work: Waiting, patience: Patience
    ) -> bytes | None:
        """Do the work that a session waits for. The cluster is suspected only if the work waited
        for it: reading a long listing takes time in this process, too."""
        doing = self._hub.perform(session, work)
        if isinstance(work, Deciding):
            return await doing
        try:
            return await patience.wait(doing)
        except TimeoutError:
            if volume.cluster.awaited:
                volume.cluster.suspect()
            raise
        except (ClusterUnreachable, BrokerError):
            volume.cluster.suspect()
            raise

    def _state(self, volume: Volume) -> ConnectionState:
        client = self._client
        source = replace(client.source)
        access = self._access(volume)
        state = ConnectionState(volume.state, access, self._addresses(volume), source)
        state.stand_for(client)
        return state

    def take_flows(self) -> list[Flow]:
        """The flows of the client's lanes since the last call."""
        return self._flows.take()

    @property
    def _turns(self) -> Turns:
        """The turns of the client's tenant."""
        return self._hub.turns.of(line_of(self._client))

    def _access(self, volume: Volume, *, last: bool = False) -> Access:
        client = self._client
        volumes = self._hub.volumes
        return volumes.access(volume, self._listener.name, client.identity, client.host, last=last)

    def _addresses(self, volume: Volume) -> ListenerAddresses:
        return self._hub.addresses(self._listener.name, volume.path)

    def _is_shown(self, volume: Volume) -> bool:
        """Whether the client is shown the brokers of a volume."""
        return volume.path == self.own or shows(self._access(volume))

    def _reach(self) -> list[Volume]:
        return self._hub.volumes.reach(self._listener)


def shows(access: Access) -> bool:
    """Whether a client can reach anything in a volume that is not its listener's."""
    return access.anything() and not access.view.settings.shut


def _down(mount: Mount | None) -> str:
    return f"The cluster of volume '{mount}' does not answer; try again when it does."
