"""A Fetch response on its way through: heads are walked as they arrive, records are not touched.

Unit by unit (the head of the response, of each topic, of each partition, and what follows the
records) the walker looks at what has arrived; what it has passed is written on, so that nothing
larger than one unit is ever kept. Names are restored in place. The frame's size stands before
everything: its change is known from the topic count, because all names change by the same
length (the handler collects the response otherwise).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from gateway.flows import Flow
from gateway.framing import Buffer, slice_of
from gateway.rules.rename import wire_string
from protocol.entities import Kind
from protocol.errors import ProtocolError, TruncatedError
from protocol.headers import response_body_pos
from protocol.primitives import (
    MAX_INT32,
    MAX_ONE_BYTE_LENGTH,
    compact_string,
    write_uvarint,
)
from protocol.walkers import Span

if TYPE_CHECKING:
    from gateway.exchange import Exchange
    from gateway.plans import Plan
    from gateway.state import ConnectionState

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
ERROR_CODE: Final = int(Kind.ERROR_CODE)
SESSION_ID: Final = int(Kind.SESSION_ID)
COUNT: Final = int(Kind.COUNT)
RECORDS: Final = int(Kind.RECORDS)

NOT_ASKED: Final = "Fetch response names a topic that was not asked for"

LAST_BY_NAME: Final = 12
"""The last version of Fetch that names topics; later ones have topic ids (KIP-516)."""

UNIT_LIMIT: Final = 1024 * 1024
"""Bytes: no head of a topic or partition is longer (the aborted transactions stand in it)."""


class Stage(IntEnum):
    """What comes next in the response."""

    PREFIX = 0
    TOPIC_HEAD = 1
    PARTITION_HEAD = 2
    PARTITION_TAIL = 3
    TOPIC_TAIL = 4
    TAIL = 5
    DONE = 6


class FetchStream:
    """Walks one Fetch response. ``left`` is what of its frame has not been passed on.

    The topics that the gateway answers itself (the exchange's ``extra``) are put before the
    broker's own.
    """

    __slots__ = (
        "_exchange",
        "_flow",
        "_partitions",
        "_segments",
        "_skip",
        "_stage",
        "_state",
        "_topics",
        "left",
    )

    def __init__(self, state: ConnectionState, exchange: Exchange) -> None:
        segments = exchange.plan.response_segments
        assert segments is not None
        self._state = state
        self._exchange = exchange
        self._segments = segments
        self._stage = Stage.PREFIX
        self._skip = 0
        self._topics = 0
        self._partitions = 0
        self._flow: Flow | None = None
        self.left = 0

    def start(self, buf: bytes, frame: int, size: int, out: list[Buffer]) -> int:
        """Pass on what has arrived of a response whose frame starts at ``frame``.

        Returns where to go on, and ``frame`` itself while its first unit has not arrived.
        ``size`` is the frame's, without its own four bytes.
        """
        end = frame + 4 + size
        limit = min(end, len(buf))
        header_version = self._exchange.plan.response_header_version
        spans: list[Span] = []
        try:
            body = response_body_pos(buf, frame + 4, limit, header_version)
            at = self._segments.prefix(buf, body, limit, spans)
        except TruncatedError:
            self._require_more(end, frame, len(buf))
            return frame
        kind, start, stop, count = spans[-1]
        assert kind == COUNT
        self._opened(spans)
        self._topics = max(count, 0)
        self.left = end - at
        self._next_topic()
        flexible = self._exchange.plan.flexible
        change = self._topics * self._exchange.name_change
        if self._exchange.extra is not None:
            more, topics = self._exchange.extra
            new_count = _array_count(self._topics + more, flexible)
            change += len(topics) + len(new_count) - (stop - start)
            inserted = new_count + topics
        else:
            inserted = buf[start:stop]
        if not 0 <= self._topics <= self.left or not 0 < size + change <= MAX_INT32:
            raise ProtocolError(f"Fetch response has no room for {self._topics} topics")
        if change or self._exchange.extra is not None:
            out.append((size + change).to_bytes(4, "big"))
            out.append(buf[frame + 4 : start] + inserted)
        else:
            out.append(buf[frame:at])
        return self.feed(buf, at, out)

    def feed(self, buf: bytes, position: int, out: list[Buffer]) -> int:
        """Walk and pass on what has arrived; returns where to go on when more has.

        Raises ProtocolError when the response is not what its version says.
        """
        at = passed = position
        limit = len(buf)
        end = min(limit, position + self.left)
        try:
            while self._stage is not Stage.DONE:
                if self._skip:
                    step = min(self._skip, end - at)
                    at += step
                    self._skip -= step
                    if self._skip:
                        break
                spans: list[Span] = []
                stop = self._walk(buf, at, end, spans)
                if self._stage is Stage.TOPIC_HEAD:
                    passed = self._topic(buf, passed, spans, out)
                self._advance(spans)
                at = stop
                if self._skip > position + self.left - at:
                    raise ProtocolError("Fetch response has records that go on after its end")
        except TruncatedError:
            self._require_more(position + self.left, at, limit)
        if at > passed:
            out.append(slice_of(buf, passed, at))
        self.left -= at - position
        if self._stage is Stage.DONE and self.left:
            raise ProtocolError(f"Fetch response has {self.left} bytes after its end")
        return at

    @property
    def started(self) -> bool:
        """Whether the first unit has been passed on."""
        return self._stage is not Stage.PREFIX

    @property
    def done(self) -> bool:
        """Whether the whole response has been passed on."""
        return self._stage is Stage.DONE

    def _walk(self, buf: bytes, at: int, end: int, spans: list[Span]) -> int:
        segments = self._segments
        stage = self._stage
        if stage is Stage.PARTITION_HEAD:
            return segments.partition_head(buf, at, end, spans)
        if stage is Stage.PARTITION_TAIL:
            return segments.partition_tail(buf, at, end, spans)
        if stage is Stage.TOPIC_HEAD:
            return segments.topic_head(buf, at, end, spans)
        if stage is Stage.TOPIC_TAIL:
            return segments.topic_tail(buf, at, end, spans)
        return segments.tail(buf, at, end, spans)

    def _advance(self, spans: list[Span]) -> None:
        """Note what the unit said and move on to the next one."""
        stage = self._stage
        if stage is Stage.PARTITION_HEAD:
            self._partition(spans)
            self._stage = Stage.PARTITION_TAIL
        elif stage is Stage.PARTITION_TAIL:
            self._partitions -= 1
            self._stage = Stage.PARTITION_HEAD if self._partitions else Stage.TOPIC_TAIL
        elif stage is Stage.TOPIC_HEAD:
            self._partitions = max(spans[-1][3], 0)
            self._stage = Stage.PARTITION_HEAD if self._partitions else Stage.TOPIC_TAIL
        elif stage is Stage.TOPIC_TAIL:
            self._topics -= 1
            self._next_topic()
        else:
            self._stage = Stage.DONE

    def _next_topic(self) -> None:
        self._stage = Stage.TOPIC_HEAD if self._topics else Stage.TAIL

    def _topic(self, buf: bytes, passed: int, spans: list[Span], out: list[Buffer]) -> int:
        """Restore a topic's name; returns how far the buffer has been written by now."""
        exchange, state = self._exchange, self._state
        kind, start, stop, value = spans[0]
        by_id = kind == TOPIC_ID
        flat = (state.worker.cluster.index.name_of(value) or b"") if by_id else value
        asked = exchange.spelled.get(value) if exchange.spelled else None
        if asked is None and not by_id:
            raise ProtocolError(NOT_ASKED)
        if asked is not None and asked != value:
            out.append(slice_of(buf, passed, start))
            out.append(asked if by_id else wire_string(asked, exchange.plan.flexible))
            passed = stop
        self._flow = fetched_flow(state, exchange, flat)
        return passed

    def _partition(self, spans: list[Span]) -> None:
        flow = self._flow
        assert flow is not None
        for kind, _, _, value in spans:
            if kind == RECORDS:
                self._skip = value
                flow.partitions += 1
                if flow is not self._exchange.flow:
                    flow.bytes_out += value
            elif kind == ERROR_CODE:
                flow.errors[value] = flow.errors.get(value, 0) + 1

    def _opened(self, spans: list[Span]) -> None:
        session_id = error = 0
        for kind, _, _, value in spans:
            if kind == SESSION_ID:
                session_id = value
            elif kind == ERROR_CODE:
                error = value
        flow = self._exchange.flow
        if error and flow is not None:
            flow.errors[error] = flow.errors.get(error, 0) + 1
        if not error:
            lead = flow.flat.encode() if flow is not None else b""
            self._state.fetch_session_opened(
                session_id,
                self._exchange.spelled or {},
                lead,
                by_id=self._exchange.plan.version > LAST_BY_NAME,
            )

    @staticmethod
    def _require_more(end: int, at: int, limit: int) -> None:
        if end <= limit:
            raise ProtocolError("Fetch response ends in the middle of a field")
        if limit - at > UNIT_LIMIT:
            raise ProtocolError(f"Fetch response has a head longer than {UNIT_LIMIT} bytes")


def fetched_flow(state: ConnectionState, exchange: Exchange, flat: bytes) -> Flow:
    """The flow of a topic that a Fetch response holds; the request counts on its lead alone."""
    flow = state.flow(exchange.plan.api_key, exchange.plan.version, flat)
    if flow is not exchange.flow:
        flow.requests += 1
    return flow


def size_change(spelled: Mapping[bytes, bytes] | None, flexible: bool) -> int | None:
    """By how many bytes each restored name changes the response; None where they differ."""
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


def error_topics(plan: Plan, body: bytes) -> tuple[int, bytes]:
    """The topic entries of a response body of the gateway's own: their count and their bytes."""
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


def _array_count(count: int, flexible: bool) -> bytes:
    return write_uvarint(count + 1) if flexible else count.to_bytes(4, "big")
