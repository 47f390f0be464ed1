"""gateway.sinks.record_topic: cases that tests of the audit topic (test_audit_topic) do not
cover."""

from __future__ import annotations

from gateway.sinks.record_topic import RecordTopic
from gateway.sinks.topic_partitions import Message
from tests.audit.test_topic import FakePartitions


async def prepare() -> None:
    """Do nothing, because the topic exists."""


def topic(partitions: FakePartitions, max_queued: int) -> RecordTopic[int]:
    return RecordTopic(
        "numbers", "numbers", partitions, max_queued, prepare, lambda n: Message(b"", b"%d" % n, n)
    )


async def test_many_at_once_up_to_the_bound() -> None:
    partitions = FakePartitions()
    made = topic(partitions, 5)
    await made.start()
    taken = iter(range(8))
    made.put_all(taken, 8)
    assert made.queued == 5
    assert next(taken) == 5, "what has no room is not even made"
    await made.stop(5)
    assert [message.time for message in partitions.messages] == [0, 1, 2, 3, 4]
    assert made.take_counts() == (5, {"queue full": 3})
    made.put_all(range(2), 2)
    assert made.take_counts() == (0, {"stopped": 2})
