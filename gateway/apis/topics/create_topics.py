"""CreateTopics (API 19): topics and, under names that end in ``:``, namespaces.

Needs CREATE on each, or on the cluster for names of the default namespace. The gateway carries out
a request that names a namespace, a topic in a namespace, a topic under a policy or a virtual config
(``gateway.…``). It forwards any other request under flat names, without topics whose names are
rejected. Configs in the response need DESCRIBE_CONFIGS (KIP-525). If the brokers serve only v2 and
later (Kafka 4, KIP-896), v0 and v1 are forwarded as v2: a v1 request has the same bytes, v0 lacks
validate_only. Responses of v0 and v1 have no throttle time, those of v0 no error messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.acl_model import Operation
from gateway.apis import generic, walking
from gateway.apis.counting import TOPIC_NAME, count_first_topic, report_rejections
from gateway.apis.own_changes import (
    VIRTUAL,
    change,
    concerns_namespaces,
    is_judged,
    without_denied,
    without_error,
)
from gateway.apis.topics.metadata_messages import as_version
from gateway.changes.base import admin_rights
from gateway.changes.topics.creation import are_alike, contradiction
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_TOPIC_EXCEPTION,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.names import may_be_captured
from gateway.rules.access import check_creation
from gateway.rules.declaration import Do, Topics, TopicShape
from gateway.rules.division import OF_TOPICS, Division
from gateway.rules.other_versions import not_expressible
from gateway.rules.rename import Rejections
from gateway.rules.volume_items import of_topic
from gateway.views.access import Access
from protocol import messages
from protocol.messages import changed
from protocol.pausing import eased
from protocol.splice import Edit

TRANSLATED_TO: Final = 2
"""The version in which requests of versions 0 and 1 are forwarded."""

FIRST_WITH_DEFAULTS: Final = 4
"""The first version with the brokers' default counts (KIP-464)."""

DEFAULT_COUNT: Final = -1

FIRST_WITH_CONFIGS: Final = 5
"""The first version whose response has configs."""

_NOT_VALIDATE_ONLY: Final = b"\x00"
"""The field that v1 added at the end of the request."""

_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)

_HIDDEN: Final[dict[str, object]] = {
    "topic_config_error_code": TOPIC_AUTHORIZATION_FAILED,
    "num_partitions": -1,
    "replication_factor": -1,
    "configs": (),
}


class OnlyValidated(Kept):
    """Marks an exchange whose topics are only validated, not created (v1+: validate_only)."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Carry out requests about namespaces or policies; forward other requests, without rejected
    names."""
    walking.request_spans(exchange.plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.CATALOG
    body = buf[start:end]
    version = exchange.plan.version
    if version < TRANSLATED_TO:
        body = request_to_v2(version, body)
        exchange.plan = exchange.plan.at(TRANSLATED_TO)
        exchange.then(lambda answer: response_from_v2(version, answer))
    if state.access.authorizes and version >= FIRST_WITH_CONFIGS:
        exchange.then_at_last(lambda answer: hide_configs(version, answer, state.access))
    requested = messages.parse("CreateTopicsRequest", exchange.plan.version, body)
    forbidden = admin_rights.creations(state.access, requested.topics)
    left = without_denied(state, exchange, body, forbidden)
    if isinstance(left, Answer):
        return left
    spans = walking.request_spans(exchange.plan, left, 0, len(left))
    names = [value for kind, _, _, value in eased(spans) if kind == TOPIC_NAME]
    if VIRTUAL in left or any(
        # Another gateway may be creating the namespace that captures the topic.
        concerns_namespaces(state, name)
        or may_be_captured(name.decode(errors="replace"))
        or is_judged(state, name)
        for name in eased(names)
    ):
        return change(state, exchange, state.worker.changes.create_topics, left)
    remaining = set(names)
    left_over = [t for t in eased(requested.topics) if t.name.encode() in remaining]
    rejections = _rejections(state, left_over)
    again = generic.look_again(exchange, rejections)
    if again is not None:
        return again
    if requested.validate_only:
        exchange.kept = OnlyValidated()
    count_first_topic(state, exchange, spans)
    if rejections.topics or rejections.aliases:
        report_rejections(state, exchange, rejections)
        left = generic.without_topics(state, exchange, left, rejections.topics, rejections.aliases)
        if isinstance(left, Answer):
            return left
    return generic.forward_renamed(state, exchange, left)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Note the created topics, with their ids (v7+), for the index; restore the names."""
    spans = walking.response_spans(exchange.plan, buf, start, end)
    if not isinstance(exchange.kept, OnlyValidated):
        for flat, topic_id in without_error(spans):
            state.worker.cluster.index.learn(flat, topic_id)
    return generic.restore(state, exchange, buf, start, end, spans)


def hide_configs(version: int, body: bytes, access: Access) -> bytes:
    """A response (the client's names) without configs that the client may not describe (KIP-525).

    Raises ProtocolError.
    """
    response = messages.parse("CreateTopicsResponse", version, body)
    topics = tuple(_shown(topic, access) for topic in eased(response.topics))
    return messages.write(replace(response, topics=topics))


def _shown(topic: Any, access: Access) -> Any:
    named = access.topic_resource(topic.name.encode())
    if topic.error_code or named is None or access.denial(_DESCRIBE_CONFIGS, named) is None:
        return topic
    return changed(topic, _HIDDEN)


def request_to_v2(version: int, body: bytes) -> bytes:
    """A v0 or v1 CreateTopicsRequest as v2. Raises ProtocolError."""
    messages.parse("CreateTopicsRequest", version, body)
    return body + _NOT_VALIDATE_ONLY if version == 0 else body


def response_from_v2(version: int, body: bytes) -> bytes:
    """A v2 CreateTopicsResponse as v0 or v1. Raises ProtocolError."""
    response = messages.parse("CreateTopicsResponse", TRANSLATED_TO, body)
    old_class = messages.message_class("CreateTopicsResponse", version)
    return messages.write(as_version(old_class, response))


def _rejections(state: ConnectionState, topics: Sequence[Any]) -> Rejections:
    """Rejections of topics that have no place in the view, and of second spellings: a second
    spelling gets a copy of the first's answer, or, if the two contradict, both get an error."""
    rejections = Rejections()
    firsts: dict[bytes, Any] = {}
    for topic in eased(topics):
        name = topic.name.encode()
        denied = check_creation(state.view, topic.name)
        if denied is not None:
            rejections.topics[name] = denied
            continue
        found = state.view.resolve(name)
        assert not isinstance(found, Denied)
        first = firsts.setdefault(found.flat, topic)
        if first.name == topic.name:
            continue
        spelled = first.name.encode()
        if are_alike(first, topic) and spelled not in rejections.topics:
            rejections.aliases[name] = spelled
            continue
        alike = [twin for twin, one in eased(rejections.aliases.items()) if one == spelled]
        for twin in alike:
            del rejections.aliases[twin]
        why = contradiction(first.name, topic.name)
        rejections.topics |= dict.fromkeys([spelled, name, *alike], why)
    return rejections


def _translated(request: Any, before: int, after: int, where: str) -> Mapping[str, object]:
    if before < FIRST_WITH_DEFAULTS or after >= FIRST_WITH_DEFAULTS:
        return {}
    for topic in request.topics:
        counts = topic.num_partitions, topic.replication_factor
        if DEFAULT_COUNT in counts and not topic.assignments:
            raise not_expressible(where, f"the brokers' default counts for '{topic.name}'")
    return {}


API = Api(
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
    lowest=lambda broker: 0 if broker <= TRANSLATED_TO else broker,
    division=Division(item=of_topic, codes=OF_TOPICS),
    translated=_translated,
    request=request,
    response=response,
)
