"""gateway.changes.base.rejected: how many partitions a request may create."""

from __future__ import annotations

import pytest

from gateway.changes.base.rejected import MAX_CHANGES, TOO_MANY_PARTITIONS, too_many_partitions
from protocol import messages
from protocol.messages import element_class, make

TOPIC = element_class(messages.message_class("CreateTopicsRequest", 7), "topics")
ASSIGNMENT = element_class(TOPIC, "assignments")


@pytest.mark.parametrize(
    ("partitions", "assigned", "counted"),
    [(3, 0, 3), (-1, 0, 1), (0, 0, 0), (-5, 0, 0), (-1, 4, 4)],
)
def test_what_a_topic_counts(partitions: int, assigned: int, counted: int) -> None:
    assignments = tuple(make(ASSIGNMENT, {"partition_index": n}) for n in range(assigned))
    topic = make(TOPIC, {"num_partitions": partitions, "assignments": assignments})
    filling = make(TOPIC, {"num_partitions": MAX_CHANGES - counted, "assignments": ()})
    assert too_many_partitions([filling, topic]) is None
    one = make(TOPIC, {"num_partitions": 1, "assignments": ()})
    assert too_many_partitions([filling, topic, one]) is TOO_MANY_PARTITIONS
