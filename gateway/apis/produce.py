"""Produce (API 0): the head is walked, the record bytes pass.

With one topic and one partition, which is what producers under load send most, everything
that names something stands before the records: the head is enough, and the records need not
even have arrived. Otherwise the whole request is walked (collected by the session, bounded).
"""

from __future__ import annotations

from typing import Final

from gateway.access import WRITE
from gateway.apis import generic
from gateway.decision import Denied
from gateway.denials import ACL_RULE
from gateway.error_codes import INVALID_REQUEST, TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from gateway.exchange import Exchange, Outcome
from gateway.flows import Flow
from gateway.rules.rename import Refusals, RequestRenamer, wire_string
from gateway.state import ConnectionState
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.records import batch_facts
from protocol.splice import Edit
from protocol.walkers import Span

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
TRANSACTIONAL_ID: Final = int(Kind.TRANSACTIONAL_ID)
ACKS: Final = int(Kind.ACKS)
RECORDS: Final = int(Kind.RECORDS)

PRODUCE: Final = 0

RECORDS_TOO_LONG: Final = "Produce request ends before its records"


def head(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> tuple[list[Edit], int] | None:
    """Edits for everything before the records and where the records end, in a request with one
    topic and one partition; None when the whole request is needed: it has more of them, or
    something in it is refused. Raises TruncatedError while the head has not arrived."""
    segments = exchange.plan.request_segments
    assert segments is not None
    spans: list[Span] = []
    at = segments.prefix(buf, start, end, spans)
    if spans[-1][3] != 1:
        return None
    at = segments.topic_head(buf, at, end, spans)
    if spans[-1][3] != 1:
        return None
    at = segments.partition_head(buf, at, end, spans)
    edits = _rename(state, exchange, buf, end, spans)
    return None if edits is None else (edits, at + spans[-1][3])


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """A whole request."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    edits = _rename(state, exchange, buf, end, spans)
    return edits if edits is not None else _refuse(state, exchange, buf, start, end, spans)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names; whatever else a response holds is left to the generic handler."""
    plan = exchange.plan
    spans = generic.response_spans(plan, buf, start, end)
    spelled = exchange.spelled or {}
    edits: list[Edit] = []
    for kind, at, stop, value in spans:
        if kind == TOPIC_NAME and value in spelled:
            shown = spelled[value]
            if shown != value:
                edits.append((at, stop, wire_string(shown, plan.flexible)))
        elif value is not None and (kind != TOPIC_ID or state.view.has_topic_ids):
            return generic.restore(state, exchange, buf, start, end, spans)
    return edits


def _rename(
    state: ConnectionState, exchange: Exchange, buf: bytes, end: int, spans: list[Span]
) -> list[Edit] | None:
    """Edits for the spans, counted on the flow of each topic; None where something is refused.

    What :class:`gateway.rules.rename.RequestRenamer` decides, in one loop: this is the hottest
    path of all.
    """
    plan = exchange.plan
    to_write, flexible = state.access.to_write, plan.flexible
    edits: list[Edit] = []
    spelled: dict[bytes, bytes] = {}
    ids: dict[bytes, bytes] = {}
    called: dict[bytes, bytes] = {}
    batches: list[tuple[bytes, int, int]] = []
    flat = b""
    acks = -1
    for kind, start, stop, value in spans:
        if kind == TOPIC_NAME:
            found = to_write(value)
            if isinstance(found, Denied) or spelled.setdefault(found.flat, value) != value:
                return None
            flat = found.flat
            called[flat] = value
            if flat != value:
                new = found.flat_compact if flexible else found.flat_legacy
                edits.append((start, stop, new))
        elif kind == RECORDS:
            batches.append((flat, stop, min(end, stop + value)))
        elif kind == ACKS:
            acks = value
        elif kind == TOPIC_ID:
            owned = state.topic_of_id(WRITE, start, stop, value, ids, edits)
            if owned is None:
                return None
            flat = owned
            called[flat] = value
        elif kind == TRANSACTIONAL_ID and value is not None:
            renamer = generic.renamer_for(state, exchange)
            renamer.transactional_id(start, stop, value)
            if renamer.refusals is not None or _transactional_denial(state, buf, end, spans):
                return None
            edits += renamer.edits
    if not _by_one_name(state, buf, batches, called):
        return None
    exchange.spelled = spelled
    exchange.spelled_ids = ids
    _count(state, exchange, buf, batches, acks)
    return edits


def _by_one_name(
    state: ConnectionState,
    buf: bytes,
    batches: list[tuple[bytes, int, int]],
    called: dict[bytes, bytes],
) -> bool:
    """Whether every topic whose batches have sequence numbers, or have yet to arrive and may have,
    goes by the name or id it was produced to before."""
    for flat, value in called.items():
        if state.produced_as(flat, value) != value:
            facts = [batch_facts(buf, start, end) for topic, start, end in batches if topic == flat]
            if any(fact is None or fact[1] for fact in facts):
                return False
    return True


def _transactional_denial(
    state: ConnectionState, buf: bytes, end: int, spans: list[Span]
) -> Denied | None:
    """Why a request may not write in its transaction. As in KafkaApis it is the batches that say
    whether there is one; of those that have yet to arrive the transactional id does."""
    access = state.access
    if not access.authorizes:
        return None
    named: bytes | None = None
    transactional = False
    for kind, _, stop, value in spans:
        if kind == TRANSACTIONAL_ID:
            named = value
        elif kind == RECORDS:
            facts = batch_facts(buf, stop, min(end, stop + value))
            transactional |= named is not None if facts is None else facts[2]
    if not transactional:
        return None
    if named is None:
        why = "Transactional records were sent without a transactional id."
        return Denied(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, why, ACL_RULE)
    found = access.transactional_id(WRITE, named)
    return found if isinstance(found, Denied) else None


def _numbered(buf: bytes, end: int, spans: list[Span]) -> set[bytes]:
    """The names and ids of topics whose batches have sequence numbers, or may have."""
    numbered: set[bytes] = set()
    topic = b""
    for kind, _, stop, value in spans:
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
    """The names and ids under which this producer may not go on."""
    name_of = state.worker.cluster.index.name_of
    called = [*renamer.spelled.items()]
    called += [(name_of(own) or b"", asked) for own, asked in renamer.spelled_ids.items()]
    why = "This producer wrote to the topic under another name or id before; use a new producer."
    return {
        asked: Denied(INVALID_REQUEST, why, "spelling")
        for flat, asked in called
        if asked in numbered and state.produced_as(flat, asked) != asked
    }


def _count(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    batches: list[tuple[bytes, int, int]],
    acks: int,
) -> None:
    """Count each partition's batch (flat topic, where it begins, where it ends) on its flow."""
    version = exchange.plan.version
    lead: Flow | None = None
    others: list[Flow] = []
    for flat, start, end in batches:
        flow = state.flow(PRODUCE, version, flat)
        if lead is None:
            lead = flow
        elif flow is not lead:
            others.append(flow)
        flow.partitions += 1
        facts = batch_facts(buf, start, end)
        if facts is not None:
            flow.records += facts[0]
            flow.batches += 1
            flow.idempotent += facts[1]
            flow.transactional += facts[2]
    if others:
        exchange.others = list(dict.fromkeys(others))
    exchange.flow = lead or state.flow(PRODUCE, version, b"")
    _count_acks(exchange, exchange.flow, acks)


def _count_acks(exchange: Exchange, flow: Flow, acks: int) -> None:
    if acks == -1:
        flow.acks_all += 1
    elif acks == 0:
        exchange.silent = True
        flow.acks0 += 1
    else:
        flow.acks1 += 1


def _refuse(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    start: int,
    end: int,
    spans: list[Span],
) -> Outcome:
    """Keep the errors of what is refused; acks=0 has no response to carry them."""
    exchange.flow = state.flow(PRODUCE, exchange.plan.version, b"")
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    refusals = renamer.refusals
    denied = _transactional_denial(state, buf, end, spans)
    if denied is not None:
        refusals = refusals or Refusals()
        refusals.ids.setdefault(b"", denied)
    second = _second_names(state, renamer, _numbered(buf, end, spans))
    if second:
        refusals = refusals or Refusals()
        refusals.topics |= second
    silent = any(kind == ACKS and value == 0 for kind, _, _, value in spans)
    if refusals is None:
        # An empty name or id names nothing: it is left to the broker to refuse it.
        exchange.silent = silent
        return renamer.edits
    outcome = generic.refuse(state, exchange, buf[start:end], refusals)
    if silent and generic.look_again(exchange, refusals) is None:
        first = next(iter((refusals.topics | refusals.ids).values()), None)
        why = first.message if first else "two spellings of one topic"
        # As Kafka does, so that the producer finds out at all.
        raise ProtocolError(f"Produce with acks=0 was refused: {why}")
    return outcome
