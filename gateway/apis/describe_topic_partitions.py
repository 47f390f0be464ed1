"""DescribeTopicPartitions (API 75, KIP-966): "all" is asked by explicit names, page by page.

Namespaces that a request names, or that its listener lists, are answered here, among the topics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gateway.apis import generic
from gateway.apis.metadata import learn_ids, names_of, worth_a_look
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.names import flat_prefix
from gateway.rules import describe_topic_partitions, namespace_listing
from gateway.rules.declaration import DESCRIBE, Do, Needs, ToldOperations, Topics, TopicShape
from protocol.splice import Edit

NO_PARTITION = Denied(INVALID_REQUEST, "The cursor's partition is below 0.", "request")


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """An empty list asks for all."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    version, body = exchange.plan.version, buf[start:end]
    if describe_topic_partitions.begins_before_all(version, body):
        exchange.flow = state.flow(exchange.plan.api_key, version, b"")
        return generic.answer_error(exchange, body, NO_PARTITION)
    rest = describe_topic_partitions.from_cursor(version, body)
    if rest != body:
        return generic.as_forward(exchange, rest, request(state, exchange, rest, 0, len(rest)))
    if describe_topic_partitions.wants_all(version, body):
        if not exchange.refreshed:
            return Refresh.TOPICS
        generic.require_open(state)
        names = state.listing().names
        return _describe(state, exchange, body, names, namespace_listing.listed(state.access))
    found = namespace_listing.named(state.access, names_of(spans))
    if found is not None:
        if worth_a_look(state, exchange, found):
            return Refresh.CATALOG
        if found.existing:
            asked = describe_topic_partitions.page(version, body).order
            names = [name for name in asked if name not in found.existing]
            return _describe(state, exchange, body, names, found.existing)
    return generic.request(state, exchange, buf, start, end)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Learn the topic ids, restore the names; it holds no address."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    learn_ids(state, spans)
    return generic.restore(state, exchange, buf, start, end, spans)


def _describe(
    state: ConnectionState,
    exchange: Exchange,
    body: bytes,
    names: list[str],
    namespaces: Mapping[str, str],
) -> Outcome:
    """Describe topics by name, and among them namespaces (name to tier path), page by page."""
    version, view = exchange.plan.version, state.view

    def place(name: str) -> str | None:
        return namespace_listing.place(view, name)

    body = describe_topic_partitions.with_cursor_among(version, body, names, place)
    if namespaces:
        page = describe_topic_partitions.page(version, body)
        prefixes = {name: flat_prefix(path) for name, path in namespaces.items()}

        exchange.then(
            lambda answer: describe_topic_partitions.add_namespaces(
                version, answer, page, prefixes, place
            )
        )
        if page.cursor is not None and namespace_listing.denotes(view, page.cursor):
            # The broker knows no such topic: it begins with the first one behind it.
            start = place(page.cursor) or ""
            names = [name for name in names if (place(name) or start) >= start]
            body = describe_topic_partitions.without_cursor(version, body)
    expanded = describe_topic_partitions.ask_by_name(version, body, names)
    if expanded is None:
        exchange.flow = state.flow(75, version, b"")
        return Answer(describe_topic_partitions.no_topics(version))
    # Not forward_renamed: the cursor is the client's, and may name what is refused.
    outcome = generic.request(state, exchange, expanded, 0, len(expanded))
    return generic.as_forward(exchange, expanded, outcome)


def _adjusted(
    request: Any, is_refused: Callable[[str], bool], first_spelling: Callable[[str], str]
) -> Any:
    """The broker wants the cursor's topic among the topics. If that one is refused by now, begin
    anew: a client may see a topic twice, but misses none."""
    cursor = request.cursor
    if cursor is None:
        return request
    if is_refused(cursor.topic_name):
        return replace(request, cursor=None)
    first = first_spelling(cursor.topic_name)
    return replace(request, cursor=replace(cursor, topic_name=first))


API = declare(
    Api(
        "DescribeTopicPartitions",
        (0, 0),
        Do.REWRITE,
        null=Do.EXPAND,
        needs=Needs(topic=DESCRIBE, tells_illegal=True),
        topics=(TopicShape(Topics("topics"), Topics("topics"), adjusted=_adjusted),),
        operations=ToldOperations((), "topics", "name", "topic_authorized_operations"),
        request=request,
        response=response,
    )
)
