"""gateway.sinks.topic_partitions: batches, leaders and rejections, against scripted brokers."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords
from kio.schema.errors import ErrorCode

from gateway.audit.setup import CONTENT_TYPE
from gateway.catalog.log.records import LogError
from gateway.sinks import topic_partitions
from gateway.sinks.topic_partitions import Message, TopicMissing, TopicPartitions, partition_of
from protocol.messages import Request
from tests.broker_answers import answer, read_request

TOPIC = "__kafka_gateway_audit"
UNKNOWN_TOPIC, NOT_LEADER, TOO_LARGE, BATCH_TOO_LARGE, NOT_AUTHORIZED = 3, 6, 10, 18, 29
ALICE, BOB = b"User:alice", b"User:bob"


class Brokers:
    """Two brokers that lead ``count`` partitions in turn. ``codes`` are the error codes of the next
    Produce to a partition; a broker that is ``down`` does not respond."""

    topic = TOPIC

    def __init__(self, count: int = 2) -> None:
        self.count = count
        self.leaderless: set[int] = set()
        self.metadata_code = 0
        self.codes: dict[int, list[int]] = {}
        self.down: set[str] = set()
        self.largest = 1_000_000
        self.asked = 0
        self.batches: dict[int, list[bytes]] = {}
        self.closed = False

    async def metadata(self, purpose: str) -> tuple[dict[int, tuple[str, int]], Any]:
        """The brokers, and the topic."""
        assert purpose == "ask"
        self.asked += 1
        partitions = [
            {
                "partition_index": number,
                "leader_id": -1 if number in self.leaderless else number % 2,
            }
            for number in range(self.count)
        ]
        code = ErrorCode(self.metadata_code)
        topic = {"error_code": code, "name": TOPIC, "partitions": partitions}
        request = Request("MetadataRequest", 9, {})
        response = answer(request, {"topics": [topic]})
        return {0: ("zero", 9092), 1: ("one", 9092)}, response.topics[0]

    async def ask(
        self, address: tuple[str, int], request: Request, purpose: str, wait: float
    ) -> Any:
        """Produce a single batch."""
        assert purpose == "write"
        if address[0] in self.down:
            raise LogError("a broker does not answer (ConnectionError)")
        read = read_request(request)
        ((topic,), acks) = read.topic_data, read.acks
        ((partition, batch),) = ((one.index, one.records) for one in topic.partition_data)
        assert (topic.name, acks, read.transactional_id) == (TOPIC, -1, None)
        assert address[0] == ("zero", "one")[partition % 2]
        codes = self.codes.get(partition)
        code = codes.pop(0) if codes else 0
        if len(batch) > self.largest:
            code = TOO_LARGE
        if not code:
            self.batches.setdefault(partition, []).append(batch)
        written = [{"index": partition, "error_code": ErrorCode(code)}]
        return answer(request, {"responses": [{"name": TOPIC, "partition_responses": written}]})

    async def close(self) -> None:
        self.closed = True

    def records(self) -> dict[int, list[Any]]:
        """The records written, by partition."""
        found: dict[int, list[Any]] = {}
        for partition, batches in self.batches.items():
            for data in batches:
                memory = MemoryRecords(data)
                while (batch := memory.next_batch()) is not None:
                    assert not batch.is_transactional
                    found.setdefault(partition, []).extend(batch)
        return found


def made(brokers: Brokers) -> TopicPartitions:
    partitions = TopicPartitions([("zero", 9092)], TOPIC, CONTENT_TYPE)
    partitions._connections = brokers  # type: ignore[assignment]
    return partitions


def messages(*keys: bytes, size: int = 10) -> list[Message]:
    return [Message(key, b"%d" % n + b" " * size, 1_000 + n) for n, key in enumerate(keys)]


def test_a_key_goes_where_kafkas_clients_put_it() -> None:
    """Kafka's own test values (org.apache.kafka.common.utils.UtilsTest, testMurmur2)."""
    assert partition_of(b"21", 1 << 31) == -973932308 & 0x7FFFFFFF
    assert partition_of(b"foobar", 1 << 31) == -790332482 & 0x7FFFFFFF
    assert partition_of(b"abc", 3) == (479470107 & 0x7FFFFFFF) % 3


async def test_one_batch_for_each_partition_with_the_bindings_header() -> None:
    brokers = Brokers(2)
    sent = messages(ALICE, BOB, ALICE, BOB, ALICE)
    assert await made(brokers).write(sent) == (5, 0, [], "")
    found = brokers.records()
    assert {len(batches) for batches in brokers.batches.values()} == {1}
    for key in (ALICE, BOB):
        records = [r for r in found[partition_of(key, 2)] if r.key == key]
        of_key = [message for message in sent if message.key == key]
        assert [(r.value, r.timestamp) for r in records] == [(m.value, m.time) for m in of_key]
        assert all(list(r.headers) == [("content-type", CONTENT_TYPE)] for r in records)
    assert CONTENT_TYPE.startswith(b"application/cloudevents+json")


async def test_leaders_are_asked_for_once() -> None:
    brokers = Brokers()
    partitions = made(brokers)
    for _ in range(3):
        await partitions.write(messages(ALICE))
    assert brokers.asked == 1


async def test_what_does_not_fit_into_a_batch_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_partitions, "BATCH_BYTES", 500)
    brokers = Brokers(1)
    sent = messages(*[ALICE] * 10, size=100)
    done = await made(brokers).write(sent)
    assert 0 < done.written < 10
    assert done == (done.written, 0, sent[done.written :], "")


async def test_an_event_above_the_batch_size_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_partitions, "BATCH_BYTES", 500)
    sent = messages(ALICE, ALICE, size=1_000)
    assert await made(Brokers(1)).write(sent) == (1, 0, sent[1:], "")


async def test_a_batch_that_is_too_large_is_halved_until_it_is_one_event() -> None:
    brokers = Brokers(1)
    brokers.largest = 500
    sent = messages(*[ALICE] * 8, size=100)
    done = await made(brokers).write(sent)
    assert done == (2, 0, sent[2:], "")
    brokers.largest = 50
    assert await made(brokers).write(sent) == (0, 1, sent[1:], "")


async def test_a_batch_may_also_be_rejected_for_its_segments_size() -> None:
    brokers = Brokers(1)
    brokers.codes = {0: [BATCH_TOO_LARGE]}
    sent = messages(ALICE)
    assert await made(brokers).write(sent) == (0, 1, [], "")


@pytest.mark.parametrize("code", [NOT_LEADER, NOT_AUTHORIZED])
async def test_a_rejection_leaves_its_partitions_events_and_asks_for_leaders(code: int) -> None:
    brokers = Brokers(2)
    rejected, other = partition_of(ALICE, 2), partition_of(BOB, 2)
    assert rejected != other
    brokers.codes = {rejected: [code]}
    partitions = made(brokers)
    sent = messages(ALICE, BOB, ALICE)
    done = await partitions.write(sent)
    assert (done.written, done.left) == (1, [sent[0], sent[2]])
    assert done.problem.startswith("writing is refused (")
    assert await partitions.write(done.left) == (2, 0, [], "")
    assert brokers.asked == 2


async def test_a_broker_that_is_away_leaves_its_partitions_events() -> None:
    brokers = Brokers(2)
    brokers.down = {("zero", "one")[partition_of(ALICE, 2) % 2]}
    sent = messages(ALICE, BOB)
    done = await made(brokers).write(sent)
    assert (done.written, done.left) == (1, sent[:1])
    assert done.problem == "a broker does not answer (ConnectionError)"


async def test_a_partition_without_a_leader() -> None:
    brokers = Brokers(1)
    brokers.leaderless = {0}
    sent = messages(ALICE)
    assert await made(brokers).write(sent) == (0, 0, sent, "a partition has no leader")


async def test_no_topic_and_no_right_to_it() -> None:
    brokers = Brokers()
    brokers.metadata_code = UNKNOWN_TOPIC
    with pytest.raises(TopicMissing):
        await made(brokers).write(messages(ALICE))
    brokers.metadata_code = NOT_AUTHORIZED
    with pytest.raises(LogError, match=r"cannot be written \(TOPIC_AUTHORIZATION_FAILED\)"):
        await made(brokers).write(messages(ALICE))
    brokers.metadata_code, brokers.count = 0, 0
    with pytest.raises(LogError, match="no partitions"):
        await made(brokers).write(messages(ALICE))


async def test_closing_forgets_the_leaders() -> None:
    brokers = Brokers()
    partitions = made(brokers)
    await partitions.write(messages(ALICE))
    await partitions.close()
    assert brokers.closed
    await partitions.write(messages(ALICE))
    assert brokers.asked == 2
