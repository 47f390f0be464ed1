"""gateway.audit.setup: waiting for a cluster that is down, dropping, and ending in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from gateway.audit.audit import Audit
from gateway.audit.setup import audit_topic
from gateway.catalog.log.records import LogError
from gateway.cluster.link import ClusterUnreachable
from gateway.sinks import record_topic
from gateway.sinks.record_topic import CHUNK
from gateway.sinks.record_writer import SinkError
from gateway.sinks.topic_partitions import (
    Message,
    TopicMissing,
    TopicPartitions,
    TopicUnusable,
    Written,
)
from tests.audit import audit_samples as samples
from tests.audit.cloud_events import checked
from tests.waiting import eventually


class FakePartitions(TopicPartitions):
    """A topic in memory. ``problems`` come first, one for each write; ``gate`` holds writes up."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.problems: list[LogError | Written] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.writes = 0
        self.most = 1_000_000
        self.closed = False

    async def write(self, messages: Sequence[Message]) -> Written:
        self.writes += 1
        await self.gate.wait()
        if self.problems:
            problem = self.problems.pop(0)
            if isinstance(problem, LogError):
                raise problem
            return problem
        now, left = list(messages[: self.most]), list(messages[self.most :])
        self.messages += now
        return Written(len(now), 0, left, "")

    async def close(self) -> None:
        self.closed = True


class Topic:
    """The sink under test, and the calls that it makes."""

    def __init__(self, max_queued: int = 1_000) -> None:
        self.partitions = FakePartitions()
        self.prepared = 0
        self.rejection: Exception | None = None
        self.sink = audit_topic(samples.SOURCE, self.partitions, max_queued, self.prepare)

    async def prepare(self) -> None:
        self.prepared += 1
        if self.rejection is not None:
            raise self.rejection

    def put(self, count: int, start: int = 0) -> None:
        for number in range(start, start + count):
            self.sink.put(samples.event(samples.acl_denial(), number))

    def ids(self) -> list[int]:
        """The numbers of the events that arrived."""
        found = [checked(message.value)["id"] for message in self.partitions.messages]
        return [int(text.rpartition("-")[2]) for text in found]


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_topic, "_FIRST_BACKOFF", 0.001)
    monkeypatch.setattr(record_topic, "_LONGEST_BACKOFF", 0.01)


async def test_events_arrive_in_order_under_their_principals_key() -> None:
    topic = Topic()
    await topic.sink.start()
    assert topic.prepared == 1
    topic.put(2 * CHUNK + 1)
    await topic.sink.stop(5)
    assert topic.ids() == list(range(2 * CHUNK + 1))
    assert {message.key for message in topic.partitions.messages} == {b"User:alice"}
    assert {message.time for message in topic.partitions.messages} == {int(samples.TIME * 1000)}
    assert topic.sink.take_counts() == (2 * CHUNK + 1, {})
    assert topic.partitions.closed


async def test_what_comes_later_is_written_too() -> None:
    topic = Topic()
    await topic.sink.start()
    for number in range(3):
        topic.put(1, number)
        await eventually(lambda: topic.sink.queued == 0, "the write")
    assert topic.ids() == [0, 1, 2]
    await topic.sink.stop(5)


async def test_what_has_no_room_in_a_batch_goes_next() -> None:
    topic = Topic()
    topic.partitions.most = 3
    await topic.sink.start()
    topic.put(10)
    await topic.sink.stop(5)
    assert topic.ids() == list(range(10))


async def test_while_the_cluster_is_away_events_wait(caplog: pytest.LogCaptureFixture) -> None:
    topic = Topic()
    away = [LogError("no broker answers") for _ in range(20)]
    topic.partitions.problems = [*away]
    await topic.sink.start()
    topic.put(5)
    await eventually(lambda: topic.sink.queued == 0, "the cluster's return")
    assert topic.ids() == list(range(5))
    assert caplog.text.count("audit topic: events wait, writing failed: no broker answers") == 1
    await topic.sink.stop(5)


async def test_a_partition_that_is_away_keeps_its_events() -> None:
    topic = Topic()
    kept = Message(b"User:alice", b"{}", 1)
    topic.partitions.problems = [Written(1, 0, [kept], "a partition has no leader")]
    await topic.sink.start()
    topic.put(2)
    await eventually(lambda: topic.partitions.messages, "the second try")
    assert topic.partitions.messages == [kept]
    await topic.sink.stop(5)
    assert topic.sink.take_counts() == (2, {})


async def test_a_dead_cluster_slows_nobody_and_every_drop_is_counted() -> None:
    topic = Topic(max_queued=100)
    hub = Audit([topic.sink])
    await hub.start()
    topic.partitions.gate.clear()
    hub.denied(samples.acl_denial())
    await eventually(lambda: topic.partitions.writes, "a write that hangs")
    began = time.process_time()
    for _ in range(10_000):
        hub.denied(samples.acl_denial())
    assert time.process_time() - began < 5
    assert hub.queued == 100
    topic.partitions.gate.set()
    await hub.stop()
    written, dropped = topic.sink.take_counts()
    assert written == 100
    assert dropped == {"queue full": 9_901}
    assert len(topic.partitions.messages) == 100


async def test_a_dead_cluster_does_not_hold_up_the_end(caplog: pytest.LogCaptureFixture) -> None:
    topic = Topic()
    topic.partitions.gate.clear()
    await topic.sink.start()
    topic.put(3)
    await eventually(lambda: topic.partitions.writes, "a write that hangs")
    topic.put(4)
    await topic.sink.stop(0.05)
    assert topic.sink.take_counts() == (0, {"stopped": 7})
    assert topic.sink.queued == 0
    assert "audit topic: 7 events were not written in time" in caplog.text
    topic.put(1)
    assert topic.sink.take_counts() == (0, {"stopped": 1})


async def test_the_end_does_not_wait_for_a_long_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_topic, "_FIRST_BACKOFF", 60.0)
    monkeypatch.setattr(record_topic, "_LONGEST_BACKOFF", 60.0)
    topic = Topic()
    topic.partitions.problems = [LogError("no broker answers")]
    await topic.sink.start()
    topic.put(1)
    await eventually(lambda: not topic.partitions.problems, "the first try")
    monkeypatch.setattr(record_topic, "_FIRST_BACKOFF", 0.001)
    await topic.sink.stop(10)
    assert topic.ids() == [0]


async def test_an_event_that_no_broker_takes_is_counted() -> None:
    topic = Topic()
    topic.partitions.problems = [Written(0, 1, [], "")]
    await topic.sink.start()
    topic.put(1)
    await topic.sink.stop(5)
    assert topic.sink.take_counts() == (0, {"too large": 1})


async def test_a_topic_that_was_deleted_is_made_again() -> None:
    topic = Topic()
    await topic.sink.start()
    topic.partitions.problems = [TopicMissing("the topic is not there")]
    topic.put(1)
    await eventually(lambda: topic.partitions.messages, "the event")
    assert topic.prepared == 2
    await topic.sink.stop(5)


@pytest.mark.parametrize(
    "rejection",
    [TopicUnusable("it cannot be made"), ClusterUnreachable("main", "it cannot be made")],
)
async def test_a_topic_that_cannot_be_made_again_is_told(
    rejection: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic()
    await topic.sink.start()
    topic.rejection = rejection
    topic.partitions.problems = [TopicMissing("the topic is not there") for _ in range(3)]
    topic.put(1)
    await eventually(lambda: topic.partitions.messages, "the event")
    assert "it cannot be made" in caplog.text
    await topic.sink.stop(5)


async def test_a_defect_does_not_end_the_writing(caplog: pytest.LogCaptureFixture) -> None:
    topic = Topic()
    await topic.sink.start()
    real, calls = topic.partitions.write, 0

    async def defect(messages: Sequence[Message]) -> Written:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ZeroDivisionError
        return await real(messages)

    topic.partitions.write = defect  # type: ignore[method-assign]
    topic.put(1)
    await eventually(lambda: topic.partitions.messages, "the event")
    assert "writing the audit topic failed" in caplog.text
    await topic.sink.stop(5)
    assert topic.ids() == [0]


async def test_a_topic_that_cannot_be_used_is_told_at_the_start() -> None:
    topic = Topic()
    topic.rejection = TopicUnusable("it cannot be used")
    with pytest.raises(SinkError, match="it cannot be used"):
        await topic.sink.start()
    await topic.sink.stop(5)
    assert topic.partitions.closed
