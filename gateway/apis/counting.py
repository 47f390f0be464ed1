"""What handlers count on flows, and what they tell of what was denied."""

from __future__ import annotations

import logging
from itertools import islice
from typing import Final

from gateway.exchange import Exchange
from gateway.flows import Denial
from gateway.rules.rename import Refusals
from gateway.state import ConnectionState

log = logging.getLogger(__name__)

MAX_SHOWN: Final = 300
"""Bytes of a denied name that are logged."""

MAX_COUNTED_TOPICS: Final = 100
"""Topics of one request that are counted each on its own flow."""


def note_denials(state: ConnectionState, exchange: Exchange, refusals: Refusals) -> None:
    """Count and log what was denied: an event each for the traffic log, and a line for the log
    when a connection asks for it first, since clients ask again and again."""
    plan = exchange.plan
    flow = state.flow(plan.api_key, plan.version, b"")
    for items in (refusals.topics, refusals.ids):
        for resource, denied in items.items():
            flow.denials[denied.rule] = flow.denials.get(denied.rule, 0) + 1
            flow.errors[denied.code] = flow.errors.get(denied.code, 0) + 1
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
            )
            if state.worker.denied(event) and state.first_denial(resource):
                client = state.source.client_address
                log.warning("%s denied %s of %r: %s", client, plan.name, shown, denied.message)


def count_topics(state: ConnectionState, exchange: Exchange) -> None:
    """Give the exchange its flow: that of the topic that was named first, if any."""
    plan = exchange.plan
    names = exchange.spelled
    if not names:
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        return
    first, *others = islice(names, MAX_COUNTED_TOPICS)
    exchange.flow = state.flow(plan.api_key, plan.version, first)
    if others:
        exchange.others = [state.flow(plan.api_key, plan.version, flat) for flat in others]


def count_errors(exchange: Exchange, codes: list[int]) -> None:
    """Count the error codes of a response on the exchange's flow."""
    if codes and exchange.flow is not None:
        errors = exchange.flow.errors
        for code in codes:
            errors[code] = errors.get(code, 0) + 1


def _shown(resource: bytes) -> str:
    """A name as it was asked for; a topic id is hardly ever UTF-8, and told by its digits."""
    try:
        return resource[:MAX_SHOWN].decode()
    except UnicodeDecodeError:
        return resource.hex() if len(resource) == 16 else resource[:MAX_SHOWN].decode("latin-1")
