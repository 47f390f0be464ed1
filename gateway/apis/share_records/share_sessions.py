"""What a request of a share session adds to the session, and what of it the broker gets.

These are functions of a request and of the session before it, so that a request may be decided
several times: the session is kept only when the broker's response has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from gateway.apis.counting import count_errors
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, SHARE_SESSION_NOT_FOUND
from gateway.exchanges.exchange import Answer, Exchange
from gateway.exchanges.share_session import ShareSession, ShareSessionKey
from gateway.rules.partial import error_response
from protocol.messages import changed, element_class, make
from protocol.pausing import eased, paced

FIRST_EPOCH: Final = 0
"""The epoch of a request that opens a session."""

FINAL_EPOCH: Final = -1
"""The epoch of a request that ends a session."""

SHARE_SESSION_PARTITIONS: Final = 10_000
"""Partitions in a session, and in each list of a request; what has more is rejected."""

MOST_DENIED: Final = 1_000
"""Partitions in a session that the client may not read: each has an error in every response,
however short its request is."""

_NO_SESSION: Final = "This connection has no such share session."

NO_MEMBER: Final = Denied(INVALID_REQUEST, "The group id or the member id is null.", "request")
"""As a broker answers."""

NOTHING_TO_ACKNOWLEDGE: Final = Denied(
    INVALID_REQUEST,
    "A request that opens a share session acknowledges records, but no record was delivered in it.",
    "request",
)
"""As a broker answers, whatever the topics are (SharePartitionManager.newContext)."""

SAME_TOPIC: Final = Denied(
    INVALID_REQUEST, "The topic is already in this share session, under another id.", "spelling"
)

NO_LEADER: Final = {"leader_id": -1, "leader_epoch": -1}
"""The leader beside an error of the gateway's, which is not about leaders."""

Judge = Callable[[Sequence[bytes]], tuple[Mapping[bytes, bytes], Mapping[bytes, Denied]]]
"""(the client's topic ids) -> the broker's id of each topic that the client may read, and the
denials of the others. Of two ids of one topic the first is taken."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A topic that the broker does not get: its partitions, and which of them the request
    acknowledges records of."""

    topic_id: bytes
    partitions: tuple[int, ...]
    acknowledged: frozenset[int]
    why: Denied


@dataclass(frozen=True, slots=True)
class Advanced:
    """A request's ``session`` after it, the ``request`` for the broker (its own ids), the broker's
    ids of the topics in it by the client's ids, and the topics that the response has errors of."""

    session: ShareSession
    request: Any
    named: Mapping[bytes, bytes]
    withheld: tuple[Withheld, ...]


def advance(request: Any, before: ShareSession | None, judge: Judge) -> Advanced:
    """Decide a ShareFetchRequest of at most SHARE_SESSION_PARTITIONS partitions. ``before`` is None
    for a request that opens a session.

    A broker adds the topics of a request before it forgets others, so what is forgotten is reckoned
    in the broker's ids: the client may know one topic by two.
    """
    held = before or ShareSession()
    named = _named(request)
    final = request.share_session_epoch == FINAL_EPOCH
    partitions = {} if final else _partitions(held, named, request)
    asked = set(partitions) | set(named) if held.stale else set(named) | set(held.denied)
    own, refused = _judged(held, partitions, asked, judge)
    forwarded = {client: broker for client, broker in own.items() if client in partitions}
    denied = {client: why for client, why in refused.items() if client in partitions}
    clients = {broker: client for client, broker in eased([*forwarded.items()])}
    session = ShareSession(partitions, forwarded, clients, denied)
    had, has = _at_broker(held), _at_broker(session)
    topics = _topics(request, named, own, had, has)
    forgotten = _forgotten(request, topics, had, has)
    values = {"topics": topics, "forgotten_topics_data": forgotten}
    withheld = tuple(_withheld(session, named, refused))
    return Advanced(session, changed(request, values), own, withheld)


def _named(request: Any) -> dict[bytes, list[Any]]:
    """The partitions that a request names, by the client's topic ids."""
    named: dict[bytes, list[Any]] = {}
    for topic in paced(request.topics):
        if topic.topic_id is not None:
            named.setdefault(topic.topic_id.bytes, []).extend(topic.partitions)
    return named


def _partitions(
    held: ShareSession, named: Mapping[bytes, list[Any]], request: Any
) -> dict[bytes, set[int]]:
    """The partitions of the session after this request, by the client's topic ids."""
    if not named and not request.forgotten_topics_data:
        return held.partitions
    partitions = dict(held.partitions)
    for topic_id, listed in eased([*named.items()]):
        if listed:
            indexes = {each.partition_index for each in listed}
            partitions[topic_id] = partitions.get(topic_id, set()) | indexes
    gone: dict[bytes, set[int]] = {}
    for topic in paced(request.forgotten_topics_data):
        if topic.topic_id is not None:
            gone.setdefault(topic.topic_id.bytes, set()).update(topic.partitions)
    for topic_id, indexes in eased([*gone.items()]):
        left = partitions.pop(topic_id, set()) - indexes
        if left:
            partitions[topic_id] = left
    return partitions


def _judged(
    held: ShareSession, partitions: Mapping[bytes, set[int]], asked: set[bytes], judge: Judge
) -> tuple[dict[bytes, bytes], dict[bytes, Denied]]:
    """The broker's ids of the topics that the client may read, of the session and of the request,
    and the denials of the others. The id by which the broker has a topic stays the topic's."""
    going_on = [client for client in held.forwarded if client in partitions]
    first = [client for client in going_on if client in asked]
    found, refused = judge([*first, *sorted(asked.difference(first))])
    own = {client: held.forwarded[client] for client in going_on if client not in asked}
    taken = {broker: client for client, broker in own.items()}
    denied = dict(refused)
    for client, broker in eased([*found.items()]):
        if taken.setdefault(broker, client) == client:
            own[client] = broker
        else:
            denied[client] = SAME_TOPIC
    return own, denied


def _at_broker(session: ShareSession) -> dict[bytes, set[int]]:
    """The partitions of the session that the broker has, by its own topic ids."""
    return {
        broker: session.partitions[client] for client, broker in eased([*session.forwarded.items()])
    }


def _topics(
    request: Any,
    named: Mapping[bytes, list[Any]],
    own: Mapping[bytes, bytes],
    had: Mapping[bytes, set[int]],
    has: Mapping[bytes, set[int]],
) -> tuple[Any, ...]:
    """The topics for the broker: those of the request that the client may read, and those of the
    session that it may read now and that the broker does not have."""
    topic_class = element_class(type(request), "topics")
    partition_class = element_class(topic_class, "partitions")
    topics = {own[client]: listed for client, listed in named.items() if client in own}
    for broker, indexes in eased([*has.items()]):
        listed = topics.get(broker, [])
        there = had.get(broker, set()) | {each.partition_index for each in listed}
        added = [make(partition_class, {"partition_index": each}) for each in indexes - there]
        if added:
            topics[broker] = [*listed, *added]
    return (
        *(topic for topic in paced(request.topics) if topic.topic_id is None),
        *(
            make(topic_class, {"topic_id": UUID(bytes=broker), "partitions": listed})
            for broker, listed in eased([*topics.items()])
        ),
    )


def _forgotten(
    request: Any,
    topics: tuple[Any, ...],
    had: Mapping[bytes, set[int]],
    has: Mapping[bytes, set[int]],
) -> tuple[Any, ...]:
    """The partitions that the broker has to forget: all that it has, or is given here, and that are
    not in the session after the request."""
    if request.share_session_epoch == FINAL_EPOCH:
        return ()
    topic_class = element_class(type(request), "forgotten_topics_data")
    given = dict(had)
    for topic in eased(topics):
        if topic.topic_id is not None:
            indexes = {each.partition_index for each in topic.partitions}
            given[topic.topic_id.bytes] = given.get(topic.topic_id.bytes, set()) | indexes
    forgotten = []
    for broker, indexes in eased([*given.items()]):
        left = tuple(sorted(indexes - has.get(broker, set())))
        if left:
            values = {"topic_id": UUID(bytes=broker), "partitions": left}
            forgotten.append(make(topic_class, values))
    return tuple(forgotten)


def _withheld(
    session: ShareSession, named: Mapping[bytes, list[Any]], refused: Mapping[bytes, Denied]
) -> Iterable[Withheld]:
    """The topics that get errors: those of the session, and those that the request acknowledges
    records of, though it ends the session or forgets them."""
    for topic_id, why in eased([*refused.items()]):
        entries = named.get(topic_id, [])
        acknowledged = {each.partition_index for each in entries if each.acknowledgement_batches}
        indexes = session.partitions.get(topic_id, set()) | acknowledged
        if indexes:
            yield Withheld(topic_id, tuple(sorted(indexes)), frozenset(acknowledged), why)


def with_errors(response: Any, withheld: Iterable[Withheld]) -> Any:
    """A ShareFetchResponse with the errors of topics that the broker did not get. An error of the
    whole response stands alone, as a broker's does."""
    if response.error_code:
        return response
    topic_class = element_class(type(response), "responses")
    errors = []
    for each in withheld:
        partitions = [
            _error(index, each.why, acknowledged=index in each.acknowledged)
            for index in eased(each.partitions)
        ]
        values = {"topic_id": UUID(bytes=each.topic_id), "partitions": partitions}
        errors.append(make(topic_class, values))
    return replace(response, responses=(*response.responses, *errors))


def without_topics(response: Any, denied: Mapping[bytes, Denied]) -> Any:
    """A ShareFetchResponse (the client's ids) in which denied topics have errors and no records.
    The broker's answers to acknowledgements stay, because it has carried them out."""

    def hidden(partition: Any, why: Denied) -> Any:
        values = {"error_code": why.code, "error_message": why.message or None}
        return changed(partition, {**values, "records": b"", "acquired_records": ()})

    topics = []
    for topic in paced(response.responses):
        why = None if topic.topic_id is None else denied.get(topic.topic_id.bytes)
        if why is not None:
            partitions = tuple(hidden(each, why) for each in paced(topic.partitions))
            topic = replace(topic, partitions=partitions)
        topics.append(topic)
    return replace(response, responses=tuple(topics))


def _error(index: int, why: Denied, *, acknowledged: bool) -> dict[str, object]:
    message = why.message or None
    values: dict[str, object] = {"partition_index": index, "error_code": why.code}
    values |= {"error_message": message, "records": b"", "current_leader": NO_LEADER}
    if acknowledged:
        # Java's consumer takes acknowledgements without an error of their own for done.
        values |= {"acknowledge_error_code": why.code, "acknowledge_error_message": message}
    return values


def share_session_key(groups: set[bytes], request: Any) -> ShareSessionKey | None:
    """The session of a request whose group id the broker knows as the only one of ``groups``; None
    if it names no group or no member."""
    if request.group_id is None or request.member_id is None:
        return None
    (group,) = groups
    return group, request.member_id


def is_too_long(request: Any) -> bool:
    """Whether a request names, or forgets, more partitions than a session may have."""
    for topics in (request.topics, request.forgotten_topics_data):
        count = 0
        for topic in paced(topics):
            count += 1 + len(topic.partitions)
            if count > 2 * SHARE_SESSION_PARTITIONS:
                return True
    return False


def is_too_large(session: ShareSession) -> bool:
    """Whether a session has more partitions, or more denied ones, than it may have."""
    denied = sum(len(session.partitions[topic_id]) for topic_id in session.denied)
    return denied > MOST_DENIED or session.size > SHARE_SESSION_PARTITIONS


def no_session(exchange: Exchange, body: bytes) -> Answer:
    """The answer to a request of a session that this connection has not opened, or not any more:
    the client opens a session anew."""
    plan = exchange.plan
    count_errors(exchange, [SHARE_SESSION_NOT_FOUND])
    code = SHARE_SESSION_NOT_FOUND
    return Answer(error_response(plan.api, plan.version, body, code, _NO_SESSION))
