"""The topics of other volumes, as groups of a volume know them: see ``gateway.rules.shadows``.

They are looked up in this worker's knowledge of their clusters, so groups go on if such a cluster
does not answer. The client's rights are its rights in the topic's own volume. If that volume's
catalog cannot be read, its last state counts: the offsets are the group's, and the group's own
volume decides on offsets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final
from uuid import UUID

from gateway.catalog.source import CatalogUnavailable
from gateway.cluster.link import ClusterUnreachable
from gateway.connections.volumes import Volume
from gateway.decision import Denied, Resolved
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.rules.declaration import Shadows
from gateway.rules.shadows import Origin, expected_name, not_ready, origin_of, shadow_name
from gateway.tree.referred_topics import ReferredTopics
from gateway.tree.shadow_topics import ShadowTopics
from gateway.views.access import DESCRIBE, READ, Access
from protocol.pausing import paced
from protocol.primitives import compact_string, legacy_string

REFRESH_SECONDS: Final = 0.5
"""Seconds that a request waits at most for another cluster to be read anew."""


class FarTopics:
    """Topics of other volumes, for a request: see :class:`gateway.rules.shadows.Far`.

    ``home`` is the group's volume, and ``volumes`` are the volumes in the listener's reach.
    ``access`` returns the client's access in a volume; if ``thawed``, no topic counts as frozen.
    ``made`` are the shadows at home.
    ``referred`` are the topics behind other gateways, if the listener reaches any.
    """

    def __init__(
        self,
        home: Volume,
        volumes: Iterable[Volume],
        volume_of_topic: Callable[[bytes], str],
        access: Callable[[Volume], Access],
        shadows: Shadows,
        made: ShadowTopics,
        referred: ReferredTopics | None = None,
        *,
        final: bool,
        thawed: bool = False,
    ) -> None:
        self._home = home
        self._thawed = thawed
        self._made = made
        self._referred = referred
        self._by_path = {each.path: each for each in volumes if each is not home}
        self._by_number = {each.state.number: each for each in self._by_path.values()}
        self._volume_of_topic = volume_of_topic
        self._access_in = access
        self._makes = shadows is Shadows.MADE
        self._final = final
        self._accesses: dict[str, Access] = {}
        self._wanted: dict[bytes, tuple[Volume, bytes]] = {}
        self._unknown: list[Callable[[], object]] = []
        self._stale: dict[str, Volume] = {}

    # -- requests ----------------------------------------------------------------------------------

    def topic(self, operation: int, name: bytes) -> Resolved | Denied:
        """The shadow of the topic with this name, as the client spells it, if ``operation`` is
        allowed on the topic."""
        path = self._volume_of_topic(name)
        if self._referred is not None and self._referred.reaches(path):
            return self._referred.topic(path, operation, name)
        volume = self._by_path.get(path)
        shown = name.decode(errors="replace")
        if volume is None:
            why = f"Topic '{shown}' is in a volume that this listener does not reach."
            return Denied(UNKNOWN_TOPIC_OR_PARTITION, why, "volume")
        if _is_unread(volume):  # its ACLs are not known either
            return not_ready(shown)
        found = self._access(volume).topic(operation, name)
        if isinstance(found, Denied):
            if found.code == UNKNOWN_TOPIC_OR_PARTITION and not found.illegal:
                return self._not_known(volume, found, operation, name)
            return found
        topic_id = volume.cluster.index.id_of(found.flat)
        if topic_id is None:
            why = f"Topic '{shown}' does not exist."
            denied = Denied(UNKNOWN_TOPIC_OR_PARTITION, why, "names")
            return self._not_known(volume, denied, operation, name)
        make = self._makes and operation != DESCRIBE  # shadows are for those who read
        return self._shadow(volume, topic_id, found.flat, shown, make=make)

    def topic_id(self, operation: int, topic_id: bytes) -> Resolved | Denied | None:
        """The shadow of the topic with this id, as the client knows it, if ``operation`` is
        allowed, or None if no other volume has the topic."""
        for volume in self._by_path.values():
            if _is_unread(volume):
                continue
            access, index = self._access(volume), volume.cluster.index
            flat = access.view.flat_of_id(topic_id, index)
            if flat is None:
                continue
            denied = access.by_id(operation, flat, topic_id)
            if denied is not None:
                return denied
            own = access.view.id_to_broker(topic_id, index)
            exists = index.id_of(flat) == own
            if not exists and not self._made.exists(shadow_name(volume.state.number, own)):
                return None
            shown = str(UUID(bytes=topic_id))
            reads = not isinstance(access.by_id(READ, flat, topic_id), Denied)
            return self._shadow(volume, own, flat, shown, make=exists and reads)
        for volume in self._by_path.values():
            self._note_unknown(volume, lambda: self.topic_id(operation, topic_id))
        found = None if self._referred is None else self._referred.topic_id(operation, topic_id)
        if found is None and self._final and any(map(_is_unread, self._by_path.values())):
            return not_ready(str(UUID(bytes=topic_id)))
        return found

    def subscribed(self, name: bytes) -> bytes | None:
        """The name for a subscription or assignment, or None if no topic can have this name, or the
        client may not describe it. If the client may read the topic, its shadow is made."""
        path = self._volume_of_topic(name)
        if self._referred is not None and self._referred.reaches(path):
            return self._referred.subscribed(path, name)
        volume = self._by_path.get(path)
        if volume is None:
            return None
        access = self._access(volume)
        found = access.subscribed(name)
        if isinstance(found, Denied):
            return None
        topic_id = volume.cluster.index.id_of(found.flat)
        if topic_id is None:
            return expected_name(volume.state.number, found.flat)
        # Also a frozen topic, as ``subscribed``.
        if self._makes and not isinstance(access.thawed().topic(READ, name), Denied):
            self._shadow(volume, topic_id, found.flat, "", make=True)
        return shadow_name(volume.state.number, topic_id)

    def to_read(self, name: bytes) -> bytes | None:
        """The shadow of a topic that the client may describe and read, even if the topic is frozen,
        or None. It is made if it is missing."""
        path = self._volume_of_topic(name)
        if self._referred is not None and self._referred.reaches(path):
            return self._referred.to_read(path, name)
        volume = self._by_path.get(path)
        if volume is None or _is_unread(volume):
            return None
        access = self._access(volume)
        found = access.subscribed(name)  # may be described
        if isinstance(found, Denied) or isinstance(access.thawed().topic(READ, name), Denied):
            return None
        topic_id = volume.cluster.index.id_of(found.flat)
        if topic_id is None:
            return None
        self._shadow(volume, topic_id, found.flat, "", make=True)
        return shadow_name(volume.state.number, topic_id)

    def is_unread(self, name: bytes) -> bool:
        """See :class:`gateway.rules.shadows.Far`."""
        path = self._volume_of_topic(name)
        if self._referred is not None and self._referred.reaches(path):
            return self._referred.is_unread(path, name)
        volume = self._by_path.get(path)
        if volume is None or _is_unread(volume) or volume.cluster.reachable:
            return volume is not None and _is_unread(volume)
        found = self._access(volume).subscribed(name)
        if isinstance(found, Denied):
            return found.code == UNKNOWN_TOPIC_OR_PARTITION and not found.illegal
        return volume.cluster.index.id_of(found.flat) is None

    def is_unread_shadow(self, flat: bytes) -> bool:
        """See :class:`gateway.rules.shadows.Far`."""
        origin = origin_of(flat)
        if origin is None:
            return False
        volume = self._by_number.get(origin.number)
        if volume is None:
            return self._referred is not None and self._referred.is_unread_shadow(origin)
        if _is_unread(volume) or volume.cluster.reachable:
            return _is_unread(volume)
        return volume.cluster.index.name_of(origin.topic_id) is None

    def _shadow(
        self, volume: Volume, topic_id: bytes, flat: bytes, shown: str, *, make: bool
    ) -> Resolved | Denied:
        shadow, shadows = shadow_name(volume.state.number, topic_id), self._made
        if make and not shadows.has(shadow, _partitions(volume, flat)):
            if not self._final and shadows.due(shadow):
                self._wanted[shadow] = (volume, flat)
            elif not shadows.exists(shadow):
                return not_ready(shown)
        return Resolved("", shown, shadow, legacy_string(shadow), compact_string(shadow))

    def _not_known(self, volume: Volume, denied: Denied, operation: int, name: bytes) -> Denied:
        """The denial of a topic that this worker does not know; if the topic's cluster does not
        answer, clients retry after the error."""
        if not volume.cluster.reachable:
            return not_ready(name.decode(errors="replace"))
        self._note_unknown(volume, lambda: self.topic(operation, name))
        return denied

    def _note_unknown(self, volume: Volume, again: Callable[[], object]) -> None:
        if not self._final and volume.cluster.reachable:
            self._stale[volume.path] = volume
            self._unknown.append(again)

    # -- preparation -------------------------------------------------------------------------------

    def preparation(self) -> Callable[[], Awaitable[None]] | None:
        """The work to do before the request is decided again, for good, or None if there is no such
        work."""
        referred = self._referred is not None and self._referred.has_work
        return self._prepare if self._wanted or self._stale or referred else None

    async def _prepare(self) -> None:
        if self._referred is not None and self._referred.has_work:
            await self._referred.prepare()
        shadows = self._made
        for shadow, (volume, _) in self._wanted.items():
            if shadows.is_doubted(shadow):  # partitions may have been added to its topic
                self._stale[volume.path] = volume
        stale, unknown = list(self._stale.values()), self._unknown
        self._unknown = []
        if stale:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_SECONDS):
                    await asyncio.gather(*map(_refresh, stale))
        self._accesses.clear()  # the catalog may have changed
        for again in paced(unknown):
            again()
        if self._wanted:
            counts = {
                shadow: _partitions(volume, flat) for shadow, (volume, flat) in self._wanted.items()
            }
            await shadows.ensure(counts)

    # -- responses ---------------------------------------------------------------------------------

    def shown(self, flat: bytes) -> bytes | None:
        """The listener's spelling of the topic behind a shadow, or None if the topic is not known,
        or the client may not describe it."""
        if (referred := self._owner_of(flat)) is not None:
            return referred.shown(flat)
        found = self._origin(flat)
        return None if found is None else self._access(found[0]).shown(found[1])

    @property
    def unheard(self) -> bool:
        """See :class:`gateway.rules.shadows.Far`."""
        return self._referred is not None and self._referred.unheard

    def id_to_show(self, flat: bytes, spelled: bytes | None) -> bytes | None:
        """The topic id by which the client knows the topic behind a shadow, or None if it is
        unknown, or the client may not describe the topic."""
        if (referred := self._owner_of(flat)) is not None:
            return referred.id_to_show(flat)
        found, origin = self._origin(flat), origin_of(flat)
        if found is None or origin is None or not origin.topic_id:
            return None
        access, topic = self._access(found[0]), found[1]
        named = None if spelled is None else access.subscribed(spelled)
        if named is None or isinstance(named, Denied) or named.flat != topic:
            spelled = access.shown(topic)  # the name that the client used leads elsewhere now
        if spelled is None:
            return None
        return access.view.id_to_show(topic, spelled) or origin.topic_id

    def missed(self, flat: bytes, partition: int) -> bool:
        """Note that the broker did not know a shadow's partition; returns whether it soon will."""
        if (referred := self._owner_of(flat)) is not None:
            return referred.missed(flat, partition)
        found = self._origin(flat)
        if found is None:
            return False
        doubted = self._made.doubt(flat)
        return doubted or partition < _partitions(*found)

    def _owner_of(self, flat: bytes) -> ReferredTopics | None:
        """The topics behind other gateways, if a shadow belongs to them, or None."""
        origin = None if self._referred is None else origin_of(flat)
        if origin is None or self._referred is None:
            return None
        return self._referred if self._referred.has_number(origin.number) else None

    def _origin(self, flat: bytes) -> tuple[Volume, bytes] | None:
        """The volume and flat name of the topic behind a shadow, or None if either is unknown."""
        origin: Origin | None = origin_of(flat)
        volume = None if origin is None else self._by_number.get(origin.number)
        if origin is None or volume is None or _is_unread(volume):
            return None
        name = origin.flat or volume.cluster.index.name_of(origin.topic_id)
        return None if name is None else (volume, name)

    def _access(self, volume: Volume) -> Access:
        found = self._accesses.get(volume.path)
        if found is None:
            found = self._access_in(volume)
            if found.view.closed:
                found = found.over(found.view.successor(found.view.snapshot))
            if self._thawed:
                found = found.thawed()
            self._accesses[volume.path] = found
        return found


def _partitions(volume: Volume, flat: bytes) -> int:
    """The number of partitions of a topic, as last known; at least 1, because the topic may be
    new."""
    return max(volume.cluster.index.partitions.get(flat, 0), 1)


def _is_unread(volume: Volume) -> bool:
    """Whether this worker has never read a volume's catalog, and so neither its names nor its ACLs:
    its cluster has been down since the worker started. The catalog is read after the first
    listing."""
    return volume.state.catalog.age is None


async def _refresh(volume: Volume) -> None:
    with suppress(ClusterUnreachable, CatalogUnavailable):
        await asyncio.gather(volume.cluster.refresh(), volume.state.catalog.refresh())
