"""ConsumerGroupHeartbeat (API 68, KIP-848): members of groups of the consumer protocol.

Needs READ on the group and DESCRIBE on every topic named: one denied topic rejects the heartbeat,
and so does a link that is named beside its topic.
Names and ids of topics are rewritten. A regular expression is evaluated here, over the names that
the client may see, and forwarded as a list of names; topics that cannot exist are left out. One of
another volume than the group's is INVALID_REQUEST. What the broker's names do not tell goes along
in a mark, so that the member can go on at another gateway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.apis import generic
from gateway.apis.counting import TOPIC_ID, TOPIC_NAME, note_denials
from gateway.apis.groups import recalled_members
from gateway.apis.groups.classic_members import GROUP_ID, remember_spelling
from gateway.apis.groups.heartbeat_body import without_names, without_partitions
from gateway.apis.groups.member_mark import with_mark
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Forward, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import Tree
from gateway.rules import partial
from gateway.rules.declaration import READ, Do, Needs
from gateway.rules.heartbeat_outcomes import Forward as Decided
from gateway.rules.heartbeat_outcomes import Sent, Unheard
from gateway.rules.rename import Rejections, one_by_link
from gateway.views.access import DESCRIBE
from gateway.views.authorized_access import ACL_RULE
from protocol import messages
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span

FIRST_WITH_REGEX: Final = 1


@dataclass(frozen=True, slots=True)
class SentHeartbeat(Kept):
    """The heartbeat that was sent, as the worker's regular expressions need it."""

    sent: Sent


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the subscription without names that cannot exist, which Kafka lets a consumer name,
    and the partitions owned without those of deleted topics."""
    plan, worker = exchange.plan, state.worker
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    spans = generic.request_spans(plan, buf, start, end)
    if state.tree is not None and (elsewhere := _elsewhere(state, state.tree, spans)) is not None:
        note_denials(state, exchange, Rejections(topics={b"": elsewhere}))
        return generic.answer_error(exchange, buf[start:end], elsewhere)
    renamer = generic.renamer_for(state, exchange, thawed=True)  # it owns what is frozen, too
    renamer.add([span for span in eased(spans) if span[0] in (GROUP_ID, TOPIC_ID)])
    rejections = renamer.rejections
    if rejections is not None and rejections.ids:
        return generic.reject(state, exchange, buf[start:end], rejections)
    if rejections is not None and rejections.unknown_ids and not exchange.refreshed:
        return Refresh.TOPICS
    forbidden = _forbidden(state, spans) or _linked(state, spans)
    if forbidden is not None:
        note_denials(state, exchange, Rejections(topics=forbidden))
        return generic.answer_error(exchange, buf[start:end], next(iter(forbidden.values())))
    body = buf[start:end]
    outcome = worker.regexes.on_request(
        messages.parse("ConsumerGroupHeartbeatRequest", plan.version, body),
        body,
        state.listing,
        scope=state.view.settings.scope,
        reach=lambda name: _flat_of(state, name),
        meaning=(state.view.snapshot.version, state.view.closed),
        heard=recalled_members.heard(state),
        has_regex=plan.version >= FIRST_WITH_REGEX,
    )
    if isinstance(outcome, Unheard):
        return recalled_members.recalling(state, outcome.member)
    if isinstance(outcome, Denied):
        return generic.answer_error(exchange, buf[start:end], outcome)
    if outcome.sent is not None:
        exchange.kept = SentHeartbeat(outcome.sent)
    seen: set[bytes] = set()
    body = without_names(plan.version, outcome.body, lambda name: _unwanted(state, name, seen))
    if rejections is not None:
        body = without_partitions(plan.version, body, rejections.topics)
    forwarded = generic.forward_renamed(state, exchange, body)
    remember_spelling(state, exchange.spelled)
    return _marked(state, forwarded, outcome)


def _marked(state: ConnectionState, sent: Forward, decided: Decided) -> Forward:
    """The heartbeat with its member's mark, where it subscribes one that needs it."""
    member, version = decided.subscribes, sent.plan.version
    if (
        member is None
        or decided.sent is None
        or version < FIRST_WITH_REGEX
        or recalled_members.heard(state) is None
    ):
        return sent
    spellings = recalled_members.spellings(state)
    body = with_mark(version, sent.body, member, decided.sent.reached, spellings)
    return Forward(sent.plan, body)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Note a membership that has ended; restore topic ids to those that go with the names this
    client subscribed to."""
    plan = exchange.plan
    exchange.spelled = state.spelled
    if isinstance(exchange.kept, SentHeartbeat):
        answer = messages.parse("ConsumerGroupHeartbeatResponse", plan.version, buf[start:end])
        state.worker.regexes.on_response(exchange.kept.sent, answer)
    spans = generic.response_spans(plan, buf, start, end)
    hidden = _hidden_ids(state, spans)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = partial.drop(plan.api, plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def _hidden_ids(state: ConnectionState, spans: list[Span]) -> set[bytes]:
    """The broker's ids of topics that this view reaches under none of their names."""
    if not state.view.has_topic_ids:
        return set()
    index = state.worker.cluster.index
    ids = {value: index.name_of(value) for kind, _, _, value in eased(spans) if kind == TOPIC_ID}
    return {value for value, flat in eased(ids.items()) if flat and not state.view.reaches(flat)}


def _forbidden(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied] | None:
    """The names of a subscription that ACLs deny: one of them rejects the heartbeat (KIP-848)."""
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


def _elsewhere(state: ConnectionState, tree: Tree, spans: list[Span]) -> Denied | None:
    """Why a member that names a topic of another volume than the group's is rejected: a broker
    assigns partitions of its own cluster. INVALID_REQUEST is fatal, and clients show its text."""
    for kind, _, _, value in eased(spans):
        if not value or kind not in (TOPIC_NAME, TOPIC_ID):
            continue
        if kind == TOPIC_NAME:
            found = state.view.resolve(value)
            foreign = isinstance(found, Denied) and found.rule == "volume"
            named = f"Topic '{value.decode(errors='replace')}'"
        else:
            foreign = tree.topic_id(value) not in (None, state.worker.mount)
            named = "A topic of this member"
        if foreign:
            why = (
                f"{named} is in another volume than the group, and groups of the consumer"
                " protocol (KIP-848) keep to one; use group.protocol=classic to read from several."
            )
            return Denied(INVALID_REQUEST, why, "volume")
    return None


def _linked(state: ConnectionState, spans: list[Span]) -> dict[bytes, Denied] | None:
    """A name of a subscription that is a link to another topic of it, or another way round."""
    if not state.view.snapshot.links:
        return None
    seen: dict[bytes, bytes] = {}
    for kind, _, _, value in eased(spans):
        found = state.view.resolve(value) if kind == TOPIC_NAME and value else None
        if found is None or isinstance(found, Denied):
            continue
        why = one_by_link(state.view, seen.setdefault(found.flat, value), value)
        if why is not None:
            return {value: why}
    return None


def _flat_of(state: ConnectionState, name: str) -> bytes | None:
    """The topic that a member's name leads to. It may be frozen: the member keeps it until the name
    changes hands, if it does."""
    found = state.view.subscribed(name.encode())
    return None if isinstance(found, Denied) else found.flat


def _unwanted(state: ConnectionState, name: str, seen: set[bytes]) -> bool:
    """Whether to leave a name out of a subscription: it names nothing, or a topic that was ``seen``
    under another spelling, or one that the client may not describe any more. Such a name is one
    that the gateway repeats: a heartbeat that brings it is rejected."""
    found = state.access.subscribed(name.encode())
    if isinstance(found, Denied) or found.flat in seen:
        return True
    seen.add(found.flat)
    return False


API = Api(
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
