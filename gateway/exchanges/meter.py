"""Counting finished exchanges on the flows they belong to. Integers only; see gateway.flows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.exchanges.exchange import Exchange
from gateway.flows import LATENCY_BUCKETS, Flow
from protocol.records import BatchFacts

_LAST: Final = LATENCY_BUCKETS - 1
_MICROSECONDS: Final = 1_000_000


def count_exchanges(done: Iterable[Exchange], now: float) -> None:
    """Count each exchange whose response has been written by ``now`` (monotonic seconds).

    The broker's time is from the request's leaving to the response's (last) arrival, the
    gateway's is all the rest.
    """
    for exchange in done:
        flow = exchange.flow
        if flow is None:
            continue
        flow.requests += 1
        flow.led += 1
        flow.bytes_in += exchange.size
        flow.bytes_out += exchange.response_size
        broker = exchange.answered - exchange.sent
        own = now - exchange.arrived - broker
        try:
            flow.broker_us[int(broker * _MICROSECONDS).bit_length()] += 1
            flow.gateway_us[int(own * _MICROSECONDS).bit_length()] += 1
        except IndexError:
            _count_late(flow, broker, own)
        facts = exchange.facts
        if facts is not None:
            _count_batch(flow, facts)
        if exchange.others is not None:
            for other in exchange.others:
                other.requests += 1
        if exchange.parts is not None:
            for part in exchange.parts:
                part.flow.bytes_in += part.bytes
                flow.bytes_in -= part.bytes
                if part.facts is not None:
                    _count_batch(part.flow, part.facts)


def _count_batch(flow: Flow, facts: BatchFacts) -> None:
    """Count a batch that a broker took."""
    flow.batches += 1
    flow.records += facts[0]
    if facts[1]:
        flow.idempotent += 1
    if facts[2]:
        flow.transactional += 1


def _count_late(flow: Flow, broker: float, own: float) -> None:
    """Count a request one of whose times is beyond the histogram; the broker's may be counted."""
    if int(broker * _MICROSECONDS).bit_length() > _LAST:
        flow.broker_us[_LAST] += 1
    flow.gateway_us[min(int(own * _MICROSECONDS).bit_length(), _LAST)] += 1
