"""A Fetch response that passes in pieces: its heads are walked as they arrive, and of its records
only the batch headers, which hold the number of records.

The walker goes unit by unit (the head of the response, of each topic, of each partition, and the
fields after the records) and writes each unit on, so it holds no more than one unit. Names are
restored in place. The frame begins with its size, whose change follows from the topic count because
all names change by the same length (otherwise the handler collects the response).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gateway.exchanges.exchange import Exchange, Stream
from gateway.exchanges.fetched import FetchedTopic, count_fetched
from gateway.exchanges.framing import Buffer, slice_of
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow
from gateway.rules.rename import wire_string
from protocol.entities import Kind
from protocol.errors import ProtocolError, TruncatedError
from protocol.headers import response_body_pos
from protocol.pausing import FEW, eased, may_pause, pause_point
from protocol.primitives import MAX_INT32, write_uvarint
from protocol.records import walk_batches
from protocol.walkers import Span

TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
ERROR_CODE: Final = int(Kind.ERROR_CODE)
SESSION_ID: Final = int(Kind.SESSION_ID)
COUNT: Final = int(Kind.COUNT)
RECORDS: Final = int(Kind.RECORDS)

NOT_ASKED: Final = "Fetch response names a topic that was not requested"

LAST_BY_NAME: Final = 12
"""The last version of Fetch that names topics; later versions have topic ids (KIP-516)."""

UNIT_LIMIT: Final = 1024 * 1024
"""The most bytes in the head of a topic or partition (with its aborted transactions)."""

AT_ONCE: Final = 1024
"""Units that are walked in one go, which takes 2 ms. A topic with one partition has four units."""

BETWEEN: Final = 64
"""Units between two pause points of a walk in slices."""


class Stage(IntEnum):
    """The next unit of the response."""

    PREFIX = 0
    TOPIC_HEAD = 1
    PARTITION_HEAD = 2
    PARTITION_TAIL = 3
    TOPIC_TAIL = 4
    TAIL = 5
    DONE = 6


class FetchStream(Stream):
    """Walks one Fetch response. ``left``: bytes of the frame that have not been passed on.

    The topics that the gateway answers itself (the exchange's ``extra``) come before the broker's
    topics.
    """

    __slots__ = (
        "_exchange",
        "_fetched",
        "_partitions",
        "_segments",
        "_skip",
        "_stage",
        "_state",
        "_to_header",
        "_topic",
        "_topics",
        "left",
    )

    def __init__(self, state: ConnectionState, exchange: Exchange) -> None:
        super().__init__()
        segments = exchange.plan.response_segments
        assert segments is not None
        self._state = state
        self._exchange = exchange
        self._segments = segments
        self._stage = Stage.PREFIX
        self._skip = 0
        self._to_header = 0
        self._topics = 0
        self._partitions = 0
        self._topic: FetchedTopic | None = None
        self._fetched: list[FetchedTopic] = []
        self.left = 0

    def start(self, buf: bytes, frame: int, size: int, out: list[Buffer]) -> int:
        """Pass on the bytes that have arrived of a response whose frame starts at ``frame``.

        Returns the position to go on from, which is ``frame`` until the first unit has arrived.
        ``size`` is the frame's size, without its own four bytes.
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
        self._exchange.response_size += change
        if change or self._exchange.extra is not None:
            out.append((size + change).to_bytes(4, "big"))
            out.append(buf[frame + 4 : start] + inserted)
        else:
            out.append(buf[frame:at])
        return self.feed(buf, at, out)

    def feed(self, buf: bytes, position: int, out: list[Buffer]) -> int:
        """Walk and pass on the bytes that have arrived; returns the position to go on from. In
        slices there are pause points; otherwise many units are left for a call in slices
        (``has_more``).

        Raises ProtocolError if the response is not of its version.
        """
        at = passed = position
        limit = len(buf)
        end = min(limit, position + self.left)
        units = AT_ONCE
        try:
            while self._stage is not Stage.DONE:
                units -= 1
                if units < 0:
                    if not may_pause():
                        self.has_more = True
                        break
                    pause_point()
                    units = BETWEEN
                if self._skip:
                    stop = self._pass_records(buf, at, min(end, at + self._skip))
                    self._skip -= stop - at
                    at = stop
                    if self._skip:
                        break
                spans: list[Span] = []
                stop = self._walk(buf, at, end, spans)
                if self._stage is Stage.TOPIC_HEAD:
                    passed = self._name_topic(buf, passed, spans, out)
                self._advance(spans)
                at = stop
                if self._skip > position + self.left - at:
                    raise ProtocolError("Fetch response has records that go on after its end")
        except TruncatedError:
            self._require_more(position + self.left, at, limit)
        if at > passed:
            self._pass_on(buf, passed, at, out)
        self.left -= at - position
        if self._stage is Stage.DONE:
            if self.left:
                raise ProtocolError(f"Fetch response has {self.left} bytes after its end")
            self._count()
        return at

    def _count(self) -> None:
        """Count the topics after all have passed; if they are many, only in slices."""
        if len(self._fetched) > FEW and not may_pause():
            self.has_more = True
            return
        for topic in eased(self._fetched):
            count_fetched(self._exchange, topic)
        self._fetched = []

    @property
    def started(self) -> bool:
        """Whether the first unit has been passed on."""
        return self._stage is not Stage.PREFIX

    @property
    def done(self) -> bool:
        """Whether the whole response has been passed on."""
        return self._stage is Stage.DONE and not self._fetched

    def flows(self) -> list[Flow]:
        """The flows on which the stream may still count."""
        return [topic.flow for topic in self._fetched]

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
        """Record the unit and go on to the next unit."""
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

    def _pass_on(self, buf: bytes, passed: int, at: int, out: list[Buffer]) -> None:
        out.append(slice_of(buf, passed, at))

    def _next_topic(self) -> None:
        self._stage = Stage.TOPIC_HEAD if self._topics else Stage.TAIL

    def _pass_records(self, buf: bytes, at: int, stop: int) -> int:
        """Walk the headers of the batches from ``at`` on, as far as records have arrived.

        Returns ``stop``, or the position of a header that has not wholly arrived. A batch that the
        broker cut off is not counted: clients do not read it.
        """
        topic = self._topic
        assert topic is not None
        end = at + self._skip
        header, records, batches = walk_batches(buf, at + self._to_header, stop, end)
        topic.records += records
        topic.batches += batches
        stop = min(stop, header)
        self._to_header = header - stop
        return stop

    def _name_topic(self, buf: bytes, passed: int, spans: list[Span], out: list[Buffer]) -> int:
        """Restore a topic's name; returns the end of the bytes that have been written."""
        exchange, state = self._exchange, self._state
        kind, start, stop, value = spans[0]
        by_id = kind == TOPIC_ID
        flat = (state.worker.cluster.index.name_of(value) or b"") if by_id else value
        asked = exchange.spelled.get(value) if exchange.spelled else None
        if asked is None and not by_id:
            raise ProtocolError(NOT_ASKED)
        if asked is not None and asked != value:
            self._pass_on(buf, passed, start, out)
            out.append(asked if by_id else wire_string(asked, exchange.plan.flexible))
            passed = stop
        plan = exchange.plan
        self._topic = FetchedTopic(state.flow(plan.api_key, plan.version, flat))
        self._fetched.append(self._topic)
        return passed

    def _partition(self, spans: list[Span]) -> None:
        topic = self._topic
        assert topic is not None
        for kind, _, _, value in spans:
            if kind == RECORDS:
                self._skip = value
                self._to_header = 0
                topic.partitions += 1
                topic.bytes += max(value, 0)
            elif kind == ERROR_CODE:
                errors = topic.flow.errors
                errors[value] = errors.get(value, 0) + 1

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


def _array_count(count: int, flexible: bool) -> bytes:
    return write_uvarint(count + 1) if flexible else count.to_bytes(4, "big")
