"""KIP-848 heartbeats: expressions become names, for members this worker knows."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.groups.heartbeat_body import without_names
from gateway.decision import Denied
from gateway.rules import group_members
from gateway.rules.group_members import KnownNames
from gateway.rules.heartbeat_outcomes import Forward, Unheard
from gateway.rules.regex_subscriptions import MAX_NAMES, RegexSubscriptions
from protocol import messages
from protocol.messages import make
from tests.rules.heartbeats import (
    FENCED_MEMBER_EPOCH,
    INVALID_REGULAR_EXPRESSION,
    LEAVE,
    LEAVE_FOR_A_WHILE,
    NAMES,
    NOT_COORDINATOR,
    UNKNOWN_MEMBER_ID,
    Client,
    Names,
    forwarded,
    heartbeat,
    known,
    on_request,
    on_response,
    response,
)


@pytest.fixture
def client() -> Client:
    return Client(RegexSubscriptions())


def test_an_expression_goes_on_as_names(client: Client) -> None:
    request = client.beat(0, (), "a:orders.*")
    assert request.subscribed_topic_names == ("a:orders", "a:orders.old")
    assert request.subscribed_topic_regex is None
    assert (request.group_id, request.member_id, request.member_epoch) == ("g", "m", 0)


def test_an_expression_that_matches_nothing_subscribes_to_nothing(client: Client) -> None:
    assert client.beat(0, None, "c:.*").subscribed_topic_names == ()


def test_names_and_an_expression_are_joined(client: Client) -> None:
    request = client.beat(0, ("a:users", "not:there"), "a:.*")
    assert request.subscribed_topic_names == ("a:orders", "a:orders.old", "a:users", "not:there")


def test_nothing_is_sent_again_while_nothing_changes(client: Client) -> None:
    client.beat(0, (), "a:.*")
    outcome = on_request(client.worker, 1, heartbeat(1), known(NAMES, 1), "")
    assert isinstance(outcome, Forward)
    assert outcome.body == heartbeat(1)


def test_a_new_topic_is_subscribed_to(client: Client) -> None:
    client.beat(0, (), "a:orders.*")
    client.topics_change(*NAMES, "a:orders.new")
    assert client.beat(1).subscribed_topic_names == ("a:orders", "a:orders.new", "a:orders.old")
    assert client.beat(2).subscribed_topic_names is None
    client.topics_change("a:orders")
    assert client.beat(2).subscribed_topic_names == ("a:orders",)


def test_a_topic_that_does_not_match_changes_nothing(client: Client) -> None:
    client.beat(0, (), "a:orders.*")
    client.topics_change(*NAMES, "a:other")
    assert client.beat(1).subscribed_topic_names is None


def test_what_the_broker_did_not_accept_is_sent_again(client: Client) -> None:
    client.beat(0, (), "a:orders.*")
    client.topics_change("a:orders")
    assert client.beat(1, code=NOT_COORDINATOR).subscribed_topic_names == ("a:orders",)
    assert client.beat(1).subscribed_topic_names == ("a:orders",)
    assert client.beat(1).subscribed_topic_names is None


def test_a_response_that_never_comes_is_sent_again(client: Client) -> None:
    client.beat(0, (), "a:orders.*")
    client.topics_change("a:orders")
    on_request(client.worker, 1, heartbeat(1), client.listing, "")
    assert client.beat(1).subscribed_topic_names == ("a:orders",)


def test_the_expression_changes(client: Client) -> None:
    client.beat(0, ("a:users",), "a:orders")
    assert client.beat(1, None, "b:.*").subscribed_topic_names == ("a:users", "b:orders")


def test_the_names_change_beside_an_expression(client: Client) -> None:
    client.beat(0, ("a:users",), "b:.*")
    assert client.beat(1, ("a:orders",)).subscribed_topic_names == ("a:orders", "b:orders")


def test_an_empty_expression_ends_it(client: Client) -> None:
    client.beat(0, ("a:users",), "a:.*")
    request = client.beat(1, None, "")
    assert request.subscribed_topic_names == ("a:users",)
    client.topics_change("a:new")
    assert client.beat(1).subscribed_topic_names is None


def test_from_an_expression_to_names(client: Client) -> None:
    client.beat(0, (), "a:.*")
    assert client.beat(1, ("b:orders",), "").subscribed_topic_names == ("b:orders",)


@pytest.mark.parametrize("regex", [None, ""])
def test_a_member_without_an_expression_passes_as_it_is(regex: str | None) -> None:
    worker = RegexSubscriptions()
    for epoch, names in ((0, ("a:users",)), (1, None), (1, ("b:orders",))):
        body = heartbeat(epoch, names, regex)
        outcome = on_request(worker, 1, body, known(NAMES, epoch))
        assert isinstance(outcome, Forward)
        assert outcome.body == body
        on_response(worker, 1, outcome.sent, response())


def test_version_0_passes_as_it_is() -> None:
    worker = RegexSubscriptions()
    for epoch in (0, 5, LEAVE):
        body = heartbeat(epoch, ("a:users",), member="", version=0)
        outcome = on_request(worker, 0, body, known(NAMES, 1))
        assert isinstance(outcome, Forward)
        assert outcome.body == body
    assert len(worker) == 0


def test_a_member_of_version_0_is_fenced_too_when_its_topic_is_moved() -> None:
    worker = RegexSubscriptions()
    reach = {"a:users": b"flat"}

    def beat(epoch: int, names: Names | None, member: str) -> Forward | Denied | Unheard:
        body = heartbeat(epoch, names, member=member, version=0)
        return on_request(worker, 0, body, known((), 1), reach=reach.get)

    joined = beat(0, ("a:users",), "")
    assert isinstance(joined, Forward)
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", 0)
    named = messages.write(make(cls, {"member_id": "given", "member_epoch": 1}))
    on_response(worker, 0, joined.sent, named)
    assert isinstance(beat(1, None, "given"), Forward)
    del reach["a:users"]
    fenced = beat(2, None, "given")
    assert isinstance(fenced, Denied)
    assert fenced.code == FENCED_MEMBER_EPOCH


@pytest.mark.parametrize("alike", [True, False])
def test_what_is_kept_of_members_names_is_bounded(
    alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 names take 630 KB; members that subscribe alike share them."""
    monkeypatch.setattr(group_members, "MAX_BYTES_KEPT", 8 * 1024 * 1024)
    worker = RegexSubscriptions()
    for number in range(30):
        of = 0 if alike else number
        names = tuple(f"{of}:{other}" for other in range(MAX_NAMES))
        outcome = on_request(
            worker,
            1,
            heartbeat(0, names, member=str(number)),
            known((), 1),
            reach=lambda name: b"flat",
        )
        assert isinstance(outcome, Forward)
        on_response(worker, 1, outcome.sent, response())
    assert len(worker) == 30 if alike else 11 <= len(worker) <= 14
    rejected = on_request(worker, 1, heartbeat(0, (*names, "one more")), known((), 1))
    assert isinstance(rejected, Denied)
    nothing = on_request(worker, 1, heartbeat(0, ("x" * 301, "a:b"), member="x"), known((), 1))
    assert isinstance(nothing, Forward)
    assert nothing.sent is not None
    assert nothing.sent.new is not None
    assert nothing.sent.new.names == ("a:b",), "what no topic can be called is not kept"


@pytest.mark.parametrize("version", [0, 1])
def test_a_name_that_comes_to_reach_a_topic_is_subscribed_to_then(version: int) -> None:
    """A consumer may start before its namespace is created."""
    worker = RegexSubscriptions()
    reach = {"a:here": b"here"}

    def beat(epoch: int, names: Names | None = None) -> Any:
        body = heartbeat(epoch, names, version=version)
        outcome = on_request(worker, version, body, known((), 1), reach=reach.get)
        assert isinstance(outcome, Forward)
        cls = messages.message_class("ConsumerGroupHeartbeatResponse", version)
        on_response(worker, version, outcome.sent, messages.write(make(cls, {"member_id": "m"})))
        request = messages.parse("ConsumerGroupHeartbeatRequest", version, outcome.body)
        return request.subscribed_topic_names

    assert beat(0, ("a:here", "late:x")) == ("a:here", "late:x"), "the caller drops what is not"
    assert beat(1) is None
    reach["late:x"] = b"late..x"
    assert beat(1) == ("a:here", "late:x")
    assert beat(1) is None


@pytest.mark.parametrize("regex", ["a:(", "[", r"(a)\1"])
def test_an_invalid_expression(client: Client, regex: str) -> None:
    rejected = client.beat(0, (), regex)
    assert rejected.code == INVALID_REGULAR_EXPRESSION
    assert regex in rejected.message
    client.beat(0, (), "a:users")
    assert client.beat(1, (), regex).code == INVALID_REGULAR_EXPRESSION
    client.topics_change("b:orders")
    assert client.beat(1).subscribed_topic_names == ()


def test_an_unknown_member_is_fenced_once(client: Client) -> None:
    rejected = client.beat(7)
    assert rejected.code == FENCED_MEMBER_EPOCH
    assert rejected.message
    assert client.beat(7) == forwarded(Forward(heartbeat(7), None))
    assert client.beat(7).member_epoch == 7


def test_a_fenced_member_joins_again(client: Client) -> None:
    assert client.beat(7).code == FENCED_MEMBER_EPOCH
    assert client.beat(0, (), "b:.*").subscribed_topic_names == ("b:orders",)
    client.topics_change("b:new", "b:orders")
    assert client.beat(8).subscribed_topic_names == ("b:new", "b:orders")


def test_an_unknown_member_that_tells_all_is_not_fenced(client: Client) -> None:
    assert client.beat(7, ("a:users",), "b:.*").subscribed_topic_names == ("a:users", "b:orders")


@pytest.mark.parametrize("code", [UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH])
def test_an_error_that_ends_the_membership_is_remembered(client: Client, code: int) -> None:
    client.beat(0, (), "a:.*")
    client.beat(1, code=code)
    assert len(client.worker) == 0
    assert client.beat(0, (), "b:.*").subscribed_topic_names == ("b:orders",)


@pytest.mark.parametrize("epoch", [LEAVE, LEAVE_FOR_A_WHILE])
def test_a_member_that_leaves_is_forgotten(client: Client, epoch: int) -> None:
    client.beat(0, (), "a:.*")
    assert client.beat(epoch).member_epoch == epoch
    assert len(client.worker) == 0
    assert client.beat(0, (), "b:.*").subscribed_topic_names == ("b:orders",)


def test_a_leaving_member_need_not_be_known(client: Client) -> None:
    assert client.beat(LEAVE).member_epoch == LEAVE


def test_joining_anew_starts_afresh(client: Client) -> None:
    client.beat(0, ("a:users",), "a:.*")
    assert client.beat(0, (), "b:.*").subscribed_topic_names == ("b:orders",)
    client.beat(0, ("a:users",))
    client.topics_change("b:new")
    assert client.beat(1).subscribed_topic_names is None


@pytest.mark.parametrize("version", [0, 1])
def test_unknown_names_are_left_out(version: int) -> None:
    body = heartbeat(0, ("a:users", "x:users"), version=version)
    left = without_names(
        "ConsumerGroupHeartbeat", version, body, lambda name: name.startswith("x:")
    )
    assert left == heartbeat(0, ("a:users",), version=version)
    assert without_names("ConsumerGroupHeartbeat", version, left, lambda _: False) == left
    unchanged = heartbeat(1, version=version)
    assert without_names("ConsumerGroupHeartbeat", version, unchanged, lambda _: True) == unchanged


def test_a_listing_is_asked_for_only_where_there_is_an_expression() -> None:
    worker = RegexSubscriptions()

    def never() -> KnownNames:
        raise AssertionError("it takes long where there are many topics")

    outcome = on_request(worker, 1, heartbeat(0, ("a:orders",)), never)
    assert isinstance(outcome, Forward)
    on_response(worker, 1, outcome.sent, response())
    assert isinstance(on_request(worker, 1, heartbeat(1), never), Forward)


def test_a_member_is_fenced_when_its_topic_goes_by_another_name() -> None:
    worker = RegexSubscriptions()
    reach = {"a:orders": b"flat"}
    outcome = on_request(
        worker, 1, heartbeat(0, ("a:orders",)), known((), 1), reach=lambda name: reach.get(name)
    )
    assert isinstance(outcome, Forward)
    on_response(worker, 1, outcome.sent, response())
    reach = {"b:orders": b"flat"}
    outcome = on_request(worker, 1, heartbeat(1), known((), 1), reach=lambda name: reach.get(name))
    assert isinstance(outcome, Denied)
    assert outcome.code == FENCED_MEMBER_EPOCH
    again = on_request(
        worker, 1, heartbeat(0, ("b:orders",)), known((), 1), reach=lambda name: reach.get(name)
    )
    assert isinstance(again, Forward)
