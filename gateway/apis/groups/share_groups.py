"""ShareGroupHeartbeat and the offsets of share groups (APIs 76 and 90 to 92, KIP-932).

A heartbeat needs READ on the group and DESCRIBE on every named topic; a single denied topic rejects
it, and so does a link that is named beside its topic. Topics that cannot exist are left out, and
named to the broker once they can. A member one of whose topics was moved joins again
(FENCED_MEMBER_EPOCH), and a mark lets it go on at another gateway (``member_mark``). A topic
outside the group's volume is INVALID_REQUEST. Offsets are described with DESCRIBE on group and
topic, altered with READ on both, and deleted with DELETE on the group and READ on the topic.
Records of share groups: ``gateway.apis.share_records``.
"""

from __future__ import annotations

from typing import Final

from gateway.apis import generic, walking
from gateway.apis.counting import report_rejections
from gateway.apis.groups import recalled_members, subscriptions
from gateway.apis.groups.classic_members import GROUP_ID, remember_spelling
from gateway.apis.groups.heartbeat_body import without_names
from gateway.decision import Denied
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import (
    DELETE,
    DESCRIBE,
    READ,
    Do,
    ItemShape,
    Needs,
    Topics,
    TopicShape,
)
from gateway.rules.group_members import NO_NAMES
from gateway.rules.heartbeat_outcomes import Forward as Decided
from gateway.rules.heartbeat_outcomes import Unheard
from gateway.rules.rename import Rejections
from protocol import messages
from protocol.pausing import eased
from protocol.splice import Edit

_KEEPS_TO_ONE: Final = "share groups keep to one volume"

_DESCRIBE: Final = ("ShareGroupDescribeRequest", 1)
"""What a worker queries the broker by for a member that it has not heard of."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the subscription without names that cannot exist, because Kafka lets a consumer name
    such topics. A member names its topics when it joins, and never again: what these names lead to
    later, the gateway notices at any of its heartbeats."""
    plan, body = exchange.plan, buf[start:end]
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    spans = walking.request_spans(plan, buf, start, end)
    if (elsewhere := subscriptions.elsewhere(state, spans, _KEEPS_TO_ONE)) is not None:
        report_rejections(state, exchange, Rejections(topics={b"": elsewhere}))
        return generic.answer_error(exchange, body, elsewhere)
    renamer = generic.renamer_for(state, exchange)
    renamer.add([span for span in eased(spans) if span[0] == GROUP_ID])
    if renamer.rejections is not None:
        return generic.reject(state, exchange, body, renamer.rejections)
    forbidden = subscriptions.forbidden(state, spans) or subscriptions.linked(state, spans)
    if forbidden is not None:
        report_rejections(state, exchange, Rejections(topics=forbidden))
        return generic.answer_error(exchange, body, next(iter(forbidden.values())))
    outcome = _decided(state, plan.version, body)
    if isinstance(outcome, Unheard):
        return recalled_members.recalling(state, outcome, *_DESCRIBE)
    if isinstance(outcome, Denied):
        return generic.answer_error(exchange, body, outcome)
    if outcome.sent is not None:
        exchange.kept = subscriptions.SentHeartbeat(outcome.sent)
    seen: set[bytes] = set()
    body = without_names(
        plan.name,
        plan.version,
        outcome.body,
        lambda name: subscriptions.unwanted(state, name, seen),
    )
    forwarded = generic.forward_renamed(state, exchange, body)
    remember_spelling(state, exchange.spelled)
    return recalled_members.marked(state, forwarded, outcome)


def _decided(state: ConnectionState, version: int, body: bytes) -> Decided | Denied | Unheard:
    """What becomes of a heartbeat by what the worker knows of its member."""
    heard = recalled_members.heard(state)
    return state.worker.regexes.on_request(
        messages.parse("ShareGroupHeartbeatRequest", version, body),
        body,
        lambda: NO_NAMES,
        scope=("share groups", *subscriptions.scope_of(state)),
        reach=lambda name: subscriptions.flat_of(state, name),
        meaning=(state.view.snapshot.version, state.view.closed),
        heard=heard,
        has_regex=heard is not None,  # else members that are not known are left to the broker
    )


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Note that a membership has ended; restore the topic ids that belong to the names of this
    client's subscription."""
    plan = exchange.plan
    if isinstance(exchange.kept, subscriptions.SentHeartbeat):
        answer = messages.parse("ShareGroupHeartbeatResponse", plan.version, buf[start:end])
        state.worker.regexes.on_response(exchange.kept.sent, answer, state.heard)
    spans = walking.response_spans(plan, buf, start, end)
    exchange.spelled = subscriptions.spelled(state, spans, exchange.kept)
    hidden = subscriptions.hidden_ids(state, spans)
    return subscriptions.assignment(state, exchange, buf, start, end, spans, hidden)


HEARTBEAT = Api(
    "ShareGroupHeartbeat",
    (1, 1),
    Do.REWRITE,
    by_id=Do.CHECK,
    needs=Needs(topic=DESCRIBE, group=READ),
    seen=(("assignment", "topic_partitions"),),
    request=request,
    response=response,
)
DESCRIBE_OFFSETS = Api(
    "DescribeShareGroupOffsets",
    (0, 1),
    Do.REWRITE,
    null=Do.FILTER,
    needs=Needs(topic=DESCRIBE, group=DESCRIBE, empty_group=True),
    topics=(
        TopicShape(
            Topics("topics", "topic_name", partitions="partitions", groups="groups"),
            Topics("topics", "topic_name", "partitions", "partition_index", groups="groups"),
            {"start_offset": -1, "lag": -1},
            always_asked=True,
            error_of_all=True,
        ),
    ),
    items=(ItemShape("groups", ("group_id",), "groups", ("group_id",)),),
)
ALTER_OFFSETS = Api(
    "AlterShareGroupOffsets",
    (0, 0),
    Do.REWRITE,
    needs=Needs(topic=READ, group=READ),
    topics=(
        TopicShape(
            Topics("topics", "topic_name", "partitions", "partition_index"),
            Topics("responses", "topic_name", "partitions", "partition_index"),
            always_asked=True,
            error_of_all=True,
        ),
    ),
)
DELETE_OFFSETS = Api(
    "DeleteShareGroupOffsets",
    (0, 0),
    Do.REWRITE,
    needs=Needs(topic=READ, group=DELETE),
    topics=(
        TopicShape(
            Topics("topics", "topic_name"),
            Topics("responses", "topic_name"),
            always_asked=True,
            error_of_all=True,
        ),
    ),
)
