"""AlterPartitionReassignments and ListPartitionReassignments (APIs 45 and 46, KIP-455): replicas
that are added to partitions and removed from them.

Altering is for administrators, see ``partitions_of_cluster``. Listing needs DESCRIBE on the
cluster, as in ControllerApis, or on the home, which shows only topics that the client may describe.
Topics that the view hides are left out, as a controller leaves out topics that it does not have. In
a tree replicas have the node ids that Metadata lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.apis import administrators, generic, walking
from gateway.apis.counting import count_errors, count_topics, report_rejections
from gateway.apis.topics import partitions_of_cluster
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Forward, Outcome, Refresh
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import BY_PARTITION_INDEX, DESCRIBE, Do, Effect, Topics, TopicShape
from gateway.rules.division import Division
from gateway.rules.rename import Rejections
from gateway.rules.volume_items import of_topic
from protocol import messages
from protocol.entities import Kind
from protocol.messages import changed, made
from protocol.pausing import eased, paced

_REQUEST: Final = "ListPartitionReassignmentsRequest"
_RESPONSE: Final = "ListPartitionReassignmentsResponse"

MAX_BYTES: Final = 1024 * 1024
"""Bytes of a request to list reassignments; who wants all of them names no topic."""

_TOO_LONG: Final = Denied(
    INVALID_REQUEST,
    f"The request has more than {MAX_BYTES} bytes; name fewer partitions, or null for all.",
    "request",
)

Wanted = Mapping[str, Mapping[str, Collection[int]]]
"""Flat name -> the client's spellings of it -> the partitions that are requested under each."""


@dataclass(frozen=True, slots=True)
class RequestedReassignments(Kept):
    """The partitions of a request; None: all."""

    partitions: Wanted | None


def list_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the topics that the client may describe, under their flat names; null requests
    all."""
    plan, body = exchange.plan, buf[start:end]
    walking.request_spans(plan, buf, start, end)
    if state.view.closed:
        return administrators.reject(state, exchange, body, administrators.STALE)
    denied = administrators.cluster_or_home(state.access, DESCRIBE)
    if denied is not None:
        return administrators.reject(state, exchange, body, denied)
    if len(body) > MAX_BYTES:
        return administrators.reject(state, exchange, body, _TOO_LONG)
    asked = messages.parse(_REQUEST, plan.version, body)
    if asked.topics is None:
        if not exchange.refreshed:
            return Refresh.CATALOG
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        exchange.kept = RequestedReassignments(None)
        return []
    rejections, wanted = _sorted(state, asked.topics)
    again = generic.look_again(exchange, rejections)
    if again is not None:
        return again
    report_rejections(state, exchange, rejections)
    exchange.kept = RequestedReassignments(wanted)
    exchange.spelled = {
        flat.encode(): next(iter(spelled)).encode() for flat, spelled in eased(wanted.items())
    }
    count_topics(state, exchange)
    cls = messages.message_class(_REQUEST, plan.version)
    topics = [
        {"name": flat, "partition_indexes": list(dict.fromkeys(_of_all(spelled)))}
        for flat, spelled in paced(wanted.items())
    ]
    left = replace(asked, topics=messages.make(cls, {"topics": topics}).topics)
    return Forward(plan, messages.write(left))


def _of_all(spelled: Mapping[str, Iterable[int]]) -> Iterator[int]:
    """The partitions that are requested under any spelling of a topic."""
    for indexes in spelled.values():
        yield from paced(indexes)


def _sorted(
    state: ConnectionState, topics: tuple[Any, ...]
) -> tuple[Rejections, dict[str, dict[str, dict[int, None]]]]:
    """The topics of a request that may not be described, and the partitions of the others. A topic
    that is frozen is described: nothing is decided by the description."""
    access, rejections = state.access, Rejections()
    wanted: dict[str, dict[str, dict[int, None]]] = {}
    for topic in paced(topics):
        name = topic.name.encode()
        found = administrators.named_topic(access, name)
        if isinstance(found, Denied):
            rejections.topics[name] = found
            continue
        spelled = wanted.setdefault(found.flat.decode(), {})
        indexes = spelled.setdefault(topic.name, {})
        indexes.update(dict.fromkeys(eased(topic.partition_indexes)))
    return rejections, wanted


def list_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> bytes:
    """Restore the topics, and drop topics that were not requested or that the view hides."""
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    if state.view.closed:  # an empty list would read as if nothing were reassigned
        code, message = administrators.STALE.code, administrators.STALE.message
        count_errors(exchange, [code])
        return made(_RESPONSE, plan.version, {"error_code": code, "error_message": message})
    count_errors(exchange, [value for kind, _, _, value in eased(spans) if kind == Kind.ERROR_CODE])
    answer = messages.parse(_RESPONSE, plan.version, buf[start:end])
    values = {
        "error_message": administrators.shown_text(state, answer.error_message),
        "topics": tuple(_shown(state, exchange, answer.topics)),
    }
    return messages.write(changed(answer, values))


def _shown(state: ConnectionState, exchange: Exchange, topics: tuple[Any, ...]) -> Iterator[Any]:
    """The topics of a response (flat names), in the request's spellings or the listing's."""
    access, kept = state.access, exchange.kept
    assert isinstance(kept, RequestedReassignments)
    shows_all = access.cluster(DESCRIBE) is None
    for topic in paced(topics):
        if kept.partitions is None:
            name = administrators.listed_topic(access, topic.name.encode())
            if name is not None:
                yield replace(topic, name=name.decode())
            continue
        for spelled, indexes in eased(kept.partitions.get(topic.name, {}).items()):
            if not shows_all and isinstance(access.subscribed(spelled.encode()), Denied):
                continue
            found = tuple(one for one in paced(topic.partitions) if one.partition_index in indexes)
            if found:
                yield replace(topic, name=spelled, partitions=found)


ALTER_REASSIGNMENTS = Api(
    "AlterPartitionReassignments",
    (0, 1),
    Do.REWRITE,
    why="for administrators, not under a home",
    topics=(
        TopicShape(
            BY_PARTITION_INDEX,
            Topics("responses", partitions="partitions", index="partition_index"),
        ),
    ),
    items_too=lambda version, code: True,
    division=Division(
        item=of_topic,
        drops_error=True,
        items_bear_error=True,
        not_under_home=True,
    ),
    request=partitions_of_cluster.request,
)
LIST_REASSIGNMENTS = Api(
    "ListPartitionReassignments",
    (0, 0),
    Do.REWRITE,
    null=Do.FILTER,
    why="needs DESCRIBE on the cluster or the home",
    effect=Effect.DESCRIPTION,
    division=Division(
        item=of_topic,
        arrays=("topics", "topics"),
        keeps_error=True,
        not_under_far_home=True,
    ),
    request=list_request,
    response=list_response,
)
