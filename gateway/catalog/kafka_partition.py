"""The catalog's partition on a real cluster, for its reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.errors import OffsetOutOfRangeError
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.structs import TopicPartition

from gateway.brokers.security import BrokerSecurity
from gateway.catalog.kafka_connections import (
    ANSWER_SECONDS,
    PARTITION,
    Address,
    Connections,
    error_name,
)
from gateway.catalog.partition import Fetched, LogError, OffsetOutOfRange
from gateway.catalog.record_batches import batches, salvaged
from gateway.catalog.records import Headers, Record

FETCH_BYTES: Final = 256 * 1024
"""At most so much in one fetch (a larger batch comes alone): 20 ms of work for the event loop."""

_BEGINNING: Final = -2
_END: Final = -1


class KafkaPartition:
    """Reads committed records (gateway/catalog/partition.py). Belongs to one event loop."""

    def __init__(
        self,
        bootstrap_servers: Sequence[Address],
        topic: str,
        security: BrokerSecurity | None = None,
    ) -> None:
        self._connections = Connections(bootstrap_servers, topic, security)
        self._topic_partition = TopicPartition(topic, PARTITION)

    async def fetch(self, offset: int, wait: float) -> Fetched:
        """Records from ``offset`` on; where there are none yet, ``wait`` so many seconds.

        Raises OffsetOutOfRange and LogError.
        """
        request = FetchRequest(
            max(0, int(wait * 1000)),
            1,
            FETCH_BYTES,
            READ_COMMITTED,
            [(self._connections.topic, [(PARTITION, offset, FETCH_BYTES)])],
        )
        # A connection of its own: a broker answers nothing else there while it waits.
        response = await self._connections.ask_leader(request, "fetch", wait + ANSWER_SECONDS)
        _, code, _, end, *more, data = self._partition_of(response)
        self._check(code)
        # Before v11 the aborted transactions stand last, then comes a replica to read from.
        aborted = more[-1] if isinstance(more[-1], list) or more[-1] is None else more[-2]
        found = PartitionRecords(
            self._topic_partition,
            _Batches(data),
            aborted,
            offset,
            None,
            None,
            True,
            READ_COMMITTED,
        )
        records = [Record(one.key, one.value, one.headers, one.offset) for one in found]
        return Fetched(records, found.next_fetch_offset, end)

    async def beginning(self) -> int:
        """The first offset that there is. Raises LogError."""
        return await self._offset(_BEGINNING)

    async def end(self) -> int:
        """The offset after all that is committed. Raises LogError."""
        return await self._offset(_END)

    async def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        await self._connections.close()

    async def _offset(self, which: int) -> int:
        topics = [(self._connections.topic, [(PARTITION, which)])]
        request = OffsetRequest(-1, READ_COMMITTED, topics)
        response = await self._connections.ask_leader(request, "ask")
        _, code, _, offset = self._partition_of(response)
        self._check(code)
        return int(offset)

    def _partition_of(self, response: Any) -> tuple[Any, ...]:
        for topic, partitions in response.topics:
            for partition in partitions:
                if topic == self._connections.topic and partition[0] == PARTITION:
                    return tuple(partition)
        raise LogError("a broker answers for another topic")

    def _check(self, code: int) -> None:
        if code == OffsetOutOfRangeError.errno:
            raise OffsetOutOfRange("the offset is out of range")
        if code:
            self._connections.forget_leader()
            raise LogError(f"a broker refuses to read it ({error_name(code)})")


class _Readable(NamedTuple):
    """What PartitionRecords wants of a record."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    offset: int
    timestamp: int = 0
    timestamp_type: int = 0
    checksum: None = None


class _Batches:
    """The batches of a fetch, as PartitionRecords wants them."""

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
    """A batch whose records can be read, also where aiokafka refuses them as a whole."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # One of an older format is wrapped as well.
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
        # Whatever it is: the broker stored it, and it stands before all that comes later.
        except Exception:  # noqa: BLE001 - a name that is no text, a codec that is not there
            records = [_Readable(*record) for record in salvaged(self._data)]
        return iter(records)
