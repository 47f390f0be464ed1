"""The catalog's partition on a Kafka cluster, as its reader uses it.

A broker checks that a record has a key and that its lengths are right, and nothing else. No record
may stop the reading, so a record that cannot be read becomes a record without a key, which counts
as junk. Layout of batches: https://kafka.apache.org/documentation/#recordbatch (magic 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.structs import TopicPartition

from gateway.brokers.security import BrokerSecurity
from gateway.catalog.log.kafka_connections import (
    ANSWER_SECONDS,
    PARTITION,
    UNKNOWN_TOPIC,
    Address,
    Connections,
    own_request,
)
from gateway.catalog.log.records import (
    Fetched,
    Headers,
    LogError,
    LogLost,
    OffsetOutOfRange,
    Record,
)
from protocol.records import BATCH_HEADER_SIZE
from protocol.schema import error_name

FETCH_BYTES: Final = 256 * 1024
"""Bytes of a fetch at most (a larger batch comes alone): 6 ms to decode its records."""

_BEGINNING: Final = -2
_END: Final = -1
_NO_REPLICA: Final = -1
_OFFSET_OUT_OF_RANGE: Final = 1
# Later versions of Fetch name topics by id.
NEEDS: Final[Mapping[str, int]] = {"FetchRequest": 12, "ListOffsetsRequest": 6}
"""Kafka's name of a request made here -> its newest version."""


class KafkaPartition:
    """A :class:`gateway.catalog.log.records.Partition`. Belongs to one event loop."""

    def __init__(
        self,
        bootstrap_servers: Sequence[Address],
        topic: str,
        security: BrokerSecurity | None = None,
    ) -> None:
        self._connections = Connections(bootstrap_servers, topic, security)
        self._topic_partition = TopicPartition(topic, PARTITION)

    async def fetch(self, offset: int, wait: float) -> Fetched:
        """Records from ``offset`` on; at the end of the log, wait up to ``wait`` seconds for a
        record.

        Raises OffsetOutOfRange and LogError.
        """
        request = own_request(NEEDS, "FetchRequest", self._fetch_values(offset, wait))
        # On a connection of its own: while a fetch waits, a broker answers nothing else there.
        response = await self._connections.ask_leader(request, "fetch", wait + ANSWER_SECONDS)
        self._check(getattr(response, "error_code", 0))
        partition = self._only((one.topic, one.partitions) for one in response.responses)
        self._check(partition.error_code)
        aborted = [
            (one.producer_id, one.first_offset) for one in partition.aborted_transactions or ()
        ]
        found = PartitionRecords(
            self._topic_partition,
            _Batches(partition.records or b""),
            aborted,
            offset,
            None,
            None,
            True,
            READ_COMMITTED,
        )
        records = [Record(one.key, one.value, one.headers, one.offset) for one in found]
        return Fetched(records, found.next_fetch_offset, partition.last_stable_offset)

    async def beginning(self) -> int:
        """The first offset of the log. Raises LogError."""
        return await self._offset(_BEGINNING)

    async def end(self) -> int:
        """The offset after the last committed record. Raises LogError."""
        return await self._offset(_END)

    async def close(self) -> None:
        """Close the connections; the next request opens new connections."""
        await self._connections.close()

    def _fetch_values(self, offset: int, wait: float) -> dict[str, object]:
        partition = {
            "partition": PARTITION,
            "fetch_offset": offset,
            "partition_max_bytes": FETCH_BYTES,
        }
        return {
            "replica_id": _NO_REPLICA,
            "max_wait": timedelta(seconds=max(0.0, wait)),
            "min_bytes": 1,
            "max_bytes": FETCH_BYTES,
            "isolation_level": READ_COMMITTED,
            "topics": [{"topic": self._connections.topic, "partitions": [partition]}],
        }

    async def _offset(self, which: int) -> int:
        partition = {"partition_index": PARTITION, "timestamp": which}
        values = {
            "replica_id": _NO_REPLICA,
            "isolation_level": READ_COMMITTED,
            "topics": [{"name": self._connections.topic, "partitions": [partition]}],
        }
        request = own_request(NEEDS, "ListOffsetsRequest", values)
        response = await self._connections.ask_leader(request, "ask")
        found = self._only((one.name, one.partitions) for one in response.topics)
        self._check(found.error_code)
        return int(found.offset)

    def _only(self, topics: Iterable[tuple[str, Sequence[Any]]]) -> Any:
        """The catalog's partition in a response. Raises LogError for a response without it."""
        for topic, partitions in topics:
            for partition in partitions:
                if topic == self._connections.topic and partition.partition_index == PARTITION:
                    return partition
        raise LogError("a broker answers for another topic")

    def _check(self, code: int) -> None:
        if code == _OFFSET_OUT_OF_RANGE:
            raise OffsetOutOfRange("the offset is out of range")
        if code:
            self._connections.forget_leader()
            # The leader of a deleted partition responds so, but also a broker that has not heard of
            # the partition yet.
            kind = LogLost if code == UNKNOWN_TOPIC else LogError
            raise kind(f"a broker rejects reading it ({error_name(code)})")


class _Readable(NamedTuple):
    """A record with the attributes that PartitionRecords reads."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    offset: int
    timestamp: int = 0
    timestamp_type: int = 0
    checksum: None = None


class _Batches:
    """The batches of a fetch, with the methods that PartitionRecords calls."""

    def __init__(self, data: bytes) -> None:
        self._rest = batches(bytes(data))
        self._next = next(self._rest, None)

    def has_next(self) -> bool:
        return self._next is not None

    def next_batch(self) -> _Batch:
        assert self._next is not None
        batch = _Batch(self._next)
        self._next = next(self._rest, None)
        return batch


class _Batch:
    """A batch whose records can be read, even if aiokafka rejects the batch."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # A batch of an older format is wrapped as well.
        self._batch: Any = MemoryRecords(data).next_batch()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        try:
            records = [
                _Readable(one.key, one.value, one.headers, one.offset) for one in self._batch
            ]
        # Catch any error: the broker has stored the batch, and later records come after it.
        except Exception:  # noqa: BLE001 - a name that is no text, a codec that is not there
            records = [_Readable(*record) for record in salvaged(self._data)]
        return iter(records)


_LENGTH_END: Final = 12
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22
_COUNT_AT: Final = 57
_COMPRESSION: Final = 0x07
_MAX_VARINT_BYTES: Final = 10


def batches(data: bytes) -> Iterator[bytes]:
    """The whole batches of a fetch; a batch that is cut off at the end is left out."""
    start = 0
    while start + _MAGIC_AT < len(data):
        end = start + _LENGTH_END + int.from_bytes(data[start + 8 : start + _LENGTH_END], "big")
        if end > len(data):
            return
        yield data[start:end]
        start = end


def salvaged(batch: bytes) -> Iterator[Record]:
    """The records of a batch, as far as they can be read; then a record without a key, at the
    offset after them."""
    base = int.from_bytes(batch[:8], "big")
    count = int.from_bytes(batch[_COUNT_AT:BATCH_HEADER_SIZE], "big")
    offset = base
    if batch[_MAGIC_AT] == 2 and not batch[_ATTRIBUTES_AT] & _COMPRESSION:
        pos = BATCH_HEADER_SIZE
        try:
            for _ in range(count):
                record, pos = _record(batch, pos, base)
                yield record
                offset = record.offset + 1
        except ValueError:
            pass
        else:
            return
    yield Record(None, None, (), offset)


def _record(batch: bytes, pos: int, base: int) -> tuple[Record, int]:
    """A record and the position after it. Raises ValueError."""
    length, pos = _varint(batch, pos)
    end = pos + length
    if not pos < end <= len(batch):
        raise ValueError("a record does not end within its batch")
    pos += 1  # the attributes byte, in which Kafka sets no bit yet
    _, pos = _varint(batch, pos)
    delta, pos = _varint(batch, pos)
    key, pos = _bytes(batch, pos, end)
    value, pos = _bytes(batch, pos, end)
    count, pos = _varint(batch, pos)
    if not 0 <= count <= end - pos:
        raise ValueError("more headers than bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, pos = _bytes(batch, pos, end)
        content, pos = _bytes(batch, pos, end)
        headers.append(((name or b"").decode(errors="replace"), content))
    return Record(key, value, headers, base + delta), end


def _bytes(batch: bytes, pos: int, end: int) -> tuple[bytes | None, int]:
    length, pos = _varint(batch, pos)
    if length < 0:
        return None, pos
    if pos + length > end:
        raise ValueError("bytes beyond the end of their record")
    return batch[pos : pos + length], pos + length


def _varint(batch: bytes, pos: int) -> tuple[int, int]:
    """A zigzag varint and the position after it."""
    value = 0
    for number, byte in enumerate(batch[pos : pos + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), pos + number + 1
    raise ValueError("a varint without an end")
