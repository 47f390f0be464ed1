"""Produce requests that cannot go on as they are: what is refused of them, and why."""

from __future__ import annotations

from typing import Final

from gateway.apis import generic
from gateway.apis.records import weak_producers
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from gateway.exchanges.exchange import Exchange, Forward, Outcome, Unanswerable
from gateway.exchanges.state import ConnectionState
from gateway.rules.rename import Refusals, RequestRenamer
from gateway.views.access import WRITE
from gateway.views.authorized_access import ACL_RULE
from protocol.entities import Kind
from protocol.pausing import eased
from protocol.records import batch_facts
from protocol.splice import splice
from protocol.walkers import Span

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
TRANSACTIONAL_ID: Final = int(Kind.TRANSACTIONAL_ID)
ACKS: Final = int(Kind.ACKS)
RECORDS: Final = int(Kind.RECORDS)

PRODUCE: Final = 0


def refuse(
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
    denied = transactional_denial(state, buf, end, spans)
    if denied is not None:
        refusals = refusals or Refusals()
        refusals.ids.setdefault(b"", denied)
    numbered = _numbered(buf, end, spans)
    weak = weak_producers.refused(state, renamer, buf, end, spans)
    refused = weak | _second_names(state, renamer, numbered - weak.keys())
    if refused:
        refusals = refusals or Refusals()
        refusals.topics |= refused
    body = buf[start:end]
    if refusals is None:
        # An empty name or id names nothing: it is left to the broker to refuse it.
        return weak_producers.hold_rest(
            state, exchange, Forward(exchange.plan, splice(buf, start, end, renamer.edits))
        )
    outcome = generic.refuse(state, exchange, body, refusals)
    if generic.look_again(exchange, refusals) is not None:
        return outcome
    weak_producers.count_refused(state, exchange, renamer, buf, end, spans, weak)
    if any(kind == ACKS and value == 0 for kind, _, _, value in spans):
        first = next(iter((refusals.topics | refusals.ids).values()), None)
        why = first.message if first else "two spellings of one topic"
        # As Kafka does, so that the producer finds out at all.
        raise Unanswerable(f"Produce with acks=0 was refused: {why}")
    if isinstance(outcome, Forward):
        return weak_producers.hold_rest(state, exchange, outcome)
    return outcome


def transactional_denial(
    state: ConnectionState, buf: bytes, end: int, spans: list[Span]
) -> Denied | None:
    """Why a request may not write in its transaction. As in KafkaApis it is the batches that say
    whether there is one; of those that have yet to arrive the transactional id does."""
    access = state.access
    if not access.authorizes:
        return None
    named: bytes | None = None
    transactional = False
    for kind, _, stop, value in eased(spans):
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
