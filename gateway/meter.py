"""Counting finished exchanges on the flows they belong to. Integers only; see gateway.flows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.exchange import Exchange
from gateway.flows import LATENCY_BUCKETS, Flow

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
        if exchange.others is not None:
            for other in exchange.others:
                other.requests += 1


def _count_late(flow: Flow, broker: float, own: float) -> None:
    """Count a request one of whose times is beyond the histogram; the broker's may be counted."""
    if int(broker * _MICROSECONDS).bit_length() > _LAST:
        flow.broker_us[_LAST] += 1
    flow.gateway_us[min(int(own * _MICROSECONDS).bit_length(), _LAST)] += 1
