"""Produce (API 0): the head is walked, the record bytes pass.

With one topic and one partition, which is what producers under load send most, everything
that names something stands before the records: the head is enough, and the records need not
even have arrived. Otherwise the whole request is walked (collected by the session, bounded).
"""

from __future__ import annotations

from gateway.apis import generic
from gateway.exchange import Exchange, Outcome
from gateway.flows import Flow
from gateway.state import ConnectionState
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.records import batch_facts
from protocol.splice import Edit
from protocol.walkers import Span

TOPIC_ID = int(Kind.TOPIC_ID)
TOPIC_NAME = int(Kind.TOPIC_NAME)
ACKS = int(Kind.ACKS)
RECORDS = int(Kind.RECORDS)


def head(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> tuple[list[Edit], int] | None:
    """Edits for everything before the records and where the records begin, in a request with one
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
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    if renamer.refusals is not None:
        return None
    _count(state, exchange, buf, end, spans)
    return renamer.edits, at


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """A whole request: by its head if that is enough, else span by span."""
    short = head(state, exchange, buf, start, end)
    if short is not None:
        return short[0]
    spans = generic.request_spans(exchange.plan, buf, start, end)
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    _count(state, exchange, buf, end, spans)
    if renamer.refusals is None:
        return renamer.edits
    outcome = generic.refuse(state, exchange, buf[start:end], renamer.refusals)
    if exchange.silent and not isinstance(outcome, list):
        # acks=0 has no response to carry the error: Kafka closes the connection.
        first = next(iter((renamer.refusals.topics | renamer.refusals.ids).values()), None)
        why = first.message if first else "two spellings of one topic"
        raise ProtocolError(f"Produce with acks=0 was refused: {why}")
    return outcome


def _count(
    state: ConnectionState, exchange: Exchange, buf: bytes, end: int, spans: list[Span]
) -> None:
    """Count the request on the flow of each topic it names, batch header by batch header."""
    plan = exchange.plan
    acks = -1
    flow: Flow | None = None
    lead: Flow | None = None
    for kind, _, stop, value in spans:
        if kind == RECORDS:
            if flow is None:
                continue
            flow.partitions += 1
            facts = batch_facts(buf, stop, min(end, stop + value))
            if facts is not None:
                flow.records += facts.records
                flow.batches += 1
                flow.idempotent += facts.idempotent
                flow.transactional += facts.transactional
        elif kind in (TOPIC_NAME, TOPIC_ID):
            flow = _flow_of(state, exchange, kind, value)
            if lead is None:
                lead = flow
            elif flow is not lead:
                exchange.others = [*(exchange.others or ()), flow]
        elif kind == ACKS:
            acks = value
    exchange.silent = acks == 0
    exchange.flow = lead or state.flow(plan.api_key, plan.version, b"")
    if acks == 0:
        exchange.flow.acks0 += 1
    elif acks == 1:
        exchange.flow.acks1 += 1
    else:
        exchange.flow.acks_all += 1


def _flow_of(state: ConnectionState, exchange: Exchange, kind: int, value: bytes) -> Flow:
    plan = exchange.plan
    if kind == TOPIC_ID:
        flat = state.worker.cluster.index.name_of(value)
    else:
        found = state.view.resolve(value)
        flat = getattr(found, "flat", None)
    return state.flow(plan.api_key, plan.version, flat or b"")
