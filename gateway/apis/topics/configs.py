"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs (APIs 32, 33 and 44): the configs of
topics and namespaces; all other resources are rejected: a broker's configs hold its
addresses.

Topic names are rewritten. Describing needs DESCRIBE_CONFIGS on the resource, altering needs
ALTER_CONFIGS. If a request names a namespace, a topic in a namespace or a virtual config
(``gateway.…``), or if it alters a topic while there are policies, the gateway carries it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gateway.apis import generic
from gateway.apis.counting import TOPIC_NAME, count_first_topic, report_denied
from gateway.apis.own_changes import VIRTUAL, change, concerns_namespaces
from gateway.changes.base import admin_rights
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules.access import TOPIC_RESOURCE, check_resource
from gateway.rules.declaration import Do, Effect, ItemShape
from gateway.rules.division import OF_TOPICS, Division
from gateway.rules.item_lists import ConfigResource
from gateway.rules.rename import Rejections
from gateway.rules.volume_items import of_resource
from protocol import messages
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.pausing import eased
from protocol.splice import Edit, splice
from protocol.walkers import Span

DESCRIBE, ALTER, INCREMENTAL_ALTER = "DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs"

_DEFAULT_TOPICS = Denied(INVALID_REQUEST, "Default topic resources are not allowed.", "names")
NO_NAME = {
    DESCRIBE: Denied(INVALID_TOPIC_EXCEPTION, "The topic name is empty.", "names"),
    ALTER: _DEFAULT_TOPICS,
    INCREMENTAL_ALTER: _DEFAULT_TOPICS,
}
"""A broker's own responses to an empty topic name, which would mean the defaults of all topics
(ConfigResource)."""

_NAMED_BY = ("resource_type", "resource_name")

RESOURCE_TYPE = int(Kind.RESOURCE_TYPE)
RESOURCE_NAME = int(Kind.RESOURCE_NAME)


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward topics under their flat names, or carry the request out; reject other resources."""
    plan = exchange.plan
    generic.request_spans(plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.CATALOG
    body = buf[start:end]
    spans = generic.request_spans(plan, body, 0, len(body))
    requested = messages.parse(f"{plan.name}Request", plan.version, body)
    forbidden = admin_rights.configs(state.access, plan.name, requested.resources)
    if forbidden:
        report_denied(state, exchange, _each(requested.resources, forbidden))
        left = generic.without_items(state, exchange, body, forbidden)
        if isinstance(left, Answer):
            return left
        body, spans = left, generic.request_spans(plan, left, 0, len(left))
    # At the broker a change could wait until a policy applies to the topic, because it was moved.
    done_here = plan.name != DESCRIBE and state.worker.judge.policies.judges
    if VIRTUAL in body or any(
        kind == TOPIC_NAME and value and (done_here or concerns_namespaces(state, value))
        for kind, _, _, value in eased(_as_topics(spans))
    ):
        changes = state.worker.changes
        carry_out = {
            DESCRIBE: changes.describe_configs,
            ALTER: changes.alter_configs,
            INCREMENTAL_ALTER: changes.incremental_alter_configs,
        }[plan.name]
        return change(state, exchange, carry_out, body)
    denied, aliases = _resource_rejections(state, spans, NO_NAME[plan.name])
    topics = {name: why for (_, name), why in eased(denied.items())}
    again = generic.look_again(exchange, Rejections(topics=topics))
    if again is not None:
        return again
    count_first_topic(state, exchange, spans)
    if denied or aliases:
        report_denied(state, exchange, _each(requested.resources, denied))
        left = generic.without_items(state, exchange, body, denied, aliases)
        if isinstance(left, Answer):
            return left
        body, spans = left, generic.request_spans(plan, left, 0, len(left))
    renamer = generic.renamer_for(state, exchange)
    renamer.add(_as_topics(spans))
    return Forward(plan, splice(body, 0, len(body), renamer.edits))


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the topics' names and the error texts.

    Raises ProtocolError for any other resource: only topics were forwarded, and the name of
    another resource would be the broker's own.
    """
    spans = _as_topics(generic.response_spans(exchange.plan, buf, start, end))
    if any(kind == RESOURCE_NAME for kind, _, _, _ in eased(spans)):
        raise ProtocolError(f"{exchange.plan.name}: the broker answers for what is no topic")
    return generic.restore(state, exchange, buf, start, end, spans)


def _each(
    resources: Iterable[Any], denied: Mapping[ConfigResource, Denied]
) -> Iterator[tuple[bytes, Denied]]:
    """The denied resources of a request, each as often as the request has it."""
    for resource in resources:
        name = resource.resource_name.encode()
        why = denied.get((resource.resource_type, name))
        if why is not None:
            yield name, why


def _resource_rejections(
    state: ConnectionState, spans: list[Span], no_name: Denied
) -> tuple[dict[ConfigResource, Denied], dict[ConfigResource, ConfigResource]]:
    denied: dict[ConfigResource, Denied] = {}
    aliases: dict[ConfigResource, ConfigResource] = {}
    first: dict[bytes, bytes] = {}
    resource_type = 0
    for kind, _, _, value in eased(spans):
        if kind == RESOURCE_TYPE:
            resource_type = value
        elif kind == RESOURCE_NAME:
            why = check_resource(resource_type, value.decode(errors="replace"))
            found = why or (state.view.resolve(value) if value else no_name)
            if isinstance(found, Denied):
                denied[resource_type, value] = found.for_description()
                continue
            spelled = first.setdefault(found.flat, value)
            if spelled != value:
                aliases[resource_type, value] = (resource_type, spelled)
    return denied, aliases


def _as_topics(spans: list[Span]) -> list[Span]:
    """The spans, in which the names of topic resources are topic names."""
    resource_type = 0
    topics: list[Span] = []
    for span in eased(spans):
        kind, start, stop, value = span
        if kind == RESOURCE_TYPE:
            resource_type = value
        if kind == RESOURCE_NAME and resource_type == TOPIC_RESOURCE:
            topics.append((TOPIC_NAME, start, stop, value))
        else:
            topics.append(span)
    return topics


def _api(
    name: str,
    span: tuple[int, int],
    answered: str,
    *,
    why: str = "only topics",
    effect: Effect = Effect.CHANGE,
) -> Api:
    return Api(
        name,
        span,
        Do.REWRITE,
        why=why,
        effect=effect,
        items=(ItemShape("resources", _NAMED_BY, answered, _NAMED_BY),),
        division=Division(item=of_resource, codes=OF_TOPICS),
        request=request,
        response=response,
    )


DESCRIBE_CONFIGS = _api(
    DESCRIBE,
    (1, 4),
    "results",
    why="only topics: a broker's hold addresses",
    effect=Effect.DESCRIPTION,
)
ALTER_CONFIGS = _api(ALTER, (0, 2), "responses")
INCREMENTAL_ALTER_CONFIGS = _api(INCREMENTAL_ALTER, (0, 1), "responses")
