"""OffsetFetch (API 9): how far groups have read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gateway.apis import generic
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules import partial
from gateway.rules.declaration import (
    BY_PARTITION_INDEX,
    DESCRIBE,
    Do,
    ItemShape,
    Needs,
    Topics,
    TopicShape,
)
from protocol.entities import Kind
from protocol.splice import Edit

TOPIC_ID = int(Kind.TOPIC_ID)

_NO_OFFSET: Mapping[str, object] = MappingProxyType({"committed_offset": -1, "metadata": ""})


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names; v10 answers "all" by ids alone, so those that are not known to be this
    view's are dropped here. Ids that were asked for are known: the index keeps gone ones."""
    plan, index = exchange.plan, state.worker.cluster.index
    spans = generic.response_spans(plan, buf, start, end)
    asked = exchange.spelled_ids or {}
    hidden = {
        value
        for kind, _, _, value in spans
        if kind == TOPIC_ID
        and value not in asked
        and (
            (flat := index.name_of(value)) is None
            or state.view.spell(flat) is None
            or state.access.flat(DESCRIBE, flat) is not None
        )
    }
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = partial.drop(plan.api, plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


API = declare(
    Api(
        "OffsetFetch",
        (1, 10),
        Do.REWRITE,
        by_id=Do.CHECK,
        null=Do.FILTER,
        needs=Needs(topic=DESCRIBE, group=DESCRIBE),
        topics=(
            TopicShape(
                Topics("topics", partitions="partition_indexes"),
                BY_PARTITION_INDEX,
                _NO_OFFSET,
                always_asked=True,
                error_of_all=True,
                last=7,
            ),
            TopicShape(
                Topics("topics", partitions="partition_indexes", groups="groups"),
                Topics("topics", "name", "partitions", "partition_index", groups="groups"),
                _NO_OFFSET,
                always_asked=True,
                error_of_all=True,
                first=8,
            ),
        ),
        items=(ItemShape("groups", ("group_id",), "groups", ("group_id",), first=8),),
        response=response,
    )
)
