"""Counts of finished exchanges on their flows. Integers only; see gateway.flows."""

from __future__ import annotations

from typing import Final

from gateway.exchanges.exchange import Exchange
from gateway.exchanges.watch import WATCH
from gateway.flows import LATENCY_BUCKETS, Flow
from protocol.records import BatchFacts

_LAST: Final = LATENCY_BUCKETS - 1
_MICROSECONDS: Final = 1_000_000.0


def count_exchanges(done: list[Exchange], now: float) -> None:
    """Count each exchange whose response has been written by ``now`` (monotonic seconds).

    The broker's time is from the sending of the request to the (last) arrival of the response, or
    the time of the gateway's work at brokers and in the catalog; the rest is the gateway's time. A
    request without either (the gateway's own answer, acks=0) has no broker's time, and is counted
    in one histogram only.
    """
    watch = WATCH.done
    if watch is not None:
        watch(done, now)
    for exchange in done:
        flow = exchange.flow
        if flow is None:
            continue
        flow.led += 1
        flow.bytes_in += exchange.size
        flow.bytes_out += exchange.response_size
        broker = exchange.answered - exchange.sent
        own = now - exchange.arrived - broker
        # Squares, in us: the bit length of a square rises by four for twice the time.
        broker *= _MICROSECONDS
        broker *= broker
        own *= _MICROSECONDS
        own *= own
        try:
            if broker:
                flow.broker_us[int(broker * broker).bit_length()] += 1
            flow.gateway_us[int(own * own).bit_length()] += 1
        except IndexError:
            _count_late(flow, broker, own)
        facts = exchange.facts
        if facts is not None:
            _count_batch(flow, facts)
            continue  # a single batch: it names one topic, and has no parts
        if exchange.others is not None:
            for other in exchange.others:
                other.followed += 1
        if exchange.parts is not None:
            for part in exchange.parts:
                part.flow.bytes_in += part.bytes
                flow.bytes_in -= part.bytes
                if part.facts is not None:
                    _count_batch(part.flow, part.facts)


def _count_batch(flow: Flow, facts: BatchFacts) -> None:
    """Count a batch that a broker accepted."""
    flow.batches += 1
    flow.records += facts[0]
    if facts[1]:
        flow.idempotent += 1
    if facts[2]:
        flow.transactional += 1


def _count_late(flow: Flow, broker: float, own: float) -> None:
    """Count a request if a squared time is beyond the end of its histogram. The broker's time (0:
    there is none) may be counted already: it comes first."""
    index = int(broker * broker).bit_length()
    if broker and index >= len(flow.broker_us):
        _count_at(flow.broker_us, index)
    _count_at(flow.gateway_us, int(own * own).bit_length())


def _count_at(buckets: list[int], index: int) -> None:
    """Count one at the index of a histogram, which grows if it is too short."""
    index = min(index, _LAST)
    buckets.extend([0] * (index + 1 - len(buckets)))
    buckets[index] += 1
