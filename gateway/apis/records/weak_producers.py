"""Produce requests that ask for less than the strongest guarantee (KIP-679): what a namespace's
policies make of them, and how they are counted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from gateway.apis import generic, idempotent_write
from gateway.apis.counting import count_batches
from gateway.apis.records import producer_guarantee as rule
from gateway.apis.records.producer_guarantee import ACKS_ALL, RAISED_SIZE, WEAK_ACKS
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.exchanges.exchange import Exchange, Forward, Unanswerable
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow, weak_key
from gateway.policies.tree import REQUIRE_ACKS, REQUIRE_IDEMPOTENCE, UPGRADE_ACKS
from gateway.rules.rename import RequestRenamer
from protocol.entities import Kind
from protocol.schema import error_name
from protocol.splice import Edit, splice
from protocol.walkers import Span

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
ACKS: Final = int(Kind.ACKS)
RECORDS: Final = int(Kind.RECORDS)
ERROR_CODE: Final = int(Kind.ERROR_CODE)

PRODUCE: Final = 0

_REFUSED: Final = "refused"
_NOT_IDEMPOTENT: Final = "not_idempotent"
_NOT_IDEMPOTENT_OBSERVED: Final = weak_key(_NOT_IDEMPOTENT, "observed")
_ACKS_0_OBSERVED: Final = weak_key("acks0", "observed")
_ACKS_0_UPGRADED: Final = weak_key("acks0", "upgraded")
_ACKS_1_OBSERVED: Final = weak_key("acks1", "observed")
_ACKS_1_UPGRADED: Final = weak_key("acks1", "upgraded")

_NEAR: Final = 64
"""Bytes between two edits that are better made as one."""


def may_pass(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    end: int,
    flags: int,
    batches: list[rule.Batch],
    acks: int,
    acks_at: int,
    edits: list[Edit],
) -> bool:
    """Whether the topics of a request, which are held to ``flags`` together, take it.

    ``edits`` are told to raise its ``acks``, which stand at ``acks_at``, where they have to be.
    Raises TruncatedError where the header of a batch has yet to arrive.
    """
    weak = acks in WEAK_ACKS
    if weak and flags & REQUIRE_ACKS:
        return False
    if flags & REQUIRE_IDEMPOTENCE and rule.not_idempotent(state.view, buf, end, batches):
        return False
    if weak and flags & UPGRADE_ACKS:
        _raise_acks(buf, acks_at, edits)
        exchange.upgraded = True
    return True


def _raise_acks(buf: bytes, at: int, edits: list[Edit]) -> None:
    """Add the edit of the acks at ``at``, and of the timeout behind them, to others, which are
    sorted. The topic follows soon, mostly: the two are one edit then, since a frame with one leaves
    in one piece."""
    behind, strongest = at + RAISED_SIZE, rule.raised(buf, at)
    if edits:
        start, stop, new = edits[0]
        if at < start <= at + _NEAR:
            edits[0] = (at, stop, strongest + buf[behind:start] + new)
            return
    edits.append((at, behind, strongest))
    edits.sort()


# -- requests that lose topics ------------------------------------------------------------------


def refused(
    state: ConnectionState, renamer: RequestRenamer, buf: bytes, end: int, spans: list[Span]
) -> dict[bytes, Denied]:
    """The names and ids (as the client wrote them) of topics that do not take this request."""
    view, flats = state.view, _flats(state, renamer)
    acks, batches = _batches(spans, flats)
    plain = rule.not_idempotent(view, buf, end, batches)
    denied: dict[bytes, Denied] = {}
    for asked, flat in flats.items():
        why = rule.holds_back(view, flat, acks)
        if why is None and flat in plain:
            older = rule.older_format(buf, end, flat, batches)
            why = rule.idempotence_denial(view, flat, older=older)
        if why is not None:
            denied[asked] = why
    return denied


def count_refused(
    state: ConnectionState,
    exchange: Exchange,
    renamer: RequestRenamer,
    buf: bytes,
    end: int,
    spans: list[Span],
    denied: dict[bytes, Denied],
) -> None:
    """Count what :func:`refused` has found, once it is final."""
    flats = {a: flat for a, flat in _flats(state, renamer).items() if a in denied}
    acks, batches = _batches(spans, flats)
    weak_acks = [flat for flat in flats.values() if rule.holds_back(state.view, flat, acks)]
    plain = rule.not_idempotent(state.view, buf, end, batches)
    version = exchange.plan.version
    _note(_flows(state, version, weak_acks), weak_key(f"acks{acks}", _REFUSED))
    _note(_flows(state, version, sorted(plain)), weak_key(_NOT_IDEMPOTENT, _REFUSED))


def hold_rest(state: ConnectionState, exchange: Exchange, rest: Forward) -> Forward:
    """What is sent on of a request that lost topics, with acks=all if one that is left asks for
    it; counted."""
    body, index = rest.body, state.worker.cluster.index
    spans = generic.request_spans(rest.plan, body, 0, len(body), most=math.inf)
    flats = {name: name for kind, _, _, name in spans if kind == TOPIC_NAME}
    flats |= {own: index.name_of(own) or b"" for kind, _, _, own in spans if kind == TOPIC_ID}
    acks, batches = _batches(spans, flats)
    idempotent = count_batches(state, exchange, body, len(body), batches)
    flows = exchange.flows()
    if not idempotent:
        _note(flows, _NOT_IDEMPOTENT_OBSERVED)
    _count_acks(flows[0], acks)
    if acks not in WEAK_ACKS:
        return rest
    exchange.upgraded = any(state.view.guarantee_of(f) & UPGRADE_ACKS for f in flats.values())
    _note(flows, _acks_key(exchange, acks))
    if not exchange.upgraded:
        return rest
    edits = [
        (at, at + RAISED_SIZE, rule.raised(body, at)) for kind, at, _, _ in spans if kind == ACKS
    ]
    return Forward(rest.plan, splice(body, 0, len(body), edits))


def _flats(state: ConnectionState, renamer: RequestRenamer) -> dict[bytes, bytes]:
    """The names and ids in a request, as the client wrote them, to flat names."""
    name_of = state.worker.cluster.index.name_of
    flats = {asked: flat for flat, asked in renamer.spelled.items()}
    return flats | {asked: name_of(own) or b"" for own, asked in renamer.spelled_ids.items()}


def _batches(spans: list[Span], flats: dict[bytes, bytes]) -> tuple[int, list[rule.Batch]]:
    """The acks of a request, and the batches of those topics (by name or id) that are in
    ``flats``."""
    acks = ACKS_ALL
    flat: bytes | None = None
    found: list[rule.Batch] = []
    for kind, _, stop, value in spans:
        if kind == ACKS:
            acks = value
        elif kind in (TOPIC_NAME, TOPIC_ID):
            flat = flats.get(value)
        elif kind == RECORDS and flat is not None:
            found.append((flat, stop, stop + value))
    return acks, found


# -- counting -----------------------------------------------------------------------------------


def count(exchange: Exchange, flow: Flow, acks: int, idempotent: bool) -> None:
    """Count a request that is sent on, on the flow of its first topic and on others', and note
    whether there will be a response, and for whom: acks=0 has none."""
    flows = (flow,) if exchange.others is None else _of_namespaces([flow, *exchange.others])
    if acks in WEAK_ACKS:
        key = _acks_key(exchange, acks)
        for each in flows:
            each.weak[key] = each.weak.get(key, 0) + 1
    if not idempotent:
        for each in flows:
            weak = each.weak
            weak[_NOT_IDEMPOTENT_OBSERVED] = weak.get(_NOT_IDEMPOTENT_OBSERVED, 0) + 1


def _count_acks(flow: Flow, acks: int) -> None:
    if acks == ACKS_ALL:
        flow.acks_all += 1
    elif acks:
        flow.acks1 += 1
    else:
        flow.acks0 += 1


def _acks_key(exchange: Exchange, acks: int) -> str:
    if acks:
        return _ACKS_1_UPGRADED if exchange.upgraded else _ACKS_1_OBSERVED
    if exchange.upgraded:
        exchange.swallowed = True
        return _ACKS_0_UPGRADED
    exchange.silent = True
    return _ACKS_0_OBSERVED


def _of_namespaces(flows: Iterable[Flow]) -> tuple[Flow, ...]:
    """The first flow of each namespace."""
    found: dict[str, Flow] = {}
    for flow in flows:
        found.setdefault(flow.namespace, flow)
    return tuple(found.values())


def _note(flows: Iterable[Flow], key: str) -> None:
    for flow in _of_namespaces(flows):
        flow.weak[key] = flow.weak.get(key, 0) + 1


def _flows(state: ConnectionState, version: int, flats: Iterable[bytes]) -> list[Flow]:
    return [state.flow(PRODUCE, version, flat) for flat in flats]


# -- what the broker says of acks=0 ----------------------------------------------------------------


def swallow(state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int) -> None:
    """Keep a response from a client that asked for none (acks=0).

    Raises Unanswerable where it holds an error: as Kafka does, the connection is closed, so that
    the producer finds out at all (KafkaApis: handleProduceRequest).
    """
    exchange.response_size = 0
    flat = topic = b""
    failed: tuple[bytes, int] | None = None
    index = state.worker.cluster.index
    for kind, _, _, value in generic.response_spans(exchange.plan, buf, start, end):
        if kind == TOPIC_NAME:
            flat, topic = value, (exchange.spelled or {}).get(value, b"")
        elif kind == TOPIC_ID:
            flat = index.name_of(value) or b""
            topic = state.view.spell(flat) or b""
        elif kind == ERROR_CODE:
            # Not on the flow of the request: it may have been collected meanwhile.
            errors = state.flow(PRODUCE, exchange.plan.version, flat).errors
            errors[value] = errors.get(value, 0) + 1
            failed = failed or (topic, value)
            if value == CLUSTER_AUTHORIZATION_FAILED:
                idempotent_write.warn(state)
    if failed is not None:
        name, code = failed
        raise Unanswerable(
            f"Produce with acks=0, sent on as acks=all, failed with {error_name(code)}"
            f" for topic {name.decode(errors='replace')!r}"
        )
