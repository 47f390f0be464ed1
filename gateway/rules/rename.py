"""Rename: edits that put flat names into a request, from the request's spans.

Names change only here and in ``restore``, on the hot path and in a request that the cold path has
stripped of its denied items. (Produce and Fetch have loops of their own.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.decision import Denied
from gateway.error_codes import INVALID_GROUP_ID, INVALID_REQUEST, UNKNOWN_TOPIC_ID
from gateway.rules.declaration import NOTHING, Needs
from gateway.rules.shadows import Far, not_ready
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.view import View
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.pausing import FEW, eased, paced
from protocol.primitives import compact_string, legacy_bytes, legacy_string
from protocol.splice import Edit
from protocol.subscription import rewrite_assignment, rewrite_subscription
from protocol.walkers import Span

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
GROUP_ID: Final = int(Kind.GROUP_ID)
TRANSACTIONAL_ID: Final = int(Kind.TRANSACTIONAL_ID)
PROTOCOL_TYPE: Final = int(Kind.PROTOCOL_TYPE)
SUBSCRIPTION: Final = int(Kind.SUBSCRIPTION)
ASSIGNMENT: Final = int(Kind.ASSIGNMENT)
ERROR_CODE: Final = int(Kind.ERROR_CODE)
REGEX: Final = int(Kind.REGEX)
REPLICA_ID: Final = int(Kind.REPLICA_ID)

EMBEDDED: Final = {SUBSCRIPTION: rewrite_subscription, ASSIGNMENT: rewrite_assignment}
"""The kinds of span whose bytes hold names by the consumer protocol -> the function that rewrites
them."""

IDS: Final = frozenset({GROUP_ID, TRANSACTIONAL_ID})

OF_ID: Final = bytes(17)
"""Precedes a broker's group or transactional id among the ``spelled_ids`` of a request, to tell it
from the other keys, which are topic ids of 16 bytes."""

MAX_EMBEDDED: Final = 100_000
"""Names in the members' bytes of one request: as many as a request may name elsewhere."""

CONSUMER: Final = b"consumer"
NO_ID: Final = bytes(16)

NO_REPLICA_IDS: Final = frozenset({-1})
"""The replica id of a consumer; a debugging consumer (-2) would read beyond the high watermark."""

NO_GROUP: Final = Denied(INVALID_GROUP_ID, "The group id is empty.", "names")

AN_EXPRESSION: Final = Denied(
    INVALID_REQUEST, "An expression is not evaluated over topics of everybody.", "request"
)
"""No expression reaches a broker: the gateway evaluates it first, and forwards names."""

_AS_CONSUMER: Final = (-1).to_bytes(4, "big", signed=True)
"""Replaces every replica id of ListOffsets and OffsetForLeaderEpoch. Clients send 0 (kafka-python)
or the schema's default -2, and Kafka responds to any, so a client gets a consumer's response. Fetch
is rejected instead, because a replica's Fetch moves the high watermark."""


@dataclass(slots=True)
class Rejections:
    """The items of one request that may not be forwarded as they are.

    ``topics`` maps raw names (or 16 id bytes) to their denials, ``ids`` maps raw group and
    transactional ids to theirs. ``aliases`` maps a second spelling of a topic to the first;
    ``id_aliases`` does so for group and transactional ids. ``unknown_ids``: the request has topic
    ids that this worker does not know; they are denied after the cluster was listed again.
    """

    topics: dict[bytes, Denied] = field(default_factory=dict)
    ids: dict[bytes, Denied] = field(default_factory=dict)
    aliases: dict[bytes, bytes] = field(default_factory=dict)
    id_aliases: dict[bytes, bytes] = field(default_factory=dict)
    unknown_ids: bool = False


class RequestRenamer:
    """Edits for one request.

    ``spelled`` collects flat name -> the client's spelling, ``spelled_ids`` the broker's topic id
    -> the id that the client used. In a tree ``spelled_ids`` also maps ``OF_ID`` and the broker's
    group or transactional id to the client's spelling, if this is not the listener's. ``ids``
    collects the broker's group and transactional ids. ``far`` has the topics of other volumes,
    whose shadows stand for them; None: such topics are rejected.
    """

    __slots__ = (
        "_absolute",
        "_access",
        "_embedded_names",
        "_flexible",
        "_index",
        "_needs",
        "_on_topic",
        "_view",
        "edits",
        "far",
        "ids",
        "rejections",
        "spelled",
        "spelled_ids",
    )

    def __init__(
        self,
        access: Access,
        needs: Needs,
        index: TopicIndex,
        flexible: bool,
        spelled: dict[bytes, bytes],
        far: Far | None = None,
    ) -> None:
        self._access = access
        self.far = far
        self._needs = needs
        self._on_topic = needs.topic
        if needs.instead and access.authorizes and access.cluster(needs.instead) is None:
            self._on_topic = NOTHING
        self._view = access.view
        self._index = index
        self._flexible = flexible
        self.spelled = spelled
        self.spelled_ids: dict[bytes, bytes] = {}
        self.ids: set[bytes] = set()
        self.edits: list[Edit] = []
        self.rejections: Rejections | None = None
        self._absolute = False
        self._embedded_names = 0

    def add(self, spans: Sequence[Span], protocol_type: bytes | None = CONSUMER) -> None:
        """Decide each span, in order; a rejected span makes no edit.

        ``protocol_type`` is the group's type if no span holds it.
        """
        for kind, start, stop, value in spans if len(spans) <= FEW else paced(spans):
            if value is None:
                continue
            if kind == TOPIC_NAME:
                self._topic(start, stop, value)
            elif kind == TOPIC_ID:
                self._topic_id(start, stop, value)
            elif kind == GROUP_ID:
                self._group(start, stop, value)
            elif kind == TRANSACTIONAL_ID:
                self.transactional_id(start, stop, value)
            elif kind == PROTOCOL_TYPE:
                protocol_type = value
            elif kind == REPLICA_ID and value not in NO_REPLICA_IDS:
                self.edits.append((start, stop, _AS_CONSUMER))
            elif kind in EMBEDDED and protocol_type == CONSUMER:
                self._embedded(start, stop, value, EMBEDDED[kind])
            elif kind == REGEX and value:
                self._rejected().ids.setdefault(value, AN_EXPRESSION)
        if self._absolute:
            self._keep_spellings([(span[0], span[3]) for span in eased(spans) if span[0] in IDS])

    def transactional_id(self, start: int, stop: int, value: bytes) -> None:
        """Decide a transactional id that the walker cannot recognize (a coordinator key)."""
        found = self._access.transactional_id(self._needs.transactional_id, value)
        self._id(start, stop, value, found)

    def _group(self, start: int, stop: int, value: bytes) -> None:
        found: bytes | Denied
        if value or self._needs.empty_group or not self._view.id_prefix:
            found = self._access.group(self._needs.group, value)
        else:
            found = NO_GROUP
        self._id(start, stop, value, found)

    def _topic(self, start: int, stop: int, value: bytes) -> None:
        # Java's client sends an empty name beside a topic id; a broker rejects an empty name alone.
        if not value:
            return
        found = self._access.topic(self._on_topic, value)
        if isinstance(found, Denied) and found.rule == "volume" and self.far is not None:
            found = self.far.topic(self._on_topic, value)
        if isinstance(found, Denied):
            why = found.for_description() if self._needs.tells_illegal else found
            self._rejected().topics[value] = why
            return
        flat = found.flat
        first = self.spelled.setdefault(flat, value)
        if first != value:
            self._rejected().aliases[value] = first
        elif flat != value:
            new = found.flat_compact if self._flexible else found.flat_legacy
            self.edits.append((start, stop, new))

    def _topic_id(self, start: int, stop: int, value: bytes) -> None:
        if value == NO_ID:
            return
        view, index = self._view, self._index
        flat = view.flat_of_id(value, index)
        if flat is None:
            heard_of = index.name_of(value) is not None
            if self.far is not None and not heard_of and self._far_id(start, stop, value):
                return
            rejected = self._rejected()
            rejected.unknown_ids |= not heard_of
            rule = "access" if heard_of else "topic_id"
            rejected.topics[value] = Denied(UNKNOWN_TOPIC_ID, "Unknown topic id.", rule)
            return
        denied = self._access.by_id(self._on_topic, flat, value)
        if denied is not None:
            self._rejected().topics[value] = denied
            return
        own = view.id_to_broker(value, index) if view.has_topic_ids else value
        self._own_id(start, stop, value, own)

    def _far_id(self, start: int, stop: int, value: bytes) -> bool:
        """Decide the id of another volume's topic. Returns False if no other volume has the id."""
        assert self.far is not None
        found = self.far.topic_id(self._on_topic, value)
        if found is None:
            return False
        if isinstance(found, Denied):
            self._rejected().topics[value] = found
            return True
        own = self._index.id_of(found.flat)
        if own is None:
            self._rejected().topics[value] = not_ready(found.logical)
        else:
            self._own_id(start, stop, value, own)
        return True

    def _own_id(self, start: int, stop: int, value: bytes, own: bytes) -> None:
        if self.spelled_ids.setdefault(own, value) != value:
            why = "The topic is already in this request, under another topic id."
            self._rejected().topics[value] = Denied(INVALID_REQUEST, why, "spelling")
        elif own != value:
            self.edits.append((start, stop, own))

    def _id(self, start: int, stop: int, value: bytes, found: bytes | Denied) -> None:
        if isinstance(found, Denied):
            self._rejected().ids.setdefault(value, found)
            return
        self.ids.add(found)
        if found != value:
            self.edits.append((start, stop, wire_string(found, self._flexible)))
            if self._view.settings.mounts is not None:
                self._absolute = True

    def _keep_spellings(self, ids: Sequence[tuple[int, bytes | None]]) -> None:
        """Keep the client's spellings of its ids for the response. A second spelling of an id is
        rejected, and its answer is copied from the first. Many ids may take several slices."""
        view = self._view
        denied = self.rejections.ids if self.rejections is not None else {}
        firsts: dict[tuple[int, bytes], bytes] = {}
        for kind, value in eased(ids):
            if not value or value in denied:
                continue
            own = view.id_prefix + view.own_id(value)
            first = firsts.setdefault((kind, own), value)
            if first != value:
                self._rejected().id_aliases[value] = first
            elif view.id_to_client(own) != value:
                self.spelled_ids[OF_ID + own] = value

    def _embedded(
        self,
        start: int,
        stop: int,
        value: bytes,
        rewrite: Callable[[bytes, Callable[[bytes], bytes | None]], bytes],
    ) -> None:
        """Rewrite the names inside a member's bytes. If a topic cannot exist, or if the client may
        not describe it, its name is left out, not rejected, because Kafka lets a consumer subscribe
        to topics that do not exist."""
        if not value:
            return
        new = rewrite(value, self._flat_or_nothing)
        if new != value:
            self.edits.append((start, stop, wire_bytes(new, self._flexible)))

    def _flat_or_nothing(self, name: bytes) -> bytes | None:
        self._embedded_names += 1
        if self._embedded_names > MAX_EMBEDDED:
            raise ProtocolError(f"members name more than {MAX_EMBEDDED} topics in one request")
        found = self._access.subscribed(name)
        if isinstance(found, Denied):
            if found.rule != "volume" or self.far is None:
                return None
            far = self.far.subscribed(name)
            if far is not None:
                self.spelled[far] = name
            return far
        before = self.spelled.get(found.flat, name)
        if before != name and (why := one_by_link(self._view, before, name)) is not None:
            self._rejected().ids.setdefault(name, why)
        self.spelled[found.flat] = name
        return found.flat

    def _rejected(self) -> Rejections:
        if self.rejections is None:
            self.rejections = Rejections()
        return self.rejections


def one_by_link(view: View, first: bytes, second: bytes) -> Denied | None:
    """The denial of a subscription to both names of a topic, if one of them is a link: both would
    be the same partition to the group, which assigns it under a single name. None if the names are
    spellings of the same name, or one is an alias."""
    one, other = view.subscribed(first), view.subscribed(second)
    if isinstance(one, Denied) or isinstance(other, Denied) or one.logical == other.logical:
        return None
    if not (one.link or other.link):
        return None
    names = " and ".join(f"'{name.decode(errors='replace')}'" for name in sorted((first, second)))
    why = f"{names} are one topic, by a link; subscribe to one of the two names."
    return Denied(INVALID_REQUEST, why, "link")


def wire_string(value: bytes, flexible: bool) -> bytes:
    """A string as it stands on the wire, with its length."""
    return compact_string(value) if flexible else legacy_string(value)


def wire_bytes(value: bytes, flexible: bool) -> bytes:
    """A bytes field as it stands on the wire: int32 length, or a compact string's form."""
    return compact_string(value) if flexible else legacy_bytes(value)
