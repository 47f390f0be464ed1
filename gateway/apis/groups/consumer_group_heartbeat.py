"""ConsumerGroupHeartbeat (API 68, KIP-848): members of groups of the consumer protocol.

Needs READ on the group and DESCRIBE on every named topic. A single denied topic rejects the
heartbeat, and so does a link that is named beside its topic.
Topic names and ids are rewritten. The gateway evaluates a regular expression itself, over the names
that the client may see in the group's volume, and forwards it as a list of names. Topics that
cannot exist are left out. A topic of another volume is subscribed to by its shadow
(gateway/rules/shadows.py), whose partitions the broker assigns in its place: each heartbeat looks
whether the topic has come, or has grown. While this worker has not read the other volume, which is
down, a member keeps the shadows that it has, and what it cannot be shown of its assignment waits. A
mark carries the parts of a subscription that flat names cannot express, so that the member can go
on at another gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.counting import TOPIC_ID, report_rejections
from gateway.apis.groups import recalled_members, subscriptions
from gateway.apis.groups.classic_members import GROUP_ID, remember_spelling
from gateway.apis.groups.heartbeat_body import without_names, without_partitions
from gateway.cluster.link import ClusterUnreachable
from gateway.decision import Denied
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Forward, Outcome, Prepare, Refresh
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE, READ, Do, Needs, Shadows
from gateway.rules.group_members import KnownNames
from gateway.rules.heartbeat_outcomes import Sent, Unheard
from gateway.rules.regex_subscriptions import JOINING_EPOCH
from gateway.rules.rename import Rejections
from gateway.rules.shadows import Far
from protocol import messages
from protocol.pausing import eased, paced
from protocol.splice import Edit
from protocol.walkers import Span

FIRST_WITH_REGEX: Final = 1

_ASK_AGAIN: Final = Denied(
    COORDINATOR_LOAD_IN_PROGRESS,
    "A topic of this member's assignment has to be looked up. Try again.",
    "volume",
)
"""After it clients send all of their state, to which a broker responds with the assignment again.
A static member that was fenced could not join again (UNRELEASED_INSTANCE_ID)."""

MAX_LEFT_OUT: Final = 1_000
"""The members of one connection of whose assignments topics were left out; if there are more, the
gateway forgets them, and they get these topics when they send all of their state."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the subscription without names that cannot exist, because Kafka lets a consumer name
    such topics, and the owned partitions without partitions of deleted topics."""
    plan, worker = exchange.plan, state.worker
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    spans = walking.request_spans(plan, buf, start, end)
    renamer = generic.renamer_for(state, exchange, thawed=True)  # a member also owns frozen topics
    renamer.add([span for span in eased(spans) if span[0] in (GROUP_ID, TOPIC_ID)])
    far, rejections = renamer.far, renamer.rejections
    if rejections is not None and rejections.ids:
        return generic.reject(state, exchange, buf[start:end], rejections)
    is_unknown = rejections is not None and rejections.unknown_ids and not exchange.refreshed
    if is_unknown and far is None:
        return Refresh.TOPICS
    forbidden = subscriptions.forbidden(state, spans, far) or subscriptions.linked(state, spans)
    if far is not None and (first := _prepare(state, far, lists=bool(is_unknown))) is not None:
        return first
    if forbidden is not None:
        report_rejections(state, exchange, Rejections(topics=forbidden))
        return generic.answer_error(exchange, buf[start:end], next(iter(forbidden.values())))
    body = buf[start:end]
    elsewhere = None if far is None else subscriptions.Elsewhere(state, far)
    heartbeat: Any = messages.parse("ConsumerGroupHeartbeatRequest", plan.version, body)
    if _is_read(state, far, heartbeat):
        return generic.answer_error(exchange, body, _ASK_AGAIN)
    outcome = worker.regexes.on_request(
        heartbeat,
        body,
        lambda: _known_names(state),
        scope=subscriptions.scope_of(state),
        reach=_reach(state, elsewhere),
        meaning=(state.view.snapshot.version, state.view.closed),
        is_elsewhere=None if elsewhere is None else elsewhere.has,
        heard=recalled_members.heard(state),
        has_regex=plan.version >= FIRST_WITH_REGEX,
        is_unread=None if elsewhere is None else elsewhere.is_unread,
    )
    if isinstance(outcome, Unheard):
        return recalled_members.recalling(state, outcome)
    if isinstance(outcome, Denied):
        return generic.answer_error(exchange, buf[start:end], outcome)
    if far is not None and (first := generic.prepare(far)) is not None:
        return first
    kept_ids = _keep(elsewhere, outcome.sent, rejections)
    if outcome.sent is not None:
        exchange.kept = subscriptions.SentHeartbeat(outcome.sent)
    seen: set[bytes] = set()
    body = without_names(
        plan.name,
        plan.version,
        outcome.body,
        lambda name: subscriptions.unwanted(state, name, seen, elsewhere),
    )
    if rejections is not None:
        gone = rejections.topics.keys() - kept_ids.values()
        body = without_partitions(plan.version, body, gone)
    forwarded = _forward(state, exchange, body, elsewhere, renamer.spelled_ids | kept_ids)
    remember_spelling(state, exchange.spelled)
    if plan.version < FIRST_WITH_REGEX:
        return forwarded
    return recalled_members.marked(state, forwarded, outcome)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Note that a membership has ended; restore the topic ids that belong to the names of this
    client's subscription."""
    plan = exchange.plan
    if isinstance(exchange.kept, subscriptions.SentHeartbeat):
        answer = messages.parse("ConsumerGroupHeartbeatResponse", plan.version, buf[start:end])
        state.worker.regexes.on_response(exchange.kept.sent, answer, state.heard)
    spans = walking.response_spans(plan, buf, start, end)
    exchange.spelled = subscriptions.spelled(state, spans, exchange.kept)
    hidden = subscriptions.hidden_ids(state, spans)
    far = None if state.tree is None else generic.far_topics(state, exchange)
    if far is not None:
        kept = exchange.kept
        sent = kept.sent if isinstance(kept, subscriptions.SentHeartbeat) else None
        reached, spelled = None if sent is None else sent.reached, exchange.spelled or {}
        if subscriptions.is_cut(state, spans, far, spelled, reached):
            values = {"error_code": _ASK_AGAIN.code, "error_message": _ASK_AGAIN.message}
            return messages.made(f"{plan.name}Response", plan.version, values)
        owned = exchange.spelled_ids or {}
        unread = subscriptions.unread_ids(state, spans, far, spelled, owned)
        _note_left_out(state, sent, unread.values(), spans)
        hidden |= unread.keys()
    return subscriptions.assignment(state, exchange, buf, start, end, spans, hidden, far)


def _keep(
    elsewhere: subscriptions.Elsewhere | None, sent: Sent | None, rejections: Rejections | None
) -> dict[bytes, bytes]:
    """Keep the shadows of topics of which nothing can be said yet: see ``Elsewhere.keep``. Returns
    ``Elsewhere.kept_ids``."""
    if elsewhere is None or sent is None:
        return {}
    elsewhere.keep(sent.reached)
    return {} if rejections is None else elsewhere.kept_ids(rejections.topics, sent.reached)


def _note_left_out(
    state: ConnectionState, sent: Sent | None, shadows: Collection[bytes], spans: list[Span]
) -> None:
    """Note the shadows that are left out of an assignment, for :func:`_is_read`."""
    if sent is None or not (shadows or state.left_out):
        return
    if not any(span[0] == TOPIC_ID for span in eased(spans)):
        return  # the assignment is as it was
    left_out = state.left_out or {}
    left_out.pop(sent.member, None)
    if len(left_out) >= MAX_LEFT_OUT:
        left_out.clear()
    if shadows:
        left_out[sent.member] = frozenset(shadows)
    state.left_out = left_out


def _is_read(state: ConnectionState, far: Far | None, heartbeat: Any) -> bool:
    """Whether a member has to ask for its assignment again, because something is known now of a
    topic that was left out of it. A heartbeat with all of the member's state does so by itself."""
    if far is None or not state.left_out:
        return False
    key = (subscriptions.scope_of(state), heartbeat.group_id, heartbeat.member_id)
    if heartbeat.member_epoch < JOINING_EPOCH:
        state.left_out.pop(key, None)
        return False
    shadows, spelled = state.left_out.get(key, ()), state.spelled or {}
    if all(far.id_to_show(flat, spelled.get(flat)) is None for flat in paced(shadows)):
        return False
    del state.left_out[key]
    return bool(heartbeat.topic_partitions is None)


def _prepare(state: ConnectionState, far: Far, *, lists: bool) -> Prepare | Refresh | None:
    """The work to do before a heartbeat is decided for good: the other volumes', and a listing of
    the group's own if it ``lists`` an id that is not known."""
    work = far.preparation()
    if work is None:
        return Refresh.TOPICS if lists else None

    async def both() -> None:
        await work()
        with suppress(ClusterUnreachable):
            await state.worker.cluster.refresh()

    return Prepare(both if lists else work)


def _reach(
    state: ConnectionState, elsewhere: subscriptions.Elsewhere | None
) -> Callable[[str], bytes | None]:
    if elsewhere is not None:
        return elsewhere.flat
    return lambda name: subscriptions.flat_of(state, name)


def _forward(
    state: ConnectionState,
    exchange: Exchange,
    body: bytes,
    elsewhere: subscriptions.Elsewhere | None,
    spelled_ids: Mapping[bytes, bytes],
) -> Forward:
    """Forward a heartbeat in flat names; ``spelled_ids`` are the owned topics that were decided."""
    if elsewhere is None:
        return generic.forward_renamed(state, exchange, body)
    request: Any = messages.parse(f"{exchange.plan.name}Request", exchange.plan.version, body)
    shadows = elsewhere.names(request.subscribed_topic_names or ())
    ids = elsewhere.ids(spelled_ids)
    return generic.forward_renamed(state, exchange, body, shadows, ids)


def _known_names(state: ConnectionState) -> KnownNames:
    """The topics that the client may see, as of now."""
    listing = state.listing()
    return KnownNames(listing.version, lambda: listing.names)


API = Api(
    "ConsumerGroupHeartbeat",
    (0, 1),
    Do.REWRITE,
    by_id=Do.CHECK,
    why="regexes: evaluated here",
    needs=Needs(topic=DESCRIBE, group=READ),
    seen=(("assignment", "topic_partitions"),),
    shadows=Shadows.MADE,
    request=request,
    response=response,
    small_request=0,  # a heartbeat may hold an expression to evaluate over all topics
)
