"""Random requests about topics and their records, for the oracle of access."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from hypothesis import strategies as st
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from gateway.acl_model import ResourceType as Type
from tests.live.oracle.acl_sets import NAMES
from tests.live.oracle.request_parts import (
    PRODUCER_ID,
    SHORT,
    TIMEOUT,
    Strategy,
    each_topic,
    fields,
    flags,
    some_topics,
    transactional_ids,
)

_TOPIC_CONFIGS = 2
_TOO_MANY_REPLICAS = 9
_TRANSACTIONAL = 16
_NAMED_BY_ID = 12
"""The first version of Metadata that may name a topic by its id (KIP-516)."""
_DELETED_BY_ID = 6
"""The first version of DeleteTopics that may."""

EXISTING: Final = ("a", "ab", "b", "team-a..x")
"""The topics that exist."""

SUBSCRIBED: Final = EXISTING[2:]
"""Topics with a group member, which is never told if they are created again."""

MISSING: Final = tuple(name for name in NAMES[Type.TOPIC] if name not in EXISTING)


def _batch(attributes: int, producer_id: int) -> bytes:
    is_producer_s = producer_id >= 0
    record = Record(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(datetime(2025, 1, 1, tzinfo=UTC)),
        offset=i64(0),
        key=None,
        value=b"value",
        headers=(),
    )
    batch = NewRecordBatch(
        producer_id=i64(producer_id),
        producer_epoch=i16(0 if is_producer_s else -1),
        base_sequence=i32(0 if is_producer_s else -1),
        attributes=i16(attributes),
        records=(record,),
    )
    out = io.BytesIO()
    write_batch(out, batch)
    return out.getvalue()


BATCHES: Final = (_batch(0, -1), _batch(0, PRODUCER_ID), _batch(_TRANSACTIONAL, PRODUCER_ID))
"""A plain batch, an idempotent producer's, and a transactional batch."""


def _produce(version: int) -> Strategy:
    data = st.sampled_from(BATCHES).flatmap(
        lambda batch: each_topic({"partition_data": [{"index": 0, "records": batch}]})
    )
    return fields(
        transactional_id=st.none() | transactional_ids, acks=-1, timeout=TIMEOUT, topic_data=data
    )


_FETCHED = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}


def _fetch(version: int) -> Strategy:
    return fields(
        replica_id=-1,
        max_wait=SHORT,
        max_bytes=1_000,
        session_epoch=st.sampled_from((-1, 0)),
        topics=each_topic({"partitions": [_FETCHED]}),
    )


def _list_offsets(version: int) -> Strategy:
    partition = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    return fields(replica_id=-1, timeout=TIMEOUT, topics=each_topic({"partitions": [partition]}))


def _metadata(version: int) -> Strategy:
    everything = () if version == 0 else None
    named = some_topics.map(lambda names: [{"name": name} for name in names])
    by_id = some_topics.map(lambda names: [{"name": None, "topic_id": name} for name in names])
    asked = st.just(everything) | named | (by_id if version >= _NAMED_BY_ID else named)
    return fields(
        topics=asked,
        allow_auto_topic_creation=flags,
        include_cluster_authorized_operations=flags,
        include_topic_authorized_operations=flags,
    )


def _offset_for_leader_epoch(version: int) -> Strategy:
    partition = {"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1}
    return fields(replica_id=-1, topics=each_topic({"partitions": [partition]}))


def _create_topics(version: int) -> Strategy:
    def asked(names: list[str], valid: bool) -> dict[str, object]:
        replicas = 1 if valid and version > 0 else _TOO_MANY_REPLICAS
        part = {"num_partitions": 1, "replication_factor": replicas}
        topics = [{"name": name, **part} for name in names]
        return {"topics": topics, "validate_only": True, "timeout": TIMEOUT}

    return st.builds(asked, some_topics, flags)


def _delete_topics(version: int) -> Strategy:
    def asked(names: list[str], by_id: bool) -> dict[str, object]:
        called = [{"name": None, "topic_id": name} if by_id else {"name": name} for name in names]
        return {"topic_names": tuple(names), "topics": called, "timeout": TIMEOUT}

    # Few existing topics, because each deleted topic must be created again.
    missing = st.lists(st.sampled_from(MISSING), min_size=1, max_size=2, unique=True)
    others = [name for name in NAMES[Type.TOPIC] if name not in SUBSCRIBED]
    any_of_them = st.lists(st.sampled_from(others), min_size=1, max_size=3, unique=True)
    by_id = flags if version >= _DELETED_BY_ID else st.just(False)
    return st.builds(asked, missing | any_of_them, by_id)


def _delete_records(version: int) -> Strategy:
    partition = {"partition_index": 0, "offset": 0}
    return fields(timeout=TIMEOUT, topics=each_topic({"partitions": [partition]}))


def _create_partitions(version: int) -> Strategy:
    topics = each_topic({"count": 5, "assignments": None})
    return fields(timeout=TIMEOUT, validate_only=True, topics=topics)


def _describe_topic_partitions(version: int) -> Strategy:
    named = some_topics.map(lambda names: [{"name": name} for name in names])
    return fields(topics=named | st.just([]), response_partition_limit=2_000)


def _describe_producers(version: int) -> Strategy:
    return fields(topics=each_topic({"partition_indexes": (0,)}))


def _describe_log_dirs(version: int) -> Strategy:
    # No topics that are deleted and created again, because a disk still has them, or not yet.
    steady = st.lists(st.sampled_from([*SUBSCRIBED, *MISSING]), min_size=1, max_size=3, unique=True)
    return fields(
        topics=steady.map(lambda names: [{"topic": n, "partitions": (0,)} for n in names])
    )


def _list_reassignments(version: int) -> Strategy:
    return fields(topics=each_topic({"partition_indexes": (0,)}) | st.none(), timeout=TIMEOUT)


def _alter_reassignments(version: int) -> Strategy:
    # Each partition is where it is to be, or goes nowhere: the next request finds the same state.
    replicas = st.sampled_from([(1,), (9,), None])
    topics = replicas.flatmap(
        lambda to: each_topic({"partitions": [{"partition_index": 0, "replicas": to}]})
    )
    return fields(topics=topics, timeout=TIMEOUT)


def _elect_leaders(version: int) -> Strategy:
    topics = each_topic({"partitions": (0,)})
    return fields(topic_partitions=topics, election_type=0, timeout=TIMEOUT)


def _configs(**resource: object) -> Strategy:
    resources = some_topics.map(
        lambda names: [
            {"resource_type": _TOPIC_CONFIGS, "resource_name": name, **resource} for name in names
        ]
    )
    return fields(resources=resources, validate_only=True)


_SET = {"name": "segment.ms", "value": "600000", "config_operation": 0}

TOPIC_REQUESTS: Final[dict[str, Callable[[int], Strategy]]] = {
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "Metadata": _metadata,
    "CreateTopics": _create_topics,
    "DeleteTopics": _delete_topics,
    "DeleteRecords": _delete_records,
    "OffsetForLeaderEpoch": _offset_for_leader_epoch,
    "DescribeConfigs": lambda version: _configs(configuration_keys=None),
    "AlterConfigs": lambda version: _configs(configs=[_SET]),
    "IncrementalAlterConfigs": lambda version: _configs(configs=[_SET]),
    "CreatePartitions": _create_partitions,
    "DescribeTopicPartitions": _describe_topic_partitions,
    "DescribeProducers": _describe_producers,
    "DescribeLogDirs": _describe_log_dirs,
    "ListPartitionReassignments": _list_reassignments,
    "AlterPartitionReassignments": _alter_reassignments,
    "ElectLeaders": _elect_leaders,
}
"""Strategies of requests, by API and version."""
