"""Random requests about share groups (KIP-932), for the oracle of access."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st

from tests.live.oracle.request_parts import (
    SHORT,
    Strategy,
    each_topic,
    fields,
    flags,
    group_ids,
    some_groups,
    some_topics,
)

_members = st.uuids().map(str)
_NO_SESSION = 3
"""An epoch of a session that no broker has."""

_FINAL = -1


def _heartbeat(version: int) -> Strategy:
    return fields(
        group_id=group_ids,
        member_id=_members,
        member_epoch=5,  # of a member that no group has, so that none joins
        subscribed_topic_names=some_topics.map(tuple) | st.none(),
    )


def _fetch(version: int) -> Strategy:
    partition = {"partition_index": 0, "acknowledgement_batches": []}
    return fields(
        group_id=group_ids,
        member_id=_members,
        share_session_epoch=st.sampled_from((0, 0, _NO_SESSION, _FINAL)),
        max_wait=SHORT,
        min_bytes=0,
        max_bytes=1_000,
        max_records=1,
        batch_size=1,
        topics=each_topic({"partitions": [partition]}),
    )


def _acknowledge(version: int) -> Strategy:
    batch = {"first_offset": 0, "last_offset": 0, "acknowledge_types": (1,)}
    partition = {"partition_index": 0, "acknowledgement_batches": [batch]}
    return fields(
        group_id=group_ids,
        member_id=_members,
        share_session_epoch=st.sampled_from((0, _NO_SESSION, _FINAL)),
        topics=each_topic({"partitions": [partition]}),
    )


def _named(**part: object) -> st.SearchStrategy[list[dict[str, object]]]:
    return some_topics.map(lambda names: [{"topic_name": name, **part} for name in names])


def _describe_offsets(version: int) -> Strategy:
    group = fields(group_id=group_ids, topics=_named(partitions=(0,)) | st.none())
    groups = st.lists(group, min_size=1, max_size=3, unique_by=lambda drawn: str(drawn["group_id"]))
    return fields(groups=groups)


SHARE_REQUESTS: Final[dict[str, Callable[[int], Strategy]]] = {
    "ShareGroupHeartbeat": _heartbeat,
    "ShareGroupDescribe": lambda version: fields(
        group_ids=some_groups, include_authorized_operations=flags
    ),
    "ShareFetch": _fetch,
    "ShareAcknowledge": _acknowledge,
    "DescribeShareGroupOffsets": _describe_offsets,
    "AlterShareGroupOffsets": lambda version: fields(
        group_id=group_ids,
        topics=_named(partitions=[{"partition_index": 0, "start_offset": 0}]),
    ),
    "DeleteShareGroupOffsets": lambda version: fields(group_id=group_ids, topics=_named()),
}
"""Strategies of requests, by API and version."""
