"""OffsetCommit, OffsetFetch and OffsetDelete (APIs 8, 9 and 47): the offsets of groups.

Groups and topics are rewritten. A commit needs READ on both, a fetch DESCRIBE on both, a deletion
DELETE on the group and READ on the topic. Denied topics get errors among the broker's answers.
"All topics" of OffsetFetch is forwarded, and topics that the view hides are dropped from the
response. In a tree, offsets of topics outside the group's volume are kept under their shadows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from gateway.apis import generic, walking
from gateway.apis.counting import TOPIC_ID
from gateway.apis.shadow_offsets import commit_response
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS, UNSTABLE_OFFSET_COMMIT
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import (
    BY_PARTITION_INDEX,
    DELETE,
    DESCRIBE,
    READ,
    Do,
    ItemShape,
    Needs,
    Shadows,
    Topics,
    TopicShape,
)
from gateway.rules.partial import drop
from gateway.rules.shadows import Far, is_shadow
from protocol.pausing import eased
from protocol.splice import Edit


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names. The v10 response to "all" holds topic ids alone, so ids that are not known
    to belong to this view are dropped. Requested ids are known: the index keeps the ids of
    deleted topics."""
    plan, index = exchange.plan, state.worker.cluster.index
    far = None if state.tree is None else generic.far_topics(state, exchange)
    spans = walking.response_spans(plan, buf, start, end)
    requested = exchange.spelled_ids or {}
    hidden = {
        value
        for kind, _, _, value in eased(spans)
        if kind == TOPIC_ID
        and value not in requested
        and ((flat := index.name_of(value)) is None or _hides(state, far, flat))
    }
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    return generic.restored_body(
        state, exchange, drop(plan.api, plan.version, buf[start:end], hidden)
    )


def _hides(state: ConnectionState, far: Far | None, flat: bytes) -> bool:
    if far is not None and is_shadow(flat):
        return far.shown(flat) is None
    return state.access.shown(flat) is None


_NO_OFFSET: Mapping[str, object] = MappingProxyType({"committed_offset": -1, "metadata": ""})

_fetched = partial(
    TopicShape,
    error_values=_NO_OFFSET,
    # The error of a partition that clients retry (KIP-447).
    codes={COORDINATOR_LOAD_IN_PROGRESS: UNSTABLE_OFFSET_COMMIT},
    always_asked=True,
    error_of_all=True,
)

OFFSET_COMMIT = Api(
    "OffsetCommit",
    (2, 10),
    Do.REWRITE,
    by_id=Do.CHECK,
    needs=Needs(topic=READ, group=READ, empty_group=True),
    topics=(TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX),),
    shadows=Shadows.MADE,
    response=commit_response,
)
OFFSET_FETCH = Api(
    "OffsetFetch",
    (1, 10),
    Do.REWRITE,
    by_id=Do.CHECK,
    null=Do.FILTER,
    needs=Needs(topic=DESCRIBE, group=DESCRIBE, empty_group=True),
    topics=(
        _fetched(Topics("topics", partitions="partition_indexes"), BY_PARTITION_INDEX, last=7),
        _fetched(
            Topics("topics", partitions="partition_indexes", groups="groups"),
            Topics("topics", "name", "partitions", "partition_index", groups="groups"),
            first=8,
        ),
    ),
    items=(ItemShape("groups", ("group_id",), "groups", ("group_id",), first=8),),
    shadows=Shadows.NAMED,
    response=response,
)
OFFSET_DELETE = Api(
    "OffsetDelete",
    (0, 0),
    Do.REWRITE,
    needs=Needs(topic=READ, group=DELETE),
    topics=(
        TopicShape(BY_PARTITION_INDEX, BY_PARTITION_INDEX, always_asked=True, error_of_all=True),
    ),
    shadows=Shadows.NAMED,
)
