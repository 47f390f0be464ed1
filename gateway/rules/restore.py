"""Restore: the names in a response as its client knows them, and the gateway's addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from gateway.decision import Denied
from gateway.rules.rename import (
    CONSUMER,
    EMBEDDED,
    ERROR_CODE,
    GROUP_ID,
    OF_ID,
    PROTOCOL_TYPE,
    REGEX,
    TOPIC_ID,
    TOPIC_NAME,
    TRANSACTIONAL_ID,
    wire_bytes,
    wire_string,
)
from gateway.rules.shadows import Far, is_shadow
from gateway.topic_ids import TopicIndex
from gateway.views.access import DESCRIBE, Access
from gateway.virtual_brokers import ListenerAddresses
from protocol.entities import Kind
from protocol.pausing import FEW, eased, paced
from protocol.splice import Edit
from protocol.walkers import Span

ENDPOINT_NODE: Final = int(Kind.ENDPOINT_NODE)
HOST: Final = int(Kind.HOST)
PORT: Final = int(Kind.PORT)
NO_NODE: Final = -1
_NOWHERE_LEGACY: Final = b"\x00\x00"
_NOWHERE_COMPACT: Final = b"\x01"
_NO_PORT: Final = (-1).to_bytes(4, "big", signed=True)

MORE: Final = frozenset({HOST, int(Kind.ERROR_TEXT), int(Kind.SIZED)})
"""Kinds of a response that :class:`ResponseRenamer` leaves to its caller."""


class ResponseRenamer:
    """Edits for one response: each name as the request spelled it, or as the listener spells it.

    ``hidden`` collects flat names, and topic ids, of topics that the view may not see or the client
    may not describe, ``hidden_ids`` group ids that the view may not see: the caller drops their
    entries.
    ``errors`` collects the error codes in the response. ``more``: the response has addresses, texts
    or sized fields, which are left to the caller. ``far`` has the topics of other volumes, which
    replace their shadows (None: these are hidden). ``remembered``: the names are from earlier
    subscriptions, not from this request, so a name is used only if it still leads to its topic and
    the client may describe the topic. ``assigned``: topic ids are those of a member's assignment,
    which brokers do not authorize (KafkaApis: handleConsumerGroupHeartbeat).
    """

    __slots__ = (
        "_access",
        "_assigned",
        "_far",
        "_flexible",
        "_index",
        "_remembered",
        "_spelled",
        "_spelled_ids",
        "_view",
        "edits",
        "errors",
        "hidden",
        "hidden_ids",
        "more",
    )

    def __init__(
        self,
        access: Access,
        index: TopicIndex,
        flexible: bool,
        spelled: dict[bytes, bytes] | None,
        spelled_ids: dict[bytes, bytes] | None = None,
        *,
        far: Far | None = None,
        remembered: bool = False,
        assigned: bool = False,
    ) -> None:
        self._assigned = assigned
        self._far = far
        self._remembered = remembered
        self._access = access
        self._view = access.view
        self._index = index
        self._flexible = flexible
        self._spelled = spelled or {}
        self._spelled_ids = spelled_ids or {}
        self.edits: list[Edit] = []
        self.errors: list[int] = []
        self.hidden: set[bytes] = set()
        self.hidden_ids: set[bytes] = set()
        self.more = False

    def add(self, spans: Sequence[Span], protocol_type: bytes | None = CONSUMER) -> None:
        """Decide each span, in order. ``protocol_type`` is the group's type if no span holds it."""
        moved = self._view.has_topic_ids or self._far is not None
        for kind, start, stop, value in spans if len(spans) <= FEW else paced(spans):
            if value is None:
                continue
            if kind == TOPIC_NAME:
                self._topic(start, stop, value)
            elif kind == TOPIC_ID:
                if moved:
                    self._topic_id(start, stop, value)
            elif kind == ERROR_CODE:
                self.errors.append(value)
            elif kind in MORE:
                self.more = True
            elif kind == REGEX:
                # The expression of a member that joined the broker directly: it is over flat names.
                self.edits.append((start, stop, wire_string(b"", self._flexible)))
            elif kind in (GROUP_ID, TRANSACTIONAL_ID):
                self.id(start, stop, value)
            elif kind == PROTOCOL_TYPE:
                protocol_type = value
            elif kind in EMBEDDED and protocol_type == CONSUMER:
                self._embedded(start, stop, value, EMBEDDED[kind])

    def id(self, start: int, stop: int, value: bytes) -> None:
        """Decide a group or transactional id of the broker's."""
        shown = self._view.id_to_client(value)
        if self._spelled_ids and self._view.settings.mounts is not None:
            shown = self._spelled_ids.get(OF_ID + value, shown)
        if shown is None:
            if value:
                self.hidden_ids.add(value)
        elif shown != value:
            self.edits.append((start, stop, wire_string(shown, self._flexible)))

    def _topic_id(self, start: int, stop: int, value: bytes) -> None:
        """Replace a broker's topic id by the id that belongs to the name that the client knows,
        because a move gives the topic a new virtual topic id. Without moved topics the ids of this
        volume stay, in a tree, too."""
        shown = self._spelled_ids.get(value)
        flat = self._index.name_of(value)
        if shown is None and flat is not None:
            spelled = self._spelled.get(flat)
            if self._far is not None and is_shadow(flat):
                shown = self._far.id_to_show(flat, spelled)
                if shown is None:
                    self.hidden.add(value)
            elif self._view.has_topic_ids:
                own = self._view.spell if self._assigned else self._access.shown
                spelled = spelled or own(flat)
                if spelled is None:
                    self.hidden.add(value)
                    return
                shown = self._view.id_to_show(flat, spelled)
        if shown is not None and shown != value:
            self.edits.append((start, stop, shown))

    def shown(self, flat: bytes) -> bytes | None:
        """A flat name as this response shows it, in a field, a member's bytes or an error text: the
        request's spelling, or else the listener's spelling if the client may describe the topic.
        None if the client may not know of the topic."""
        return self._called(flat) or self._described(flat)

    def _called(self, flat: bytes) -> bytes | None:
        """The client's own name for a flat name; None if it has no such name, or no longer."""
        spelled = self._spelled.get(flat)
        if spelled is None or not self._remembered:
            return spelled
        if self._far is not None and is_shadow(flat):
            return spelled if self._far.subscribed(spelled) == flat else None
        found = self._access.subscribed(spelled)
        return None if isinstance(found, Denied) or found.flat != flat else spelled

    def _topic(self, start: int, stop: int, value: bytes) -> None:
        if not value:
            return
        shown = self.shown(value)
        if shown is None:
            self.hidden.add(value)
        elif shown != value:
            self.edits.append((start, stop, wire_string(shown, self._flexible)))

    def _described(self, flat: bytes) -> bytes | None:
        """The name to show for a flat name that the request did not spell; None if the client may
        not describe the topic."""
        if self._far is not None and is_shadow(flat):
            return self._far.shown(flat)
        if self._spelled_ids and self._view.has_topic_ids:
            asked = self._spelled_ids.get(self._index.id_of(flat) or b"")
            if asked is not None:
                denied = self._access.by_id(DESCRIBE, flat, asked)
                return None if denied else self._view.spell_under(flat, asked)
        return self._access.shown(flat)

    def _embedded(
        self,
        start: int,
        stop: int,
        value: bytes,
        rewrite: Callable[[bytes, Callable[[bytes], bytes | None]], bytes],
    ) -> None:
        if not value:
            return
        new = rewrite(value, self.shown)
        if new != value:
            self.edits.append((start, stop, wire_bytes(new, self._flexible)))


def endpoint_edits(
    spans: Sequence[Span], addresses: ListenerAddresses, flexible: bool
) -> list[Edit]:
    """Edits that put the gateway's host and port for each node. A node without an address gets an
    empty host and port, so that no broker address passes even if its endpoint was not dropped
    (:func:`hidden_nodes`).

    Host and port follow the node id that they belong to, in one struct (Metadata, FindCoordinator,
    DescribeCluster, the NodeEndpoints of KIP-951).
    """
    edits: list[Edit] = []
    host, port = _NOWHERE_LEGACY, _NO_PORT
    for kind, start, stop, value in eased(spans):
        if kind == ENDPOINT_NODE:
            endpoint = addresses.endpoint(value) if value != NO_NODE else None
            if endpoint is not None:
                host = endpoint.host_compact if flexible else endpoint.host_legacy
                port = endpoint.port_bytes
            else:
                host, port = _NOWHERE_COMPACT if flexible else _NOWHERE_LEGACY, _NO_PORT
        elif kind == HOST:
            edits.append((start, stop, host))
        elif kind == PORT:
            edits.append((start, stop, port))
    return edits


def named_brokers(spans: Sequence[Span]) -> Iterator[tuple[int, str, int]]:
    """Node id, host and port of each broker that a response names with its address."""
    node, host = NO_NODE, ""
    for kind, _, _, value in eased(spans):
        if kind == ENDPOINT_NODE:
            node = value
        elif kind == HOST:
            host = "" if value is None else value.decode(errors="replace")
        elif kind == PORT and node != NO_NODE:
            yield node, host, value


def hidden_nodes(spans: Sequence[Span], addresses: ListenerAddresses) -> set[int]:
    """The node ids in a response for which the listener has no address."""
    return {
        value
        for kind, _, _, value in eased(spans)
        if kind == ENDPOINT_NODE and value != NO_NODE and addresses.endpoint(value) is None
    }
