"""A view: the names of one listener's clients, resolved to flat names and back, with topic ids.

Every result is cached, because the hot path needs the same few names again and again. A new catalog
snapshot makes a new view, which takes over the cached spellings that are still valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.catalog.freezes import FROZEN, NOTHING_FROZEN, Frozen
from gateway.catalog.snapshot import Snapshot, differing
from gateway.decision import Denied, Resolved
from gateway.error_codes import (
    LEADER_NOT_AVAILABLE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.mounts import OtherVolume
from gateway.names import (
    MAX_FLAT_LENGTH,
    InvalidName,
    LogicalName,
    NoTopicHere,
    below,
    encode,
    flat_prefix,
    is_reserved_name,
)
from gateway.policies.tree import NO_POLICIES, Policies
from gateway.topic_ids import TopicIndex
from gateway.views import spelling
from gateway.views.names_of_view import CACHE_LIMIT, MAX_ID_BYTES, NAMESPACE_RULE, Names
from gateway.views.spelling import MAX_SPELLED, Spelling, ViewSettings
from protocol.pausing import FEW, eased, pause_point
from protocol.primitives import compact_string, legacy_string

__all__ = ["CACHE_LIMIT", "MAX_ID_BYTES", "Spelling", "View", "ViewSettings"]


class View(Names):
    """Names as one kind of client sees them, over one catalog snapshot.

    ``closed``: the view decides nothing, see :class:`gateway.views.closed_view.ClosedView`.
    ``policies`` hold the producer guarantees. ``frozen`` names are denied with an error that
    clients retry; a view by which a change is decided has no frozen names.
    """

    closed = False

    def __init__(
        self,
        settings: ViewSettings,
        snapshot: Snapshot,
        policies: Policies = NO_POLICIES,
        frozen: Frozen = NOTHING_FROZEN,
    ) -> None:
        super().__init__(settings, snapshot)
        self.policies = policies
        self.frozen = frozen
        self._freezes = bool(frozen)
        self.has_topic_ids = snapshot.has_topic_ids
        self._resolved: dict[bytes, Resolved | Denied] = {}
        self._spelled: dict[bytes, bytes | None] = {}
        self._guarantees: dict[bytes, int] = {}

    def successor(
        self,
        snapshot: Snapshot,
        policies: Policies | None = None,
        frozen: Frozen = NOTHING_FROZEN,
    ) -> View:
        """The same view over a newer snapshot, or with other ``policies`` or ``frozen`` names.

        A listing needs the spelling of every topic, so the new view takes over the spellings of
        topics that have not changed. May take several slices.
        """
        view = View(self.settings, snapshot, policies or self.policies, frozen)
        kept = dict(self._spelled)
        before = self.snapshot
        if snapshot.topics is not before.topics:
            for flat in eased(differing(before.topics, snapshot.topics)):
                kept.pop(flat.encode(), None)
        if snapshot.links is not before.links:
            for name in eased(differing(before.links, snapshot.links)):
                # The link's topic, and a topic that is stored under the link's name.
                for one in (before.links.get(name), snapshot.links.get(name)):
                    kept.pop(b"" if one is None else one.flat.encode(), None)
                kept.pop(encode(name).encode(), None)
        if snapshot.namespaces is not before.namespaces:
            touched = tuple(differing(before.namespaces, snapshot.namespaces))
            if len(touched) > FEW:
                # Comparing every spelling with every namespace would take seconds.
                return view
            prefixes = tuple(flat_prefix(path).encode()[:-1] for path in touched)
            held = {
                flat.encode()
                for flat, entry in eased(snapshot.topics.items())
                if not entry.name.namespace or entry.name.namespace.startswith(touched)
            }
            held.update(link.flat.encode() for link in eased(snapshot.links.values()))
            kept = {
                flat: shown
                for flat, shown in eased(kept.items())
                if not flat.startswith(prefixes) and flat not in held
            }
        view._spelled = kept
        return view

    def resolve(self, spelled: bytes) -> Resolved | Denied:
        """The topic that a client's spelling names; denied as unknown if the client may not name
        it."""
        found = self._resolved.get(spelled)
        if found is None:
            if len(spelled) > MAX_SPELLED:
                return self._resolve(spelled)
            if len(self._resolved) >= CACHE_LIMIT:
                self._resolved.clear()
            found = self._resolved[spelled] = self._resolve(spelled)
        return found

    def thawed(self) -> View:
        """The same view without frozen names."""
        return View(self.settings, self.snapshot, self.policies)

    def subscribed(self, spelled: bytes) -> Resolved | Denied:
        """The topic of a name in a subscription, even if the name is frozen: a member that lost a
        topic for a moment would lose its partitions until it joins again."""
        return self._led_to(spelled) if self._freezes else self.resolve(spelled)

    def spell(self, flat: bytes) -> bytes | None:
        """A flat name in the listener's spelling; None for a topic that the view may not see."""
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
        """Whether a listing shows this flat name. It shows no topic outside a home, and topics
        below the view's own namespace only with ``list_subtree``."""
        if self.spell(flat) is None:
            return False
        return self.lists_namespace(self.name_of(flat).namespace)

    def listed(self, flat: bytes) -> bytes | None:
        """The name by which a listing with one name for each topic shows this flat name: the name
        that :meth:`spell` spells, or else a link; None if a listing does not show the topic."""
        if self.lists(flat):
            return self.spell(flat)
        return next((link for _, link in self.listed_links(flat)), None)

    def listed_links(self, flat: bytes) -> Iterator[tuple[LogicalName, bytes]]:
        """The links to a topic in a listing: their names, and the listener's spellings. None if the
        view does not show the topic."""
        links = self.snapshot.links_of(flat.decode(errors="replace"))
        if links and self.spell(flat) is not None:
            for name in links:
                shown = self.spell_name(name) if self.lists_namespace(name.namespace) else None
                if shown is not None:
                    yield name, shown

    def lists_namespace(self, namespace: str) -> bool:
        """Whether a listing shows the topics of this namespace."""
        settings = self.settings
        if settings.list_subtree:
            return below(namespace, settings.home) is not None
        return namespace == settings.home

    # -- topic ids ------------------------------------------------------------------------------

    def flat_of_id(self, topic_id: bytes, index: TopicIndex) -> bytes | None:
        """The flat name of the topic that a client knows by this id, if the view may see the topic.
        A moved topic has only its virtual ids, unless an alias keeps the broker's id."""
        found = self.snapshot.by_topic_id(topic_id) if self.has_topic_ids else None
        if found is not None:
            flat, name = found
            if self._freezes and self.frozen.holds_name(name):
                return None
            return flat.encode() if self._reaches(name) else None
        known = index.name_of(topic_id)
        if known is None or (self._freezes and self._is_frozen(known)):
            return None
        if self.has_topic_ids:
            entry = self.snapshot.topics.get(known.decode())
            if entry is not None:
                return known if any(map(self._reaches, entry.names_under(None))) else None
        return known if self.spell(known) is not None else None

    def id_to_broker(self, topic_id: bytes, index: TopicIndex) -> bytes:
        """The broker's own id behind an id that :meth:`flat_of_id` resolves. Any other id is
        returned unchanged, because the broker does not know virtual ids."""
        found = self.snapshot.by_topic_id(topic_id)
        if found is None:
            return topic_id
        return index.id_of(found[0].encode()) or topic_id

    def reaches(self, flat: bytes) -> bool:
        """Whether this view may see a topic under any of its names, including aliases."""
        text = flat.decode(errors="replace")
        entry = self.snapshot.topics.get(text)
        if entry is None:
            return self.spell(flat) is not None
        return any(map(self._reaches, (*entry.names, *self.snapshot.links_of(text))))

    def spell_under(self, flat: bytes, topic_id: bytes) -> bytes | None:
        """The name, in the listener's spelling, of a topic that a client requested by id; None if
        the view may not see the topic under any name with that id."""
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
        """The virtual id of a topic under the client's own ``spelled`` name, or else under the name
        that this view shows; None: the broker's own id."""
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

    # -- names that are not cached --------------------------------------------------------------

    def _is_frozen(self, flat: bytes) -> bool:
        """Whether a topic that clients know by the broker's own id is frozen."""
        text = flat.decode()
        entry = self.snapshot.topics.get(text)
        names = [self.snapshot.owner(text)] if entry is None else entry.names_under(None)
        return any(map(self.frozen.holds_name, names))

    def _reaches(self, name: LogicalName) -> bool:
        """Whether this view may see a topic of that name, should it exist."""
        settings = self.settings
        confined = settings.home and not settings.escape
        if (
            is_reserved_name(name)
            or settings.shut
            or (confined and below(name.namespace, settings.home) is None)
        ):
            return False
        return self.snapshot.missing_tier(name.namespace) is None

    def _resolve(self, spelled: bytes) -> Resolved | Denied:
        found = self._led_to(spelled)
        if not self._freezes or isinstance(found, Denied):
            return found
        return _FROZEN if self.frozen.holds(found.namespace, found.logical) else found

    def _led_to(self, spelled: bytes) -> Resolved | Denied:
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
        if is_reserved_name(name):
            return _unknown(f"Topic '{text}' is reserved and does not exist here.", "reserved")
        if missing is not None:
            deleting = missing in snapshot.namespaces
            state = "is being deleted" if deleting else "does not exist"
            advice = "" if deleting else "; create the namespace first"
            return _unknown(
                f"InvalidNamespaceException: namespace '{missing}' {state}, "
                f"so topic '{text}' cannot be used{advice}.",
                NAMESPACE_RULE,
            )
        entry = None if flat is None else snapshot.topics.get(flat)
        if entry is not None and snapshot.missing_tier(entry.name.namespace) is not None:
            flat = None  # an alias of a topic that is being deleted with its namespace
        # A topic of the same name has precedence over a link.
        link = snapshot.links.get(name)
        if link is not None and entry is not None and name in entry.names:
            link = None
        if flat is None:
            leads = " any more: it is a link whose topic was deleted" if link is not None else ""
            return _unknown(f"Topic '{text}' does not exist{leads}.", "names")
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


_FROZEN: Final = Denied(
    LEADER_NOT_AVAILABLE, "The topic is being moved or deleted; try again.", FROZEN
)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _unknown(message: str, rule: str, illegal: bool = False) -> Denied:
    return Denied(UNKNOWN_TOPIC_OR_PARTITION, message, rule, illegal=illegal)
