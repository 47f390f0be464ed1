"""What a request of a share session adds to the session, and what of it the broker gets.

These are functions of a request and of the session before it, so that a request may be decided
several times: the session is kept only when the broker's response has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from gateway.apis.counting import count_errors
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, SHARE_SESSION_NOT_FOUND
from gateway.exchanges.exchange import Answer, Exchange
from gateway.exchanges.share_session import ShareSession
from gateway.rules.partial import error_response
from gateway.views.access import Access
from protocol.messages import changed, element_class, make
from protocol.pausing import eased, paced

FIRST_EPOCH: Final = 0
"""The epoch of a request that opens a session."""

FINAL_EPOCH: Final = -1
"""The epoch of a request that ends a session."""

SHARE_SESSION_PARTITIONS: Final = 10_000
"""Partitions in a session; a session with more is rejected."""

_NO_SESSION: Final = "This connection has no such share session."

SAME_TOPIC: Final = Denied(
    INVALID_REQUEST, "The topic is already in this share session, under another id.", "spelling"
)

Judge = Callable[[Iterable[bytes]], tuple[Mapping[bytes, bytes], Mapping[bytes, Denied]]]
"""(the client's topic ids) -> the broker's id of each topic that the client may read, and the
denials of the others."""


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


def advance(request: Any, before: ShareSession | None, access: Access, judge: Judge) -> Advanced:
    """Decide a ShareFetchRequest. ``before`` is None for a request that opens a session."""
    held = before or ShareSession(access)
    named = _named(request)
    final = request.share_session_epoch == FINAL_EPOCH
    partitions = {} if final else _partitions(held, named, request)
    stale = held.access is not access
    asked = set(partitions) | set(named) if stale else set(named) | set(held.denied)
    found, refusals = judge(sorted(asked))
    own, refused = dict(found), dict(refusals)
    forwarded = {
        client: broker
        for client, broker in eased(() if stale else [*held.forwarded.items()])
        if client in partitions and client not in refused
    }
    taken = {broker: client for client, broker in forwarded.items()}
    for client, broker in eased([*own.items()]):
        if taken.setdefault(broker, client) != client:
            refused[client] = SAME_TOPIC
            del own[client]
    forwarded |= {client: broker for client, broker in own.items() if client in partitions}
    denied = {client: why for client, why in refused.items() if client in partitions}
    session = ShareSession(access, partitions, forwarded, denied)
    values = {
        "topics": _topics(request, named, own, held, session),
        "forgotten_topics_data": _forgotten(request, own, held, session),
    }
    withheld = tuple(_withheld(session, named, refused))
    return Advanced(session, changed(request, values), own, withheld)


def _named(request: Any) -> dict[bytes, Any]:
    """The topics of a request by the client's topic ids; entries of one topic become one entry."""
    named: dict[bytes, Any] = {}
    for topic in paced(request.topics):
        if topic.topic_id is not None:
            before = named.get(topic.topic_id.bytes)
            if before is not None:
                topic = replace(topic, partitions=(*before.partitions, *topic.partitions))
            named[topic.topic_id.bytes] = topic
    return named


def _partitions(
    held: ShareSession, named: Mapping[bytes, Any], request: Any
) -> dict[bytes, set[int]]:
    """The partitions of the session after this request, by the client's topic ids."""
    if not named and not request.forgotten_topics_data:
        return held.partitions
    partitions = dict(held.partitions)
    for topic_id, topic in eased(named.items()):
        indexes = {each.partition_index for each in paced(topic.partitions)}
        if indexes:
            partitions[topic_id] = partitions.get(topic_id, set()) | indexes
    for topic in paced(request.forgotten_topics_data):
        if topic.topic_id is None:
            continue
        left = partitions.pop(topic.topic_id.bytes, set()) - set(topic.partitions)
        if left:
            partitions[topic.topic_id.bytes] = left
    return partitions


def _topics(
    request: Any,
    named: Mapping[bytes, Any],
    own: Mapping[bytes, bytes],
    held: ShareSession,
    after: ShareSession,
) -> tuple[Any, ...]:
    """The topics for the broker: those of the request that the client may read, and those of the
    session that it may read now and that the broker does not have."""
    topic_class = element_class(type(request), "topics")
    topics = [topic for topic in paced(request.topics) if topic.topic_id is None]
    for topic_id, topic in eased([*named.items()]):
        if topic_id in own:
            topics.append(replace(topic, topic_id=UUID(bytes=own[topic_id])))
    for topic_id, broker in eased([*after.forwarded.items()]):
        if held.forwarded.get(topic_id) == broker:
            continue
        listed = named.get(topic_id)
        there = {each.partition_index for each in listed.partitions} if listed else set()
        missing = sorted(after.partitions[topic_id] - there)
        if missing:
            values = [{"partition_index": index} for index in missing]
            topics.append(make(topic_class, {"topic_id": UUID(bytes=broker), "partitions": values}))
    return tuple(topics)


def _forgotten(
    request: Any, own: Mapping[bytes, bytes], held: ShareSession, after: ShareSession
) -> tuple[Any, ...]:
    """The partitions that the broker has to forget: those of the request that it has, and those
    that the client may not read any more."""
    topic_class = element_class(type(request), "forgotten_topics_data")
    forgotten = []
    for topic in paced(request.forgotten_topics_data):
        if topic.topic_id is not None:
            client = topic.topic_id.bytes
            broker = own.get(client) or held.forwarded.get(client)
            if broker is not None:
                forgotten.append(replace(topic, topic_id=UUID(bytes=broker)))
    for client, broker in eased([*held.forwarded.items()]):
        if client in after.partitions and after.forwarded.get(client) != broker:
            indexes = tuple(sorted(held.partitions[client]))
            values = {"topic_id": UUID(bytes=broker), "partitions": indexes}
            forgotten.append(make(topic_class, values))
    return tuple(forgotten)


def _withheld(
    session: ShareSession, named: Mapping[bytes, Any], refused: Mapping[bytes, Denied]
) -> Iterable[Withheld]:
    """The topics that get errors: those of the session, and those that the request acknowledges
    records of, though it ends the session or forgets them."""
    for topic_id, why in eased([*refused.items()]):
        entries = named[topic_id].partitions if topic_id in named else ()
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
    values |= {"error_message": message, "records": b""}
    if acknowledged:
        # Java's consumer takes acknowledgements without an error of their own for done.
        values |= {"acknowledge_error_code": why.code, "acknowledge_error_message": message}
    return values


def no_session(exchange: Exchange, body: bytes) -> Answer:
    """The answer to a request of a session that this connection has not opened, or not any more:
    the client opens a session anew."""
    plan = exchange.plan
    count_errors(exchange, [SHARE_SESSION_NOT_FOUND])
    code = SHARE_SESSION_NOT_FOUND
    return Answer(error_response(plan.api, plan.version, body, code, _NO_SESSION))
