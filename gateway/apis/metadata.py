"""Metadata (API 3) and DescribeTopicPartitions (API 75): "all" is asked by explicit names.

Versions 0 to 3 of Metadata cannot forbid auto-creation, so they forward only names that are
known to exist; later ones leave it to the request, in namespaces that exist.
"""

from __future__ import annotations

from gateway.apis import generic
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchange import Answer, Exchange, Outcome, Refresh
from gateway.rules import describe_topic_partitions, metadata
from gateway.rules.access import check_creation
from gateway.rules.broker_addresses import hidden_nodes
from gateway.rules.rename import Refusals, RequestRenamer
from gateway.state import ConnectionState
from protocol.entities import Kind
from protocol.splice import Edit
from protocol.walkers import Span

TOPIC_NAME = int(Kind.TOPIC_NAME)
TOPIC_ID = int(Kind.TOPIC_ID)

FORBIDS_AUTO_CREATION = 4
"""The first version whose request can forbid auto-creation."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Expand "all", refuse what may not be named, and keep old versions from creating topics."""
    version = exchange.plan.version
    spans = generic.request_spans(exchange.plan, buf, start, end)
    if not any(span[0] in (TOPIC_NAME, TOPIC_ID) for span in spans):
        body = buf[start:end]
        if not metadata.wants_all(version, body):
            exchange.flow = state.flow(3, version, b"")
            return []
        if not exchange.refreshed:
            return Refresh.TOPICS
        if version == 0:
            exchange.then(lambda answer: metadata.without_placeholder(0, answer))
        return _ask(state, exchange, metadata.ask_by_name(version, body, state.listing()))
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    again = _guard_creation(state, exchange, renamer)
    if again is not None:
        return again
    generic.count_topics(state, exchange)
    if renamer.refusals is not None:
        return generic.refuse(state, exchange, buf[start:end], renamer.refusals)
    return renamer.edits


def describe_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """DescribeTopicPartitions: an empty list asks for all."""
    generic.request_spans(exchange.plan, buf, start, end)
    version, body = exchange.plan.version, buf[start:end]
    if not describe_topic_partitions.wants_all(version, body):
        return generic.request(state, exchange, buf, start, end)
    if not exchange.refreshed:
        return Refresh.TOPICS
    expanded = describe_topic_partitions.ask_by_name(version, body, state.listing())
    if expanded is None:
        exchange.flow = state.flow(75, version, b"")
        return Answer(describe_topic_partitions.no_topics(version))
    # Not forward_renamed: the cursor is the client's, and may name what is refused.
    outcome = generic.request(state, exchange, expanded, 0, len(expanded))
    return generic.as_forward(exchange, expanded, outcome)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Learn the topic ids, leave out brokers without an address, restore the rest."""
    plan = exchange.plan
    spans = generic.response_spans(plan, buf, start, end)
    learn_ids(state, spans)
    hidden = hidden_nodes(spans, state.addresses)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = metadata.drop_brokers(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def describe_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """DescribeTopicPartitions: learn the topic ids, restore the names; it holds no address."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    learn_ids(state, spans)
    return generic.restore(state, exchange, buf, start, end, spans)


def learn_ids(state: ConnectionState, spans: list[Span]) -> None:
    """Note the id behind each (flat) topic name of a response; an id stands after its name."""
    index = state.worker.cluster.index
    flat: bytes | None = None
    for kind, _, _, value in spans:
        if kind == TOPIC_NAME:
            flat = value
        elif kind == TOPIC_ID and flat and any(value):
            index.learn(flat, value)


def _ask(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    exchange.flow = state.flow(exchange.plan.api_key, exchange.plan.version, b"")
    return generic.forward_renamed(state, exchange, body)


def _guard_creation(
    state: ConnectionState, exchange: Exchange, renamer: RequestRenamer
) -> Refresh | None:
    """Refuse names that the broker might create and should not; look at the cluster first."""
    index = state.worker.cluster.index
    old = exchange.plan.version < FORBIDS_AUTO_CREATION
    for flat, spelled in renamer.spelled.items():
        if index.exists(flat):
            continue
        text = spelled.decode(errors="replace")
        denied = check_creation(state.view, text)
        if denied is None and not old:
            continue
        if not exchange.refreshed:
            return Refresh.TOPICS
        if renamer.refusals is None:
            renamer.refusals = Refusals()
        renamer.refusals.topics[spelled] = Denied(
            UNKNOWN_TOPIC_OR_PARTITION,
            denied.message if denied else f"Topic '{text}' does not exist.",
            denied.rule if denied else "auto_creation",
        )
    return None
