"""Random requests about groups, transactions and the cluster, for the oracle of access."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st

from gateway.acl_model import ResourceType as Type
from tests.live.oracle.acl_sets import NAMES
from tests.live.oracle.request_parts import (
    NOBODY,
    PRODUCER_ID,
    TIMEOUT,
    WITH_MEMBER,
    Strategy,
    each_topic,
    fields,
    flags,
    group_ids,
    some_groups,
    some_topics,
    transactional_ids,
)

GROUP_KEY, TRANSACTIONAL_KEY = 0, 1
_NO_ONE = {"producer_id": PRODUCER_ID, "producer_epoch": 0}
"""A producer id that belongs to no transactional id."""

# -- groups -----------------------------------------------------------------------------------

_COMMITTED = {
    "partition_index": 0,
    "committed_offset": 1,
    "committed_leader_epoch": -1,
    "committed_metadata": "",
}
_OUTSIDE = {"generation_id": -1, "generation_id_or_member_epoch": -1, "member_id": ""}
_SUBSCRIPTION = struct.pack(">hih", 0, 1, 1) + b"a" + struct.pack(">i", -1)
"""A subscription to the topic ``a``, in version 0 of the consumer protocol."""
_STRANGER = {"generation_id": 1, "member_id": NOBODY}


def _offset_commit(version: int) -> Strategy:
    topics = each_topic({"partitions": [_COMMITTED]})
    return fields(group_id=group_ids, topics=topics, **_OUTSIDE)


def _offset_fetch(version: int) -> Strategy:
    named = each_topic({"partition_indexes": (0,)})
    topics = named | st.none() if version >= 2 else named
    # An unknown member is an error of the group, whatever topics it requests.
    outside, stranger = (
        fields(group_id=group_ids, topics=topics, member_id=member, member_epoch=epoch)
        for member, epoch in ((None, -1), (NOBODY, 5))
    )
    groups = st.lists(outside | stranger, min_size=1, max_size=3)
    return groups.map(lambda drawn: {**drawn[0], "groups": list(drawn)})


some_ids: Final = st.lists(transactional_ids, min_size=1, max_size=3, unique=True).map(tuple)


def _find_coordinator(version: int) -> Strategy:
    of_group = fields(key_type=GROUP_KEY, coordinator_keys=some_groups)
    of_id = fields(key_type=TRANSACTIONAL_KEY, coordinator_keys=some_ids)
    asked = of_group if version == 0 else of_group | of_id
    return asked.map(lambda drawn: {**drawn, "key": drawn["coordinator_keys"][0]})  # type: ignore[index]


def _join_group(version: int) -> Strategy:
    return fields(
        # A KIP-848 group would accept the stranger.
        group_id=st.sampled_from([name for name in NAMES[Type.GROUP] if name != WITH_MEMBER]),
        session_timeout=TIMEOUT,
        rebalance_timeout=TIMEOUT,
        member_id=NOBODY,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": _SUBSCRIPTION}],
    )


def _leave_group(version: int) -> Strategy:
    return fields(group_id=group_ids, member_id=NOBODY, members=[{"member_id": NOBODY}])


def _offset_delete(version: int) -> Strategy:
    return fields(group_id=group_ids, topics=each_topic({"partitions": [{"partition_index": 0}]}))


def _consumer_group_heartbeat(version: int) -> Strategy:
    names = some_topics.map(tuple)
    # If a member has an expression unknown to the gateway, it must send its full state, or join.
    regex = st.just("") if version == 0 else st.sampled_from(("", "a.*"))
    return fields(
        group_id=group_ids,
        # The gateway remembers a member's subscription, even if no group has the member.
        member_id=st.uuids().map(str),
        member_epoch=5,
        rebalance_timeout=TIMEOUT,
        subscribed_topic_names=names | st.none() if version == 0 else names,
        subscribed_topic_regex=regex,
        topic_partitions=None,
    )


# -- transactions -----------------------------------------------------------------------------


def _init_producer_id(version: int) -> Strategy:
    return fields(
        transactional_id=st.none() | transactional_ids,
        transaction_timeout=TIMEOUT,
        producer_id=-1,
        producer_epoch=-1,
        enable2_pc=flags,
    )


def _add_partitions_to_txn(version: int) -> Strategy:
    partitions = some_topics.map(lambda names: [{"name": n, "partitions": (0,)} for n in names])
    asked = fields(transactional_id=transactional_ids, topics=partitions, **_NO_ONE)
    return asked.map(lambda drawn: {f"v3_and_below_{name}": value for name, value in drawn.items()})


def _txn_offset_commit(version: int) -> Strategy:
    return fields(
        transactional_id=transactional_ids,
        group_id=group_ids,
        generation_id=-1,
        topics=each_topic({"partitions": [_COMMITTED]}),
        **_NO_ONE,
    )


def _write_txn_markers(version: int) -> Strategy:
    # Of a topic that does not exist, because a marker stays.
    topics = [{"name": "missing", "partition_indexes": (0,)}]
    return fields(markers=[{**_NO_ONE, "coordinator_epoch": 0, "topics": topics}])


def _list_transactions(version: int) -> Strategy:
    expressions = st.sampled_from((None, "", ".*", "a.*", "("))
    return fields(duration_filter=-1, transactional_id_pattern=expressions)


# -- the cluster ------------------------------------------------------------------------------


def _describe_cluster(version: int) -> Strategy:
    return fields(include_cluster_authorized_operations=flags, endpoint_type=1)


GROUP_REQUESTS: Final[dict[str, Callable[[int], Strategy]]] = {
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator,
    "JoinGroup": _join_group,
    "Heartbeat": lambda version: fields(group_id=group_ids, **_STRANGER),
    "LeaveGroup": _leave_group,
    "SyncGroup": lambda version: fields(
        group_id=group_ids,
        assignments=[],
        protocol_type="consumer",
        protocol_name="range",
        **_STRANGER,
    ),
    "DescribeGroups": lambda version: fields(
        groups=some_groups, include_authorized_operations=flags
    ),
    "ListGroups": lambda version: fields(),
    "ApiVersions": lambda version: fields(
        client_software_name="oracle", client_software_version="1"
    ),
    "InitProducerId": _init_producer_id,
    "AddPartitionsToTxn": _add_partitions_to_txn,
    "AddOffsetsToTxn": lambda version: fields(
        transactional_id=transactional_ids, group_id=group_ids, **_NO_ONE
    ),
    "EndTxn": lambda version: fields(
        transactional_id=transactional_ids, committed=flags, **_NO_ONE
    ),
    "TxnOffsetCommit": _txn_offset_commit,
    "WriteTxnMarkers": _write_txn_markers,
    "ListTransactions": _list_transactions,
    "DescribeTransactions": lambda version: fields(transactional_ids=some_ids),
    "DeleteGroups": lambda version: fields(groups_names=some_groups),
    "OffsetDelete": _offset_delete,
    "DescribeCluster": _describe_cluster,
    "DescribeQuorum": lambda version: fields(
        topics=[{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    ),
    "UpdateFeatures": lambda version: fields(
        feature_updates=[{"feature": "no.such", "max_version_level": 1}], timeout=TIMEOUT
    ),
    # Client metrics, of which there are none: each side has topics of its own.
    "ListConfigResources": lambda version: fields(resource_types=(16,)),
    "ConsumerGroupHeartbeat": _consumer_group_heartbeat,
    "ConsumerGroupDescribe": lambda version: fields(
        group_ids=some_groups, include_authorized_operations=flags
    ),
}
"""Strategies of requests, by API and version."""
