"""Produce (API 0): names and ids of topics are rewritten, record bytes are never touched.

Needs WRITE on each topic, and on the transactional id of transactional batches. If a topic is
denied, or the request does not meet its producer guarantee (KIP-679), the topic's partitions get
errors, and the rest is forwarded; with acks=0 the connection is closed instead. Versions 0 to 2
are advertised for librdkafka (KIP-896) and always rejected.

In a request with one topic and one partition, which producers under load mostly send, all names
precede the records, so the head is enough to decide before the records have arrived. Any other
request is collected by the session (bounded) and walked whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.apis import generic, walking
from gateway.apis.counting import ERROR_CODE, TOPIC_ID, TOPIC_NAME, discount_rejected
from gateway.apis.records import init_producer_id, produce_rejections, producer_guarantee
from gateway.apis.records.produce_rejections import transaction_of
from gateway.apis.records.producer_guarantee import ACKS_ALL, count_request
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, Plan
from gateway.exchanges.state import ConnectionState
from gateway.policies.tree import REQUIRE_IDEMPOTENCE
from gateway.rules.declaration import KIB, Do, Needs, Records, Topics, TopicShape
from gateway.rules.node_numbers import with_numbers
from gateway.rules.rename import wire_string
from gateway.views.access import WRITE
from protocol.entities import Kind
from protocol.errors import ProtocolError, TruncatedError
from protocol.pausing import FEW, eased, may_pause, paced
from protocol.records import BATCH_HEADER_SIZE, batch_facts
from protocol.splice import Edit
from protocol.walkers import Span

TRANSACTIONAL_ID: Final = int(Kind.TRANSACTIONAL_ID)
ACKS: Final = int(Kind.ACKS)
RECORDS: Final = int(Kind.RECORDS)

EMPTY_TAGS: Final = 3
"""Bytes of the tagged fields of partition, topic and request if none are set."""

RECORDS_TOO_LONG: Final = "Produce request ends before its records"
NOT_PLAIN: Final = "Produce request has tagged fields behind its records that do not fit its size"


def tail_size(plan: Plan) -> int:
    """Bytes behind the records of a request with one topic and one partition, without tagged
    fields: all these bytes are zero."""
    return EMPTY_TAGS if plan.flexible else 0


def head(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int, frame_end: int
) -> list[Edit] | None:
    """Edits for everything before the records of a request with one topic and one partition, which
    ends at ``frame_end`` and has arrived as far as ``end``.

    None when the whole request is needed: it has more topics or partitions, an item is denied, or
    more than :func:`tail_size` bytes may follow the records. Raises TruncatedError while the head,
    or the header of the batch, has not arrived, and ProtocolError if the records go on after the
    request."""
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
    size = spans[-1][3]
    behind = frame_end - at - size
    if behind < 0:
        raise ProtocolError(RECORDS_TOO_LONG)
    if behind != tail_size(exchange.plan):
        return None
    if end - at < BATCH_HEADER_SIZE <= size:
        raise TruncatedError("the header of the batch has not arrived")
    return _rename(state, exchange, buf, end, spans)


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Decide a whole request."""
    spans = walking.request_spans(exchange.plan, buf, start, end)
    if len(spans) > FEW and not may_pause():
        # The request's size does not show the time to decide it: records cost nothing.
        raise walking.ManyItems
    edits = _rename(state, exchange, buf, end, spans)
    if edits is not None:
        return edits
    return produce_rejections.reject(state, exchange, buf, start, end, spans)


def on_change(state: ConnectionState, exchange: Exchange) -> bool:
    """Whether a Produce in flight, or still arriving, may still be written."""
    named = exchange.transactional_id
    names, ids = exchange.spelled or {}, exchange.spelled_ids or {}
    return may_write(state, () if named is None else (named,), names.items(), ids.items())


def may_write(
    state: ConnectionState,
    transactional_ids: Iterable[bytes],
    names: Iterable[tuple[bytes, bytes]],
    ids: Iterable[tuple[bytes, bytes]],
) -> bool:
    """Whether WRITE is still allowed on these transactional ids and topics, and the topics' names
    and ids still lead to the same topics: (flat name, the client's spelling), (the broker's id, the
    client's)."""
    transactional_id = state.access.transactional_id
    return (
        not any(isinstance(transactional_id(WRITE, one), Denied) for one in transactional_ids)
        and state.still_reaches(WRITE, names, by_id=False)
        and state.still_reaches(WRITE, ids, by_id=True)
    )


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes | None:
    """Restore the names; generic handling restores a response with errors or virtual topic
    ids."""
    if exchange.swallowed:
        producer_guarantee.swallow(state, exchange, buf, start, end)
        return None
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    spelled = exchange.spelled or {}
    edits: list[Edit] = []
    for kind, at, stop, value in spans if len(spans) <= FEW else paced(spans):
        if kind == TOPIC_NAME and value in spelled:
            shown = spelled[value]
            if shown != value:
                edits.append((at, stop, wire_string(shown, plan.flexible)))
        elif value is not None and (kind != TOPIC_ID or state.view.has_topic_ids):
            result = _restored(state, exchange, buf, start, end, spans)
            number = state.worker.number
            if not number:
                return result
            # New leaders come only with errors (KIP-951).
            message = f"{plan.name}Response"
            return with_numbers(message, plan.version, buf, start, end, result, number)
    return edits


def _restored(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int, spans: list[Span]
) -> list[Edit] | bytes:
    """Restore a response with errors or topic ids in it."""
    discount_rejected(state, exchange, buf, spans)
    for kind, _, _, value in spans:
        if kind == ERROR_CODE and value == CLUSTER_AUTHORIZATION_FAILED:
            init_producer_id.warn_of_missing_grant(state)
            body = init_producer_id.explain_missing_grant(exchange.plan.version, buf[start:end])
            return generic.restored_body(state, exchange, body)
    return generic.restore(state, exchange, buf, start, end, spans)


def _rename(
    state: ConnectionState, exchange: Exchange, buf: bytes, end: int, spans: list[Span]
) -> list[Edit] | None:
    """Edits for the spans, counted on the flow of each topic; None if an item is denied.

    Decides like :class:`gateway.rules.rename.RequestRenamer`, in a single loop: this is the
    hottest path.
    """
    plan = exchange.plan
    to_write, flexible = state.access.to_write, plan.flexible
    edits: list[Edit] = []
    spelled: dict[bytes, bytes] = {}
    ids: dict[bytes, bytes] = {}
    called: dict[bytes, bytes] = {}
    batches: list[tuple[bytes, int, int]] = []
    flat = b""
    acks, acks_at, guarantee = ACKS_ALL, 0, 0
    transactional_id: bytes | None = None
    for kind, start, stop, value in spans if len(spans) <= FEW else paced(spans):
        if kind == TOPIC_NAME:
            found = to_write(value)
            if isinstance(found, Denied) or spelled.setdefault(found.flat, value) != value:
                return None
            flat = found.flat
            called[flat] = value
            guarantee |= found.guarantee
            if flat != value:
                new = found.flat_compact if flexible else found.flat_legacy
                edits.append((start, stop, new))
        elif kind == RECORDS:
            batches.append((flat, stop, stop + value))
        elif kind == ACKS:
            acks, acks_at = value, start
        elif kind == TOPIC_ID:
            owned = state.topic_of_id(WRITE, start, stop, value, ids, edits)
            if owned is None:
                return None
            flat = owned
            called[flat] = value
            guarantee |= state.view.guarantee_of(flat)
        elif kind == TRANSACTIONAL_ID and value is not None:
            renamer = generic.renamer_for(state, exchange)
            renamer.transactional_id(start, stop, value)
            written_as = transaction_of(state, buf, end, spans)
            if renamer.rejections is not None or isinstance(written_as, Denied):
                return None
            transactional_id = written_as
            edits += renamer.edits
    weak = guarantee and (acks != ACKS_ALL or guarantee & REQUIRE_IDEMPOTENCE)
    if (
        weak
        and not producer_guarantee.is_met(
            state, exchange, buf, end, guarantee, batches, acks, acks_at, edits
        )
    ) or not _told_apart(state, buf, end, batches, called):
        return None
    producer_guarantee.shorten(exchange, buf, acks_at, edits)
    exchange.spelled = spelled
    exchange.spelled_ids = ids
    exchange.transactional_id = transactional_id
    count_request(state, exchange, buf, end, batches, acks)
    return edits


def _told_apart(
    state: ConnectionState,
    buf: bytes,
    end: int,
    batches: list[tuple[bytes, int, int]],
    called: dict[bytes, bytes],
) -> bool:
    """Whether the broker counts sequence numbers as the producer does. The broker counts by topic,
    the producer by name: so if a topic was produced to under another name or id before, its batches
    must have no sequence numbers. The broker also counts by producer id, so the id must be unique
    in a tree."""
    if state.marked_ids_only and producer_guarantee.unmarked(buf, end, batches):
        return False
    by_flat: dict[bytes, list[tuple[int, int]]] | None = None
    for flat, value in called.items():
        if state.produced_as(flat, value) != value:
            if by_flat is None:
                by_flat = {}
                for topic, start, stop in batches:
                    by_flat.setdefault(topic, []).append((start, stop))
            mine = by_flat.get(flat, ())
            facts = [batch_facts(buf, start, min(end, stop)) for start, stop in eased(mine)]
            if any(fact is None or fact[1] for fact in eased(facts)):
                return False
    return True


def _reject_old(version: int, body: bytes, code: int) -> bytes | None:
    """Versions 0 to 2, which have no message definition in Kafka 4, are rejected by hand."""
    old = version in produce_rejections.OLD_VERSIONS
    return produce_rejections.reject_old(version, body, code) if old else None


API = Api(
    "Produce",
    (3, 13),
    Do.REWRITE,
    records=Records.REQUEST,
    by_id=Do.CHECK,
    needs=Needs(topic=WRITE),
    topics=(
        TopicShape(
            Topics("topic_data", partitions="partition_data", index="index"),
            Topics("responses", partitions="partition_responses", index="index"),
            {"base_offset": -1},
            one_spelling=True,
        ),
    ),
    rejection=_reject_old,
    lowest=lambda broker: broker,
    on_change=on_change,
    pipelined=True,
    request=request,
    response=response,
    # Records cost nothing to decide; 2,500 topics without records take 25 ms.
    small_request=64 * KIB,
    small_response=16 * KIB,
)
