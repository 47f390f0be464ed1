"""A request of every API that names a resource, about a name or a topic id."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

TIMEOUT: Final = timedelta(seconds=20)

Question = tuple[str, int, Callable[[str], Mapping[str, Any]]]
"""API, version, and the fields of a request about a name."""


def _topics(name: str, **partition: Any) -> list[dict[str, Any]]:
    return [{"name": name, "partitions": [partition]}]


def _config(name: str, kind: int = 2) -> list[dict[str, Any]]:
    configs = [{"name": "retention.ms", "value": "600000"}]
    return [{"resource_type": kind, "resource_name": name, "configs": configs}]


def _described(name: str, kind: int = 2) -> list[dict[str, Any]]:
    return [{"resource_type": kind, "resource_name": name, "configuration_keys": None}]


def _acl(name: str) -> dict[str, Any]:
    return {
        "resource_type": 2,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }


def _filter(name: str) -> dict[str, Any]:
    return {
        "resource_type_filter": 2,
        "resource_name_filter": name,
        "pattern_type_filter": 1,
        "operation": 1,
        "permission_type": 1,
    }


BY_NAME: Final[tuple[Question, ...]] = (
    ("Metadata", 9, lambda n: {"topics": [{"name": n}], "allow_auto_topic_creation": False}),
    (
        "DescribeTopicPartitions",
        0,
        lambda n: {"topics": [{"name": n}], "response_partition_limit": 100, "cursor": None},
    ),
    ("DescribeConfigs", 4, lambda n: {"resources": _described(n)}),
    ("AlterConfigs", 2, lambda n: {"resources": _config(n), "validate_only": True}),
    ("IncrementalAlterConfigs", 1, lambda n: {"resources": _config(n), "validate_only": True}),
    ("DescribeConfigs", 4, lambda n: {"resources": _described(n, 32)}),
    (
        "CreateTopics",
        7,
        lambda n: {
            "topics": [{"name": n, "num_partitions": 1, "replication_factor": 1}],
            "timeout": TIMEOUT,
            "validate_only": True,
        },
    ),
    ("DeleteTopics", 5, lambda n: {"topic_names": [n], "timeout": TIMEOUT}),
    (
        "CreatePartitions",
        3,
        lambda n: {
            "topics": [{"name": n, "count": 9, "assignments": None}],
            "timeout": TIMEOUT,
            "validate_only": True,
        },
    ),
    ("FindCoordinator", 4, lambda n: {"key_type": 0, "coordinator_keys": [n]}),
    ("FindCoordinator", 2, lambda n: {"key_type": 1, "key": n}),
    ("DescribeAcls", 3, _filter),
    ("CreateAcls", 3, lambda n: {"creations": [_acl(n)]}),
    ("DeleteAcls", 3, lambda n: {"filters": [_filter(n)]}),
    ("ListOffsets", 4, lambda n: {"replica_id": -1, "topics": _topics(n, timestamp=-1)}),
    (
        "OffsetForLeaderEpoch",
        3,
        lambda n: {"replica_id": -2, "topics": [{"topic": n, "partitions": [{"partition": 0}]}]},
    ),
    (
        "Produce",
        9,
        lambda n: {
            "transactional_id": None,
            "acks": -1,
            "timeout": TIMEOUT,
            "topic_data": [{"name": n, "partition_data": [{"index": 0, "records": b""}]}],
        },
    ),
    (
        "Fetch",
        12,
        lambda n: {
            "cluster_id": None,
            "replica_id": -1,
            "session_epoch": -1,
            "topics": [{"topic": n, "partitions": [{"partition_max_bytes": 100}]}],
        },
    ),
    ("DeleteRecords", 2, lambda n: {"topics": _topics(n, offset=1), "timeout": TIMEOUT}),
    ("OffsetFetch", 5, lambda n: {"group_id": n, "topics": None}),
    (
        "OffsetCommit",
        7,
        lambda n: {
            "group_id": n,
            "generation_id_or_member_epoch": -1,
            "topics": [{"name": "own", "partitions": [{"committed_offset": 1}]}],
        },
    ),
    ("DescribeGroups", 5, lambda n: {"groups": [n]}),
    ("ConsumerGroupDescribe", 0, lambda n: {"group_ids": [n]}),
    ("DeleteGroups", 2, lambda n: {"groups_names": [n]}),
    ("Heartbeat", 4, lambda n: {"group_id": n, "generation_id": 1, "member_id": "m"}),
    ("LeaveGroup", 3, lambda n: {"group_id": n, "members": [{"member_id": "m"}]}),
    (
        "InitProducerId",
        4,
        lambda n: {
            "transactional_id": n,
            "transaction_timeout": TIMEOUT,
            "producer_id": -1,
            "producer_epoch": -1,
        },
    ),
    (
        "EndTxn",
        3,
        lambda n: {"transactional_id": n, "producer_id": 1, "producer_epoch": 0},
    ),
    (
        "DescribeProducers",
        0,
        lambda n: {"topics": [{"name": n, "partition_indexes": [0]}]},
    ),
)

BY_ID: Final[tuple[tuple[str, int, Callable[[uuid.UUID], Mapping[str, Any]]], ...]] = (
    ("Metadata", 12, lambda i: {"topics": [{"name": None, "topic_id": i}]}),
    (
        "DeleteTopics",
        6,
        lambda i: {"topics": [{"name": None, "topic_id": i}], "timeout": TIMEOUT},
    ),
    (
        "Fetch",
        13,
        lambda i: {
            "cluster_id": None,
            "replica_id": -1,
            "session_epoch": -1,
            "topics": [{"topic_id": i, "partitions": [{"partition_max_bytes": 100}]}],
        },
    ),
)
