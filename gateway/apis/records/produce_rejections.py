"""Produce requests that cannot be forwarded unchanged: rejected topics, and versions 0 to 2.

Kafka 4 has no message definition of versions 0 to 2, so they are parsed by hand. A request holds
acks (int16), timeout (int32), and topics of a name and partitions, each of a number (int32) and
record bytes. A response holds topics of a name and partitions, each of a number, an error code, a
base offset and, in v2, the append time; v1 and v2 end with the throttle time.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from gateway.apis import generic, walking
from gateway.apis.counting import PRODUCE, TOPIC_ID, TOPIC_NAME
from gateway.apis.records import producer_guarantee as guarantee
from gateway.apis.records.producer_guarantee import ACKS_ALL, ACKS_NONE, RAISED_SIZE, Batch
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_REQUEST,
    POLICY_VIOLATION,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
from gateway.exchanges.exchange import Exchange, Forward, Outcome, Unanswerable
from gateway.exchanges.state import ConnectionState
from gateway.policies.tree import UPGRADE_ACKS
from gateway.rules.rename import Rejections, RequestRenamer
from gateway.views.access import WRITE
from gateway.views.authorized_access import ACL_RULE
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.pausing import copied, eased
from protocol.primitives import legacy_string
from protocol.records import batch_facts
from protocol.splice import Edit, splice
from protocol.text import as_brokers_read
from protocol.walkers import Span

TRANSACTIONAL_ID: Final = int(Kind.TRANSACTIONAL_ID)
ACKS: Final = int(Kind.ACKS)
RECORDS: Final = int(Kind.RECORDS)

OLD_VERSIONS: Final = range(3)
"""Advertised because librdkafka checks for these versions (KIP-896), and always rejected."""

MOST_OLD: Final = 2_000
"""Topics and partitions in a request of an old version; the response has an error for each."""

LONGEST_OLD: Final = 64 * 1024
"""Bytes of the names in a request of an old version."""

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_NO_LONG: Final = (-1).to_bytes(8, "big", signed=True)
_NO_THROTTLE: Final = bytes(4)


def reject(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int, spans: list[Span]
) -> Outcome:
    """Forward a request without its rejected topics, whose errors the response gets.

    Raises Unanswerable for acks=0, which has no response to carry the errors.
    """
    exchange.flow = state.flow(PRODUCE, exchange.plan.version, b"")
    named = next((span[3] for span in eased(spans) if span[0] == TRANSACTIONAL_ID), None)
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    rejections = renamer.rejections
    if state.tree is not None and rejections is not None:
        _keep_to_volume(rejections, named)
    written_as = transaction_of(state, buf, end, spans)
    if isinstance(written_as, Denied):
        rejections = rejections or Rejections()
        rejections.ids.setdefault(b"", written_as)
    else:
        exchange.transactional_id = written_as
    weak, counts = _weak_topics(state, renamer, buf, end, spans)
    rejected = weak | _second_names(state, renamer, _numbered(buf, end, spans) - weak.keys())
    if state.marked_ids_only:
        rejected |= _unmarked_topics(state, renamer, buf, end, spans)
    if rejected:
        rejections = rejections or Rejections()
        rejections.topics |= rejected
    body = copied(buf, start, end)
    if rejections is None:
        # An empty name or id names no topic, so the broker rejects it.
        rest = Forward(exchange.plan, splice(buf, start, end, renamer.edits))
        return _raise_acks_of_rest(state, exchange, rest)
    outcome = generic.reject(state, exchange, body, rejections)
    if generic.look_again(exchange, rejections) is not None:
        return outcome
    for what, flats in counts.items():
        flows = [state.flow(PRODUCE, exchange.plan.version, flat) for flat in flats]
        guarantee.count_rejected(flows, what)
    if any(kind == ACKS and value == ACKS_NONE for kind, _, _, value in eased(spans)):
        first = next(iter((rejections.topics | rejections.ids).values()), None)
        why = first.message if first else "two spellings of one topic"
        # As Kafka does: the producer would not notice the error otherwise.
        raise Unanswerable(f"Produce with acks=0 was rejected: {why}")
    return (
        _raise_acks_of_rest(state, exchange, outcome) if isinstance(outcome, Forward) else outcome
    )


def _keep_to_volume(rejections: Rejections, named: bytes | None) -> None:
    """Make the rejections final for topics outside the transaction's volume: after the errors of
    unknown names, a producer would send the records again elsewhere."""
    if named is None:
        return
    shown = named.decode(errors="replace")
    why = (
        f"Transactional id '{shown}' is in another volume than the topic, and a transaction keeps"
        " to one volume; write to topics of its own volume, or name the id in the topic's."
    )
    denied = Denied(POLICY_VIOLATION, why, "volume")
    for items in (rejections.ids, rejections.topics):
        for item, found in items.items():
            if found.rule == "volume":
                items[item] = denied


def transaction_of(
    state: ConnectionState, buf: bytes, end: int, spans: list[Span]
) -> bytes | Denied | None:
    """The transactional id by which a request is authorized, or its denial; None if the request
    needs no transactional id.

    As in KafkaApis, the batches decide whether there is a transaction. For batches that have yet to
    arrive, the transactional id decides.
    """
    access = state.access
    named: bytes | None = None
    transactional = False
    for kind, _, stop, value in eased(spans):
        if kind == TRANSACTIONAL_ID:
            named = value
        elif kind == RECORDS and access.authorizes:
            facts = batch_facts(buf, stop, min(end, stop + value))
            transactional |= named is not None if facts is None else facts[2]
    if not access.authorizes:
        return named
    if not transactional:
        return None
    if named is None:
        why = "Transactional records were sent without a transactional id."
        return Denied(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, why, ACL_RULE)
    found = access.transactional_id(WRITE, named)
    return found if isinstance(found, Denied) else named


def _numbered(buf: bytes, end: int, spans: list[Span]) -> set[bytes]:
    """The names and ids of topics whose batches have, or may have, sequence numbers."""
    numbered: set[bytes] = set()
    topic = b""
    for kind, _, stop, value in eased(spans):
        if kind in (TOPIC_NAME, TOPIC_ID):
            topic = value
        elif kind == RECORDS:
            facts = batch_facts(buf, stop, min(end, stop + value))
            if facts is None or facts[1]:
                numbered.add(topic)
    return numbered


def _second_names(
    state: ConnectionState, renamer: RequestRenamer, numbered: set[bytes]
) -> dict[bytes, Denied]:
    """Denials for the ``numbered`` topics that this producer wrote to under another name before,
    because the broker counts sequence numbers per topic, and the producer counts them per name."""
    why = "This producer wrote to the topic under another name or id before; use a new producer."
    return {
        requested: Denied(INVALID_REQUEST, why, "spelling")
        for requested, flat in eased(_flat_names(state, renamer).items())
        if requested in numbered and state.produced_as(flat, requested) != requested
    }


def _weak_topics(
    state: ConnectionState, renamer: RequestRenamer, buf: bytes, end: int, spans: list[Span]
) -> tuple[dict[bytes, Denied], dict[str, list[bytes]]]:
    """Denials for the topics (in the client's spelling) whose guarantee the request does not meet,
    and their flat names by the weakness, to be counted when the denials are final."""
    view, flats = state.view, _flat_names(state, renamer)
    acks, batches = _batches(spans, flats)
    plain = guarantee.not_idempotent(view, buf, end, batches)
    denied: dict[bytes, Denied] = {}
    weak_acks: list[bytes] = []
    for requested, flat in flats.items():
        why = guarantee.acks_denial(view, flat, acks)
        if why is not None:
            weak_acks.append(flat)
        elif flat in plain:
            older = guarantee.has_older_format(buf, end, flat, batches)
            why = guarantee.idempotence_denial(view, flat, older=older)
        if why is not None:
            denied[requested] = why
    return denied, {f"acks{acks}": weak_acks, "not_idempotent": sorted(plain)}


def _unmarked_topics(
    state: ConnectionState, renamer: RequestRenamer, buf: bytes, end: int, spans: list[Span]
) -> dict[bytes, Denied]:
    """Denials for the topics of idempotent producers whose ids may also belong to other producers
    here."""
    flats = _flat_names(state, renamer)
    unmarked = guarantee.unmarked(buf, end, _batches(spans, flats)[1])
    return {name: guarantee.UNMARKED for name, flat in eased(flats.items()) if flat in unmarked}


def _raise_acks_of_rest(state: ConnectionState, exchange: Exchange, rest: Forward) -> Forward:
    """Forward the rest of a request that lost topics, and count it. If a topic requires acks=all,
    the request gets it, with a timeout_ms that is not too long."""
    body, index = rest.body, state.worker.cluster.index
    spans = walking.request_spans(rest.plan, body, 0, len(body), most=None)
    flats = {name: name for kind, _, _, name in eased(spans) if kind == TOPIC_NAME}
    flats |= {
        own: index.name_of(own) or b"" for kind, _, _, own in eased(spans) if kind == TOPIC_ID
    }
    acks, batches = _batches(spans, flats)
    exchange.upgraded = acks in guarantee.WEAK_ACKS and any(
        state.view.guarantee_of(flat) & UPGRADE_ACKS for flat in eased(flats.values())
    )
    guarantee.count_request(state, exchange, body, len(body), batches, acks)
    at = next(span[1] for span in eased(spans) if span[0] == ACKS)
    edits: list[Edit] = []
    if exchange.upgraded:
        edits.append((at, at + RAISED_SIZE, guarantee.raised(body, at)))
    else:
        guarantee.shorten(exchange, body, at, edits)
    return Forward(rest.plan, splice(body, 0, len(body), edits)) if edits else rest


def _flat_names(state: ConnectionState, renamer: RequestRenamer) -> dict[bytes, bytes]:
    """The names and ids in a request, in the client's spelling -> flat names."""
    name_of = state.worker.cluster.index.name_of
    flats = {requested: flat for flat, requested in eased(renamer.spelled.items())}
    return flats | {name: name_of(own) or b"" for own, name in eased(renamer.spelled_ids.items())}


def _batches(spans: list[Span], flats: dict[bytes, bytes]) -> tuple[int, list[Batch]]:
    """The acks of a request, and the batches of its topics (by name or id) that are in
    ``flats``."""
    acks = ACKS_ALL
    flat: bytes | None = None
    found: list[Batch] = []
    for kind, _, stop, value in spans:
        if kind == ACKS:
            acks = value
        elif kind in (TOPIC_NAME, TOPIC_ID):
            flat = flats.get(value)
        elif kind == RECORDS and flat is not None:
            found.append((flat, stop, stop + value))
    return acks, found


def reject_old(version: int, body: bytes, code: int) -> bytes:
    """The response to a Produce request of version 0 to 2, with ``code`` for each partition.

    Empty for acks=0, which has no response. Raises ProtocolError, also for a request beyond
    ``MOST_OLD`` or ``LONGEST_OLD``, which is answered in a single turn of the event loop.
    """
    try:
        (acks,) = _INT16.unpack_from(body, 0)
        parts, end = _old_topics(version, body, code)
    except error as short:
        raise ProtocolError(f"Produce v{version} request ends too early") from short
    if end != len(body):
        raise ProtocolError(f"Produce v{version} request has {len(body) - end} bytes too many")
    if acks == ACKS_NONE:
        return b""
    return b"".join(parts) + (_NO_THROTTLE if version >= 1 else b"")


def _old_topics(version: int, body: bytes, code: int) -> tuple[list[bytes], int]:
    """The pieces of the response's topics, and the position after the request's topics."""
    result = _INT16.pack(code) + _NO_LONG + (_NO_LONG if version >= 2 else b"")
    topics, pos = _old_count(body, _INT16.size + _INT32.size)
    parts = [_INT32.pack(topics)]
    items, names = topics, 0
    for _ in range(topics):
        (length,) = _INT16.unpack_from(body, pos)
        name_end = _old_end(body, pos + _INT16.size, length)
        partitions, start = _old_count(body, name_end)
        items += partitions
        names += length
        if items > MOST_OLD or names > LONGEST_OLD:
            raise ProtocolError(
                f"Produce v{version} has over {MOST_OLD} topics and partitions, or"
                f" {LONGEST_OLD} bytes of names"
            )
        parts.append(legacy_string(as_brokers_read(body[pos + _INT16.size : name_end])))
        parts.append(body[name_end:start])
        pos = start
        for _ in range(partitions):
            (length,) = _INT32.unpack_from(body, pos + 4)
            parts.append(body[pos : pos + 4] + result)
            pos = _old_end(body, pos + 8, max(length, 0))
    return parts, pos


def _old_count(body: bytes, pos: int) -> tuple[int, int]:
    (count,) = _INT32.unpack_from(body, pos)
    if not 0 <= count <= len(body):
        raise ProtocolError(f"array of {count} elements in {len(body)} bytes")
    return count, pos + _INT32.size


def _old_end(body: bytes, pos: int, length: int) -> int:
    if length < 0 or pos + length > len(body):
        raise ProtocolError(f"{length} bytes announced, {len(body) - pos} there")
    return pos + length
