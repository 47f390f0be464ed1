"""The transaction protocol, step by step, against scripted responses."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords
from kio.schema.errors import ErrorCode

from gateway.catalog.log import kafka_transactions
from gateway.catalog.log.kafka_transactions import KafkaTransactions
from gateway.catalog.log.records import Fenced, LogError, OutcomeUnknown, Record
from protocol.messages import Request
from tests.broker_answers import answer, read_request

UNKNOWN_SERVER_ERROR = -1
LOADING, NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16
NOT_ENOUGH_REPLICAS = 19
INVALID_EPOCH, INVALID_MAPPING, CONCURRENT, PRODUCER_FENCED = 47, 49, 51, 90
RECORDS = [Record(b"k", b"v", [("seq", b"1")]), Record(b"t", None, [])]
LOST = LogError("a broker does not answer (RequestTimedOutError)")


class Scripted:
    """Responses in turn, for each request by its name; if none is scripted, it succeeds."""

    topic = "catalog"

    def __init__(self) -> None:
        self.script: dict[str, deque[int | LogError]] = {}
        self.asked: list[str] = []
        self.batches: list[bytes] = []
        self.epoch = 0
        self.closed = False

    def plan(self, name: str, *answers: int | LogError) -> None:
        """Script the next responses to requests of this name: error codes, or no response."""
        self.script[name] = deque(answers)

    async def ask(self, address: Any, request: Request, purpose: str) -> Any:
        """The coordinator's answer."""
        assert (address, purpose) == (("broker", 9092), "coordinator")
        return self._answer(request)

    async def ask_any(self, request: Request, purpose: str) -> Any:
        """Any broker's answer."""
        assert purpose == "coordinator"
        return self._answer(request)

    async def ask_leader(self, request: Request, purpose: str, wait: float) -> Any:
        """The leader's answer."""
        assert purpose == "write"
        return self._answer(request)

    def forget_leader(self) -> None:
        """Note the call."""
        self.asked.append("forget leader")

    async def close(self) -> None:
        """Note the close."""
        self.closed = True

    def _answer(self, request: Request) -> Any:
        name = request.name.removesuffix("Request")
        self.asked.append(name)
        planned = self.script.get(name)
        code = planned.popleft() if planned else 0
        if isinstance(code, LogError):
            raise code
        return answer(request, self._values(name, ErrorCode(code), read_request(request)))

    def _values(self, name: str, code: ErrorCode, request: Any) -> dict[str, object]:
        if name == "InitProducerId":
            self.epoch += not code
            return {"error_code": code, "producer_id": 7, "producer_epoch": self.epoch}
        if name == "AddPartitionsToTxn":
            partitions = [{"partition_index": 0, "partition_error_code": code}]
            result = {"name": "catalog", "results_by_partition": partitions}
            return {"results_by_topic_v3_and_below": [result]}
        if name == "Produce":
            (topic,) = request.topic_data
            (partition,) = topic.partition_data
            assert (request.transactional_id, request.acks, topic.name) == ("id", -1, "catalog")
            self.batches.append(partition.records)
            written = [{"index": partition.index, "error_code": code}]
            return {"responses": [{"name": "catalog", "partition_responses": written}]}
        return {"error_code": code, "host": "broker", "port": 9092}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The connections that every writer gets."""
    connections = Scripted()
    monkeypatch.setattr(kafka_transactions, "Connections", lambda *_: connections)
    monkeypatch.setattr(kafka_transactions, "_RETRY_SECONDS", 0.001)
    return connections


@pytest.fixture
def transactions(scripted: Scripted) -> KafkaTransactions:
    """A writer whose brokers are scripted."""
    return KafkaTransactions([("broker", 9092)], "catalog", "id")


async def test_a_transaction(scripted: Scripted, transactions: KafkaTransactions) -> None:
    await transactions.take()
    await transactions.commit(RECORDS)
    assert scripted.asked == [
        "FindCoordinator",
        "InitProducerId",
        "AddPartitionsToTxn",
        "Produce",
        "EndTxn",
    ]
    batch = MemoryRecords(scripted.batches[0]).next_batch()
    assert batch is not None
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 1, 0)
    assert batch.is_transactional
    assert [(r.key, r.value, r.headers) for r in batch] == [tuple(r[:3]) for r in RECORDS]


async def test_sequence_numbers_go_on_until_the_id_is_taken_again(
    scripted: Scripted, transactions: KafkaTransactions
) -> None:
    await transactions.take()
    await transactions.commit(RECORDS)
    await transactions.commit(RECORDS)
    await transactions.take()
    await transactions.commit(RECORDS)
    batches = [MemoryRecords(batch).next_batch() for batch in scripted.batches]
    assert [(b.producer_epoch, b.base_sequence) for b in batches if b] == [(1, 0), (1, 2), (2, 0)]


async def test_much_is_written_in_several_batches(
    scripted: Scripted, transactions: KafkaTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_transactions, "BATCH_BYTES", 1000)
    records = [Record(str(n).encode(), bytes(300), []) for n in range(10)]
    await transactions.take()
    await transactions.commit(records)
    batches = [MemoryRecords(batch).next_batch() for batch in scripted.batches]
    keys = [[record.key for record in batch] for batch in batches if batch]
    assert [*chain.from_iterable(keys)] == [record.key for record in records]
    assert len(keys) > 3
    assert [b.base_sequence for b in batches if b] == [
        sum(map(len, keys[:n])) for n in range(len(keys))
    ]


async def test_what_passes_is_waited_for(
    scripted: Scripted, transactions: KafkaTransactions
) -> None:
    scripted.plan("FindCoordinator", NOT_AVAILABLE, LOADING)
    scripted.plan("InitProducerId", CONCURRENT, LOADING, NOT_COORDINATOR)
    scripted.plan("AddPartitionsToTxn", CONCURRENT)
    scripted.plan("EndTxn", LOADING, CONCURRENT)
    await transactions.take()
    await transactions.commit(RECORDS)
    assert scripted.asked.count("FindCoordinator") == 4
    assert scripted.asked.count("InitProducerId") == 4
    assert scripted.asked.count("Produce") == 1


@pytest.mark.parametrize("step", ["AddPartitionsToTxn", "Produce", "EndTxn"])
@pytest.mark.parametrize("code", [INVALID_EPOCH, INVALID_MAPPING, PRODUCER_FENCED])
async def test_who_is_fenced_has_written_nothing(
    scripted: Scripted, transactions: KafkaTransactions, step: str, code: int
) -> None:
    scripted.plan(step, code)
    await transactions.take()
    with pytest.raises(Fenced):
        await transactions.commit(RECORDS)


@pytest.mark.parametrize("step", ["AddPartitionsToTxn", "Produce"])
@pytest.mark.parametrize("answer", [NOT_ENOUGH_REPLICAS, LOST])
async def test_what_fails_before_the_commit_has_written_nothing(
    scripted: Scripted, transactions: KafkaTransactions, step: str, answer: int | LogError
) -> None:
    scripted.plan(step, answer)
    await transactions.take()
    with pytest.raises(LogError) as raised:
        await transactions.commit(RECORDS)
    assert type(raised.value) is LogError
    assert "EndTxn" not in scripted.asked


@pytest.mark.parametrize("answer", [UNKNOWN_SERVER_ERROR, NOT_AVAILABLE, NOT_COORDINATOR, LOST])
async def test_a_commit_that_is_not_answered_well_may_have_been_made(
    scripted: Scripted, transactions: KafkaTransactions, answer: int | LogError
) -> None:
    scripted.plan("EndTxn", answer)
    await transactions.take()
    with pytest.raises(OutcomeUnknown):
        await transactions.commit(RECORDS)
    assert scripted.asked.count("EndTxn") == 1


async def test_a_commit_that_has_to_wait_for_ever_may_have_been_made(
    scripted: Scripted, transactions: KafkaTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_transactions, "STEP_SECONDS", 0.05)
    scripted.plan("EndTxn", *[CONCURRENT] * 10_000)
    await transactions.take()
    with pytest.raises(OutcomeUnknown):
        await transactions.commit(RECORDS)


async def test_taking_the_id_ends_in_time(
    scripted: Scripted, transactions: KafkaTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_transactions, "STEP_SECONDS", 0.05)
    scripted.plan("InitProducerId", *[CONCURRENT] * 10_000)
    with pytest.raises(LogError, match="could not take the catalog"):
        await transactions.take()


async def test_a_writing_that_is_too_slow_has_written_nothing(
    scripted: Scripted, transactions: KafkaTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    await transactions.take()
    monkeypatch.setattr(kafka_transactions, "STEP_SECONDS", 0.05)
    scripted.plan("AddPartitionsToTxn", *[CONCURRENT] * 10_000)
    with pytest.raises(LogError, match="takes too long"):
        await transactions.commit(RECORDS)
    assert "EndTxn" not in scripted.asked


@pytest.mark.parametrize("step", [None, "AddPartitionsToTxn", "EndTxn"])
async def test_without_the_id_nothing_is_written(
    scripted: Scripted, transactions: KafkaTransactions, step: str | None
) -> None:
    if step is not None:
        scripted.plan(step, INVALID_EPOCH)
        await transactions.take()
        with pytest.raises(Fenced):
            await transactions.commit(RECORDS)
        scripted.asked.clear()
    with pytest.raises(LogError, match="was not taken"):
        await transactions.commit(RECORDS)
    assert scripted.asked == []


async def test_close_lets_go(scripted: Scripted, transactions: KafkaTransactions) -> None:
    await transactions.take()
    await transactions.close()
    assert scripted.closed
    with pytest.raises(LogError, match="was not taken"):
        await transactions.commit(RECORDS)
