"""Counting on flows, and reporting denials, for all handlers."""

from __future__ import annotations

import logging
from itertools import islice
from typing import Final

from gateway.decision import Denied
from gateway.exchanges.exchange import Exchange, Part
from gateway.exchanges.state import ConnectionState
from gateway.flows import Denial, Flow
from gateway.names import DELIMITER
from gateway.rules.rename import Rejections
from protocol.entities import Kind
from protocol.pausing import eased, paced
from protocol.records import batch_facts, is_older_format
from protocol.walkers import Span

log = logging.getLogger(__name__)

PRODUCE: Final = 0

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
ERROR_CODE: Final = int(Kind.ERROR_CODE)

BEING_CREATED: Final = "being_created"
"""The rule of a topic that is answered as unknown while it is created, which is no denial."""

MAX_SHOWN: Final = 300
"""Bytes of a denied name that are logged."""

MAX_COUNTED_TOPICS: Final = 100
"""Topics of one request that are counted each on its own flow."""


def note_denials(state: ConnectionState, exchange: Exchange, rejections: Rejections) -> None:
    """Report denials: a count on the flow and an event for the traffic log each time, and a line in
    the log for the first of a connection, since clients repeat denied requests."""
    plan = exchange.plan
    for items in (rejections.topics, rejections.ids):
        for resource, denied in paced(items.items()):
            flow = state.flow(plan.api_key, plan.version, b"")  # it may be another after a pause
            flow.errors[denied.code] = flow.errors.get(denied.code, 0) + 1
            if denied.rule == BEING_CREATED:
                continue
            flow.denials[denied.rule] = flow.denials.get(denied.rule, 0) + 1
            shown = _shown(resource)
            event = Denial(
                state.source,
                plan.api_key,
                plan.version,
                denied.rule,
                denied.code,
                shown,
                denied.message,
                denied.operation,
                denied.resource,
                denied.because,
                _namespace(state, resource, denied),
            )
            if state.worker.denied(event) and state.first_denial(resource):
                client = state.source.client_address
                log.warning("%s denied %s of %r: %s", client, plan.name, shown, denied.message)


def _namespace(state: ConnectionState, resource: bytes, denied: Denied) -> str | None:
    """The namespace that a denied item would be in, whether or not it exists."""
    kind, _, name = denied.resource.partition(" ")
    if kind == "CLUSTER":
        return None
    if name:
        return name.rpartition(DELIMITER)[0]
    named = state.access.topic_resource(resource)
    return None if named is None else named.namespace


def count_topics(state: ConnectionState, exchange: Exchange) -> None:
    """Set the exchange's flows: that of the topic named first, if any, and those of the others."""
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
    """Set the flows of a Produce request, and what will be counted on them once the broker has
    accepted its batches: (flat topic, start, end). Returns whether all are idempotent."""
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
    """Do not count the batches that the broker rejected, which producers mostly send again.
    ``spans`` are those of the response."""
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
        for code in codes:
            errors[code] = errors.get(code, 0) + 1


def _shown(resource: bytes) -> str:
    """A name as it was requested, or a topic id, which is hardly ever UTF-8, in hex digits."""
    try:
        return resource[:MAX_SHOWN].decode()
    except UnicodeDecodeError:
        return resource.hex() if len(resource) == 16 else resource[:MAX_SHOWN].decode("latin-1")
