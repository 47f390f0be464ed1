"""Commits of offsets of other volumes' topics: the coordinator's responses for their shadows.

The coordinator may not know a new shadow yet, and a topic may have got more partitions since its
shadow was made (``gateway.rules.shadows``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.apis import generic, walking
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.shadows import Far, is_shadow
from protocol import messages
from protocol.splice import Edit


def commit_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names of an OffsetCommit or TxnOffsetCommit response. If a shadow will have a
    partition soon, that partition is answered with an error that clients retry."""
    if state.tree is None or not _names_shadows(state, exchange):
        return generic.response(state, exchange, buf, start, end)
    plan, far = exchange.plan, generic.far_topics(state, exchange)
    assert far is not None
    walking.response_spans(plan, buf, start, end)
    response: Any = messages.parse(f"{plan.name}Response", plan.version, buf[start:end])
    index = state.worker.cluster.index
    topics = []
    for topic in response.topics:
        topic_id = getattr(topic, "topic_id", None)
        flat = index.name_of(topic_id.bytes) if topic_id else getattr(topic, "name", "").encode()
        topics.append(_retried(far, flat, topic) if flat and is_shadow(flat) else topic)
    body = messages.write(replace(response, topics=tuple(topics)))
    return generic.restored_body(state, exchange, body)


def _names_shadows(state: ConnectionState, exchange: Exchange) -> bool:
    name_of = state.worker.cluster.index.name_of
    by_id = (name_of(own) or b"" for own in exchange.spelled_ids or ())
    return any(map(is_shadow, exchange.spelled or ())) or any(map(is_shadow, by_id))


def _retried(far: Far, flat: bytes, topic: Any) -> Any:
    """A shadow's partitions; each that will soon exist has the error that clients retry."""
    partitions = tuple(
        replace(each, error_code=type(each.error_code)(COORDINATOR_LOAD_IN_PROGRESS))
        if each.error_code == UNKNOWN_TOPIC_OR_PARTITION
        and far.missed(flat, int(each.partition_index))
        else each
        for each in topic.partitions
    )
    return replace(topic, partitions=partitions)
