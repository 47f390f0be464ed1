"""Reading a partition: how a broker's responses are understood."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from kio.schema.errors import ErrorCode

from gateway.catalog.log import kafka_partition
from gateway.catalog.log.kafka_partition import KafkaPartition
from gateway.catalog.log.records import LogError, OffsetOutOfRange, Record
from protocol.messages import Request
from tests.broker_answers import answer, read_request

OUT_OF_RANGE, NOT_LEADER = 1, 6


class Scripted:
    """Connections whose leader has a single scripted response."""

    topic = "catalog"

    def __init__(self) -> None:
        self.partition: dict[str, object] = {}
        self.version: int | None = None
        self.answers_for = "catalog"
        self.asked: list[tuple[str, Any]] = []
        self.forgotten = 0

    async def ask_leader(self, request: Request, purpose: str, wait: float = 5.0) -> Any:
        """The leader's answer."""
        self.asked.append((purpose, read_request(request, self.version)))
        partitions = [{"partition_index": 0, **self.partition}]
        if request.name == "FetchRequest":
            values = {"responses": [{"topic": self.answers_for, "partitions": partitions}]}
        else:
            values = {"topics": [{"name": self.answers_for, "partitions": partitions}]}
        return answer(request, values, self.version)

    def forget_leader(self) -> None:
        """Count the call."""
        self.forgotten += 1

    async def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The connections that every partition gets."""
    connections = Scripted()
    monkeypatch.setattr(kafka_partition, "Connections", lambda *_: connections)
    return connections


@pytest.fixture
def partition(scripted: Scripted) -> KafkaPartition:
    """A reader whose broker is scripted."""
    return KafkaPartition([("broker", 9092)], "catalog")


def batch(offset: int, *keys: str, producer: int = 7) -> bytes:
    """A transactional batch, as the broker stores it."""
    builder = DefaultRecordBatchBuilder(2, 0, True, producer, 0, 0, 10_000)
    for number, key in enumerate(keys):
        builder.append(number, 0, key.encode(), b"v", [("seq", b"1")])
    built = bytearray(builder.build())
    built[:8] = offset.to_bytes(8, "big")
    return bytes(built)


def fetched(records: bytes, end: int = 40, **more: object) -> dict[str, object]:
    """A partition of a Fetch response; the records before ``end`` are committed."""
    return {"high_watermark": 99, "last_stable_offset": end, "records": records, **more}


def record(key: str, offset: int) -> Record:
    """A record of such a batch, as it is read."""
    return Record(key.encode(), b"v", (("seq", b"1"),), offset)


@pytest.mark.parametrize("version", range(4, 13))
async def test_a_fetch(scripted: Scripted, partition: KafkaPartition, version: int) -> None:
    scripted.version = version
    scripted.partition = fetched(batch(5, "a", "b") + batch(9, "c"))
    found = await partition.fetch(5, 0.5)
    assert found.records == [record("a", 5), record("b", 6), record("c", 9)]
    assert (found.next, found.end) == (10, 40)
    ((purpose, request),) = scripted.asked
    assert purpose == "fetch"
    assert (request.isolation_level, request.max_wait, request.min_bytes) == (
        1,
        timedelta(seconds=0.5),
        1,
    )
    (topic,) = request.topics
    (asked,) = topic.partitions
    assert (topic.topic, asked.partition, asked.fetch_offset) == ("catalog", 0, 5)
    assert request.replica_id == -1
    if version >= 7:
        assert (request.session_id, request.session_epoch) == (0, -1)


async def test_what_was_read_before_is_left_out(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    scripted.partition = fetched(batch(5, "a", "b", "c"))
    assert (await partition.fetch(7, 0.5)).records == [record("c", 7)]


async def test_an_aborted_transaction_is_left_out(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    data = batch(5, "a", producer=8) + batch(6, "b", producer=7)
    scripted.partition = fetched(data, aborted_transactions=[{"producer_id": 8, "first_offset": 5}])
    found = await partition.fetch(5, 0.5)
    assert found.records == [record("b", 6)]
    assert found.next == 7


async def test_nothing_new(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = fetched(b"", 5)
    assert await partition.fetch(5, 0.5) == ([], 5, 5)


async def test_an_offset_that_is_not_there(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = fetched(b"", -1, error_code=ErrorCode(OUT_OF_RANGE))
    with pytest.raises(OffsetOutOfRange):
        await partition.fetch(5, 0.5)


async def test_a_rejection_makes_it_look_for_the_leader(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    scripted.partition = fetched(b"", -1, error_code=ErrorCode(NOT_LEADER))
    with pytest.raises(LogError, match="NOT_LEADER_OR_FOLLOWER") as raised:
        await partition.fetch(5, 0.5)
    assert not isinstance(raised.value, OffsetOutOfRange)
    assert scripted.forgotten == 1


async def test_offsets(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = {"offset": 17}
    assert await partition.end() == 17
    assert await partition.beginning() == 17
    requests = [request for _, request in scripted.asked]
    wanted = [request.topics[0].partitions[0] for request in requests]
    assert [(one.partition_index, one.timestamp) for one in wanted] == [(0, -1), (0, -2)]
    assert {request.topics[0].name for request in requests} == {"catalog"}
    assert {(request.isolation_level, request.replica_id) for request in requests} == {(1, -1)}
    # A fetch that waits at the broker for new records must not delay these.
    assert {purpose for purpose, _ in scripted.asked} == {"ask"}


async def test_an_answer_for_something_else(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = {"offset": 17}
    scripted.answers_for = "other"
    with pytest.raises(LogError, match="another topic"):
        await partition.end()


async def test_a_batch_that_the_library_rejects_stops_nothing(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    """To a broker, the name of a header is any bytes."""
    bad = batch(5, "a", "b").replace(b"seq", b"\xff\xfe\xfd")
    crc = crc32c(bad[21:])
    scripted.partition = fetched(bad[:17] + crc + bad[21:] + batch(7, "c"))
    found = await partition.fetch(5, 0.5)
    assert [(one.key, one.offset) for one in found.records] == [(b"a", 5), (b"b", 6), (b"c", 7)]
    assert [name for name, _ in found.records[0].headers] == ["\ufffd\ufffd\ufffd"]
    assert found.next == 8


def crc32c(data: bytes) -> bytes:
    """CRC-32C as a batch has it."""
    return int(calc_crc32c(data)).to_bytes(4, "big")
