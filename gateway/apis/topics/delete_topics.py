"""DeleteTopics (API 20): namespaces and topics that the catalog knows; all else is the broker's."""

from __future__ import annotations

from dataclasses import replace

from gateway.apis import generic
from gateway.apis.own_changes import (
    TOPIC_ID,
    TOPIC_NAME,
    change,
    concerns_namespaces,
    name_refusals,
    without_error,
    without_topics,
)
from gateway.apis.topics.namespace_listing import ENDS
from gateway.changes.base import admin_rights
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_ID
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do, Topics, TopicShape
from gateway.views.access import DESCRIBE
from protocol import messages
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Delete namespaces, and topics that the catalog knows; all else is the broker's."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.TOPICS if _needs_topics(state, spans) else Refresh.CATALOG
    names = [value for kind, _, _, value in eased(spans) if kind == TOPIC_NAME and value]
    forbidden = admin_rights.deletions(state.access, names, state.worker.cluster.index.names())
    by_id = _ids(state, spans)
    shown = {topic_id: name for topic_id in by_id if (name := _shown(state, topic_id))}
    if shown:
        exchange.then(lambda answer: _with_names(exchange.client_plan.version, answer, shown))
    left = without_topics(state, exchange, buf[start:end], forbidden | by_id)
    if isinstance(left, Answer):
        return left
    spans = generic.request_spans(exchange.plan, left, 0, len(left))
    if any(
        (kind == TOPIC_NAME and value and concerns_namespaces(state, value))
        or (kind == TOPIC_ID and _id_concerns_namespaces(state, value))
        for kind, _, _, value in eased(spans)
    ):
        refused = name_refusals(state, spans)
        return change(state, exchange, state.worker.changes.delete_topics, left, refused)
    outcome = generic.request(state, exchange, left, 0, len(left))
    return generic.as_forward(exchange, left, outcome)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Forget what was deleted, then restore."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    index = state.worker.cluster.index
    for flat, topic_id in without_error(spans):
        index.forget(flat, topic_id)
    if state.access.authorizes:
        _name_what_was_asked(state, exchange, spans)
    return generic.restore(state, exchange, buf, start, end, spans)


def _name_what_was_asked(state: ConnectionState, exchange: Exchange, spans: list[Span]) -> None:
    """Who may delete a topic by its id is told its name, also who could not describe it."""
    spelled = exchange.spelled = dict(exchange.spelled or {})
    for kind, _, _, flat in eased(spans):
        if kind == TOPIC_NAME and flat and flat not in spelled:
            shown = state.view.spell(flat)
            if shown is not None:
                spelled[flat] = shown


def _needs_topics(state: ConnectionState, spans: list[Span]) -> bool:
    """Whether the cluster's topics have to be listed first: an id is not known, or it is asked
    whether all that is in a namespace may be deleted."""
    name_of = state.worker.cluster.index.name_of
    for kind, _, _, value in eased(spans):
        if kind == TOPIC_ID and not name_of(value):
            return True
        if kind == TOPIC_NAME and value and state.access.authorizes and value.endswith(ENDS):
            return True
    return False


def _ids(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied]:
    """The topics that are named by id and may not be deleted."""
    access = state.access
    if not access.authorizes:
        return {}
    denied: dict[bytes, Denied] = {}
    for kind, _, _, value in eased(spans):
        flat = _flat_of(state, value) if kind == TOPIC_ID else None
        if kind == TOPIC_ID and flat is None and any(value):
            # What it is may be known before it is deleted, and nobody was asked about it then.
            denied[value] = Denied(UNKNOWN_TOPIC_ID, "Unknown topic id.", "topic_id")
        elif flat is not None:
            why = admin_rights.deletion(access, access.flat_resource(flat))
            if why is not None:
                denied[value] = why
    return denied


def _shown(state: ConnectionState, topic_id: bytes) -> str | None:
    """The name of a topic that may not be deleted, for whom may describe it (ControllerApis)."""
    flat = _flat_of(state, topic_id)
    if flat is None or state.access.flat(DESCRIBE, flat) is not None:
        return None
    shown = state.view.spell_under(flat, topic_id)
    return None if shown is None else shown.decode()


def _flat_of(state: ConnectionState, topic_id: bytes) -> bytes | None:
    return state.view.flat_of_id(topic_id, state.worker.cluster.index)


def _with_names(version: int, body: bytes, shown: dict[bytes, str]) -> bytes:
    """A response in which topics that were refused by id have their names."""
    response = messages.parse("DeleteTopicsResponse", version, body)
    topics = tuple(
        topic
        if topic.topic_id is None
        else replace(topic, name=shown.get(topic.topic_id.bytes, topic.name))
        for topic in response.responses
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


API = declare(
    Api(
        "DeleteTopics",
        (1, 6),
        Do.REWRITE,
        by_id=Do.CHECK,
        topics=(
            TopicShape(Topics("topic_names", name=""), Topics("responses"), last=5),
            TopicShape(Topics("topics"), Topics("responses"), first=6),
        ),
        request=request,
        response=response,
    )
)
