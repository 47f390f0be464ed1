"""The producer guarantee (KIP-679): the acks and the idempotence that policies require of
producers.

A request has a single value of ``acks``, so if one topic requires acks=all, all topics that are
forwarded with it get acks=all. The header of a batch holds whether its producer is idempotent
(KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from gateway.apis import walking
from gateway.apis.counting import ERROR_CODE, PRODUCE, TOPIC_ID, TOPIC_NAME, count_batches
from gateway.apis.records import init_producer_id
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, POLICY_VIOLATION
from gateway.exchanges.exchange import Exchange, Unanswerable
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow, weak_key
from gateway.policies.tree import (
    BUILT_IN,
    DEFAULT_NAMESPACE,
    EVERYWHERE,
    REQUIRE_ACKS,
    REQUIRE_IDEMPOTENCE,
    UPGRADE_ACKS,
)
from gateway.views.view import View
from protocol.errors import TruncatedError
from protocol.pausing import paced
from protocol.records import (
    BATCH_HEADER_SIZE,
    batch_facts,
    idempotent_producer_id,
    is_older_format,
)
from protocol.schema import error_name
from protocol.splice import Edit

ACKS_ALL: Final = -1
ACKS_NONE: Final = 0
WEAK_ACKS: Final = frozenset({0, 1})
"""Acks less than acks=all. A broker rejects all other values."""

LEAST_TIMEOUT_MS: Final = 30_000
"""The least timeout_ms after acks were raised: the default of producers (request.timeout.ms). A
producer with acks=0 or acks=1 may send less: brokers use it for acks=all only."""

MOST_TIMEOUT_MS: Final = 60_000
"""The most timeout_ms that is forwarded, because moves and deletions wait for forwarded requests
(gateway/catalog/freezes.py). By default clients give up sooner."""

_TIMEOUT_SIZE: Final = 4
_MOST_TIMEOUT: Final = MOST_TIMEOUT_MS.to_bytes(_TIMEOUT_SIZE, "big")
_LONG_TIMEOUT: Final = MOST_TIMEOUT_MS >> 8
"""The least third byte of a timeout_ms that is too long, if its first two bytes are 0."""

_ACKS_AND_TIMEOUT: Final = Struct(">hi")
RAISED_SIZE: Final = _ACKS_AND_TIMEOUT.size
"""Bytes of acks and timeout_ms, which are adjacent in every version (ProduceRequest.json)."""

Batch = tuple[bytes, int, int]
"""A partition's records: the flat topic, and their begin and end. The end precedes the begin if the
records are null, and may lie beyond the bytes that have arrived."""

_SETTERS: Final = {
    EVERYWHERE: "set for every namespace",
    DEFAULT_NAMESPACE: "set for the default namespace",
    BUILT_IN: "the default",
}
_OF_A_NAMESPACE: Final = "policies.namespaces."

_NOT_IDEMPOTENT_OBSERVED: Final = weak_key("not_idempotent", "observed")
_ACKS_0_OBSERVED: Final = weak_key("acks0", "observed")
_ACKS_0_UPGRADED: Final = weak_key("acks0", "upgraded")
_ACKS_1_OBSERVED: Final = weak_key("acks1", "observed")
_ACKS_1_UPGRADED: Final = weak_key("acks1", "upgraded")

_NEAR: Final = 64
"""Bytes between two edits that are better made as a single edit."""


def is_met(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    end: int,
    flags: int,
    batches: list[Batch],
    acks: int,
    acks_at: int,
    edits: list[Edit],
) -> bool:
    """Whether a request meets ``flags``, the combined requirements of its topics.

    If the request's ``acks``, which stand at ``acks_at``, must be raised, the edit is added to
    ``edits``. Raises TruncatedError if the header of a batch has yet to arrive.
    """
    weak = acks in WEAK_ACKS
    if weak and flags & REQUIRE_ACKS:
        return False
    if flags & REQUIRE_IDEMPOTENCE and not_idempotent(state.view, buf, end, batches):
        return False
    if weak and flags & UPGRADE_ACKS:
        _raise_acks(buf, acks_at, edits)
        exchange.upgraded = True
    return True


def _raise_acks(buf: bytes, at: int, edits: list[Edit]) -> None:
    """Add the edit of the acks at ``at``, and of the timeout after them, to the other edits, which
    are sorted. If the topic's edit follows soon, both become a single edit: a frame with a
    single edit is sent in one piece."""
    behind, strongest = at + RAISED_SIZE, raised(buf, at)
    if edits:
        start, stop, new = edits[0]
        if at < start <= at + _NEAR:
            edits[0] = (at, stop, strongest + buf[behind:start] + new)
            return
    edits.append((at, behind, strongest))
    edits.sort()


def raised(buf: bytes, at: int) -> bytes:
    """The bytes that replace the acks at ``at`` and the timeout after them."""
    _, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(buf, at)
    timeout_ms = min(max(timeout_ms, LEAST_TIMEOUT_MS), MOST_TIMEOUT_MS)
    return _ACKS_AND_TIMEOUT.pack(ACKS_ALL, timeout_ms)


def shorten(exchange: Exchange, buf: bytes, at: int, edits: list[Edit]) -> None:
    """Add the edit of a timeout_ms beyond the most, after the acks at ``at``, to the other edits,
    which are sorted. If acks were raised, that edit has already changed the timeout."""
    behind = at + RAISED_SIZE
    start = behind - _TIMEOUT_SIZE
    if exchange.upgraded or not (buf[start] or buf[start + 1] or buf[start + 2] >= _LONG_TIMEOUT):
        return  # nearly always; a look at three bytes costs less than unpacking the number
    _, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(buf, at)
    if timeout_ms > MOST_TIMEOUT_MS:
        edits.append((start, behind, _MOST_TIMEOUT))
        edits.sort()


def acks_denial(view: View, flat: bytes, acks: int) -> Denied | None:
    """The denial of a request with these acks by a topic; None if the topic allows them."""
    if acks not in WEAK_ACKS or not view.guarantee_of(flat) & REQUIRE_ACKS:
        return None
    source = view.policies.guarantee(_namespace(view, flat)).acks_source
    topic, setter = _topic_and_setter(view, flat, source)
    why = (
        f"{topic} is written with acks=all only, and this request has acks={acks}"
        f" (policies: producer.acks{setter}); set acks=all in the producer."
    )
    return _denied(view, flat, why)


def not_idempotent(view: View, buf: bytes, end: int, batches: Iterable[Batch]) -> set[bytes]:
    """The flat names of topics that require idempotent producers, and have a batch of a producer
    that is not idempotent.

    Raises TruncatedError if the header of such a batch has not arrived by ``end``.
    """
    found: set[bytes] = set()
    for flat, start, stop in batches:
        # Null records are no batch, and the broker rejects them.
        if stop <= start or not view.guarantee_of(flat) & REQUIRE_IDEMPOTENCE:
            continue
        if stop > end and end - start < BATCH_HEADER_SIZE:
            raise TruncatedError("a batch header has not arrived")
        facts = batch_facts(buf, start, min(end, stop))
        if facts is None or not facts[1]:
            found.add(flat)
    return found


def idempotence_denial(view: View, flat: bytes, *, older: bool) -> Denied:
    """The denial of such a batch by a topic; ``older``: its format has no producer ids."""
    source = view.policies.guarantee(_namespace(view, flat)).idempotence_source
    if older:
        what = "and this record batch is of magic 0 or 1, which knows none"
        advice = "use a client of Kafka 0.11 or later, with enable.idempotence=true"
    else:
        what = "and this record batch is not of one"
        advice = "set enable.idempotence=true in the producer"
    topic, setter = _topic_and_setter(view, flat, source)
    why = (
        f"{topic} takes records of idempotent producers only, {what}"
        f" (policies: producer.idempotence{setter}); {advice}."
    )
    return _denied(view, flat, why)


def unmarked(buf: bytes, end: int, batches: Iterable[Batch]) -> set[bytes]:
    """The flat names of topics that have a batch of an idempotent, non-transactional producer whose
    id lacks the number of a cluster.

    Raises TruncatedError if the header of a batch has not arrived by ``end``.
    """
    found: set[bytes] = set()
    for flat, start, stop in batches:
        if stop > end and end - start < BATCH_HEADER_SIZE:
            raise TruncatedError("a batch header has not arrived")
        producer_id = idempotent_producer_id(buf, start, min(end, stop))
        if producer_id is not None and not producer_id >> init_producer_id.MARK_SHIFT:
            found.add(flat)
    return found


UNMARKED: Final = Denied(
    POLICY_VIOLATION,
    "The id of this idempotent producer has no cluster's number in it, so another producer may have"
    " the same one here, and records be lost: it was given to the producer before the cluster was"
    " mounted, or by no gateway. Create the producer anew.",
    "volume",
)
"""The denial of a batch of :func:`unmarked`. Java's producer reports it to the application, because
no error makes it request a new id (not even UNKNOWN_PRODUCER_ID); librdkafka requests a new id."""


def has_older_format(buf: bytes, end: int, flat: bytes, batches: Iterable[Batch]) -> bool:
    """Whether a topic has a batch of a format before KIP-98."""
    return any(
        topic == flat and is_older_format(buf, start, min(end, stop))
        for topic, start, stop in paced(batches)
    )


def _denied(view: View, flat: bytes, why: str) -> Denied:
    """The denial of a topic. Logs contain the topic's name even if the client sends its id."""
    named = f"TOPIC {view.snapshot.owner(flat.decode(errors='replace'))}"
    return Denied(POLICY_VIOLATION, why, "producer_guarantee", operation="WRITE", resource=named)


def _namespace(view: View, flat: bytes) -> str:
    return view.snapshot.owner(flat.decode(errors="replace")).namespace


def _topic_and_setter(view: View, flat: bytes, source: str) -> tuple[str, str]:
    """The topic's name in the view, and the policy's place in the configuration. If a view reaches
    the topic only by an alias or a link, it must learn neither the topic's own name nor the
    namespaces around it."""
    shown = view.spell(flat)
    if shown is None or view.snapshot.links_of(flat.decode(errors="replace")):
        return "This topic", ""
    setter = _SETTERS.get(source, source)
    if source.startswith(_OF_A_NAMESPACE):
        setter = f"set by namespace '{source.removeprefix(_OF_A_NAMESPACE)}'"
    return f"Topic '{shown.decode()}'", f", {setter}"


def count_request(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    end: int,
    batches: list[Batch],
    acks: int,
) -> None:
    """Count a forwarded request: its batches, its acks, and the producers that are weaker than the
    strongest guarantee."""
    idempotent = count_batches(state, exchange, buf, end, batches)
    flow = exchange.flow
    assert flow is not None
    if acks == ACKS_ALL:
        flow.acks_all += 1
        if idempotent:
            return
    elif acks == ACKS_NONE:
        flow.acks0 += 1
    else:
        flow.acks1 += 1
    flows = (flow,) if exchange.others is None else _one_per_namespace([flow, *exchange.others])
    if acks in WEAK_ACKS:
        key = _acks_key(exchange, acks)
        for each in flows:
            each.weak[key] = each.weak.get(key, 0) + 1
    if not idempotent:
        for each in flows:
            weak = each.weak
            weak[_NOT_IDEMPOTENT_OBSERVED] = weak.get(_NOT_IDEMPOTENT_OBSERVED, 0) + 1


def _acks_key(exchange: Exchange, acks: int) -> str:
    """The key under which weak acks are counted. Marks an exchange with acks=0: either the broker
    does not respond, or the client must not get the response."""
    if acks:
        return _ACKS_1_UPGRADED if exchange.upgraded else _ACKS_1_OBSERVED
    if exchange.upgraded:
        exchange.swallowed = True
        return _ACKS_0_UPGRADED
    exchange.silent = True
    return _ACKS_0_OBSERVED


def count_rejected(flows: Iterable[Flow], what: str) -> None:
    """Count a rejected request once per namespace of these flows, by its weakness."""
    key = weak_key(what, "refused")
    for flow in _one_per_namespace(flows):
        flow.weak[key] = flow.weak.get(key, 0) + 1


def _one_per_namespace(flows: Iterable[Flow]) -> tuple[Flow, ...]:
    """The first flow of each namespace."""
    found: dict[str, Flow] = {}
    for flow in flows:
        found.setdefault(flow.namespace, flow)
    return tuple(found.values())


def swallow(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> None:
    """Keep a response from a client that sent acks=0 and expects none.

    Raises Unanswerable if the response holds an error: as in Kafka, the connection is closed,
    because the producer would not notice otherwise (KafkaApis: handleProduceRequest).
    """
    exchange.response_size = 0
    flat = topic = b""
    failed: tuple[bytes, int] | None = None
    index = state.worker.cluster.index
    for kind, _, _, value in walking.response_spans(exchange.plan, buf, start, end):
        if kind == TOPIC_NAME:
            flat, topic = value, (exchange.spelled or {}).get(value, b"")
        elif kind == TOPIC_ID:
            flat = index.name_of(value) or b""
            topic = state.view.spell(flat) or b""
        elif kind == ERROR_CODE:
            # Not on the request's flow, which may have been collected by now.
            errors = state.flow(PRODUCE, exchange.plan.version, flat).errors
            errors[value] = errors.get(value, 0) + 1
            failed = failed or (topic, value)
            if value == CLUSTER_AUTHORIZATION_FAILED:
                init_producer_id.warn_of_missing_grant(state)
    if failed is not None:
        name, code = failed
        raise Unanswerable(
            f"Produce with acks=0, forwarded as acks=all, failed with {error_name(code)}"
            f" for topic {name.decode(errors='replace')!r}"
        )
