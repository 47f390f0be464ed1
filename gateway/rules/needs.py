"""Which operation an API needs on what it names: Kafka's own table (KafkaApis, docs: Authorization
and ACLs), for every API of which nothing more is to be said than that.

Kafka asks for the same at every version. APIs with more to it (CreateTopics, Metadata,
InitProducerId, ListGroups, ...) have it in their handlers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.acl_model import Operation

NOTHING: Final = 0


@dataclass(frozen=True, slots=True)
class Needs:
    """Operations (codes of :class:`gateway.acl_model.Operation`; 0: none) on the topics, groups
    and transactional ids that a request names.
    ``instead``: who may do this with the cluster needs nothing on topics.
    ``tells_illegal``: an illegal topic name is INVALID_TOPIC_EXCEPTION, not an unknown one."""

    topic: int = NOTHING
    group: int = NOTHING
    transactional_id: int = NOTHING
    instead: int = NOTHING
    tells_illegal: bool = False


_READ, _WRITE = int(Operation.READ), int(Operation.WRITE)
_ALTER, _DELETE, _DESCRIBE = int(Operation.ALTER), int(Operation.DELETE), int(Operation.DESCRIBE)

NEEDS: Final[dict[str, Needs]] = {
    "Produce": Needs(topic=_WRITE),
    "Fetch": Needs(topic=_READ),
    "ListOffsets": Needs(topic=_DESCRIBE),
    "Metadata": Needs(topic=_DESCRIBE, tells_illegal=True),
    "OffsetCommit": Needs(topic=_READ, group=_READ),
    "OffsetFetch": Needs(topic=_DESCRIBE, group=_DESCRIBE),
    "FindCoordinator": Needs(group=_DESCRIBE, transactional_id=_DESCRIBE),
    "JoinGroup": Needs(group=_READ),
    "Heartbeat": Needs(group=_READ),
    "LeaveGroup": Needs(group=_READ),
    "SyncGroup": Needs(group=_READ),
    "DescribeGroups": Needs(group=_DESCRIBE),
    "DeleteRecords": Needs(topic=_DELETE),
    "InitProducerId": Needs(transactional_id=_WRITE),
    "OffsetForLeaderEpoch": Needs(topic=_DESCRIBE, instead=int(Operation.CLUSTER_ACTION)),
    "AddPartitionsToTxn": Needs(topic=_WRITE, transactional_id=_WRITE),
    "AddOffsetsToTxn": Needs(group=_READ, transactional_id=_WRITE),
    "EndTxn": Needs(transactional_id=_WRITE),
    "TxnOffsetCommit": Needs(topic=_READ, group=_READ, transactional_id=_WRITE),
    "CreatePartitions": Needs(topic=_ALTER),
    "DeleteGroups": Needs(group=_DELETE),
    "OffsetDelete": Needs(topic=_READ, group=_DELETE),
    "ConsumerGroupHeartbeat": Needs(topic=_DESCRIBE, group=_READ),
    "ConsumerGroupDescribe": Needs(group=_DESCRIBE),
    "DescribeTopicPartitions": Needs(topic=_DESCRIBE, tells_illegal=True),
}
"""By API. What has no row needs nothing of this kind."""

NO_NEEDS: Final = Needs()
