"""How much one request may change, as in Kafka's controller.

Tried on Kafka 4.3.1: a CreateTopics of more than 10,000 partitions in all, and a CreatePartitions
of more than 10,000 topics, are refused as a whole, before anything else is said of any topic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from protocol.pausing import paced

MAX_CHANGES: Final = 10_000
"""Records (QuorumController.MAX_RECORDS_PER_USER_OP), and partitions that are made
(ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""

TOO_MANY_CHANGES: Final = Denied(
    POLICY_VIOLATION, "Unable to perform excessively large batch operation.", "request"
)
TOO_MANY_PARTITIONS: Final = Denied(
    POLICY_VIOLATION, "Excessively large number of partitions per request.", "request"
)


def too_many_partitions(topics: Iterable[Any]) -> Denied | None:
    """Why the topics of a CreateTopics request are too many for one; None: they are not.

    Where a topic leaves it to the cluster how many partitions it gets, it counts as one.
    """
    total = 0
    for topic in paced(topics):
        asked = int(topic.num_partitions)
        total += len(topic.assignments) or (1 if asked == -1 else max(asked, 0))
    return TOO_MANY_PARTITIONS if total > MAX_CHANGES else None
