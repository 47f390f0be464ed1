"""The items of a traced request, their names at the broker and denials, and the errors in a
response."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import inf
from typing import Final
from uuid import UUID

from gateway.acl_model import Operation, ResourceType
from gateway.apis import walking
from gateway.apis.counting import ERROR_CODE
from gateway.decision import Denied
from gateway.error_codes import (
    GROUP_AUTHORIZATION_FAILED,
    INVALID_GROUP_ID,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.exchanges.exchange import Exchange, Plan
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Needs
from gateway.topic_ids import ID_LENGTH
from gateway.traced import MOST_ITEMS, MOST_SENTENCE, Item, TracedRequest, shortened
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.pausing import eased
from protocol.schema import error_name
from protocol.splice import Edit
from protocol.text import text_of
from protocol.walkers import Span

MOST_DENIALS: Final = 1_000
"""Denials of a request that are kept until its items are known; of its items all are kept."""

MOST_ALLOWED: Final = 10
"""Items of a request of which the ACL that allows them is told: it is looked up once more."""

_MOST_SPELLED: Final = 1_000
"""Names of a request that are looked at for what the broker gets."""

_KINDS: Final = {
    int(Kind.TOPIC_NAME): "topic",
    int(Kind.TOPIC_ID): "topic id",
    int(Kind.GROUP_ID): "group",
    int(Kind.TRANSACTIONAL_ID): "transactional id",
    int(Kind.COORDINATOR_KEY): "coordinator",
    int(Kind.RESOURCE_NAME): "resource",
}
_TOPIC_ID: Final = int(Kind.TOPIC_ID)
_NO_ID: Final = bytes(ID_LENGTH)
_SPELLED: Final = frozenset({"topic", "topic id", "resource"})
"""The kinds whose names an exchange remembers."""

_BY_TYPE: Final = {
    "TOPIC": "topic",
    "GROUP": "group",
    "TRANSACTIONAL_ID": "transactional id",
    "CLUSTER": "resource",
}
_BY_CODE: Final = {
    UNKNOWN_TOPIC_OR_PARTITION: "topic",
    TOPIC_AUTHORIZATION_FAILED: "topic",
    GROUP_AUTHORIZATION_FAILED: "group",
    INVALID_GROUP_ID: "group",
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
}
_MEANT: Final = {
    "topic": ("topic", "topic id", "resource"),
    "group": ("group", "coordinator", "resource"),
    "transactional id": ("transactional id", "coordinator", "resource"),
    "resource": tuple(_KINDS.values()),
}
"""The kinds of items that a denial of each kind may be about."""


class TracedItems:
    """Finds the items of a request, and puts denials to them."""

    __slots__ = ("_denials", "_named", "_request")

    def __init__(self, request: TracedRequest) -> None:
        self._request = request
        self._named: dict[bytes, list[Item]] = {}
        # By name and code, because a group and a topic may have one name.
        self._denials: dict[tuple[bytes, int], Denied] = {}

    def find(
        self,
        state: ConnectionState,
        exchange: Exchange,
        spans: list[Span],
        edits: Sequence[Edit] | None,
        *,
        rebuilt: bool,
    ) -> None:
        """Note the items of a request, each once, and the number of those beyond ``MOST_ITEMS``.
        The broker gets the client's bytes with ``edits``, or a request that was ``rebuilt``, or
        nothing."""
        request, flexible = self._request, exchange.client_plan.flexible
        request.items, request.more_items = [], 0
        self._named = {}
        names = _names(exchange) if rebuilt else {}
        for code, start, _, value in eased(spans):
            kind = _KINDS.get(code)
            if kind is None or not isinstance(value, bytes):
                continue
            if code == _TOPIC_ID and value == _NO_ID:
                continue  # the topic is named
            if any(item.kind == kind for item in self._named.get(value, ())):
                continue
            if len(request.items) >= MOST_ITEMS:
                request.more_items += 1
                continue
            at_broker = names.get(value) if kind in _SPELLED else None
            if edits is not None:
                at_broker = _edited(edits, start, value, is_id=code == _TOPIC_ID, flexible=flexible)
            item = Item(kind, shown(value, kind))
            if at_broker is not None:
                item.at_broker = shown(at_broker, kind)
            flat = None
            if code == _TOPIC_ID:
                flat = state.view.flat_of_id(value, state.worker.cluster.index)
                item.topic = text_of(flat or b"")
                # The gateway's own work reports an id as Java shows it.
                self._named[str(UUID(bytes=value)).encode()] = [item]
            if at_broker is not None and len(request.items) < MOST_ALLOWED:
                item.because = _allowed_by(state.access, exchange.plan.needs, kind, value, flat)
            request.items.append(item)
            self._named.setdefault(value, []).append(item)

    def find_spelled(self, exchange: Exchange) -> None:
        """Note the topics of a request that was forwarded while it arrived."""
        request = self._request
        for spelled, kind in ((exchange.spelled_ids, "topic id"), (exchange.spelled, "topic")):
            if request.items:
                return  # the topics by id are named for the counts
            for at_broker, name in islice((spelled or {}).items(), MOST_ITEMS):
                request.items.append(Item(kind, shown(name, kind), shown(at_broker, kind)))
            request.more_items = len(spelled or ()) - len(request.items)

    def deny(self, resource: bytes, denied: Denied) -> None:
        """Note a denial; it may come before the items are known, or after that."""
        if len(self._denials) < MOST_DENIALS or resource in self._named:
            self._denials[resource, denied.code] = denied

    def put_denials(self, topics: bool) -> None:
        """Put each denial to its item, or make an item of it. ``topics``: the API is about
        topics."""
        for (resource, code), denied in self._denials.items():
            kind = _BY_TYPE.get(denied.resource.partition(" ")[0]) or _BY_CODE.get(code, "")
            found = _of_kind(self._named.get(resource, []), kind) or self._added(
                resource, kind or ("topic" if topics else "resource"), denied
            )
            if found is None:
                continue
            found.at_broker = None
            found.error, found.rule = error_name(code), denied.rule
            found.because = shortened(denied.because, MOST_SENTENCE)
            found.message = shortened(denied.message, MOST_SENTENCE)

    def _added(self, resource: bytes, kind: str, denied: Denied) -> Item | None:
        """An item that no field of the request names; None if it is one too many."""
        request = self._request
        if kind == "topic" and len(resource) == ID_LENGTH and not text_of(resource).isprintable():
            kind = "topic id"
        name = shown(resource, kind) if resource else denied.resource
        item = Item(kind, name)
        if len(request.items) < MOST_ITEMS:
            request.items.append(item)
            return item
        # In the place of an allowed one, because operators look for the denied ones.
        request.more_items = request.more_items or 1
        allowed = [at for at, other in enumerate(request.items) if not other.error]
        if not allowed:
            return None
        request.items[allowed[-1]] = item
        return item


def _of_kind(items: list[Item], kind: str) -> Item | None:
    """The item that a denial of a kind is about ("": it is not known, but most are of topics)."""
    for item in items:
        if item.kind in (_MEANT[kind] if kind else _MEANT["topic"]):
            return item
    return items[0] if items and not kind else None


def _allowed_by(access: Access, needs: Needs, kind: str, name: bytes, flat: bytes | None) -> str:
    """The ACL, or the reason, for which an item is allowed; empty where no authorizer decides.
    ``flat``: the topic of an id."""
    if not isinstance(access, AuthorizedAccess):
        return ""
    operation, resource = 0, None
    if kind == "topic":
        operation, resource = needs.topic, access.topic_resource(name)
    elif kind == "topic id" and flat is not None:
        operation, resource = needs.topic, access.topic_id_resource(flat, name)
    elif kind == "group":
        operation, resource = needs.group, access.id_resource(ResourceType.GROUP, name)
    elif kind == "transactional id":
        operation = needs.transactional_id
        resource = access.id_resource(ResourceType.TRANSACTIONAL_ID, name)
    if not operation or resource is None:
        return ""
    verdict = access.verdict(Operation(operation), resource)
    return shortened(verdict.rule, MOST_SENTENCE) if verdict.allowed else ""


def _names(exchange: Exchange) -> dict[bytes, bytes]:
    """The names and topic ids that a request forwards: the client's -> the broker's."""
    names: dict[bytes, bytes] = {}
    for spelled in (exchange.spelled, exchange.spelled_ids):
        for at_broker, name in islice((spelled or {}).items(), _MOST_SPELLED):
            names[name] = at_broker
    return names


def _edited(
    edits: Sequence[Edit], start: int, value: bytes, *, is_id: bool, flexible: bool
) -> bytes | None:
    """The value of a field at ``start`` after the edits; None if more than the field is
    replaced."""
    last = bisect_right(edits, (start, inf)) - 1
    if last < 0:
        return value
    at, stop, new = edits[last]
    if at != start:
        return value if stop <= start else None
    return new if is_id else _without_length(new, flexible=flexible)


def _without_length(text: bytes, *, flexible: bool) -> bytes:
    """A text as it stands on the wire, without the length before it."""
    size = 2
    if flexible:
        size = 1
        while size < len(text) and text[size - 1] & 0x80:
            size += 1
    return text[size:]


def shown(name: bytes, kind: str) -> str:
    """A name as text, a topic id as Kafka's tools show it (``org.apache.kafka.common.Uuid``)."""
    if kind == "topic id":
        return urlsafe_b64encode(name[:ID_LENGTH]).decode().rstrip("=")
    return shortened(name)


def errors_of(plan: Plan, buf: bytes, start: int, end: int) -> dict[str, int]:
    """Kafka's names of the error codes in a response, and how often each is there."""
    try:
        spans = walking.response_spans(plan, buf, start, end)
    except ProtocolError:
        return {}  # its handler reads it in another way
    codes = Counter(value for kind, _, _, value in spans if kind == ERROR_CODE and value)
    return {error_name(code): count for code, count in codes.items()}
