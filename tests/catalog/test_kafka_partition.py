"""Reading a partition: what a broker's answers mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

from gateway.catalog import kafka_partition
from gateway.catalog.kafka_partition import KafkaPartition
from gateway.catalog.partition import LogError, OffsetOutOfRange
from gateway.catalog.records import Record

OUT_OF_RANGE, NOT_LEADER = 1, 6


class Scripted:
    """One answer of the leader."""

    topic = "catalog"

    def __init__(self) -> None:
        self.partition: tuple[Any, ...] = ()
        self.answers_for = "catalog"
        self.asked: list[tuple[str, Any]] = []
        self.forgotten = 0

    async def ask_leader(self, request: Any, purpose: str, wait: float = 5.0) -> Any:
        """The leader's answer."""
        self.asked.append((purpose, request))
        return SimpleNamespace(topics=[(self.answers_for, [self.partition])])

    def forget_leader(self) -> None:
        """Counted."""
        self.forgotten += 1

    async def close(self) -> None:
        """Nothing to do."""


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """What every connection leads to."""
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


def record(key: str, offset: int) -> Record:
    """What such a batch holds."""
    return Record(key.encode(), b"v", (("seq", b"1"),), offset)


@pytest.mark.parametrize("version", [4, 5, 11])
async def test_a_fetch(scripted: Scripted, partition: KafkaPartition, version: int) -> None:
    layouts: dict[int, list[Any]] = {4: [None], 5: [0, None], 11: [0, None, -1]}
    extra = layouts[version]
    scripted.partition = (0, 0, 99, 40, *extra, batch(5, "a", "b") + batch(9, "c"))
    fetched = await partition.fetch(5, 0.5)
    assert fetched.records == [record("a", 5), record("b", 6), record("c", 9)]
    assert (fetched.next, fetched.end) == (10, 40)
    assert scripted.asked[0][0] == "fetch"


async def test_what_was_read_before_is_left_out(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    scripted.partition = (0, 0, 99, 40, 0, None, -1, batch(5, "a", "b", "c"))
    assert (await partition.fetch(7, 0.5)).records == [record("c", 7)]


async def test_an_aborted_transaction_is_left_out(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    data = batch(5, "a", producer=8) + batch(6, "b", producer=7)
    scripted.partition = (0, 0, 99, 40, 0, [(8, 5)], -1, data)
    fetched = await partition.fetch(5, 0.5)
    assert fetched.records == [record("b", 6)]
    assert fetched.next == 7


async def test_nothing_new(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = (0, 0, 5, 5, 0, None, -1, b"")
    assert await partition.fetch(5, 0.5) == ([], 5, 5)


async def test_an_offset_that_is_not_there(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = (0, OUT_OF_RANGE, -1, -1, -1, None, -1, b"")
    with pytest.raises(OffsetOutOfRange):
        await partition.fetch(5, 0.5)


async def test_a_refusal_makes_it_look_for_the_leader(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    scripted.partition = (0, NOT_LEADER, -1, -1, -1, None, -1, b"")
    with pytest.raises(LogError, match="NotLeaderForPartitionError") as raised:
        await partition.fetch(5, 0.5)
    assert not isinstance(raised.value, OffsetOutOfRange)
    assert scripted.forgotten == 1


async def test_offsets(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = (0, 0, -1, 17)
    assert await partition.end() == 17
    assert await partition.beginning() == 17
    requests = [request for _, request in scripted.asked]
    assert [request._topics for request in requests] == [
        [("catalog", [(0, -1)])],
        [("catalog", [(0, -2)])],
    ]
    assert {request._isolation_level for request in requests} == {1}
    # What waits at the broker for something new must not hold these up.
    assert {purpose for purpose, _ in scripted.asked} == {"ask"}


async def test_an_answer_for_something_else(scripted: Scripted, partition: KafkaPartition) -> None:
    scripted.partition = (0, 0, -1, 17)
    scripted.answers_for = "other"
    with pytest.raises(LogError, match="another topic"):
        await partition.end()


async def test_a_batch_that_the_library_refuses_stops_nothing(
    scripted: Scripted, partition: KafkaPartition
) -> None:
    """The name of a header is any bytes to a broker."""
    bad = batch(5, "a", "b").replace(b"seq", b"\xff\xfe\xfd")
    crc = crc32c(bad[21:])
    scripted.partition = (0, 0, 99, 40, 0, None, -1, bad[:17] + crc + bad[21:] + batch(7, "c"))
    fetched = await partition.fetch(5, 0.5)
    assert [(one.key, one.offset) for one in fetched.records] == [(b"a", 5), (b"b", 6), (b"c", 7)]
    assert [name for name, _ in fetched.records[0].headers] == ["\ufffd\ufffd\ufffd"]
    assert fetched.next == 8


def crc32c(data: bytes) -> bytes:
    """CRC-32C as a batch has it."""
    return int(calc_crc32c(data)).to_bytes(4, "big")
