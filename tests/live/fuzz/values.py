"""The values of fields of random well-formed requests: small sets of meaningful values.

A value may be a :class:`Ref`, which stands for a thing that each side names differently: a topic,
its id, a session or a producer id that this side was given.
"""

from __future__ import annotations

import io
import struct
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64


@dataclass(frozen=True, slots=True)
class Ref:
    """A symbol for a value that each side fills in.

    ``kind``: ``topic``, ``topic_id``, ``subscription`` and ``assignment`` (of a topic, by its
    ``name``), ``group`` and ``id`` (a name of this lane), ``fresh_group``, ``member`` (the last
    member id made), ``session`` and ``producer`` (the last id given, or the id ``name`` before it),
    ``foreign_session`` (of an earlier connection).
    """

    kind: str
    name: str = ""


UNKNOWN_ID: Final = uuid.UUID("7d3b3a0c-8b50-4a3e-9c7c-5f3c0b7a9d11")

FIRST, SECOND, TRANSACTED, MISSING = "a", "b", "x", "missing"
"""Topics of a lane: three that exist, the third only for transactions, and a missing topic."""

PARTITIONS: Final = {FIRST: 3, SECOND: 1, TRANSACTED: 1}

ILLEGAL: Final = ("bad name", "", ".", "n" * 250)

_A, _B, _X, _NONE = (Ref("topic", name) for name in (FIRST, SECOND, TRANSACTED, MISSING))
_TOPICS = [_A, _A, _A, _B, _B, _NONE, *ILLEGAL[:3]]
_IDS = [*(Ref("topic_id", name) for name in (FIRST, FIRST, SECOND)), UNKNOWN_ID]
"""Not zero, because a broker fails at that id in a Fetch (UNKNOWN_SERVER_ERROR)."""
_TRANSACTED = [_X, _X, _X, _NONE, "bad name"]
_ALTERED = [_A, _A, _B, _NONE, *(name for name in ILLEGAL if name)]
"""No empty name, because a broker then does not respond at all."""
_PASSING = [Ref("temporary"), Ref("temporary"), Ref("temporary"), _NONE, *ILLEGAL]
"""Topics that may be created and deleted."""

_GROUPS = [Ref("group", "g"), Ref("group", "g"), Ref("group", "none"), Ref("joined_group"), ""]
_MEMBERS = [Ref("member"), Ref("member"), "", "stranger"]
_SHARE_GROUPS = [*[Ref("group", "s")] * 5, Ref("group", "none"), None]
_SHARE_MEMBERS = [*["RhXbXv2hTTuGfUsi5pNM8A"] * 6, "g1wNFTEgRWuZLjj8JdFCQQ", "stranger", None]
"""Ids of the form that Kafka requires (KIP-932: UUIDs in base64), and others."""
_IN_TRANSACTIONS = Ref("group", "t")
_TRANSACTIONAL_IDS = [Ref("id", "t"), Ref("id", "t"), Ref("id", "none"), ""]
_PRODUCERS = [Ref("producer"), Ref("producer"), Ref("producer", "1"), -1, 99_999]
_EPOCHS = [0, 0, 0, 1, -1, 5]
_INDEXES = [0, 0, 0, 1, 2, 3, -1]
_LEADER_EPOCHS = [-1, -1, -1, 0, 0, 1, 5]
_OFFSETS = [0, 0, 1, 2, 5, 1_000_000, -1, -2]
_GENERATIONS = [-1, -1, 0, 1, 2]
_REPLICAS = [-1, -1, 0, 1, -2, 2**31 - 1]

_FOREIGN_SESSIONS = [Ref("foreign_session"), 77, -3]

TIMEOUT: Final = timedelta(seconds=20)
_SESSION_TIMEOUT = timedelta(minutes=20)  # longer than a sequence that waits twice for a response

IDEMPOTENT: Final = 700_000
"""The producer id in batches with sequence numbers; any may be used (KIP-98)."""


_TIME = datetime(2025, 1, 1, tzinfo=UTC)


def _batch(records: int, sequence: int = -1) -> bytes:
    """A batch, idempotent with a ``sequence`` number."""
    numbered = sequence >= 0
    made = tuple(
        Record(
            attributes=i8(0),
            timestamp=TZAwareMicros.parse(_TIME),
            offset=i64(offset),
            key=None,
            value=b"v" * 10,
            headers=(),
        )
        for offset in range(records)
    )
    out = io.BytesIO()
    batch = NewRecordBatch(
        producer_id=i64(IDEMPOTENT if numbered else -1),
        producer_epoch=i16(0 if numbered else -1),
        base_sequence=i32(sequence),
        attributes=i16(0),
        records=made,
    )
    write_batch(out, batch)
    return out.getvalue()


_BROKEN = _batch(1)[:-1] + b"!"

_BATCHES = [_batch(1), _batch(3), _BROKEN, b"", *(_batch(2, n) for n in (0, 0, 2, 4, 50))]

VALUES: Final[dict[str, list[Any]]] = {
    # names
    "topic": _TOPICS,
    "name": _TOPICS,
    "topic_names": _PASSING,
    "topic_name": _TOPICS,
    "topic_id": _IDS,
    "CreateTopics:topics.name": _PASSING,
    "CreateTopics:topics.configs.name": ["retention.ms", "retention.ms", "no.such", ""],
    "DeleteTopics:topics.name": [*_PASSING, None],
    "WriteTxnMarkers:markers.topics.name": [_NONE, _NONE, "bad name"],  # a marker stays
    "WriteTxnMarkers:markers.producer_id": [99_999],  # a broker's order is by a hash of the ids
    "DeleteTopics:topics.topic_id": [UNKNOWN_ID, None, None],
    "CreatePartitions:topics.name": [_A, _B, _NONE, *ILLEGAL[:2]],
    "TxnOffsetCommit:topics.name": _TRANSACTED,
    "AddPartitionsToTxn:v3_and_below_topics.name": _TRANSACTED,
    "Metadata:topics.name": [*_TOPICS, None],
    "DescribeTopicPartitions:cursor.topic_name": [_A, _B, _NONE],
    "resource_name": [_A, _A, _B, _NONE, *ILLEGAL],
    "AlterConfigs:resources.resource_name": _ALTERED,
    "IncrementalAlterConfigs:resources.resource_name": _ALTERED,
    "AlterConfigs:resources.resource_type": [2, 2, 2, 2, 4],
    "IncrementalAlterConfigs:resources.resource_type": [2, 2, 2, 2, 4],
    "resource_type": [2, 2, 2, 2, 2, 2, 4, 0, 77],
    "configuration_keys": ["retention.ms", "segment.bytes", "no.such"],
    "configs.name": ["segment.ms", "segment.ms", "no.such", ""],
    "config_operation": [0, 0, 1, 2, 3, 9],
    "value": ["600000", "600000", "soon", "", None],
    # partitions, offsets, times
    "index": _INDEXES,
    "partition": _INDEXES,
    "partition_index": _INDEXES,
    "partition_indexes": _INDEXES,
    "partitions": _INDEXES,
    # A broker holds a request about a partition that does not exist for half a minute.
    "DescribeShareGroupOffsets:groups.topics.partitions": [0],
    "leader_epoch": _LEADER_EPOCHS,
    "current_leader_epoch": _LEADER_EPOCHS,
    "committed_leader_epoch": _LEADER_EPOCHS,
    "last_fetched_epoch": [-1, -1, -1, 0],
    "fetch_offset": _OFFSETS,
    "log_start_offset": [-1, 0, 7],
    "offset": [-1, 0, 0, 1, 1_000_000, -2],
    "committed_offset": [0, 5, 1_000_000, -1],
    "committed_metadata": ["", "m", None],
    "timestamp": [-1, -1, -2, -3, -4, -5, 0, 1, 2**62, -9],
    "timeout": [TIMEOUT],
    "retention_time": [-1, 2**63 - 1, -(2**63)],
    # Fetch
    "replica_id": _REPLICAS,
    "Fetch:replica_id": [*[-1] * 40, 0, -2],
    "Fetch:replica_state.replica_id": [*[-1] * 40, 0, -2],
    "replica_epoch": [-1, -1, 0, 3],
    "cluster_id": [None, None, None, "other"],
    "session_id": [0, 0, *[Ref("session")] * 6, Ref("session", "1"), *_FOREIGN_SESSIONS],
    "session_epoch": [0, 0, -1, 1, 1, 1, 2, 2, 3, 2**31 - 1, -2],
    "max_wait": [timedelta(0), timedelta(milliseconds=2)],
    "min_bytes": [0, 1, 1],
    "max_bytes": [0, 100, 10_000, 2**31 - 1],
    "partition_max_bytes": [0, 100, 10_000],
    "isolation_level": [0, 0, 1],
    "rack_id": ["", "", "r"],
    # Produce
    "acks": [-1, -1, -1, 1, 1, 0, 5],
    "Produce:transactional_id": [None, None, None, None, Ref("id", "none")],
    "records": [*_BATCHES * 20, None],  # a broker never responds to null, which takes long to see
    # groups
    "group_id": _GROUPS,
    "groups": _GROUPS,
    "group_ids": _GROUPS,
    "groups_names": [Ref("group", "none"), Ref("joined_group"), Ref("group", "other")],
    "member_id": _MEMBERS,
    "generation_id": _GENERATIONS,
    "generation_id_or_member_epoch": _GENERATIONS,
    "member_epoch": [0, 0, 1, 1, 2, -1, -2],
    "group_instance_id": [None, None, None, None, "instance"],
    "instance_id": [None, None, None, None, "instance"],
    "session_timeout": [_SESSION_TIMEOUT] * 5 + [timedelta(0)],
    "rebalance_timeout": [_SESSION_TIMEOUT],
    "ConsumerGroupHeartbeat:rebalance_timeout": [_SESSION_TIMEOUT, timedelta(milliseconds=-1)],
    "protocol_type": ["consumer", "consumer", "consumer", "connect", ""],
    "SyncGroup:protocol_type": ["consumer", "consumer", None, "connect"],
    "protocol_name": ["range", "range", None, "other"],
    "protocols.name": ["range", "range", "other"],
    "metadata": [Ref("subscription", FIRST), Ref("subscription", SECOND)],
    "assignment": [Ref("assignment", FIRST), Ref("assignment", SECOND), b""],
    "JoinGroup:group_id": [Ref("joined_group"), Ref("joined_group"), Ref("group", "none"), ""],
    "SyncGroup:group_id": [Ref("joined_group"), Ref("joined_group"), Ref("group", "none"), ""],
    "Heartbeat:group_id": [Ref("joined_group"), Ref("joined_group"), Ref("group", "none"), ""],
    "LeaveGroup:group_id": [Ref("joined_group"), Ref("joined_group"), Ref("group", "none"), ""],
    "ConsumerGroupHeartbeat:group_id": [Ref("new_group")] * 4 + [Ref("group", "g"), ""],
    "ConsumerGroupHeartbeat:member_id": [Ref("new_member")] * 4 + ["", "stranger"],
    "ConsumerGroupDescribe:group_ids": [Ref("new_group"), *_GROUPS],
    "subscribed_topic_names": [_A, _A, _B, _NONE],
    "subscribed_topic_regex": [None, None, None, "", "no-such-.*", "("],
    "topic_partitions.topic_id": [Ref("topic_id", FIRST), Ref("topic_id", SECOND)],
    "server_assignor": [None, None, "uniform", "range", "other"],
    "ConsumerGroupHeartbeat:rack_id": [None, None, "r"],
    # share groups
    "share_session_epoch": [0, 0, 0, 1, 1, 2, 3, -1],
    "ShareFetch:group_id": _SHARE_GROUPS,
    "ShareFetch:member_id": _SHARE_MEMBERS,
    "ShareAcknowledge:group_id": _SHARE_GROUPS,
    "ShareAcknowledge:member_id": _SHARE_MEMBERS,
    "ShareGroupHeartbeat:group_id": [*_SHARE_GROUPS, Ref("group", "g")],
    "ShareGroupHeartbeat:member_id": [*_SHARE_MEMBERS, "stranger"],
    "ShareGroupDescribe:group_ids": [Ref("group", "s"), *_GROUPS],
    "ShareGroupHeartbeat:rack_id": [None, None, "r"],
    # Streams groups; their sources are missing, so that nobody creates internal topics
    "StreamsGroupHeartbeat:group_id": [*[Ref("group", "k")] * 5, Ref("group", "g")],
    "StreamsGroupHeartbeat:member_id": [*["RhXbXv2hTTuGfUsi5pNM8A"] * 6, "stranger", ""],
    "StreamsGroupHeartbeat:rack_id": [None, None, "r"],
    "StreamsGroupHeartbeat:instance_id": [None, None, None, None, "i"],
    "StreamsGroupHeartbeat:process_id": ["p", "p", None],
    "StreamsGroupHeartbeat:task_offsets": [None],
    "StreamsGroupHeartbeat:task_end_offsets": [None],
    "topology.subtopologies.subtopology_id": ["0", "1"],
    "topology.subtopologies.source_topics": [_NONE, _NONE, _NONE, "bad name"],
    "topology.subtopologies.source_topic_regex": ["no-such-.*", "("],
    "topology.subtopologies.repartition_sink_topics": [_NONE],
    "topology.subtopologies.repartition_source_topics.name": [_NONE],
    "topology.subtopologies.repartition_source_topics.partitions": [0],
    "topology.subtopologies.state_changelog_topics.name": [_NONE],
    "topology.subtopologies.state_changelog_topics.partitions": [0, 0, 0, 3],
    "StreamsGroupDescribe:group_ids": [Ref("group", "k"), *_GROUPS],
    "share_acquire_mode": [0, 0, 1, 7],
    "is_renew_ack": [False, False, False, True],
    "max_records": [1, 100, 500],
    "batch_size": [1, 100],
    "acknowledge_types": [0, 1, 2, 3, 9],
    "start_offset": [0, 0, 1, 5, -1],
    "OffsetDelete:group_id": [Ref("group", "g"), Ref("group", "none"), ""],
    "OffsetCommit:group_id": [*[Ref("group", "g")] * 4, Ref("group", "none"), Ref("joined_group")],
    "states_filter": ["Empty", "Stable", "nonsense"],
    "types_filter": ["classic", "consumer", "nonsense"],
    "reason": [None, "", "why"],
    "key": [Ref("group", "g"), Ref("id", "t"), ""],
    "coordinator_keys": [Ref("group", "g"), Ref("id", "t"), ""],
    "key_type": [0, 0, 0, 1, 1, 2, 5],
    # transactions
    "transactional_id": _TRANSACTIONAL_IDS,
    "v3_and_below_transactional_id": _TRANSACTIONAL_IDS,
    "InitProducerId:transactional_id": [None, None, Ref("id", "t"), Ref("id", "t"), ""],
    "transactional_ids": _TRANSACTIONAL_IDS,
    "state_filters": ["Ongoing", "Empty", "CompleteAbort", "nonsense"],
    "producer_id_filters": _PRODUCERS,
    "duration_filter": [-1, -1, -1, 3_600_000],
    "transactional_id_pattern": [None, None, "", ".*", "no-such-.*", "(", "*"],
    "transaction_timeout": [timedelta(seconds=60), timedelta(seconds=60), timedelta(days=10)],
    "producer_id": _PRODUCERS,
    "v3_and_below_producer_id": _PRODUCERS,
    "producer_epoch": _EPOCHS,
    "v3_and_below_producer_epoch": _EPOCHS,
    "AddOffsetsToTxn:group_id": [_IN_TRANSACTIONS],
    "TxnOffsetCommit:group_id": [_IN_TRANSACTIONS],
    "TxnOffsetCommit:member_id": ["", "", "stranger"],
    "enable2_pc": [False, False, False, True],
    "keep_prepared_txn": [False, False, False, True],
    # the cluster
    "num_partitions": [1, 1, 2, -1, 0, -7],
    "replication_factor": [1, 1, -1, 0, 9],
    "count": [1, 2, 3, 4, 5, 0, -1],
    "broker_ids": [1, 1, 9],
    "replicas": [1, 1, 1, 9, -1],
    "election_type": [0, 0, 1, 5],
    "DescribeQuorum:topics.topic_name": ["__cluster_metadata", "__cluster_metadata", "none"],
    "DescribeQuorum:partition_index": [0, 0, 0, 1],
    "feature": ["no.such", "metadata.version"],
    "max_version_level": [1, 99],
    "upgrade_type": [1, 2, 3, 0],
    "resource_types": [16, 16, 3, 0],  # client metrics, of which there are none, and no types
    "endpoint_type": [1, 1, 2, 7],
    "response_partition_limit": [2_000, 2_000, 1, 2],
    "cursor.partition_index": [0, 0, 1, -1],
    "operation": [3, 4],
    "permission_type": [3],
    "resource_type_filter": [1, 2],
    "pattern_type_filter": [1, 3],
    "resource_pattern_type": [3],
    "CreateAcls:creations.resource_type": [2],
    "CreateAcls:creations.principal": ["User:nobody"],
    "CreateAcls:creations.host": ["*"],
    "mechanism": ["PLAIN", "", "SCRAM-SHA-256"],
    "AlterUserScramCredentials:deletions.name": ["nobody", ""],
    "AlterUserScramCredentials:upsertions.name": ["nobody", ""],
    "AlterUserScramCredentials:deletions.mechanism": [1, 2, 0],
    "AlterUserScramCredentials:upsertions.mechanism": [1, 0],
    "DescribeUserScramCredentials:users.name": ["nobody", ""],
    "iterations": [1, 10_000_000],
    "entity_type": ["user", "client-id", "nonsense"],
    "match_type": [0, 1, 2, 9],
    "match": [None, "nobody"],
    "client_software_name": ["fuzz", "fuzz", "a b", ""],
    "client_software_version": ["1.0", "1.0", ""],
    "auth_bytes": [b"", b"\0user\0password"],
}
"""By field name, by the end of a field's path, or by API and path, which has priority."""

ANY: Final[dict[str, list[Any]]] = {
    "bool": [False, True],
    "int8": [0, 1, -1],
    "int16": [0, 1, -1],
    "uint16": [0, 1, 65_535],
    "int32": [0, 1, -1],
    "int64": [0, 1, -1],
    "string": ["", "x"],
    "bytes": [b"", b"x"],
}
"""Values by type, for fields without an entry of their own."""


def subscription(name: str) -> bytes:
    """The subscription of a member, in version 0 of the consumer protocol."""
    raw = name.encode()
    return struct.pack(">hih", 0, 1, len(raw)) + raw + struct.pack(">i", -1)


def assignment(name: str) -> bytes:
    """The assignment of partition 0 of a topic, in the same version."""
    raw = name.encode()
    return struct.pack(">hih", 0, 1, len(raw)) + raw + struct.pack(">iii", 1, 0, -1)
