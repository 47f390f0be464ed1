"""Fetch responses: counts of their topics, and their size with restored names."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.exchanges.exchange import Exchange
from gateway.exchanges.formats import Format
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow
from protocol.primitives import MAX_ONE_BYTE_LENGTH, compact_string
from protocol.records import walk_batches
from protocol.walkers import Span


class FetchedTopic:
    """The counts of one topic of a response; they are added to its flow after it has passed."""

    __slots__ = ("batches", "bytes", "flow", "partitions", "records")

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.partitions = 0
        self.records = 0
        self.batches = 0
        self.bytes = 0


def fetched_flow(state: ConnectionState, exchange: Exchange, flat: bytes) -> Flow:
    """The flow of a topic in a Fetch response. The request itself is ``led`` on ``exchange.flow``,
    the flow of the topic that it named first, and ``followed`` on all others."""
    flow = state.flow(exchange.plan.api_key, exchange.plan.version, flat)
    if flow is not exchange.flow:
        flow.followed += 1
    return flow


def count_partition(exchange: Exchange, flow: Flow, buf: bytes, start: int, size: int) -> None:
    """Count a partition of a whole response; its records begin at ``start``."""
    flow.partitions += 1
    if size <= 0:
        return
    _, records, batches = walk_batches(buf, start, start + size, start + size)
    flow.records_out += records
    flow.batches_out += batches
    if flow is not exchange.flow:
        flow.bytes_out += size
        exchange.response_size -= size


def count_fetched(exchange: Exchange, topic: FetchedTopic) -> None:
    """Count a topic of a response that has passed. The request counts with its first topic, and so
    do all bytes that are no other topic's records."""
    flow = topic.flow
    flow.partitions += topic.partitions
    flow.records_out += topic.records
    flow.batches_out += topic.batches
    if flow is not exchange.flow:
        flow.followed += 1
        flow.bytes_out += topic.bytes
        exchange.response_size -= topic.bytes


def size_change(spelled: Mapping[bytes, bytes] | None, flexible: bool) -> int | None:
    """The bytes by which a response grows with each name restored (flat -> as requested), if they
    are the same for all names of the request; else None, and the response cannot be streamed."""
    if not spelled:
        return 0
    change: int | None = None
    for flat, shown in spelled.items():
        own = len(shown) - len(flat)
        if flexible and (len(shown) > MAX_ONE_BYTE_LENGTH or len(flat) > MAX_ONE_BYTE_LENGTH):
            own = len(compact_string(shown)) - len(compact_string(flat))
        if change is None:
            change = own
        elif own != change:
            return None
    return change


def error_topics(plan: Format, body: bytes) -> tuple[int, bytes]:
    """The topics of a Fetch response that the gateway made of denials: their count and their bytes.

    The last span of a prefix or topic head is the count of what follows, that of a partition head
    the size of the records (:class:`protocol.walkers.Segments`).
    """
    segments = plan.response_segments
    assert segments is not None
    spans: list[Span] = []
    at = begin = segments.prefix(body, 0, len(body), spans)
    count: int = spans[-1][3]
    for _ in range(count):
        at = segments.topic_head(body, at, len(body), spans)
        for _ in range(spans[-1][3]):
            at = segments.partition_head(body, at, len(body), spans)
            at = segments.partition_tail(body, at + spans[-1][3], len(body), spans)
        at = segments.topic_tail(body, at, len(body), spans)
    return count, body[begin:at]
