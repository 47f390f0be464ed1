"""DeleteTopics (API 20): topics by name or id and, under names that end in ``:``, namespaces.

Needs DELETE on each topic, and for a namespace on everything in it. The gateway carries out a
request that names a namespace, a topic in a namespace or a topic with a catalog entry, and forwards
any other request under flat names. Denied topics get their errors. If a topic was denied by id, its
answer has its name only if the client may describe it (ControllerApis), and the message never.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.counting import TOPIC_ID, TOPIC_NAME
from gateway.apis.namespace_listing import endings
from gateway.apis.own_changes import (
    change,
    concerns_namespaces,
    without_denied,
    without_error,
)
from gateway.changes.base import admin_rights
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_ID
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do, Topics, TopicShape
from gateway.rules.division import OF_TOPICS, Division
from gateway.rules.other_versions import not_expressible
from gateway.rules.volume_items import of_topic
from gateway.views.access import DESCRIBE
from protocol import messages
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span

FIRST_WITH_IDS: Final = 6
"""The first version that can name topics by id (KIP-516)."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Carry out requests about namespaces; forward other requests, without denied topics."""
    spans = walking.request_spans(exchange.plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.TOPICS if _needs_topics(state, spans) else Refresh.CATALOG
    names = [value for kind, _, _, value in eased(spans) if kind == TOPIC_NAME and value]
    forbidden = admin_rights.deletions(state.access, names, state.worker.cluster.index.names())
    by_id = _denied_ids(state, spans)
    shown = {topic_id: name for topic_id in eased(by_id) if (name := _shown(state, topic_id))}
    if shown:
        exchange.then(lambda answer: _with_names(exchange.client_plan.version, answer, shown))
    left = without_denied(state, exchange, buf[start:end], forbidden | by_id)
    if isinstance(left, Answer):
        return left
    spans = walking.request_spans(exchange.plan, left, 0, len(left))
    if any(
        (kind == TOPIC_NAME and value and concerns_namespaces(state, value))
        or (kind == TOPIC_ID and _id_concerns_namespaces(state, value))
        for kind, _, _, value in eased(spans)
    ):
        return change(state, exchange, state.worker.changes.delete_topics, left)
    return generic.redecide(state, exchange, left, generic.request)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Remove the deleted topics from the index; restore the names."""
    spans = walking.response_spans(exchange.plan, buf, start, end)
    index = state.worker.cluster.index
    for flat, topic_id in without_error(spans):
        index.forget(flat, topic_id)
    if state.access.authorizes:
        _add_spellings(state, exchange, spans)
    return generic.restore(state, exchange, buf, start, end, spans)


def _add_spellings(state: ConnectionState, exchange: Exchange, spans: list[Span]) -> None:
    """Show the names of topics that were deleted by id, even to a client that may not describe."""
    spelled = exchange.spelled = dict(exchange.spelled or {})
    for kind, _, _, flat in eased(spans):
        if kind == TOPIC_NAME and flat and flat not in spelled:
            shown = state.view.spell(flat)
            if shown is not None:
                spelled[flat] = shown


def _needs_topics(state: ConnectionState, spans: list[Span]) -> bool:
    """Whether the cluster's topics must be listed first, because an id is not known or the
    rights to everything in a namespace are checked."""
    name_of = state.worker.cluster.index.name_of
    ends = endings(state.view)
    for kind, _, _, value in eased(spans):
        if kind == TOPIC_ID and not name_of(value):
            return True
        if kind == TOPIC_NAME and value and state.access.authorizes and value.endswith(ends):
            return True
    return False


def _denied_ids(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied]:
    """Denials for the topics that the request names by id and the client may not delete."""
    access = state.access
    if not access.authorizes:
        return {}
    denied: dict[bytes, Denied] = {}
    for kind, _, _, value in eased(spans):
        if kind != TOPIC_ID or not any(value):
            continue
        flat = _flat_of(state, value)
        # Denied here: the topic may become known before a deletion that no ACL allowed.
        unknown = Denied(UNKNOWN_TOPIC_ID, "Unknown topic id.", "topic_id")
        named = None if flat is None else access.topic_id_resource(flat, value)
        why = unknown if named is None else admin_rights.deletion_by_id(access, named)
        if why is not None:
            denied[value] = why
    return denied


def _shown(state: ConnectionState, topic_id: bytes) -> str | None:
    """The name of a topic that the client may not delete, if the client may describe it."""
    flat = _flat_of(state, topic_id)
    if flat is None or state.access.by_id(DESCRIBE, flat, topic_id) is not None:
        return None
    shown = state.view.spell_under(flat, topic_id)
    return None if shown is None else shown.decode()


def _flat_of(state: ConnectionState, topic_id: bytes) -> bytes | None:
    return state.view.flat_of_id(topic_id, state.worker.cluster.index)


def _with_names(version: int, body: bytes, shown: dict[bytes, str]) -> bytes:
    """A response in which topics that were denied by id have their names."""
    response = messages.parse("DeleteTopicsResponse", version, body)
    topics = tuple(
        topic
        if topic.topic_id is None
        else replace(topic, name=shown.get(topic.topic_id.bytes, topic.name))
        for topic in eased(response.responses)
    )
    return messages.write(replace(response, responses=topics))


def _id_concerns_namespaces(state: ConnectionState, topic_id: bytes) -> bool:
    snapshot = state.view.snapshot
    if snapshot.by_topic_id(topic_id) is not None:
        return True
    flat = state.worker.cluster.index.name_of(topic_id)
    return flat is not None and bool(
        snapshot.owner(flat.decode()).namespace or flat.decode() in snapshot.topics
    )


def _translated(request: Any, before: int, after: int, where: str) -> Mapping[str, object]:
    if before < FIRST_WITH_IDS <= after:
        return {
            "topics": [{"name": name} for name in eased(request.topic_names)],
            "topic_names": (),
        }
    if before < FIRST_WITH_IDS or after >= FIRST_WITH_IDS:
        return {}
    for topic in request.topics:
        if topic.topic_id is not None or topic.name is None:
            raise not_expressible(where, f"topic_id={topic.topic_id}")
    return {"topic_names": [topic.name for topic in eased(request.topics)], "topics": ()}


API = Api(
    "DeleteTopics",
    (1, 6),
    Do.REWRITE,
    by_id=Do.CHECK,
    topics=(
        TopicShape(Topics("topic_names", name=""), Topics("responses"), last=FIRST_WITH_IDS - 1),
        TopicShape(Topics("topics"), Topics("responses"), first=FIRST_WITH_IDS),
    ),
    division=Division(item=of_topic, codes=OF_TOPICS),
    translated=_translated,
    request=request,
    response=response,
)
