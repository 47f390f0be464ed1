"""The topics of volumes behind other gateways, as groups of a volume here know them.

``far_topics`` takes topics from a cluster's listing, and rights from ACLs; this module takes both
from the owner's answers: a topic's id, its partitions, and the operations that the client is
authorized to. If these are not known, are too old, or do not allow an operation, the request waits
for a question to the owner. While the owner does not answer, groups go on by its last answer and do
not wait, because their offsets are in their own cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final
from uuid import UUID

from gateway.connections.volumes import Volume
from gateway.decision import Denied, Resolved
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.tree import VolumeUnreachable
from gateway.names import LogicalName, decode
from gateway.referrals.far import FarTopic, FarVolume, Rights
from gateway.rules.declaration import NOTHING, Shadows
from gateway.rules.shadows import Origin, expected_name, not_ready, origin_of, shadow_name
from gateway.tree.far_lanes import FarLanes
from gateway.tree.shadow_topics import ShadowTopics
from gateway.views.access import DESCRIBE, READ
from protocol.pausing import in_order, paced
from protocol.primitives import compact_string, legacy_string

RIGHTS_SECONDS: Final = 30.0
"""Seconds for which a client's rights count as the topic's owner last reported them."""

MAX_PARTITIONS: Final = 10_000
"""The most partitions of a topic whose offsets are kept here, because its shadow has as many, and
only the owner's answer shows how many there are."""


class ReferredTopics:
    """Topics of volumes behind other gateways, for a request of a group's member. ``home`` is the
    group's volume, and ``made`` are the shadows in it.

    The methods, and ``unheard``, are those of :class:`gateway.rules.shadows.Far`; their ``path`` is
    one of ``lanes.paths``.
    """

    def __init__(
        self, home: Volume, lanes: FarLanes, shadows: Shadows, made: ShadowTopics, *, final: bool
    ) -> None:
        self._home = home
        self._made = made
        self._lanes = lanes
        self._by_number = {each.number: each for each in lanes.volumes() if each.number}
        self._makes = shadows is Shadows.MADE
        self._final = final
        self._wanted: dict[bytes, int] = {}
        self._names: dict[str, set[str]] = {}
        self._ids: dict[str, set[bytes]] = {}
        self._again: list[Callable[[], object]] = []
        self.unheard = False

    def reaches(self, path: str) -> bool:
        """Whether the volume at ``path`` is behind another gateway."""
        return path in self._lanes.paths

    def has_number(self, number: int) -> bool:
        """Whether the volume of this number is known to be behind another gateway."""
        return number in self._by_number

    # -- requests ----------------------------------------------------------------------------------

    def topic(self, path: str, operation: int, name: bytes) -> Resolved | Denied:
        """The shadow of the topic with this name, as the client spells it, if ``operation`` is
        allowed on the topic."""
        spelled = name.decode(errors="replace")
        volume, inside = self._lanes.volume(path), self._lanes.names(path).parse(spelled)
        if inside is None:
            return Denied(UNKNOWN_TOPIC_OR_PARTITION, f"'{spelled}' names no topic.", "names")
        found = self._known(volume, inside)
        if self._must_ask(volume, inside, operation):
            self._ask(volume, spelled, lambda: self.topic(path, operation, name))
        if not self._allows(volume, inside, operation):
            return self._forbidden(volume, inside, spelled)
        if found is None or found.topic_id is None:
            return self._unknown(volume, spelled)
        make = self._makes and operation != DESCRIBE  # shadows are for those who read
        return self._shadow(volume, found, spelled, make=make)

    def topic_id(self, operation: int, topic_id: bytes) -> Resolved | Denied | None:
        """The shadow of the topic with this id, as :meth:`topic`, or None if no volume behind
        another gateway is known to have the topic."""
        shown, again = str(UUID(bytes=topic_id)), lambda: self.topic_id(operation, topic_id)
        for volume in self._by_number.values():
            inside = volume.name_of(topic_id, self._lanes.principal)
            found = None if inside is None else self._known(volume, inside)
            if inside is None or found is None or found.topic_id != topic_id:
                continue
            if self._must_ask(volume, inside, operation):
                self._ask_id(volume, topic_id, again)
            if not self._allows(volume, inside, operation):
                return self._forbidden(volume, inside, shown)
            make = self._makes and self._allows(volume, inside, READ)
            return self._shadow(volume, found, shown, make=make)
        for volume in self._lanes.volumes():
            if not self._final and volume.reachable:
                self._ask_id(volume, topic_id, again)
        return None

    def subscribed(self, path: str, name: bytes) -> bytes | None:
        """The name for a subscription or assignment, or None if no topic can have this name, the
        client may not describe it, or the volume's number is not known yet."""
        spelled = name.decode(errors="replace")
        volume, names = self._lanes.volume(path), self._lanes.names(path)
        inside = names.parse(spelled)
        flat = None if inside is None else names.flat(inside)
        if inside is None or flat is None:
            return None
        found = self._known(volume, inside)
        if self._must_ask(volume, inside, READ if self._makes else NOTHING):
            self._ask(volume, spelled, lambda: self.subscribed(path, name))
        if not volume.number or not self._allows(volume, inside, DESCRIBE):
            return None
        if found is None or found.topic_id is None:
            return expected_name(volume.number, flat)
        if self._makes and self._allows(volume, inside, READ):
            self._shadow(volume, found, spelled, make=True)
        return shadow_name(volume.number, found.topic_id)

    def to_read(self, path: str, name: bytes) -> bytes | None:
        """The shadow of a topic that the client may describe and read, or None. It is made if it is
        missing."""
        spelled = name.decode(errors="replace")
        volume, inside = self._lanes.volume(path), self._lanes.names(path).parse(spelled)
        if inside is None:
            return None
        if self._must_ask(volume, inside, READ):
            self._ask(volume, spelled, lambda: self.to_read(path, name))
        found = self._known(volume, inside)
        if not volume.number or found is None or found.topic_id is None:
            return None
        if not (self._allows(volume, inside, READ) and self._allows(volume, inside, DESCRIBE)):
            return None
        self._shadow(volume, found, spelled, make=True)
        return shadow_name(volume.number, found.topic_id)

    def is_unread(self, path: str, name: bytes) -> bool:
        """Whether the owner has never reported anything of the topic with this name to the client,
        and does not answer."""
        volume = self._lanes.volume(path)
        inside = self._lanes.names(path).parse(name.decode(errors="replace"))
        if inside is None or volume.reachable or volume.is_denied(self._lanes.principal):
            return False
        missing = volume.missing_age(self._lanes.principal, self._lanes.host, inside)
        return missing is None and self._operations(volume, inside) is None

    def is_unread_shadow(self, origin: Origin) -> bool:
        """:meth:`is_unread` of the topic behind a shadow. If the number is of no known volume, it
        may be that of a volume whose owner has not answered yet."""
        volume, principal = self._by_number.get(origin.number), self._lanes.principal
        if volume is None:
            return any(not each.number for each in self._lanes.volumes())
        if volume.reachable or volume.is_denied(principal):
            return False
        name = volume.name_of(origin.topic_id, principal)
        return name is None or self._operations(volume, name) is None

    def _shadow(
        self, volume: FarVolume, topic: FarTopic, shown: str, *, make: bool
    ) -> Resolved | Denied:
        assert topic.topic_id is not None
        if topic.partitions > MAX_PARTITIONS:
            if make:
                self._made.note_too_large(topic.topic_id, shown, topic.partitions, MAX_PARTITIONS)
            why = f"Topic '{shown}' has more than {MAX_PARTITIONS:,} partitions."
            return Denied(UNKNOWN_TOPIC_OR_PARTITION, why, "volume")
        shadow, shadows = shadow_name(volume.number, topic.topic_id), self._made
        if make and not shadows.has(shadow, max(topic.partitions, 1)):
            if not self._final and shadows.due(shadow):
                self._wanted[shadow] = max(topic.partitions, 1)
            elif not shadows.exists(shadow):
                return not_ready(shown)
        return Resolved("", shown, shadow, legacy_string(shadow), compact_string(shadow))

    def _known(self, volume: FarVolume, name: LogicalName) -> FarTopic | None:
        return volume.topic(self._lanes.principal, name)

    def _rights(self, volume: FarVolume, name: LogicalName) -> Rights | None:
        return volume.rights(self._lanes.principal, self._lanes.host, name)

    def _operations(self, volume: FarVolume, name: LogicalName) -> int | None:
        """The operations that the client is authorized to, as bits, as last reported, or None if
        the owner never reported them."""
        rights = self._rights(volume, name)
        if rights is not None:
            return rights.operations
        found = self._known(volume, name)
        return None if found is None else found.operations

    def _allows(self, volume: FarVolume, name: LogicalName, operation: int) -> bool:
        """Whether the owner has reported that the client is authorized to an operation. If it has
        no such topic, there is nothing to authorize."""
        if operation == NOTHING:
            return True
        if self._known(volume, name) is None and self._rights(volume, name) is None:
            return not volume.is_denied(self._lanes.principal)
        return bool((self._operations(volume, name) or 0) >> operation & 1)

    def _unknown(self, volume: FarVolume, shown: str) -> Denied:
        """The denial of a topic that the client was not shown; if its owner does not answer,
        clients retry after the error."""
        if not volume.reachable:
            return not_ready(shown)
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{shown}' does not exist.", "names")

    def _forbidden(self, volume: FarVolume, name: LogicalName, shown: str) -> Denied:
        """The denial of an operation that the owner does not authorize the client to; if the owner
        has not reported any operations and does not answer, clients retry after the error."""
        if not volume.reachable and self._operations(volume, name) is None:
            return not_ready(shown)
        why = f"The owner of topic '{shown}' does not authorize the client to this."
        return Denied(TOPIC_AUTHORIZATION_FAILED, why, "access")

    # -- questions to owners -----------------------------------------------------------------------

    def _must_ask(self, volume: FarVolume, name: LogicalName, operation: int) -> bool:
        """Whether a topic has to be looked up before the request is decided. If the owner has
        allowed the operation but does not answer now, it need not be: then it is looked up again in
        the background."""
        if self._final:
            return False
        found, rights = self._known(volume, name), self._rights(volume, name)
        usable = found is not None and found.topic_id is not None
        usable = usable and self._allows(volume, name, operation)
        fresh = rights is not None and rights.age <= RIGHTS_SECONDS
        if usable and (fresh or operation == NOTHING):
            return False
        if usable and found is not None and found.topic_id is not None and not volume.reachable:
            self._lanes.learn_id(volume, found.topic_id)
            return False
        return True

    def _ask(self, volume: FarVolume, spelled: str, again: Callable[[], object]) -> None:
        self._names.setdefault(volume.path, set()).add(spelled)
        self._again.append(again)

    def _ask_id(self, volume: FarVolume, topic_id: bytes, again: Callable[[], object]) -> None:
        self._ids.setdefault(volume.path, set()).add(topic_id)
        self._again.append(again)

    @property
    def has_work(self) -> bool:
        """Whether there is work to do before the request is decided for good."""
        return bool(self._wanted or self._names or self._ids)

    async def prepare(self) -> None:
        """Look up unknown topics at their owners, and make the shadows that are needed."""
        doubted = {shadow for shadow in self._wanted if self._made.is_doubted(shadow)}
        for shadow in doubted:  # partitions may have been added to its topic
            origin = origin_of(shadow)
            if origin is not None and (volume := self._by_number.get(origin.number)) is not None:
                self._ids.setdefault(volume.path, set()).add(origin.topic_id)
        again, self._again = self._again, []
        paths = dict.fromkeys((*self._names, *self._ids))
        await self._lanes.at_once(map(self._look_up, paths))
        self._by_number = {each.number: each for each in self._lanes.volumes() if each.number}
        for each in paced(again):
            each()
        if self._wanted:
            await self._made.ensure(self._counts())

    async def _look_up(self, path: str) -> None:
        by_name, by_id = self._names.get(path, set()), self._ids.get(path, set())
        with suppress(VolumeUnreachable):
            await self._lanes.look_up(path, in_order(by_name), sorted(by_id))

    def _counts(self) -> dict[bytes, int]:
        """The partition counts of the shadows to make, by the owners' last answers."""
        counts = {}
        for shadow, count in paced(self._wanted.items()):
            found = self._origin(shadow)
            topic = None if found is None else self._known(*found)
            partitions = 0 if topic is None else topic.partitions
            counts[shadow] = min(max(count, partitions), MAX_PARTITIONS)
        return counts

    # -- responses ---------------------------------------------------------------------------------

    def shown(self, flat: bytes) -> bytes | None:
        """The listener's spelling of the topic behind a shadow, or None if the topic is not known,
        or the client may not describe it."""
        origin = origin_of(flat)
        if origin is None or origin.number not in self._by_number:
            return None
        found, lanes = self._origin(flat), self._lanes
        if found is not None:
            shown = lanes.names(found[0].path).spell(found[1])
            by_name = not origin.topic_id
            if shown is not None and self._describes(*found, shown, by_name=by_name):
                return shown.encode()
        # Even if other clients know the topic: a difference would show whether there is such a
        # topic.
        volume = self._by_number[origin.number]
        if volume.reachable and not volume.is_denied(lanes.principal) and lanes.waits_for(flat):
            self.unheard = True
        return None

    def _describes(
        self, volume: FarVolume, name: LogicalName, shown: str, *, by_name: bool
    ) -> bool:
        """Whether the owner has reported that the client may describe a topic that was shown to
        another client. ``by_name``: the shadow names a topic that did not exist when a member
        subscribed to it, so a report that there is no such topic counts, too."""
        principal, host, missing = self._lanes.principal, self._lanes.host, None
        if by_name:
            missing, rights = volume.missing_age(principal, host, name), self._rights(volume, name)
            age = missing if rights is None else rights.age
            if age is None or age > RIGHTS_SECONDS:
                self._lanes.learn_name(volume, shown)  # the next response has the result
        operations = self._operations(volume, name)
        if operations is not None:
            exists = by_name or self._known(volume, name) is not None
            return exists and bool(operations >> DESCRIBE & 1)
        return missing is not None

    def id_to_show(self, flat: bytes) -> bytes | None:
        """The topic id by which the client knows the topic behind a shadow, or None if it is
        unknown, or the client may not describe the topic."""
        origin = origin_of(flat)
        if origin is None or not origin.topic_id or self.shown(flat) is None:
            return None
        return origin.topic_id

    def missed(self, flat: bytes, partition: int) -> bool:
        """Note that the broker did not know a shadow's partition; returns whether it soon will."""
        found = self._origin(flat)
        topic = None if found is None else self._known(*found)
        if topic is None:
            return False
        doubted = self._made.doubt(flat)
        return doubted or partition < topic.partitions

    def _origin(self, flat: bytes) -> tuple[FarVolume, LogicalName] | None:
        """The volume of the topic behind a shadow, and its name there, or None if either is
        unknown."""
        origin: Origin | None = origin_of(flat)
        volume = None if origin is None else self._by_number.get(origin.number)
        if origin is None or volume is None:
            return None
        if not origin.topic_id:
            return volume, decode(origin.flat.decode(errors="replace"))
        name = volume.name_of(origin.topic_id, self._lanes.principal)
        rights = None if name is None else self._rights(volume, name)
        if rights is None or rights.age > RIGHTS_SECONDS:
            # A response does not wait for it; the next response has the result.
            self._lanes.learn_id(volume, origin.topic_id)
        return None if name is None else (volume, name)
