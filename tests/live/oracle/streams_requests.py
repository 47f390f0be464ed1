"""Random requests about Streams groups (KIP-1071), for the oracle of access."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st

from tests.live.oracle.request_parts import (
    Strategy,
    fields,
    flags,
    group_ids,
    some_groups,
    some_topics,
)

_members = st.uuids().map(str)

_internal = some_topics.map(
    lambda names: [
        {"name": name, "partitions": 0, "replication_factor": 0, "topic_configs": []}
        for name in names
    ]
)
_part = fields(
    subtopology_id="0",
    source_topics=some_topics.map(tuple),
    source_topic_regex=(),
    state_changelog_topics=_internal,
    repartition_sink_topics=some_topics.map(tuple),
    repartition_source_topics=_internal,
    copartition_groups=[],
)


def _heartbeat(version: int) -> Strategy:
    """A heartbeat that no coordinator accepts, so that none joins: a member that has joined sends
    no topology."""
    topology = fields(epoch=0, subtopologies=st.lists(_part, max_size=2))
    nothing = dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks"))
    nothing |= dict.fromkeys(("client_tags", "task_offsets", "task_end_offsets"))
    return fields(
        group_id=group_ids,
        member_id=_members,
        member_epoch=5,
        topology=topology | st.none(),
        **nothing,
    )


STREAMS_REQUESTS: Final[dict[str, Callable[[int], Strategy]]] = {
    "StreamsGroupHeartbeat": _heartbeat,
    "StreamsGroupDescribe": lambda version: fields(
        group_ids=some_groups, include_authorized_operations=flags
    ),
}
"""Strategies of requests, by API and version."""
