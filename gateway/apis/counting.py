"""Counts on flows, and reports of denials, for all handlers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from gateway.catalog.freezes import FROZEN
from gateway.decision import Denied
from gateway.exchanges.exchange import Exchange, Part
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.watch import WATCH
from gateway.flows import NO_TOPIC, Denial, Flow
from gateway.log_details import details
from gateway.names import DELIMITER
from gateway.rules.rename import Rejections
from gateway.topic_ids import ID_LENGTH
from protocol.entities import Kind
from protocol.pausing import eased, paced
from protocol.records import batch_facts, is_older_format
from protocol.walkers import Span

log = logging.getLogger(__name__)

PRODUCE: Final = 0

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
ERROR_CODE: Final = int(Kind.ERROR_CODE)
RESOURCE_TYPE: Final = int(Kind.RESOURCE_TYPE)
RESOURCE_NAME: Final = int(Kind.RESOURCE_NAME)

TOPIC_RESOURCE: Final = 2
"""The type of a topic among resources (ConfigResource.Type, ResourceType)."""

BEING_CREATED: Final = "being_created"
"""The rule for a topic that is answered as unknown while it is created; this is no denial."""

MISSING: Final = "missing"
"""The rule for a missing topic in a request without auto-creation; this is no denial."""

REPLICA: Final = "replica"
"""The rule for a Fetch with a broker's replica id; it concerns no namespace."""

NO_DENIALS: Final = frozenset({BEING_CREATED, FROZEN, MISSING})
"""Rules that say "not now" or "not there", not "you may not": counted as errors on the flow, but
not as denials, and written to no log."""

MAX_SHOWN: Final = 300
"""Bytes of a denied name in the log."""

MAX_COUNTED_TOPICS: Final = 100
"""The topics of one request that are counted on flows of their own."""


def report_rejections(state: ConnectionState, exchange: Exchange, rejections: Rejections) -> None:
    """Report denials: each is counted on the flow and is an event in the traffic log. Only the
    first on a connection is also a line in the log, because clients repeat denied requests."""
    for items in (rejections.topics, rejections.ids):
        if items:
            report_denied(state, exchange, items.items())


def report_denied(
    state: ConnectionState,
    exchange: Exchange,
    items: Iterable[tuple[bytes, Denied]],
    *,
    named: bool = True,
) -> None:
    """Report denied items, each with its name, as :func:`report_rejections` does. ``named``: the
    names are topics' names or topic ids, so the namespace can be found by them; if not, an item's
    namespace stands in ``denied.resource``, if anywhere.

    Each denial counts under its item's namespace. If nothing of the request is forwarded, the
    request counts under the namespace of the item that was denied first.
    """
    if exchange.checked:
        return
    if exchange.undecided is not None:
        exchange.undecided += [(resource, denied, named) for resource, denied in paced(items)]
        return
    for resource, denied in paced(items):
        _report(state, exchange, resource, denied, named=named)


def report_held_back(
    state: ConnectionState, exchange: Exchange, told: Counter[tuple[bytes, int]]
) -> None:
    """Report the denials that were held back until the request's decision was final. ``told``
    counts the denials of the request's earlier decisions, by name and code; they are not reported
    twice."""
    undecided, exchange.undecided = exchange.undecided, None
    before = told.copy()
    for resource, denied, named in paced(undecided or ()):
        key = (resource, denied.code)
        again = before[key] > 0
        if again:
            before[key] -= 1
        else:
            told[key] += 1
        _report(state, exchange, resource, denied, named=named, told=again)


def _report(
    state: ConnectionState,
    exchange: Exchange,
    resource: bytes,
    denied: Denied,
    *,
    named: bool,
    told: bool = False,
) -> None:
    plan = exchange.plan
    namespace = _namespace(state, resource, denied, named=named)
    # Looked up for each item: in a pause between two (``paced``) the connection's flows may be
    # collected, and replaced by new ones.
    flow = state.flow_of(plan.api_key, plan.version, namespace)
    if exchange.flow is None or exchange.flow.namespace == NO_TOPIC:
        exchange.flow = flow
    watch = WATCH.denied
    if watch is not None:
        watch(exchange, resource, denied)
    if told:
        return
    flow.errors[denied.code] = flow.errors.get(denied.code, 0) + 1
    if denied.rule in NO_DENIALS:
        return
    flow.denials[denied.rule] = flow.denials.get(denied.rule, 0) + 1
    event = Denial(
        state.source,
        plan.api_key,
        plan.version,
        denied.rule,
        denied.code,
        _shown(resource),
        denied.message,
        denied.operation,
        denied.resource,
        denied.because,
        namespace,
        denied.right,
    )
    if state.worker.denied(event) and state.first_denial(resource):
        _log(event, plan.name)


def _log(event: Denial, api: str) -> None:
    source = event.source
    log.warning(
        "%s denied %s of %r: %s (client id %r, listener %s, principal %s, rule %s)",
        source.client_address,
        api,
        event.resource,
        event.message,
        source.client_id,
        source.listener,
        source.principal,
        event.rule,
        extra=details(
            client_address=source.client_address,
            api=api,
            resource=event.resource,
            client_id=source.client_id,
            listener=source.listener,
            principal=source.principal,
            rule=event.rule,
            code=event.code,
            namespace=event.namespace,
        ),
    )


def _namespace(
    state: ConnectionState, resource: bytes, denied: Denied, *, named: bool
) -> str | None:
    """The namespace that a denied item would be in, even if the namespace does not exist."""
    kind, _, name = denied.resource.partition(" ")
    if kind == "CLUSTER" or denied.rule == REPLICA:
        return None
    if name:
        return name.rpartition(DELIMITER)[0]
    return namespace_of(state, resource) if named else None


def namespace_of(state: ConnectionState, resource: bytes) -> str | None:
    """The namespace of a topic that a client names by name or topic id, even a topic that does not
    exist; None for a topic that can be in no namespace."""
    if len(resource) == ID_LENGTH:
        flat = state.view.flat_of_id(resource, state.worker.cluster.index)
        if flat is not None:
            return state.view.snapshot.owner(flat.decode(errors="replace")).namespace
    topic = state.access.topic_resource(resource)
    return None if topic is None else topic.namespace


def count_first_topic(state: ConnectionState, exchange: Exchange, spans: Collection[Span]) -> bool:
    """Set the flow of a request that the gateway answers or carries out itself: the flow for the
    namespace of the first topic (or topic config resource) in the request. Returns whether the
    request names a topic."""
    plan = exchange.plan
    in_configs = False
    for kind, _, _, value in eased(spans):
        if kind == RESOURCE_TYPE:
            in_configs = value == TOPIC_RESOURCE
        elif value and (kind in (TOPIC_NAME, TOPIC_ID) or (kind == RESOURCE_NAME and in_configs)):
            namespace = namespace_of(state, value)
            exchange.flow = state.flow_of(plan.api_key, plan.version, namespace)
            return True
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    return False


def count_topics(state: ConnectionState, exchange: Exchange) -> None:
    """Set the exchange's flows: the flow of the first topic, if any, and of the other topics."""
    plan = exchange.plan
    names = exchange.spelled
    if not names:
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        return
    first, *others = islice(names, MAX_COUNTED_TOPICS)
    exchange.flow = state.flow(plan.api_key, plan.version, first)
    if others:
        exchange.others = [state.flow(plan.api_key, plan.version, flat) for flat in others]


def count_batches(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    end: int,
    batches: list[tuple[bytes, int, int]],
) -> bool:
    """Set the flows of a Produce request, and the counts to add to them after the broker accepts
    its batches. ``batches``: (flat topic, start, stop) of each partition's records; ``stop`` may be
    beyond ``end``, up to which the request has arrived. Returns whether all are idempotent."""
    version = exchange.plan.version
    if len(batches) == 1:
        flat, start, stop = batches[0]
        flow = exchange.flow = state.flow(PRODUCE, version, flat)
        flow.partitions += 1
        facts = exchange.facts = batch_facts(buf, start, min(end, stop))
        if facts is None:
            return not is_older_format(buf, start, min(end, stop))
        return facts[1]
    lead: Flow | None = None
    others: dict[Flow, None] = {}
    parts: list[Part] = []
    idempotent = True
    for flat, start, stop in eased(batches):
        flow = state.flow(PRODUCE, version, flat)
        if lead is None:
            lead = flow
        elif flow is not lead:
            others[flow] = None
        flow.partitions += 1
        facts = batch_facts(buf, start, min(end, stop))
        if not facts[1] if facts is not None else is_older_format(buf, start, min(end, stop)):
            idempotent = False
        size = max(stop - start, 0)
        index = _index_before(buf, start, stop - start, exchange.plan.flexible)
        parts.append(Part(flow, flat, index, facts, 0 if flow is lead else size))
    exchange.flow = lead or state.flow(PRODUCE, version, b"")
    exchange.parts = parts
    if others:
        exchange.others = list(others)
    return idempotent


def _index_before(buf: bytes, start: int, size: int, flexible: bool) -> int:
    """The index of a partition whose records begin at ``start``; it precedes their length."""
    length = max(((size + 1).bit_length() + 6) // 7, 1) if flexible else 4
    return int.from_bytes(buf[start - length - 4 : start - length], "big")


def discount_rejected(
    state: ConnectionState, exchange: Exchange, buf: bytes, spans: list[Span]
) -> None:
    """Do not count the batches that the broker rejected: producers mostly resend them.
    ``spans`` are the spans of the response."""
    failed: set[tuple[bytes, int]] = set()
    flat = b""
    for kind, start, _, value in spans:
        if kind == TOPIC_NAME:
            flat = value
        elif kind == TOPIC_ID:
            flat = state.worker.cluster.index.name_of(value) or b""
        elif kind == ERROR_CODE:
            failed.add((flat, int.from_bytes(buf[start - 4 : start], "big")))
    if failed:
        exchange.facts = None
    for part in exchange.parts or ():
        if (part.flat, part.index) in failed:
            part.facts = None


def count_errors(exchange: Exchange, codes: list[int]) -> None:
    """Count the error codes of a response on the exchange's flow."""
    if codes and exchange.flow is not None:
        errors = exchange.flow.errors
        for code in eased(codes):
            errors[code] = errors.get(code, 0) + 1


def _shown(resource: bytes) -> str:
    """A name as it was requested, or a topic id in hex digits (an id is hardly ever UTF-8)."""
    try:
        return resource[:MAX_SHOWN].decode()
    except UnicodeDecodeError:
        return resource.hex() if len(resource) == 16 else resource[:MAX_SHOWN].decode("latin-1")
