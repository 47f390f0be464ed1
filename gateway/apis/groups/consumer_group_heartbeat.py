"""Groups of the consumer protocol (KIP-848): heartbeats with subscriptions, and descriptions."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.apis import generic
from gateway.apis.counting import note_denials
from gateway.apis.groups.subscriptions import remember_spelling
from gateway.decision import Denied
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Kept, Outcome, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules import consumer_group_heartbeat as heartbeat
from gateway.rules import partial
from gateway.rules.declaration import READ, Do, Needs
from gateway.rules.rename import Refusals
from gateway.views.access import DESCRIBE
from gateway.views.denials import ACL_RULE
from protocol.entities import Kind
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span

GROUP_ID = int(Kind.GROUP_ID)
TOPIC_ID = int(Kind.TOPIC_ID)
TOPIC_NAME = int(Kind.TOPIC_NAME)


@dataclass(frozen=True, slots=True)
class Beat(Kept):
    """A heartbeat, as the worker's subscriptions know it."""

    sent: heartbeat.Sent


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """KIP-848: a regex is evaluated here, over the names this client may see. Topics that cannot
    exist are left out of a subscription, as Kafka lets a consumer name what does not exist, and
    of the partitions that it owns: their topic is gone."""
    plan, worker = exchange.plan, state.worker
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    spans = generic.request_spans(plan, buf, start, end)
    renamer = generic.renamer_for(state, exchange)
    renamer.add([span for span in eased(spans) if span[0] in (GROUP_ID, TOPIC_ID)])
    refusals = renamer.refusals
    if refusals is not None and refusals.ids:
        return generic.refuse(state, exchange, buf[start:end], refusals)
    if refusals is not None and refusals.unknown_ids and not exchange.refreshed:
        return Refresh.TOPICS
    forbidden = _forbidden(state, spans)
    if forbidden is not None:
        note_denials(state, exchange, Refusals(topics=forbidden))
        return generic.answer_error(exchange, buf[start:end], next(iter(forbidden.values())))
    outcome = worker.regexes.on_request(
        plan.version,
        buf[start:end],
        state.listing,
        scope=state.view.settings.scope,
        reach=lambda name: _flat_of(state, name),
        meaning=(state.view.snapshot.version, state.view.closed),
    )
    if isinstance(outcome, Denied):
        return generic.answer_error(exchange, buf[start:end], outcome)
    if outcome.sent is not None:
        exchange.kept = Beat(outcome.sent)
    seen: set[bytes] = set()
    body = heartbeat.without_names(
        plan.version, outcome.body, lambda name: _unwanted(state, name, seen)
    )
    if refusals is not None:
        body = heartbeat.without_partitions(plan.version, body, refusals.topics)
    forwarded = generic.forward_renamed(state, exchange, body)
    remember_spelling(state, exchange.spelled)
    return forwarded


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Learn that the membership has ended; topic ids are those that go with the names this client
    subscribed to."""
    plan = exchange.plan
    exchange.spelled = state.spelled
    if isinstance(exchange.kept, Beat):
        state.worker.regexes.on_response(plan.version, exchange.kept.sent, buf[start:end])
    spans = generic.response_spans(plan, buf, start, end)
    hidden = _hidden_ids(state, spans)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = partial.drop(plan.api, plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def _hidden_ids(state: ConnectionState, spans: list[Span]) -> set[bytes]:
    """The broker's topic ids of topics that this view may see under none of their names."""
    if not state.view.has_topic_ids:
        return set()
    index = state.worker.cluster.index
    ids = {value: index.name_of(value) for kind, _, _, value in eased(spans) if kind == TOPIC_ID}
    return {value for value, flat in ids.items() if flat and not state.view.reaches(flat)}


def _forbidden(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied] | None:
    """The names of a subscription that may not be described: one of them refuses it (KIP-848)."""
    if not state.access.authorizes:
        return None
    denied = {
        value: found
        for kind, _, _, value in eased(spans)
        if kind == TOPIC_NAME
        and value
        and isinstance(found := state.access.topic(DESCRIBE, value), Denied)
        and found.rule == ACL_RULE
    }
    return denied or None


def _flat_of(state: ConnectionState, name: str) -> bytes | None:
    found = state.view.resolve(name.encode())
    return None if isinstance(found, Denied) else found.flat


def _unwanted(state: ConnectionState, name: str, seen: set[bytes]) -> bool:
    """Whether a subscription does without this name: it names nothing, or what is ``seen``
    already under another spelling."""
    found = state.view.resolve(name.encode())
    if isinstance(found, Denied) or found.flat in seen:
        return True
    seen.add(found.flat)
    return False


API = declare(
    Api(
        "ConsumerGroupHeartbeat",
        (0, 1),
        Do.REWRITE,
        by_id=Do.CHECK,
        why="regexes: evaluated here",
        needs=Needs(topic=DESCRIBE, group=READ),
        seen=(("assignment", "topic_partitions"),),
        request=request,
        response=response,
        small_request=0,  # it may bring an expression to evaluate over all topics
    )
)
