"""Bytes that can hold a name are read on every path: expressions and the bytes that members embed,
even if the client claims another protocol, or the gateway does not know the member."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.apis.groups import subscriptions
from gateway.rules.heartbeat_outcomes import Unknown
from protocol import messages
from protocol.entities import Kind
from protocol.schema import api_key_of
from tests.examples import examples
from tests.protocol.kafka_reader import Reader
from tests.scenarios.entities import consumer_protocol, entity
from tests.session.mutating import QUICK
from tests.session.pair import Pair, frames, request_frame, response_frame
from tests.session.test_heartbeat import heartbeat
from tests.session.test_same_reading import assert_embedded_own, assert_own, embedded_names

HOME, OWN, FOREIGN = b"team-a..", "team-a..orders", "team-b..secret"
MEMBER: Final = "wire-1234"
INCONSISTENT_GROUP_PROTOCOL = 23
UNKNOWN_MEMBER_ID = 25


def a_pair() -> Pair:
    return Pair(home="team-a", topics=[OWN, FOREIGN])


def join(version: int, protocol_type: str, member: str = "") -> Any:
    cls = messages.message_class("JoinGroupRequest", version)
    protocols = [{"name": "range", "metadata": {"subscription": [FOREIGN]}}]
    values = {"group_id": "app", "member_id": member, "protocol_type": protocol_type}
    return entity(cls, {**values, "protocols": protocols})


def joined(version: int, code: int = 0, member: str = MEMBER) -> Any:
    cls = messages.message_class("JoinGroupResponse", version)
    return entity(cls, {"error_code": code, "member_id": member, "generation_id": 1})


def assignment(name: str = FOREIGN) -> bytes:
    partitions = [{"topic": name, "partitions": [0]}]
    return consumer_protocol("ConsumerProtocolAssignment", {"assigned_partitions": partitions})


def sync(version: int, member: str = MEMBER, protocol_type: str | None = None) -> Any:
    cls = messages.message_class("SyncGroupRequest", version)
    values = {"group_id": "app", "member_id": member, "generation_id": 1}
    made = entity(cls, {**values, "assignments": [{"member_id": member}]})
    (one,) = made.assignments
    made = replace(made, assignments=(replace(one, assignment=assignment()),))
    return replace(made, protocol_type=protocol_type) if version >= 5 else made


def embedded(seen: Any) -> set[bytes]:
    """The topics that a SyncGroup gives to the broker."""
    return embedded_names(Kind.ASSIGNMENT, seen.assignments[0].assignment)


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("code", [INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID])
def test_a_protocol_type_that_the_broker_did_not_accept(version: int, code: int) -> None:
    pair = a_pair()
    pair.ask("JoinGroup", 5, join(5, "connect"))
    pair.reply("JoinGroup", 5, joined(5, code))
    seen = pair.ask("SyncGroup", version, sync(version))
    assert embedded(seen) == {HOME + FOREIGN.encode()}


@pytest.mark.parametrize("version", range(5))
def test_a_protocol_type_is_that_of_one_member(version: int) -> None:
    pair = a_pair()
    pair.ask("JoinGroup", 5, join(5, "connect"))
    pair.reply("JoinGroup", 5, joined(5))
    seen = pair.ask("SyncGroup", version, sync(version))
    assert embedded(seen) == {FOREIGN.encode()}, "bytes of another protocol pass"


@pytest.mark.parametrize("version", range(5))
def test_a_member_that_joins_again_as_one_of_consumers(version: int) -> None:
    """In Kafka 4.3.1 a member can join as "connect", leave, come back by a ConsumerGroupHeartbeat,
    in which it may choose its id, and join as "consumer"."""
    pair = a_pair()
    for protocol_type in ("connect", "consumer"):
        pair.ask("JoinGroup", 5, join(5, protocol_type, MEMBER))
        pair.reply("JoinGroup", 5, joined(5))
    assert embedded(pair.ask("SyncGroup", version, sync(version))) == {HOME + FOREIGN.encode()}


@pytest.mark.parametrize("version", range(5))
def test_the_broker_is_told_which_protocol_the_bytes_are_of(version: int) -> None:
    """The member may have joined again as "consumer" on another connection."""
    pair = a_pair()
    pair.ask("JoinGroup", 5, join(5, "connect"))
    pair.reply("JoinGroup", 5, replace(joined(5), protocol_name="range"))
    seen = pair.ask("SyncGroup", version, sync(version))
    assert (pair.asked_as, seen.protocol_type, seen.protocol_name) == (5, "connect", "range")
    cls = messages.message_class("SyncGroupResponse", 5)
    rejected = entity(cls, {"error_code": INCONSISTENT_GROUP_PROTOCOL})
    told = pair.reply("SyncGroup", version, rejected, sent=5)
    assert told.error_code == INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", range(5))
def test_a_broker_that_serves_no_version_with_the_type(version: int) -> None:
    """Kafka before 2.5 closes the connection for a SyncGroup v5."""
    pair = a_pair()
    pair.facts.api_versions = {api_key_of("SyncGroupRequest"): (0, 4)}
    pair.ask("JoinGroup", 5, join(5, "connect"))
    pair.reply("JoinGroup", 5, joined(5))
    seen = pair.ask("SyncGroup", version, sync(version))
    assert (pair.asked_as, embedded(seen)) == (version, {FOREIGN.encode()})


@pytest.mark.parametrize(("node_id", "asked_as"), [(1, 5), (2, 3), (3, 3), (None, 3)])
def test_the_version_is_one_that_the_broker_of_this_connection_serves(
    node_id: int | None, asked_as: int
) -> None:
    pair = a_pair()
    key = api_key_of("SyncGroupRequest")
    pair.facts.api_versions = {key: (0, 4)}
    pair.facts.apart = {1: {key: (0, 5)}, 2: {key: (0, 4)}}
    pair.session.state.node_id = node_id
    pair.ask("JoinGroup", 5, join(5, "connect"))
    pair.reply("JoinGroup", 5, joined(5))
    pair.ask("SyncGroup", 3, sync(3))
    assert pair.asked_as == asked_as


def test_another_members_bytes_are_read() -> None:
    pair = a_pair()
    pair.ask("JoinGroup", 5, join(5, "connect"))
    pair.reply("JoinGroup", 5, joined(5))
    assert embedded(pair.ask("SyncGroup", 3, sync(3, "another"))) == {HOME + FOREIGN.encode()}


# -- expressions ----------------------------------------------------------------------------------


def asked(pair: Pair, epoch: int, regex: str | None) -> Any:
    return pair.ask("ConsumerGroupHeartbeat", 1, heartbeat(epoch, regex))


def test_the_expression_of_a_member_that_its_broker_lacks() -> None:
    """Another connection may have joined it before this heartbeat reaches the broker."""
    pair = a_pair()
    scope = subscriptions.scope_of(pair.session.state)
    pair.worker.regexes.recalled((scope, "app", "m"), Unknown.FORWARD)
    seen = asked(pair, 5, ".*")
    assert (seen.member_epoch, seen.subscribed_topic_regex) == (5, None)
    assert seen.subscribed_topic_names is None


@pytest.mark.parametrize("epoch", [-1, -2])
def test_the_expression_of_a_member_that_leaves(epoch: int) -> None:
    seen = asked(a_pair(), epoch, ".*")
    assert (seen.member_epoch, seen.subscribed_topic_regex) == (epoch, None)


def test_an_empty_expression_is_none() -> None:
    pair = a_pair()
    names = heartbeat(0, "", subscribed_topic_names=("orders",))
    seen = pair.ask("ConsumerGroupHeartbeat", 1, names)
    assert seen.subscribed_topic_names == (OWN,)
    assert not seen.subscribed_topic_regex


# -- in any order -------------------------------------------------------------------------------


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, int, Any]:
    """A member's request with names that its client may not use."""
    member = draw(st.sampled_from(["", MEMBER, "another"]))
    kind = draw(st.sampled_from(["JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat"]))
    if kind == "JoinGroup":
        version = draw(st.integers(0, 9))
        protocol_type = draw(st.sampled_from(["consumer", "consumer", "connect", "x"]))
        return kind, version, join(version, protocol_type, member)
    if kind == "SyncGroup":
        version = draw(st.integers(0, 5))
        return kind, version, sync(version, member, draw(st.sampled_from([None, "consumer"])))
    regex = draw(st.sampled_from([None, "", ".*", FOREIGN]))
    names = draw(st.sampled_from([None, (), (FOREIGN,), ("orders",)]))
    epoch = draw(st.sampled_from([-2, -1, 0, 0, 1, 7]))
    entity = heartbeat(epoch, regex, subscribed_topic_names=names)
    return kind, 1, replace(entity, member_id=member or "m")


def answer(api: str, version: int, code: int, member: str) -> Any:
    if api == "JoinGroup":
        return joined(version, code, member)
    cls = messages.message_class(f"{api}Response", version)
    values: dict[str, Any] = {"error_code": code}
    if api == "ConsumerGroupHeartbeat":
        values |= {"member_id": member, "member_epoch": 1}
    return entity(cls, values)


@settings(QUICK, max_examples=examples(500))
@given(
    story=st.lists(st.tuples(steps(), st.booleans(), st.booleans()), min_size=1, max_size=8),
    lost=st.sets(st.sampled_from([Unknown.FORWARD, Unknown.FENCE])),
)
def test_no_name_reaches_the_broker_unread(
    story: list[tuple[tuple[str, int, Any], bool, bool]], lost: set[Unknown]
) -> None:
    """Two connections of the same client. Bytes said to be of a protocol other than "consumer"
    pass, because the broker compares that with the group's protocol: only if the request says it,
    from v5 on."""
    pair = a_pair()
    connections = [pair.session, pair.another_session(pair.session.state.addresses)]
    for (api, version, asked), second, accepted in story:
        pair.session = connections[second]
        for found in lost:
            key = (
                subscriptions.scope_of(pair.session.state),
                "app",
                getattr(asked, "member_id", ""),
            )
            pair.worker.regexes.recalled(key, found)
        pair.send(request_frame(api, version, asked))
        sent = frames(pair.to_broker())
        for payload in sent:
            read = Reader(payload).request()[3]
            version = int.from_bytes(payload[2:4], "big")
            said = [one[1] for one in read if one[0] is Kind.PROTOCOL_TYPE]
            if api == "SyncGroup" and said not in ([], [None], [b"consumer"]):
                read = [one for one in read if one[0] is not Kind.ASSIGNMENT]
            assert_own(read, {HOME}, {HOME}, set())
            assert_embedded_own(read, HOME)
        pair.to_client()
        if sent:
            code = 0 if accepted else UNKNOWN_MEMBER_ID
            pair.answered(response_frame(api, version, answer(api, version, code, MEMBER)))
            pair.to_client()
