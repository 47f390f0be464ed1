"""StreamsGroupHeartbeat (API 88, KIP-1071): members of groups of Kafka Streams.

It needs READ on the group and DESCRIBE on every topic of its topology; a single denied
topic rejects it. Names are rewritten. Internal topics are forwarded with a mark, so that the
coordinator cannot create them, and the gateway creates them with the client's rights
(``streams_topology``). A regular expression never reaches a broker: Kafka 4.3.1 rejects it
(INVALID_REQUEST), and so does the gateway. A topic that can have no flat name is
STREAMS_INVALID_TOPOLOGY, a topic outside the group's volume INVALID_REQUEST. A member whose group
misses internal topics, and whose topology the worker does not have, joins again
(FENCED_MEMBER_EPOCH).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.counting import TOPIC_NAME, count_errors, report_rejections
from gateway.apis.groups import streams_statuses as statuses
from gateway.apis.groups import streams_topology as topologies
from gateway.apis.groups import subscriptions
from gateway.apis.groups.classic_members import GROUP_ID, remember_spelling
from gateway.catalog.freezes import FROZEN
from gateway.catalog.source import Actor
from gateway.changes.topics.internal_topics import Topology
from gateway.decision import Denied
from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    FENCED_MEMBER_EPOCH,
    INVALID_REQUEST,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE, READ, Do, Needs
from gateway.rules.group_members import MemberKey
from gateway.rules.rename import REGEX, Rejections
from gateway.views.access import Access
from gateway.views.authorized_access import ACL_RULE
from gateway.views.names_of_view import NAMESPACE_RULE
from protocol import messages
from protocol.pausing import eased, paced
from protocol.splice import Edit
from protocol.walkers import Span

_HEARTBEAT: Final = "StreamsGroupHeartbeat"
_KEEPS_TO_ONE: Final = "Streams groups keep to one"
_WITHHELD: Final = "(another topic)"
_REJOIN: Final = "Internal topics are missing, and the gateway needs the member's topology."
_RESERVED: Final = "reserved"
_BESIDE_ERROR: Final[Mapping[str, object]] = dict.fromkeys(
    ("active_tasks", "standby_tasks", "warmup_tasks", "partitions_by_user_endpoint")
)


@dataclass(frozen=True, slots=True)
class SentHeartbeat(Kept):
    """A forwarded heartbeat."""

    member: MemberKey
    leaves: bool
    joins: Topology | None


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward a heartbeat with the group's id, and the topology of a member that joins."""
    plan = exchange.plan
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    spans = walking.request_spans(plan, buf, start, end)
    renamer = generic.renamer_for(state, exchange)
    renamer.add([span for span in eased(spans) if span[0] == GROUP_ID])
    if renamer.rejections is not None:
        return generic.reject(state, exchange, buf[start:end], renamer.rejections)
    named = [span for span in eased(spans) if span[0] in (TOPIC_NAME, REGEX)]
    if (why := topologies.too_long(end - start)) is not None:
        return generic.answer_error(exchange, buf[start:end], why)
    body = buf[start:end]
    asked = messages.parse(topologies.REQUEST, plan.version, body)
    # Errors name what the principal may see, so they are kept for each principal.
    scope = (state.view.settings.scope, state.access.principal)
    key = (scope, str(asked.group_id), asked.member_id)
    if not named:
        exchange.kept = SentHeartbeat(key, int(asked.member_epoch) < 0, None)
        return renamer.edits
    wrong = _wrong(state, exchange, named, asked)
    if isinstance(wrong, Refresh):
        return wrong
    if wrong is not None:
        report_rejections(state, exchange, Rejections(topics=wrong))
        return generic.answer_error(exchange, body, next(iter(wrong.values())))
    forwarded = generic.forward_renamed(state, exchange, topologies.marked(asked))
    remember_spelling(state, exchange.spelled)
    topology = Topology(
        topologies.internal_names(plan.version, forwarded.body),
        partial(topologies.subtopologies, plan.version, forwarded.body),
        2 * len(forwarded.body),
    )
    exchange.kept = SentHeartbeat(key, leaves=False, joins=topology)
    return forwarded


def _wrong(
    state: ConnectionState, exchange: Exchange, named: list[Span], asked: Any
) -> dict[bytes, Denied] | Refresh | None:
    """Why a topology cannot be forwarded, by name, in the order of KafkaApis' checks."""
    elsewhere = subscriptions.elsewhere(state, named, _KEEPS_TO_ONE)
    if elsewhere is not None:
        return {b"": elsewhere}
    names = dict.fromkeys(value for kind, _, _, value in eased(named) if kind == TOPIC_NAME)
    found = {name: state.access.topic(DESCRIBE, name) for name in eased(names)}
    denied = {name: why for name, why in eased(found.items()) if isinstance(why, Denied)}
    if denied:
        rules = {why.rule for why in eased(denied.values())}
        if NAMESPACE_RULE in rules and not exchange.refreshed:
            return Refresh.CATALOG
        return _denials(state, denied)
    if (linked := subscriptions.linked(state, named)) is not None:
        return linked
    first: dict[bytes, bytes] = {}
    for name, topic in eased(found.items()):
        assert not isinstance(topic, Denied)
        if first.setdefault(topic.flat, name) != name:
            return {name: generic.SPELLED_TWICE}
    if any(span[0] == REGEX for span in eased(named)):
        return {b"": Denied(INVALID_REQUEST, _first_unsupported(asked), "request")}
    bounds = topologies.out_of_bounds(asked.topology)
    return None if bounds is None else {b"": bounds}


def _denials(state: ConnectionState, denied: dict[bytes, Denied]) -> dict[bytes, Denied]:
    """The denials of topics, those that reject the heartbeat first."""
    resolved = {name: state.view.resolve(name) for name in eased(denied)}
    unknown = {name: why for name, why in eased(resolved.items()) if isinstance(why, Denied)}
    prohibited = [name for name, why in eased(unknown.items()) if why.rule == _RESERVED]
    if prohibited:
        message = (
            f"Use of Kafka internal topics {_listed(prohibited)} in a Kafka Streams topology is"
            " prohibited."
        )
        return dict.fromkeys(prohibited, topologies.invalid(message))
    illegal = [name for name, why in eased(unknown.items()) if why.illegal]
    if illegal:
        message = f"Topic names {_listed(illegal)} are not valid topic names."
        return dict.fromkeys(illegal, topologies.invalid(message))
    by_acl = {name: why for name, why in eased(denied.items()) if why.rule == ACL_RULE}
    if by_acl:
        return by_acl
    # Of Kafka's retriable errors, members know those of coordinators alone.
    later = {
        name: replace(why, code=COORDINATOR_LOAD_IN_PROGRESS)
        for name, why in eased(denied.items())
        if state.view.closed or why.rule == FROZEN
    }
    return later or {name: topologies.invalid(why.message) for name, why in eased(denied.items())}


def _listed(names: Iterable[bytes]) -> str:
    return statuses.listed([name.decode(errors="replace") for name in names])


def _first_unsupported(asked: Any) -> str:
    """The sentence of the first check that a heartbeat with an expression fails
    (GroupCoordinatorService 4.3.1: throwIf...RequestIsUsingUnsupportedFeatures)."""
    if asked.instance_id is not None:
        return "Static membership is not yet supported."
    if asked.task_offsets is not None:
        return "TaskOffsets are not supported yet."
    if asked.task_end_offsets is not None:
        return "TaskEndOffsets are not supported yet."
    if asked.warmup_tasks:
        return "WarmupTasks are not supported yet."
    return "Regular expressions for source topics are not supported yet."


# -- responses -------------------------------------------------------------------------------------


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names. If internal topics are missing, create them, and report what became of
    that in place of the coordinator's own result."""
    plan, kept = exchange.plan, exchange.kept
    exchange.spelled = state.spelled
    assert isinstance(kept, SentHeartbeat)
    answered = messages.parse(statuses.RESPONSE, plan.version, buf[start:end])
    codes = statuses.codes(answered)
    topology = _topology(state, kept, codes, failed=bool(answered.error_code))
    if statuses.MISSING_INTERNAL_TOPICS not in codes:
        return _restored(state, exchange, buf, start, end)
    stale = statuses.STALE_TOPOLOGY in codes
    if topology is None and not stale and not kept.leaves:
        count_errors(exchange, [FENCED_MEMBER_EPOCH])
        error = {"error_code": FENCED_MEMBER_EPOCH, "error_message": _REJOIN, **_BESIDE_ERROR}
        return messages.made(statuses.RESPONSE, plan.version, error)
    body = statuses.without_creation(answered)
    body = generic.whole(body, _restored(state, exchange, body, 0, len(body)))
    if topology is None or stale:
        return body
    hold = 2 * float(answered.heartbeat_interval.total_seconds())
    # The broker's rights are the client's own only if the login passes through.
    through = state.source.listener in state.worker.pass_through
    refused = through and statuses.says_unauthorized(answered)
    result = _creation(state, kept, topology, hold, refused=refused)
    return statuses.with_creation(plan.version, body, result) if result else body


def _restored(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    spans = walking.response_spans(exchange.plan, buf, start, end)
    return generic.restore(state, exchange, buf, start, end, spans, remembered=True)


def _topology(
    state: ConnectionState, kept: SentHeartbeat, codes: frozenset[int], *, failed: bool
) -> Topology | None:
    """The topology of the member that a broker answers. It is kept while its group may miss
    internal topics."""
    creation = state.worker.internal_topics
    if creation is None:
        return kept.joins
    if failed:
        return None
    topology = kept.joins or creation.topology_of(kept.member)
    if kept.leaves or not codes & statuses.NOT_READY:
        creation.forget(kept.member)
    elif kept.joins is not None:
        creation.keep(kept.member, kept.joins)
    return topology


def _creation(
    state: ConnectionState, kept: SentHeartbeat, topology: Topology, hold: float, *, refused: bool
) -> str | None:
    """Create the missing topics in the background, unless the client may not (``refused``: by the
    brokers' ACLs); returns the result of the last creation for the client."""
    index, access = state.worker.cluster.index, state.access
    missing = [flat for flat in paced(topology.internal) if not index.exists(flat)]
    denied = [
        flat
        for flat in paced(missing)
        if refused or access.creation(access.flat_resource(flat)) is not None
    ]
    if denied:
        return statuses.unauthorized([_shown(access, flat) for flat in paced(denied)])
    creation = state.worker.internal_topics
    if creation is not None and not refused:
        source = state.source
        who = (source.principal, source.client_address, source.listener, source.client_id)
        creation.create(access, Actor(*who, _HEARTBEAT), kept.member, topology, hold)
    return statuses.failed(topology.errors, topology.failed) if topology.errors else None


def _shown(access: Access, flat: bytes) -> str:
    shown = access.shown(flat)
    return _WITHHELD if shown is None else shown.decode()


API = Api(
    _HEARTBEAT,
    (0, 0),
    Do.REWRITE,
    why="internal topics: created here; regexes are denied",
    needs=Needs(topic=DESCRIBE, group=READ),
    seen=(
        ("partitions_by_user_endpoint", "active_partitions"),
        ("partitions_by_user_endpoint", "standby_partitions"),
    ),
    beside_error=_BESIDE_ERROR,
    request=request,
    response=response,
    small_request=0,  # its short response may be about a topology of 1,000 topics
)
