"""Describe-, Alter- and IncrementalAlterConfigs (APIs 32, 33, 44): topics and namespaces; all other
resources are refused."""

from __future__ import annotations

from gateway.apis import generic
from gateway.apis.counting import note_denials
from gateway.apis.own_changes import (
    TOPIC_NAME,
    VIRTUAL,
    Change,
    change,
    concerns_namespaces,
    name_refusals,
)
from gateway.changes.base import admin_rights
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, INVALID_TOPIC_EXCEPTION
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules.access import TOPIC_RESOURCE, check_resource
from gateway.rules.declaration import Do, ItemShape
from gateway.rules.item_lists import ConfigResource, merge_items, split_items
from gateway.rules.rename import Refusals
from protocol import messages
from protocol.entities import Kind
from protocol.pausing import eased
from protocol.splice import Edit, splice
from protocol.walkers import Span

DESCRIBE = "DescribeConfigs"

_DEFAULT_TOPICS = Denied(INVALID_REQUEST, "Default topic resources are not allowed.", "names")
NO_NAME = {
    DESCRIBE: Denied(INVALID_TOPIC_EXCEPTION, "The topic name is empty.", "names"),
    "AlterConfigs": _DEFAULT_TOPICS,
    "IncrementalAlterConfigs": _DEFAULT_TOPICS,
}
"""The answers for a topic without a name, a broker's own: to change its configs would be to change
the defaults of all topics, which are no topic's (ConfigResource)."""

_NAMED_BY = ("resource_type", "resource_name")

RESOURCE_TYPE = int(Kind.RESOURCE_TYPE)
RESOURCE_NAME = int(Kind.RESOURCE_NAME)


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Describe, Alter and IncrementalAlterConfigs: topics are renamed, all else is refused."""
    plan = exchange.plan
    spans = generic.request_spans(plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.CATALOG
    body = buf[start:end]
    asked = messages.parse(f"{plan.name}Request", plan.version, body)
    forbidden = admin_rights.configs(state.access, plan.name, asked.resources)
    if forbidden:
        topics = {name: why for (_, name), why in forbidden.items()}
        note_denials(state, exchange, Refusals(topics=topics))
        kept = split_items(plan.api, plan.version, body, forbidden)
        if kept.body is None:
            return Answer(merge_items(kept.kept, None))
        exchange.then(lambda answer: merge_items(kept.kept, answer))
        body = kept.body
        spans = generic.request_spans(plan, body, 0, len(body))
    # At the broker a change could wait until the topic was moved to where policies apply.
    done_here = plan.name != DESCRIBE and state.worker.judge.policies.judges
    if VIRTUAL in body or any(
        kind == TOPIC_NAME and value and (done_here or concerns_namespaces(state, value))
        for kind, _, _, value in eased(_as_topics(spans))
    ):
        refused = name_refusals(state, _as_topics(spans))
        refused = {name: why.told() for name, why in refused.items()}
        done_by = _config_change(state, plan.name)
        return change(state, exchange, done_by, body, refused)
    denied, aliases = _resource_refusals(state, spans, NO_NAME[plan.name])
    refusals = Refusals(topics={name: why for (_, name), why in denied.items()})
    again = generic.look_again(exchange, refusals)
    if again is not None:
        return again
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    if denied or aliases:
        note_denials(state, exchange, refusals)
        split = split_items(plan.api, plan.version, body, denied, aliases)
        if split.body is None:
            return Answer(merge_items(split.kept, None))
        exchange.then(lambda answer: merge_items(split.kept, answer))
        body = split.body
    spans = generic.request_spans(plan, body, 0, len(body))
    renamer = generic.renamer_for(state, exchange)
    renamer.add(_as_topics(spans))
    return Forward(plan, splice(body, 0, len(body), renamer.edits))


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the topics' names and the error texts."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    return generic.restore(state, exchange, buf, start, end, _as_topics(spans))


def _config_change(state: ConnectionState, api: str) -> Change:
    changes = state.worker.changes
    if api == DESCRIBE:
        return changes.describe_configs
    return changes.alter_configs if api == "AlterConfigs" else changes.incremental_alter_configs


def _resource_refusals(
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
                denied[resource_type, value] = found.told()
                continue
            spelled = first.setdefault(found.flat, value)
            if spelled != value:
                aliases[resource_type, value] = (resource_type, spelled)
    return denied, aliases


def _as_topics(spans: list[Span]) -> list[Span]:
    """The spans with the names of topic resources as what they are: topic names."""
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


def _declare(name: str, span: tuple[int, int], answered: str, *, why: str = "only topics") -> None:
    shape = ItemShape("resources", _NAMED_BY, answered, _NAMED_BY)
    api = Api(name, span, Do.REWRITE, why=why, items=(shape,), request=request, response=response)
    declare(api)


_declare(DESCRIBE, (1, 4), "results", why="only topics: a broker's hold addresses")
_declare("AlterConfigs", (0, 2), "responses")
_declare("IncrementalAlterConfigs", (0, 1), "responses")
