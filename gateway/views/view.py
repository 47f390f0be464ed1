"""A view: the names of one listener's clients, resolved to flat names and back, with topic ids.

Every result is cached, since the hot path needs the same few names again and again; a new catalog
snapshot makes a new view, which takes over the cached spellings that are still good.
"""

from __future__ import annotations

from typing import Final

from gateway.catalog.entities import Link
from gateway.catalog.snapshot import Snapshot, differing
from gateway.decision import Denied, Resolved
from gateway.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    INVALID_GROUP_ID,
    INVALID_REQUEST,
    NOT_COORDINATOR,
    NOT_LEADER_OR_FOLLOWER,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.mounts import OtherVolume, prefixes
from gateway.names import (
    DELIMITER,
    MAX_FLAT_LENGTH,
    SLASH,
    InvalidName,
    LogicalName,
    NoTopicHere,
    encode,
    flat_prefix,
    is_reserved,
)
from gateway.policies.tree import NO_POLICIES, Policies
from gateway.topic_ids import TopicIndex
from gateway.views import absolute, spelling
from gateway.views.spelling import MAX_SPELLED, Spelling, ViewSettings, below
from protocol.pausing import pause_point
from protocol.primitives import compact_string, legacy_string

__all__ = ["Spelling", "View", "ViewSettings"]

CACHE_LIMIT: Final = 100_000
"""Names cached per direction; a client that uses more distinct ones empties the cache."""

MAX_ID_BYTES: Final = 32_767
"""The longest string of a non-flexible version (int16 length)."""


class View:
    """Names as one kind of client sees them, over one catalog snapshot.

    ``closed``: it decides nothing, see :class:`gateway.views.closed_view.ClosedView`.
    ``policies`` hold the producer guarantees.
    """

    closed = False

    def __init__(
        self, settings: ViewSettings, snapshot: Snapshot, policies: Policies = NO_POLICIES
    ) -> None:
        self.settings = settings
        self.snapshot = snapshot
        self.policies = policies
        self.has_topic_ids = snapshot.has_topic_ids
        self.id_prefix = flat_prefix(settings.home).encode()
        self._resolved: dict[bytes, Resolved | Denied] = {}
        self._spelled: dict[bytes, bytes | None] = {}
        self._guarantees: dict[bytes, int] = {}
        self._volumes: dict[bytes, str] = {}
        self._volumes_of_ids: dict[bytes, str] = {}

    def successor(self, snapshot: Snapshot, policies: Policies | None = None) -> View:
        """The same view over a newer snapshot, or with other ``policies``.

        A listing needs the spelling of every topic, so the spellings of topics that have not
        changed are taken over.
        """
        view = View(self.settings, snapshot, policies or self.policies)
        kept = dict(self._spelled)
        before = self.snapshot
        if snapshot.topics is not before.topics:
            for flat in differing(before.topics, snapshot.topics):
                kept.pop(flat.encode(), None)
        if snapshot.links is not before.links:
            for name in differing(before.links, snapshot.links):
                # The topic that it leads to, and one that is stored by its name.
                for one in (before.links.get(name), snapshot.links.get(name)):
                    kept.pop(b"" if one is None else one.flat.encode(), None)
                kept.pop(encode(name).encode(), None)
        if snapshot.namespaces is not before.namespaces:
            touched = tuple(differing(before.namespaces, snapshot.namespaces))
            prefixes = tuple(flat_prefix(path).encode()[:-1] for path in touched)
            held = {
                flat.encode()
                for flat, entry in snapshot.topics.items()
                if not entry.name.namespace or entry.name.namespace.startswith(touched)
            }
            held.update(link.flat.encode() for link in snapshot.links.values())
            kept = {
                flat: shown
                for flat, shown in kept.items()
                if not flat.startswith(prefixes) and flat not in held
            }
        view._spelled = kept
        return view

    def resolve(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names; denied as unknown when it may not be named."""
        found = self._resolved.get(spelled)
        if found is None:
            if len(spelled) > MAX_SPELLED:
                return self._resolve(spelled)
            if len(self._resolved) >= CACHE_LIMIT:
                self._resolved.clear()
            found = self._resolved[spelled] = self._resolve(spelled)
        return found

    def spell(self, flat: bytes) -> bytes | None:
        """A flat name in the listener's spelling; None when this view may not see it."""
        try:
            return self._spelled[flat]
        except KeyError:
            if len(flat) > MAX_FLAT_LENGTH:
                return None
            if len(self._spelled) >= CACHE_LIMIT:
                self._spelled.clear()
            text = flat.decode(errors="replace")
            shown = spelling.spell(self.settings, self.snapshot, text)
            found = self._spelled[flat] = None if shown is None else shown.encode()
            return found

    def guarantee_of(self, flat: bytes) -> int:
        """The producer guarantee of a topic (``Resolved.guarantee``), by its flat name."""
        found = self._guarantees.get(flat)
        if found is None:
            if len(self._guarantees) >= CACHE_LIMIT:
                self._guarantees.clear()
            namespace = self.snapshot.owner(flat.decode(errors="replace")).namespace
            found = self._guarantees[flat] = self.policies.guarantee(namespace).flags
        return found

    def lists(self, flat: bytes) -> bool:
        """Whether a listing shows this flat name: none outside a home, and those below the view's
        own namespace only with ``list_subtree``."""
        if self.spell(flat) is None:
            return False
        return self.lists_namespace(self.name_of(flat).namespace)

    def lists_namespace(self, namespace: str) -> bool:
        """Whether a listing shows the topics of this namespace."""
        settings = self.settings
        if settings.list_subtree:
            return below(namespace, settings.home) is not None
        return namespace == settings.home

    def name_of(self, flat: bytes) -> LogicalName:
        """The name that a topic has in this view, by which its clients are authorized: its own or,
        where the view does not reach that, its first link there."""
        text = flat.decode(errors="replace")
        return spelling.name_shown(self.settings, self.snapshot, text)

    def spell_name(self, name: LogicalName) -> bytes | None:
        """A topic's name, an alias or a link, in the listener's spelling; None when this view may
        not see it."""
        shown = spelling.spell_name(self.settings, self.snapshot, name)
        return None if shown is None else shown.encode()

    def link_named(self, spelled: str) -> Link | None:
        """The link that a spelling names, dangling or not; None: it names none."""
        try:
            name = self.parse(spelled)
        except InvalidName:
            return None
        snapshot = self.snapshot
        return None if snapshot.missing_tier(name.namespace) else snapshot.links.get(name)

    def parse(self, spelled: str) -> LogicalName:
        """The logical name a spelling stands for, whether or not its namespace exists.

        Raises :class:`gateway.names.InvalidName` for what names no topic, or none in this view.
        """
        return spelling.parse(self.settings, self.snapshot, spelled)

    def namespace_named(self, spelled: str) -> str | None:
        """The namespace that a name denotes, if it denotes one: see ``spelling``.

        Raises :class:`gateway.names.InvalidName`.
        """
        return spelling.parse_namespace(self.settings, self.snapshot, spelled)

    def namespace_at(self, path: str) -> str | None:
        """The namespace at a path that is written without a final delimiter, as for
        :meth:`namespace_named`; the view's mount is the default one, ``""``."""
        name = path + (SLASH if SLASH in path else DELIMITER)
        return "" if self.is_own_mount(name) else self.namespace_named(name)

    def ends_as_namespace(self, spelled: str) -> bool:
        """Whether a name has a final delimiter, and so denotes a namespace if anything."""
        slash = self.settings.reads_slashes and spelled.endswith(SLASH)
        return slash or spelled.endswith(DELIMITER)

    def directory_named(self, spelled: str) -> str | None:
        """The path of a directory of the tree that a name denotes: see ``spelling``."""
        return spelling.directory_named(self.settings, spelled)

    def is_outermost(self, spelled: str) -> bool:
        """Whether a name stands for the outermost namespace that the view has: ``:`` alone, in a
        tree the view's mount, and ``:`` if no cluster is mounted at the root."""
        settings = self.settings
        if spelled != DELIMITER and not (spelled == SLASH and settings.reads_slashes):
            return self.is_own_mount(spelled)
        mounts = settings.mounts
        if mounts is None or settings.home or mounts.at("") is None:
            return settings.is_relative
        return settings.volume == ""

    def is_own_mount(self, spelled: str) -> bool:
        """Whether a name, with its final delimiter, is the mount of the view's volume."""
        settings = self.settings
        if settings.mounts is None or settings.home or settings.shut:
            return False
        return spelled in prefixes(settings.volume)

    def spell_namespace(self, path: str) -> str | None:
        """A namespace as :meth:`namespace_named` reads it; None where it is not in this view."""
        return spelling.spell_namespace(self.settings, path)

    # -- volumes of a tree ----------------------------------------------------------------------

    def volume_of_topic(self, spelled: bytes) -> str:
        """The mount of the volume that a topic's or namespace's name is of, whatever volume this
        view is of; the listener's if nobody owns the name: its view says why."""
        try:
            return self._volumes[spelled]
        except KeyError:
            pass
        settings = self.settings
        if settings.mounts is None:
            return settings.volume
        owner = spelling.volume_of(settings, spelled.decode(errors="replace"))
        found = settings.listener_volume if owner is None else owner.path
        if len(spelled) <= MAX_SPELLED:
            if len(self._volumes) >= CACHE_LIMIT:
                self._volumes.clear()
            self._volumes[spelled] = found
        return found

    def volume_of_group(self, client_id: bytes) -> str:
        """The mount of the volume that a group or transactional id is of."""
        try:
            return self._volumes_of_ids[client_id]
        except KeyError:
            pass
        settings = self.settings
        if settings.mounts is None:
            return settings.volume
        found = absolute.parse_id(settings, settings.mounts, client_id)[0]
        if len(client_id) <= MAX_SPELLED:
            if len(self._volumes_of_ids) >= CACHE_LIMIT:
                self._volumes_of_ids.clear()
            self._volumes_of_ids[client_id] = found
        return found

    # -- topic ids ------------------------------------------------------------------------------

    def flat_of_id(self, topic_id: bytes, index: TopicIndex) -> bytes | None:
        """The flat name of the topic that a client knows by this id, if this view may see it.
        A moved topic has its virtual ids alone, unless an alias keeps the broker's."""
        found = self.snapshot.by_topic_id(topic_id) if self.has_topic_ids else None
        if found is not None:
            flat, name = found
            return flat.encode() if self._reaches(name) else None
        known = index.name_of(topic_id)
        if known is None:
            return None
        if self.has_topic_ids:
            entry = self.snapshot.topics.get(known.decode())
            if entry is not None:
                return known if any(map(self._reaches, entry.names_under(None))) else None
        return known if self.spell(known) is not None else None

    def id_to_broker(self, topic_id: bytes, index: TopicIndex) -> bytes:
        """The broker's own id behind one that :meth:`flat_of_id` resolves; else the same id, as
        the broker does not know a virtual one."""
        found = self.snapshot.by_topic_id(topic_id)
        if found is None:
            return topic_id
        return index.id_of(found[0].encode()) or topic_id

    def reaches(self, flat: bytes) -> bool:
        """Whether this view may see a topic under any of its names, aliases too."""
        text = flat.decode(errors="replace")
        entry = self.snapshot.topics.get(text)
        if entry is None:
            return self.spell(flat) is not None
        return any(map(self._reaches, (*entry.names, *self.snapshot.links_of(text))))

    def spell_under(self, flat: bytes, topic_id: bytes) -> bytes | None:
        """The name, in the listener's spelling, of a topic that a client requested by id; None
        when this view may not see it under any name of that id."""
        entry = self.snapshot.topics.get(flat.decode(errors="replace"))
        if entry is None:
            return self.spell(flat)
        virtual = self.snapshot.by_topic_id(topic_id)
        for name in entry.names_under(None) if virtual is None else (virtual[1],):
            shown = self.spell_name(name)
            if shown is not None:
                return shown
        return None

    def id_to_show(self, flat: bytes, spelled: bytes | None) -> bytes | None:
        """The virtual id of a topic under the client's own ``spelled`` name, or under the one that
        this view shows; None: the broker's id."""
        text = flat.decode(errors="replace")
        entry = self.snapshot.topics.get(text)
        if entry is None:
            return None
        if spelled is None and self.snapshot.links_of(text):
            spelled = self.spell(flat)
        if spelled is not None:
            found = self.resolve(spelled)
            if not isinstance(found, Denied) and found.flat == flat:
                return found.topic_id
        return entry.topic_id

    # -- groups and transactional ids -----------------------------------------------------------

    def group_to_broker(self, group: bytes) -> bytes | Denied:
        """A group id as the broker knows it: under a home it carries the home's flat prefix."""
        if not group and self.id_prefix:
            return Denied(INVALID_GROUP_ID, "The group id is empty.", "names")
        return self._id_to_broker(group, GROUP_AUTHORIZATION_FAILED, "Group")

    def transactional_id_to_broker(self, transactional_id: bytes) -> bytes | Denied:
        """A transactional id as the broker knows it, prefixed as a group id is."""
        if not transactional_id and self.id_prefix:
            return Denied(INVALID_REQUEST, "The transactional id is empty.", "names")
        code = TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return self._id_to_broker(transactional_id, code, "Transactional id")

    def id_to_client(self, broker_id: bytes) -> bytes | None:
        """A group or transactional id as this view shows it; None when it is not this view's."""
        if self.id_prefix:
            if not broker_id.startswith(self.id_prefix):
                return None
            return broker_id[len(self.id_prefix) :]
        if is_reserved(broker_id.decode(errors="replace")):
            return None
        mounts = self.settings.mounts
        if mounts is None or not broker_id:
            return broker_id
        if self.settings.home_elsewhere:
            return None
        shown = absolute.spell_id(self.settings, mounts, broker_id)
        return shown if len(shown) <= MAX_ID_BYTES else None

    def own_id(self, client_id: bytes) -> bytes:
        """A group or transactional id of this view's volume without the mount that a client may
        write before it."""
        settings = self.settings
        if settings.mounts is None:
            return client_id
        return absolute.parse_id(settings, settings.mounts, client_id)[1]

    def _id_to_broker(self, client_id: bytes, code: int, what: str) -> bytes | Denied:
        mounts = self.settings.mounts
        if mounts is not None:
            volume, own = absolute.parse_id(self.settings, mounts, client_id)
            if volume != self.settings.volume:
                named = client_id[:MAX_SPELLED].decode(errors="replace")
                why = f"{what} '{named}' is in the volume mounted at ':{volume}', not in this one."
                return Denied(NOT_COORDINATOR, why, "volume")
            if client_id and not own:
                return Denied(INVALID_GROUP_ID, f"{what} is empty after its mount.", "names")
            client_id = own
        broker_id = self.id_prefix + client_id
        if len(broker_id) > MAX_ID_BYTES:
            room = MAX_ID_BYTES - len(self.id_prefix)
            return Denied(INVALID_REQUEST, f"{what} is longer than {room} bytes.", "names")
        shown = broker_id.decode(errors="replace")
        if is_reserved(shown):
            return Denied(code, f"{what} '{shown}' is reserved for the gateway.", "reserved")
        return broker_id

    # -- names that are not cached --------------------------------------------------------------

    def _reaches(self, name: LogicalName) -> bool:
        """Whether this view may see a topic of that name, if there is one."""
        settings = self.settings
        confined = settings.home and not settings.escape
        if settings.shut or (confined and below(name.namespace, settings.home) is None):
            return False
        return self.snapshot.missing_tier(name.namespace) is None

    def _resolve(self, spelled: bytes) -> Resolved | Denied:
        pause_point()  # many new names in one request
        text = spelled.decode(errors="replace")
        snapshot = self.snapshot
        try:
            name = self.parse(text)
            missing = snapshot.missing_tier(name.namespace)
            flat = snapshot.flat_of(name)
        except OtherVolume as error:
            return Denied(NOT_LEADER_OR_FOLLOWER, _sentence(str(error)), "volume")
        except InvalidName as error:
            illegal = not isinstance(error, NoTopicHere)
            return _unknown(_sentence(str(error)), "names", illegal)
        if missing is not None:
            deleting = missing in snapshot.namespaces
            state = "is being deleted" if deleting else "does not exist"
            advice = "" if deleting else "; create the namespace first"
            return _unknown(
                f"InvalidNamespaceException: namespace '{missing}' {state}, "
                f"so topic '{text}' cannot be used{advice}.",
                "namespace",
            )
        entry = None if flat is None else snapshot.topics.get(flat)
        if entry is not None and snapshot.missing_tier(entry.name.namespace) is not None:
            flat = None  # an alias of a topic that is being deleted with its namespace
        # A topic that has the same name is the stronger of the two.
        link = snapshot.links.get(name)
        if link is not None and entry is not None and name in entry.names:
            link = None
        if flat is None:
            leads = " any more: it is a link whose topic was deleted" if link is not None else ""
            return _unknown(f"Topic '{text}' does not exist{leads}.", "names")
        if is_reserved(flat):
            return _unknown(f"Topic '{text}' is reserved and does not exist here.", "reserved")
        wire = flat.encode()
        topic_id = None if entry is None else entry.id_under(name)
        if link is not None:
            topic_id = link.topic_id
        return Resolved(
            name.namespace,
            str(name),
            wire,
            legacy_string(wire),
            compact_string(wire),
            topic_id,
            self.guarantee_of(wire),
            link is not None,
        )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _unknown(message: str, rule: str, illegal: bool = False) -> Denied:
    return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, rule, illegal=illegal)
