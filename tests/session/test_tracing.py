"""Traces of requests: what each was decided, what the broker got, and nothing once they end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.apis.table import plan_of
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.exchange import Outcome as AnyOutcome
from gateway.exchanges.state import ConnectionState
from gateway.session.tracing import Tracing
from gateway.traced import Item, Outcome, TracedRequest, Wanted
from protocol import messages
from protocol.schema import api_key_of
from tests.session import fetching, samples
from tests.session.allowing import Allowing
from tests.session.pair import (
    Pair,
    raw_frame,
    request_frame,
    response_frame,
    topic_id,
)
from tests.session.producing import batch, produce, produced

ORDERS = "team-a:orders"
OWN = "team-a..orders"
HEAD_AND_MORE = 400
"""Bytes of a Produce request with its head, and some of its records."""


@contextmanager
def traced(
    wanted: Wanted | None = None, tracing: Tracing | None = None
) -> Iterator[list[TracedRequest]]:
    """What a trace has of the requests that pass meanwhile."""
    tracing = tracing or Tracing(3, lambda: 1.5)
    seen: list[TracedRequest] = []
    trace = tracing.begin(wanted or Wanted(), seen.append)
    try:
        yield seen
    finally:
        tracing.end(trace)


def written(pair: Pair, topics: tuple[str, ...] = (ORDERS,), correlation_id: int = 7) -> None:
    """A Produce request passes, whole, and its response."""
    records: dict[str, list[bytes | None]] = {topic: [batch(1)] for topic in topics}
    pair.send(request_frame("Produce", 9, produce(records, 9), correlation_id))
    answered = {topic.replace(":", ".."): [0] for topic in topics}
    pair.answered(response_frame("Produce", 9, produced(answered, 9), correlation_id))


def metadata(*topics: str) -> Any:
    """A Metadata request of version 9."""
    entity = messages.message_class("MetadataRequest", 9)
    topic = messages.element_class(entity, "topics")
    named = tuple(messages.make(topic, {"name": name}) for name in topics)
    return messages.make(entity, {"topics": named})


def groups(*names: str) -> Any:
    """A DescribeGroups request of version 5."""
    return messages.build(messages.message_class("DescribeGroupsRequest", 5), groups=names)


def test_a_request_and_its_response() -> None:
    pair = Pair()
    with traced() as seen:
        written(pair)
    (one,) = seen
    assert (one.worker, one.time_ms, one.listener, one.principal) == (
        *(3, 1500),
        *("test", "User:ANONYMOUS"),
    )
    assert (one.api, one.version, one.broker_version, one.correlation_id) == ("Produce", 9, 9, 7)
    assert one.client_id == "test-client"
    assert one.outcomes == [Outcome.FORWARD]
    assert one.items == [Item("topic", ORDERS, OWN)]
    assert one.edits == 1
    assert one.handler == "gateway/apis/records/produce.py"
    assert one.errors == {}
    assert one.request_bytes == len(request_frame("Produce", 9, produce({ORDERS: [batch(1)]}, 9)))
    response = response_frame("Produce", 9, produced({ORDERS: [0]}, 9))
    assert one.response_bytes == len(response)
    assert one.broker_bytes == len(response_frame("Produce", 9, produced({OWN: [0]}, 9))) - 9
    assert one.broker_seconds > 0
    assert one.gateway_seconds > 0


@pytest.mark.parametrize("by_id", [False, True])
def test_denied_items_with_their_rule(by_id: bool) -> None:
    """Of two topics one may be written: the request is rebuilt without the other one."""
    other = "team-b..x"
    pair = Pair(topics=[OWN, other], authorizer=Allowing([f"WRITE TOPIC {ORDERS}"]))
    version = 13 if by_id else 9
    topics = ("1", "2") if by_id else (ORDERS, "team-b:x")
    request = produce({topic: [batch(1)] for topic in topics}, version)
    with traced() as seen:
        pair.send(request_frame("Produce", version, request))
        answer = {"1" if by_id else OWN: [0]}
        pair.answered(response_frame("Produce", version, produced(answer, version)))
    (one,) = seen
    assert one.outcomes == [Outcome.REBUILD]
    allowed, denied = one.items
    # As Kafka's Uuid.toString has them.
    ids = ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]
    assert [allowed.name, denied.name] == (ids if by_id else [ORDERS, "team-b:x"])
    assert (allowed.at_broker, allowed.error) == (ids[0] if by_id else OWN, "")
    assert (allowed.because, denied.because) == ("the list", "the list")
    assert (allowed.topic, denied.topic) == ((OWN, other) if by_id else ("", ""))
    assert denied.at_broker is None
    assert (denied.error, denied.rule) == ("TOPIC_AUTHORIZATION_FAILED", "acl")


def test_what_the_gateway_answers_itself() -> None:
    pair = Pair(authorizer=Allowing([]))
    with traced() as seen:
        pair.send(request_frame("Produce", 9, produce({ORDERS: [batch(1)]}, 9)))
    (one,) = seen
    assert one.outcomes == [Outcome.ANSWER]
    assert [item.error for item in one.items] == ["TOPIC_AUTHORIZATION_FAILED"]
    assert one.broker_version is None
    assert one.broker_bytes is None
    assert one.response_bytes == len(pair.to_client())
    assert one.broker_seconds == 0


def test_errors_of_the_broker() -> None:
    pair = Pair()
    with traced() as seen:
        pair.send(request_frame("Produce", 9, produce({ORDERS: [batch(1)] * 3}, 9)))
        pair.answered(response_frame("Produce", 9, produced({OWN: [6, 0, 6]}, 9)))
    assert seen[0].errors == {"NOT_LEADER_OR_FOLLOWER": 2}


def test_a_request_whose_records_pass_while_they_arrive() -> None:
    pair = Pair()
    frame = request_frame("Produce", 9, produce({ORDERS: [batch(1) + bytes(1000)]}, 9))
    with traced() as seen:
        pair.send(frame[:HEAD_AND_MORE])
        pair.send(frame[HEAD_AND_MORE:])
        assert not seen
        pair.answered(response_frame("Produce", 9, produced({OWN: [0]}, 9)))
    (one,) = seen
    assert one.outcomes == [Outcome.STREAM]
    assert one.items == [Item("topic", ORDERS, OWN)]
    assert one.request_bytes == len(frame)
    assert (one.api, one.version, one.principal) == ("Produce", 9, "User:ANONYMOUS")


def test_a_response_that_passes_in_pieces() -> None:
    pair = Pair()
    response = response_frame("Fetch", 11, fetching.response(11, {OWN: [bytes(5000)]}))
    with traced() as seen:
        pair.send(request_frame("Fetch", 11, fetching.request(11, {ORDERS: [0]})))
        pair.answered(response[:HEAD_AND_MORE])
        pair.answered(response[HEAD_AND_MORE:])
    (one,) = seen
    assert one.outcomes == [Outcome.FORWARD, Outcome.STREAM]
    assert one.items == [Item("topic", ORDERS, OWN)]
    assert one.response_bytes == len(pair.to_client())


def test_decided_again_after_a_refresh() -> None:
    """A namespace that is not known is looked for first."""
    pair = Pair()
    with traced() as seen:
        pair.send(request_frame("Metadata", 9, metadata("nowhere:t")))
        pair.let_answer()
    (one,) = seen
    assert one.outcomes == [Outcome.REFRESH, Outcome.REBUILD]
    (item,) = one.items
    assert (item.name, item.error, item.rule) == (
        *("nowhere:t", "UNKNOWN_TOPIC_OR_PARTITION"),
        "namespace",
    )


def test_what_the_gateway_carries_out() -> None:
    pair = Pair(topics=[OWN])
    delete = messages.build(messages.message_class("DeleteTopicsRequest", 5), topic_names=(ORDERS,))
    with traced() as seen:
        pair.send(request_frame("DeleteTopics", 5, delete))
    (one,) = seen
    assert one.outcomes == [Outcome.REFRESH, Outcome.WORK]
    assert one.items == [Item("topic", ORDERS)]
    assert one.handler == "gateway/apis/topics/delete_topics.py"
    assert one.broker_seconds > 0


def test_versions_that_are_not_served() -> None:
    pair = Pair()
    with traced() as seen:
        pair.send(raw_frame(18, 99, b""))
    (one,) = seen
    assert (one.api, one.version, one.outcomes) == ("ApiVersions", -1, [Outcome.ANSWER])
    assert one.handler == "gateway/apis/table.py"


def test_bytes_are_the_same_with_a_trace() -> None:
    """Requests of all outcomes pass as they do without one."""

    def passed() -> tuple[bytes, bytes]:
        pair = Pair(authorizer=Allowing([f"WRITE TOPIC {ORDERS}"]))
        for topics in ((ORDERS,), (ORDERS, "team-b:x"), ("team-b:x",)):
            pair.send(request_frame("Produce", 9, produce({t: [batch(1)] for t in topics}, 9)))
            if ORDERS in topics:
                pair.answered(response_frame("Produce", 9, produced({OWN: [0]}, 9)))
        return pair.to_broker(), pair.to_client()

    without = passed()
    with traced() as seen:
        assert passed() == without
    assert [one.outcomes[-1] for one in seen] == [
        Outcome.FORWARD,
        Outcome.REBUILD,
        Outcome.ANSWER,
    ]


def test_a_handler_that_decides_what_is_left_by_the_plan() -> None:
    """The groups that are left are decided by the handler of the plan again."""
    pair = Pair(authorizer=Allowing(["DESCRIBE GROUP own"]))
    with traced() as seen:
        pair.send(request_frame("DescribeGroups", 5, groups("own", "denied")))
        pair.let_answer()
    (one,) = seen
    assert one.outcomes == [Outcome.REBUILD]
    assert [(item.name, item.error) for item in one.items] == [
        ("own", ""),
        ("denied", "GROUP_AUTHORIZATION_FAILED"),
    ]


def test_a_client_that_is_directed_to_another_gateway() -> None:
    pair = Pair()
    pair.session.leave()
    with traced() as seen:
        pair.send(request_frame("Produce", 9, produce({ORDERS: [batch(1)]}, 9)))
    (one,) = seen
    assert one.outcomes == [Outcome.ANSWER]
    assert one.handler == "gateway/apis/records/turned_away.py"
    assert one.broker_version is None


def test_the_end_of_a_connection() -> None:
    pair = Pair()
    frame = raw_frame(0, 9, b"\x00\xff\xff\x00\x00\x00\x00\xff")
    with traced() as seen, pytest.raises(Exception):  # noqa: B017
        pair.send(frame)
    assert [one.outcomes for one in seen] == [[Outcome.CLOSE]]
    assert seen[0].reason


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate"])
def test_a_login_is_decided_once(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its handler takes bytes after the end of the request, which others do not."""
    plan = plan_of(api_key_of(f"{api}Request"), 1)
    assert plan is not None
    handler, decided = plan.on_request, []

    def on_request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> AnyOutcome:
        decided.append(exchange)
        return handler(state, exchange, buf, start, end)

    monkeypatch.setattr(plan, "on_request", on_request)
    body = messages.write(samples.request(api, 1, ORDERS, topic_id(1)))
    with traced() as seen:
        Pair().send(raw_frame(plan.api_key, 1, body + bytes(3)))
    assert len(decided) == 1
    assert [one.outcomes for one in seen] == [[Outcome.ANSWER]]
