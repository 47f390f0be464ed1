"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs (APIs 32, 33 and 44): the configs of
topics and namespaces, of brokers, their loggers and groups (``other_resources``), and of client
metrics.

Names are rewritten. Describing a topic needs DESCRIBE_CONFIGS on it, altering it ALTER_CONFIGS. If
a request names a namespace, a topic in a namespace or a virtual config of a topic (``gateway.…``),
or if it alters a topic while there are policies, the gateway carries it out; then it may name only
topics and namespaces. Stock tools send a request for each kind of resource. Client metrics
(KIP-714) are in the gateway's catalog: a request for them alone is carried out there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.configs import other_resources
from gateway.apis.configs.other_resources import (
    DESCRIBE,
    NO_CONFIGS,
    OF_BROKERS,
    Decided,
    Forwarded,
)
from gateway.apis.counting import (
    RESOURCE_NAME,
    RESOURCE_TYPE,
    TOPIC_NAME,
    count_first_topic,
    report_denied,
)
from gateway.apis.own_changes import VIRTUAL, Change, change, concerns_namespaces
from gateway.changes.base import admin_rights
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome, Plan, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules.access import TOPIC_RESOURCE as TOPIC
from gateway.rules.declaration import Do, Effect, ItemShape
from gateway.rules.division import OF_TOPICS, Division
from gateway.rules.item_lists import ConfigResource
from gateway.rules.rename import Rejections, wire_string
from gateway.rules.volume_items import CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, of_resource
from protocol import messages
from protocol.errors import ProtocolError
from protocol.pausing import eased, paced
from protocol.splice import Edit, splice
from protocol.walkers import Span

ALTER, INCREMENTAL_ALTER = "AlterConfigs", "IncrementalAlterConfigs"
NO_ALIASES: Final[Mapping[ConfigResource, ConfigResource]] = MappingProxyType({})

_DEFAULT_TOPICS = Denied(INVALID_REQUEST, "Default topic resources are not allowed.", "names")
NO_NAME = {
    DESCRIBE: Denied(INVALID_TOPIC_EXCEPTION, "The topic name is empty.", "names"),
    ALTER: _DEFAULT_TOPICS,
    INCREMENTAL_ALTER: _DEFAULT_TOPICS,
}
"""A broker's own responses to an empty topic name, which would mean the defaults of all topics
(ConfigResource)."""

_NAMED_BY = ("resource_type", "resource_name")


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward resources under the broker's names, or carry the request out."""
    plan = exchange.plan
    walking.request_spans(plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.CATALOG
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    body = buf[start:end]
    requested = messages.parse(f"{plan.name}Request", plan.version, body)
    if requested.resources and all(map(_is_of_client_metrics, paced(requested.resources))):
        return change(state, exchange, _client_metrics_change(state, plan), body)
    forbidden = admin_rights.configs(state.access, plan.name, requested.resources)
    others = other_resources.decide(state, plan.name, requested.resources)
    left = _without(state, exchange, requested, body, forbidden | others.denied)
    if isinstance(left, Answer):
        return left
    body = left
    spans = walking.request_spans(plan, body, 0, len(body))
    if _is_done_here(state, plan, body, spans, others):
        together = dict.fromkeys(others.names, other_resources.BESIDE_NAMESPACES)
        left = _without(state, exchange, requested, body, together)
        if isinstance(left, Answer):
            return left
        changes = state.worker.changes
        carry_out = {
            DESCRIBE: changes.describe_configs,
            ALTER: changes.alter_configs,
            INCREMENTAL_ALTER: changes.incremental_alter_configs,
        }[plan.name]
        return change(state, exchange, carry_out, left)
    denied, aliases = _topic_rejections(state, spans, NO_NAME[plan.name])
    topics = {name: why for (_, name), why in eased(denied.items())}
    again = generic.look_again(exchange, Rejections(topics=topics))
    if again is not None:
        return again
    count_first_topic(state, exchange, spans)
    left = _without(state, exchange, requested, body, denied, aliases | others.aliases)
    if isinstance(left, Answer):
        return left
    return _forward(state, exchange, left, others)


def _is_of_client_metrics(resource: Any) -> bool:
    return int(resource.resource_type) == CLIENT_METRICS_RESOURCE


def _client_metrics_change(state: ConnectionState, plan: Plan) -> Change:
    changes = state.worker.changes
    return {
        DESCRIBE: changes.describe_client_metrics,
        ALTER: changes.alter_client_metrics,
        INCREMENTAL_ALTER: changes.incremental_alter_client_metrics,
    }[plan.name]


def _without(
    state: ConnectionState,
    exchange: Exchange,
    requested: Any,
    body: bytes,
    denied: dict[ConfigResource, Denied],
    aliases: Mapping[ConfigResource, ConfigResource] = NO_ALIASES,
) -> bytes | Answer:
    """The request without denied resources, which are reported, and second spellings."""
    if not denied and not aliases:
        return body
    for named in (True, False):  # whether the names are topics'
        of_kind = {key: why for key, why in eased(denied.items()) if (key[0] == TOPIC) is named}
        report_denied(state, exchange, _each(requested.resources, of_kind), named=named)
    return generic.without_items(state, exchange, body, denied, aliases)


def _is_done_here(
    state: ConnectionState, plan: Plan, body: bytes, spans: list[Span], others: Decided
) -> bool:
    """Whether the gateway carries the request out itself, because of a topic in it."""
    # At the broker a change could wait until a policy applies to the topic, because it was moved.
    is_judged = plan.name != DESCRIBE and state.worker.judge.policies.judges
    if any(
        kind == TOPIC_NAME and value and (is_judged or concerns_namespaces(state, value))
        for kind, _, _, value in eased(_as_topics(spans))
    ):
        return True
    if VIRTUAL not in body:
        return False
    if others.names:  # a group may be called gateway.x
        request = messages.parse(f"{plan.name}Request", plan.version, body)
        topics = tuple(one for one in paced(request.resources) if one.resource_type == TOPIC)
        body = messages.write(replace(request, resources=topics))
    return VIRTUAL in body


def _forward(state: ConnectionState, exchange: Exchange, body: bytes, others: Decided) -> Forward:
    """Forward what nothing is denied of, under the broker's names."""
    plan = exchange.plan
    spans = walking.request_spans(plan, body, 0, len(body))
    renamer = generic.renamer_for(state, exchange)
    renamer.add(_as_topics(spans))
    edits = renamer.edits
    if others.needs_brokers:
        assert exchange.spelled_ids is not None
        exchange.spelled_ids[OF_BROKERS] = OF_BROKERS
    if others.names:
        spelled: dict[ConfigResource, bytes] = {}
        kind = 0
        for span_kind, start, stop, value in eased(spans):
            if span_kind == RESOURCE_TYPE:
                kind = value
            elif span_kind == RESOURCE_NAME and kind != TOPIC:
                name = others.names[kind, value]
                spelled[kind, name] = value
                if kind == GROUP_RESOURCE:
                    renamer.ids.add(name)
                if name != value:
                    edits.append((start, stop, wire_string(name, plan.flexible)))
        edits.sort()
        exchange.kept = Forwarded(spelled) if spelled else None
    return Forward(plan, splice(body, 0, len(body), edits))


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names and the error texts; withhold configs of brokers and groups.

    Raises ProtocolError for a resource that was not forwarded: its name would be the broker's own.
    """
    plan, kept = exchange.plan, exchange.kept
    if isinstance(kept, Forwarded):
        walking.response_spans(plan, buf, start, end)
        body = other_resources.restored(state, plan.name, plan.version, buf[start:end], kept)
        spans = _as_topics(walking.response_spans(plan, body, 0, len(body)))
        return generic.whole(body, generic.restore(state, exchange, body, 0, len(body), spans))
    spans = _as_topics(walking.response_spans(plan, buf, start, end))
    if any(kind == RESOURCE_NAME for kind, _, _, _ in eased(spans)):
        raise ProtocolError(f"{plan.name}: the broker answers for what is no topic")
    return generic.restore(state, exchange, buf, start, end, spans)


def _each(
    resources: Iterable[Any], denied: Mapping[ConfigResource, Denied]
) -> Iterator[tuple[bytes, Denied]]:
    """The denied resources of a request, each as often as the request has it."""
    for resource in resources:
        name = resource.resource_name.encode()
        why = denied.get((resource.resource_type, name))
        if why is not None and why is not NO_CONFIGS:
            yield name, why


def _topic_rejections(
    state: ConnectionState, spans: list[Span], no_name: Denied
) -> tuple[dict[ConfigResource, Denied], dict[ConfigResource, ConfigResource]]:
    """The topics of a request that may not be forwarded, and second spellings of topics."""
    denied: dict[ConfigResource, Denied] = {}
    aliases: dict[ConfigResource, ConfigResource] = {}
    first: dict[bytes, bytes] = {}
    for kind, _, _, value in eased(_as_topics(spans)):
        if kind == TOPIC_NAME:
            found = state.view.resolve(value) if value else no_name
            if isinstance(found, Denied):
                denied[TOPIC, value] = found.for_description()
                continue
            spelled = first.setdefault(found.flat, value)
            if spelled != value:
                aliases[TOPIC, value] = (TOPIC, spelled)
    return denied, aliases


def _as_topics(spans: list[Span]) -> list[Span]:
    """The spans, in which the names of topic resources are topic names."""
    resource_type = 0
    topics: list[Span] = []
    for span in eased(spans):
        kind, start, stop, value = span
        if kind == RESOURCE_TYPE:
            resource_type = value
        if kind == RESOURCE_NAME and resource_type == TOPIC:
            topics.append((TOPIC_NAME, start, stop, value))
        else:
            topics.append(span)
    return topics


def _api(
    name: str,
    span: tuple[int, int],
    answered: str,
    *,
    why: str = "topics, groups, client metrics",
    effect: Effect = Effect.CHANGE,
) -> Api:
    return Api(
        name,
        span,
        Do.REWRITE,
        why=why,
        effect=effect,
        items=(ItemShape("resources", _NAMED_BY, answered, _NAMED_BY),),
        division=Division(item=of_resource, of_node=other_resources.of_node, codes=OF_TOPICS),
        request=request,
        response=response,
    )


DESCRIBE_CONFIGS = _api(
    DESCRIBE,
    (1, 4),
    "results",
    why="topics, groups, client metrics, and brokers without what their configs tell of addresses",
    effect=Effect.DESCRIPTION,
)
ALTER_CONFIGS = _api(ALTER, (0, 2), "responses")
INCREMENTAL_ALTER_CONFIGS = _api(INCREMENTAL_ALTER, (0, 1), "responses")
