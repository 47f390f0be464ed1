"""CreateTopics (API 19): topics the broker makes, and topics and namespaces the gateway makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.acl_model import Operation
from gateway.apis import generic
from gateway.apis.counting import note_denials
from gateway.apis.own_changes import (
    TOPIC_NAME,
    VIRTUAL,
    change,
    concerns_namespaces,
    is_judged,
    without_error,
    without_topics,
)
from gateway.apis.topics import create_topics_legacy
from gateway.changes.base import admin_rights
from gateway.changes.topics.creation import are_alike, contradiction
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_TOPIC_EXCEPTION,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Answer, Exchange, Kept, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.names import DELIMITER, may_be_captured
from gateway.rules import partial
from gateway.rules.access import check_creation
from gateway.rules.declaration import Do, Topics, TopicShape
from gateway.rules.rename import Refusals
from gateway.views.access import Access
from protocol import messages
from protocol.messages import changed
from protocol.pausing import eased
from protocol.splice import Edit

FIRST_WITH_CONFIGS: Final = 5
"""The first version whose response holds configs."""

_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)

_HIDDEN: Final[dict[str, object]] = {
    "topic_config_error_code": TOPIC_AUTHORIZATION_FAILED,
    "num_partitions": -1,
    "replication_factor": -1,
    "configs": (),
}


class OnlyValidated(Kept):
    """Marks an exchange whose topics are not made (CreateTopics v1+: validate_only)."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Refuse topics that no namespace has room for; the broker's own checks follow."""
    generic.request_spans(exchange.plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.CATALOG
    body = buf[start:end]
    version = exchange.plan.version
    if version < create_topics_legacy.TRANSLATED_TO:
        body = create_topics_legacy.request_to_v2(version, body)
        exchange.plan = exchange.plan.at(create_topics_legacy.TRANSLATED_TO)
        exchange.then(lambda answer: create_topics_legacy.response_from_v2(version, answer))
    if state.access.authorizes and version >= FIRST_WITH_CONFIGS:
        exchange.then_at_last(lambda answer: hide_configs(version, answer, state.access))
    asked = messages.parse("CreateTopicsRequest", exchange.plan.version, body)
    forbidden = admin_rights.creations(state.access, asked.topics)
    left = without_topics(state, exchange, body, forbidden)
    if isinstance(left, Answer):
        return left
    body = left
    spans = generic.request_spans(exchange.plan, body, 0, len(body))
    names = [value for kind, _, _, value in eased(spans) if kind == TOPIC_NAME]
    if VIRTUAL in body or any(
        concerns_namespaces(state, name) or _may_be_captured(name) or is_judged(state, name)
        for name in names
    ):
        denied = {name: why for name in names if (why := _creation_refusal(state, name))}
        return change(state, exchange, state.worker.changes.create_topics, body, denied)
    left_over = set(names)
    refusals = _creation_refusals(state, [t for t in asked.topics if t.name.encode() in left_over])
    again = generic.look_again(exchange, refusals)
    if again is not None:
        return again
    if asked.validate_only:
        exchange.kept = OnlyValidated()
    exchange.flow = state.flow(exchange.plan.api_key, version, b"")
    if not refusals.topics and not refusals.aliases:
        return generic.forward_renamed(state, exchange, body)
    note_denials(state, exchange, refusals)
    plan = exchange.plan
    split = partial.split(plan.api, plan.version, body, refusals.topics, refusals.aliases)
    if split.body is None:
        return Answer(partial.merge(split.kept, None))
    exchange.then(lambda answer: partial.merge(split.kept, answer))
    return generic.forward_renamed(state, exchange, split.body)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Learn what was made, with its id (v7+), then restore."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    if not isinstance(exchange.kept, OnlyValidated):
        for flat, topic_id in without_error(spans):
            state.worker.cluster.index.learn(flat, topic_id)
    return generic.restore(state, exchange, buf, start, end, spans)


def hide_configs(version: int, body: bytes, access: Access) -> bytes:
    """A response in the client's names, without the configs that it may not describe (KIP-525).

    Raises ProtocolError.
    """
    response = messages.parse("CreateTopicsResponse", version, body)
    topics = tuple(_shown(topic, access) for topic in response.topics)
    return messages.write(replace(response, topics=topics))


def _shown(topic: Any, access: Access) -> Any:
    named = access.topic_resource(topic.name.encode())
    if topic.error_code or named is None or access.denial(_DESCRIBE_CONFIGS, named) is None:
        return topic
    return changed(topic, _HIDDEN)


def _may_be_captured(name: bytes) -> bool:
    """Whether a namespace that another gateway makes at this moment could take the topic."""
    return may_be_captured(name.decode(errors="replace"))


def _creation_refusal(state: ConnectionState, name: bytes) -> Denied | None:
    text = name.decode(errors="replace")
    return None if text.endswith(DELIMITER) else check_creation(state.view, text)


def _creation_refusals(state: ConnectionState, topics: Sequence[Any]) -> Refusals:
    refusals = Refusals()
    firsts: dict[bytes, Any] = {}
    for topic in topics:
        name = topic.name.encode()
        denied = check_creation(state.view, topic.name)
        if denied is not None:
            refusals.topics[name] = denied
            continue
        found = state.view.resolve(name)
        assert not isinstance(found, Denied)
        first = firsts.setdefault(found.flat, topic)
        if first.name == topic.name:
            continue
        spelled = first.name.encode()
        if are_alike(first, topic) and spelled not in refusals.topics:
            refusals.aliases[name] = spelled
            continue
        alike = [twin for twin, one in refusals.aliases.items() if one == spelled]
        for twin in alike:
            del refusals.aliases[twin]
        why = contradiction(first.name, topic.name)
        refusals.topics |= dict.fromkeys([spelled, name, *alike], why)
    return refusals


API = declare(
    Api(
        "CreateTopics",
        (0, 7),
        Do.REWRITE,
        why="v0-1 are translated to v2",
        topics=(
            TopicShape(
                Topics("topics"),
                Topics("topics"),
                {"num_partitions": -1, "replication_factor": -1, "configs": ()},
                codes={UNKNOWN_TOPIC_OR_PARTITION: INVALID_TOPIC_EXCEPTION},
            ),
        ),
        lowest=lambda broker: 0 if broker <= create_topics_legacy.TRANSLATED_TO else broker,
        request=request,
        response=response,
    )
)
