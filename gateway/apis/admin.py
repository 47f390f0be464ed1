"""CreateTopics, DeleteTopics and the config APIs: whole messages, seldom, so always by parsing.

What concerns namespaces is a change that the gateway makes itself (gateway/changes); a request
that concerns none is the broker's, as it would be without a gateway. Which it is says the catalog
as it is now: what another worker has just moved is not to be deleted under its old name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gateway.apis import generic
from gateway.decision import Denied
from gateway.exchange import Answer, Exchange, Forward, Outcome, Refresh, Work
from gateway.names import DELIMITER, END_OF_NAMESPACE, InvalidName, fold
from gateway.rules import configs, create_topics_legacy, partial
from gateway.rules.access import TOPIC_RESOURCE, check_creation, check_resource
from gateway.rules.rename import Refusals
from gateway.state import ConnectionState
from gateway.view import View
from protocol import messages
from protocol.entities import Kind
from protocol.splice import Edit, splice
from protocol.walkers import Span

TOPIC_NAME = int(Kind.TOPIC_NAME)
TOPIC_ID = int(Kind.TOPIC_ID)
ERROR_CODE = int(Kind.ERROR_CODE)
RESOURCE_TYPE = int(Kind.RESOURCE_TYPE)
RESOURCE_NAME = int(Kind.RESOURCE_NAME)

Change = Callable[[View, int, bytes], Awaitable[bytes]]

VIRTUAL = b"gateway."
"""What the keys of virtual topic configs begin with. Where it stands in a request at all, the
gateway looks at every key."""

VALIDATE_ONLY = object()
"""Marks an exchange whose topics are not made (CreateTopics v1+: validate_only)."""


def create_topics(
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
    spans = generic.request_spans(exchange.plan, body, 0, len(body))
    names = [value for kind, _, _, value in spans if kind == TOPIC_NAME]
    if VIRTUAL in body or any(
        _concerns_namespaces(state, name) or _may_be_captured(name) for name in names
    ):
        denied = {name: why for name in names if (why := _creation_refusal(state, name))}
        return _change(state, exchange, state.worker.changes.create_topics, body, denied)
    refusals = _creation_refusals(state, names)
    again = generic.look_again(exchange, refusals)
    if again is not None:
        return again
    if messages.parse("CreateTopicsRequest", exchange.plan.version, body).validate_only:
        exchange.request = VALIDATE_ONLY
    exchange.flow = state.flow(exchange.plan.api_key, version, b"")
    if not refusals.topics and not refusals.aliases:
        return generic.forward_renamed(state, exchange, body)
    generic.note_denials(state, exchange, refusals)
    plan = exchange.plan
    split = partial.split(plan.api_key, plan.version, body, refusals.topics, refusals.aliases)
    if split.body is None:
        return Answer(partial.merge(split.kept, None))
    exchange.then(lambda answer: partial.merge(split.kept, answer))
    return generic.forward_renamed(state, exchange, split.body)


def create_topics_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Learn what was made, with its id (v7+), then restore."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    if exchange.request is not VALIDATE_ONLY:
        for flat, topic_id in _without_error(spans):
            state.worker.cluster.index.learn(flat, topic_id)
    return generic.restore(state, exchange, buf, start, end, spans)


def delete_topics(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Delete namespaces, and topics that the catalog knows; all else is the broker's."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    if not exchange.refreshed:
        name_of = state.worker.cluster.index.name_of
        known = all(kind != TOPIC_ID or name_of(value) for kind, _, _, value in spans)
        return Refresh.CATALOG if known else Refresh.TOPICS
    if any(
        (kind == TOPIC_NAME and value and _concerns_namespaces(state, value))
        or (kind == TOPIC_ID and _id_concerns_namespaces(state, value))
        for kind, _, _, value in spans
    ):
        refused = _name_refusals(state, spans)
        change = state.worker.changes.delete_topics
        return _change(state, exchange, change, buf[start:end], refused)
    return generic.request(state, exchange, buf, start, end)


def delete_topics_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Forget what was deleted, then restore."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    index = state.worker.cluster.index
    for flat, topic_id in _without_error(spans):
        index.forget(flat, topic_id)
    return generic.restore(state, exchange, buf, start, end, spans)


def configs_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Describe, Alter and IncrementalAlterConfigs: topics are renamed, all else is refused."""
    plan = exchange.plan
    spans = generic.request_spans(plan, buf, start, end)
    if not exchange.refreshed:
        return Refresh.CATALOG
    if VIRTUAL in buf[start:end] or any(
        kind == TOPIC_NAME and value and _concerns_namespaces(state, value)
        for kind, _, _, value in _as_topics(spans)
    ):
        refused = _name_refusals(state, _as_topics(spans))
        change = _config_change(state, plan.name)
        return _change(state, exchange, change, buf[start:end], refused)
    denied, aliases = _resource_refusals(state, spans)
    refusals = Refusals(topics={name: why for (_, name), why in denied.items()})
    again = generic.look_again(exchange, refusals)
    if again is not None:
        return again
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    body = buf[start:end]
    if denied or aliases:
        generic.note_denials(state, exchange, refusals)
        split = configs.split(plan.api_key, plan.version, body, denied, aliases)
        if split.body is None:
            return Answer(configs.merge(split.kept, None))
        exchange.then(lambda answer: configs.merge(split.kept, answer))
        body = split.body
    spans = generic.request_spans(plan, body, 0, len(body))
    renamer = generic.renamer_for(state, exchange)
    renamer.add(_as_topics(spans))
    return Forward(plan, splice(body, 0, len(body), renamer.edits))


def configs_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the topics' names and the error texts."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    return generic.restore(state, exchange, buf, start, end, _as_topics(spans))


def _concerns_namespaces(state: ConnectionState, spelled: bytes) -> bool:
    """Whether a name denotes a namespace, a topic in one, or a topic that the catalog knows."""
    text, view = spelled.decode(errors="replace"), state.view
    if text.endswith(DELIMITER):
        return True
    try:
        name = view.parse(text)
        return bool(
            name.namespace
            or view.snapshot.entry_of(name) is not None
            or view.snapshot.flat_of(name) is None
            or view.namespace_named(text)
        )
    except InvalidName:
        return False


def _may_be_captured(name: bytes) -> bool:
    """Whether a namespace that another gateway makes at this moment could take the topic."""
    return fold(name.decode(errors="replace")).find(fold(END_OF_NAMESPACE)) > 0


def _id_concerns_namespaces(state: ConnectionState, topic_id: bytes) -> bool:
    snapshot = state.view.snapshot
    if snapshot.by_topic_id(topic_id) is not None:
        return True
    flat = state.worker.cluster.index.name_of(topic_id)
    return flat is not None and bool(
        snapshot.owner(flat.decode()).namespace or flat.decode() in snapshot.topics
    )


def _creation_refusal(state: ConnectionState, name: bytes) -> Denied | None:
    text = name.decode(errors="replace")
    return None if text.endswith(DELIMITER) else check_creation(state.view, text)


def _name_refusals(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied]:
    """The names that denote neither a topic that this view may see nor a namespace."""
    refused: dict[bytes, Denied] = {}
    for kind, _, _, value in spans:
        if kind == TOPIC_NAME and value:
            found = state.view.resolve(value)
            if isinstance(found, Denied) and not value.endswith(DELIMITER.encode()):
                refused[value] = found
    return refused


def _change(
    state: ConnectionState,
    exchange: Exchange,
    change: Change,
    body: bytes,
    refused: dict[bytes, Denied],
) -> Work:
    """The answer of a change. Its errors are counted as a broker's would be, and what a rule
    ``refused`` is noted as a denial, if that is still the answer after a look at the catalog."""
    plan = exchange.plan
    exchange.flow = state.flow(plan.api_key, plan.version, b"")

    async def run() -> bytes:
        answer = await change(state.view, plan.version, body)
        spans = generic.response_spans(plan, answer, 0, len(answer))
        codes = [span[3] for span in spans if span[0] == ERROR_CODE]
        denied = {name: why for name, why in refused.items() if why.code in codes}
        generic.note_denials(state, exchange, Refusals(topics=denied))
        for why in denied.values():
            codes.remove(why.code)  # it was counted with the denial
        generic.count_errors(exchange, codes)
        return answer

    return Work(run)


def _config_change(state: ConnectionState, api: str) -> Change:
    changes = state.worker.changes
    if api == "DescribeConfigs":
        return changes.describe_configs
    return changes.alter_configs if api == "AlterConfigs" else changes.incremental_alter_configs


def _creation_refusals(state: ConnectionState, names: list[bytes]) -> Refusals:
    refusals = Refusals()
    first: dict[bytes, bytes] = {}
    for name in names:
        denied = check_creation(state.view, name.decode(errors="replace"))
        if denied is not None:
            refusals.topics[name] = denied
            continue
        found = state.view.resolve(name)
        assert not isinstance(found, Denied)
        spelled = first.setdefault(found.flat, name)
        if spelled != name:
            refusals.aliases[name] = spelled
    return refusals


def _resource_refusals(
    state: ConnectionState, spans: list[Span]
) -> tuple[dict[configs.Resource, Denied], dict[configs.Resource, configs.Resource]]:
    denied: dict[configs.Resource, Denied] = {}
    aliases: dict[configs.Resource, configs.Resource] = {}
    first: dict[bytes, bytes] = {}
    resource_type = 0
    for kind, _, _, value in spans:
        if kind == RESOURCE_TYPE:
            resource_type = value
        elif kind == RESOURCE_NAME:
            why = check_resource(resource_type, value.decode(errors="replace"))
            found = why or state.view.resolve(value)
            if isinstance(found, Denied):
                denied[resource_type, value] = found
                continue
            spelled = first.setdefault(found.flat, value)
            if spelled != value:
                aliases[resource_type, value] = (resource_type, spelled)
    return denied, aliases


def _as_topics(spans: list[Span]) -> list[Span]:
    """The spans with the names of topic resources as what they are: topic names."""
    resource_type = 0
    topics: list[Span] = []
    for span in spans:
        kind, start, stop, value = span
        if kind == RESOURCE_TYPE:
            resource_type = value
        if kind == RESOURCE_NAME and resource_type == TOPIC_RESOURCE:
            topics.append((TOPIC_NAME, start, stop, value))
        else:
            topics.append(span)
    return topics


def _without_error(spans: list[Span]) -> list[tuple[bytes, bytes | None]]:
    """The topics (name, id where there is one) that no error code follows, one code a topic."""
    done: list[tuple[bytes, bytes | None]] = []
    for kind, _, _, value in spans:
        if kind == TOPIC_NAME and value:
            done.append((value, None))
        elif kind == TOPIC_ID and done:
            done[-1] = (done[-1][0], value)
        elif kind == ERROR_CODE and done:
            done.pop()
    return done
