"""Classic groups over several requests: a client is assigned the topics that it subscribed to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from protocol import messages
from tests.scenarios.entities import consumer_protocol, difference, entity
from tests.session.allowing import Allowing
from tests.session.pair import Pair

FLAT_NAMES = ["team-a..orders", "org.apache.kafka..orders"]
NAMES = {"legal": "org.apache.kafka..orders", "colon": "team-a:orders"}


def join(version: int, protocol_type: str, metadata: Any) -> Any:
    cls = messages.message_class("JoinGroupRequest", version)
    protocols = [{"name": "range", "metadata": metadata}]
    values = {"group_id": "app", "protocol_type": protocol_type, "protocols": protocols}
    return entity(cls, values)


def sync(version: int, assignment: Any = None, protocol_type: str = "consumer") -> Any:
    cls = messages.message_class("SyncGroupRequest", version)
    assignments = [] if assignment is None else [{"member_id": "m", "assignment": assignment}]
    values = {"group_id": "app", "protocol_type": protocol_type, "assignments": assignments}
    return entity(cls, values)


def answer(name: str, version: int, **values: object) -> Any:
    return entity(messages.message_class(f"{name}Response", version), values)


@pytest.mark.parametrize("version", [0, 3, 5])
def test_assignments_come_back_in_the_spelling_of_the_subscription(version: int) -> None:
    pair = Pair()
    subscribed = {"subscription": [NAMES["colon"], NAMES["legal"]]}
    pair.ask("JoinGroup", version, join(version, "consumer", subscribed))
    members = [{"member_id": "m", "metadata": {"subscription": FLAT_NAMES}}]
    joined = pair.reply(
        "JoinGroup",
        version,
        answer("JoinGroup", version, protocol_type="consumer", members=members),
    )
    assert not difference({"members": [{"metadata": subscribed}]}, joined)

    assigned = {"assignment": {NAMES["colon"]: [0], NAMES["legal"]: [1, 2]}}
    flat = {"assignment": {"team-a..orders": [0], "org.apache.kafka..orders": [1, 2]}}
    sent = pair.ask("SyncGroup", version, sync(version, assigned))
    assert not difference({"assignments": [{"assignment": flat}]}, sent)
    got = pair.reply(
        "SyncGroup",
        version,
        answer("SyncGroup", version, protocol_type="consumer", assignment=flat),
    )
    assert not difference({"assignment": assigned}, got)


def test_a_follower_is_assigned_in_the_spelling_it_subscribed_with() -> None:
    pair = Pair()
    pair.ask("JoinGroup", 5, join(5, "consumer", {"subscription": [NAMES["legal"]]}))
    pair.reply("JoinGroup", 5, answer("JoinGroup", 5, leader="other"))
    pair.ask("SyncGroup", 5, sync(5))
    flat = {"assignment": {"org.apache.kafka..orders": [0], "team-a..orders": [0]}}
    got = pair.reply("SyncGroup", 5, answer("SyncGroup", 5, assignment=flat))
    expected = {"assignment": {"org.apache.kafka..orders": [0], "team-a:orders": [0]}}
    assert not difference({"assignment": expected}, got)


@pytest.mark.parametrize("version", range(6))
def test_another_protocols_bytes_pass_in_both_directions(version: int) -> None:
    pair = Pair(home="team-a")
    opaque = "\x00\x01\x00\x00\x00\x00\x00\x09team-a..x"
    sent = pair.ask("JoinGroup", version, join(version, "connect", opaque))
    assert not difference({"group_id": "team-a..app", "protocols": [{"metadata": opaque}]}, sent)
    members = [{"member_id": "m", "metadata": opaque}]
    joined = pair.reply(
        "JoinGroup", version, answer("JoinGroup", version, protocol_type="connect", members=members)
    )
    assert not difference({"members": [{"metadata": opaque}]}, joined)
    sent = pair.ask("SyncGroup", version, sync(version, opaque, "connect"))
    assert not difference({"assignments": [{"assignment": opaque}]}, sent)
    assert pair.asked_as == 5, "the broker is told the protocol type, so it compares it"
    reply = answer("SyncGroup", 5, protocol_type="connect", assignment=opaque)
    got = pair.reply("SyncGroup", version, reply, sent=5)
    assert not difference({"assignment": opaque}, got)


@pytest.mark.parametrize("version", [7, 9])
def test_the_protocol_type_of_the_request_holds(version: int) -> None:
    pair = Pair(home="team-a")
    pair.ask("JoinGroup", version, join(version, "consumer", {"subscription": ["orders"]}))
    members = [{"member_id": "m", "metadata": {"subscription": ["team-a..orders", "team-b..x"]}}]
    reply = answer("JoinGroup", version, protocol_type="connect", members=members)
    got = pair.reply("JoinGroup", version, reply)
    assert not difference({"members": [{"metadata": {"subscription": ["orders"]}}]}, got)


@pytest.mark.parametrize("embedded", [0, 1, 2, 3, 9])
def test_every_version_of_the_embedded_protocol(embedded: int) -> None:
    pair = Pair(home="team-a")
    known = min(embedded, 3)
    values = {"topics": ["orders"], "owned_partitions": [{"topic": "orders", "partitions": [1]}]}
    body = _embedded(values, known)
    tail = b"a later version's field" if embedded > known else b""
    member = body.replace(b"\x00\x06orders", b"\x00\x0eteam-a..orders")
    header = embedded.to_bytes(2, "big")
    asked = join(5, "consumer", {"subscription": []})
    protocols = (replace(asked.protocols[0], metadata=header + body + tail),)
    sent = pair.ask("JoinGroup", 5, replace(asked, protocols=protocols))
    assert sent.protocols[0].metadata == header + member + tail


def _embedded(values: dict[str, Any], version: int) -> bytes:
    cls = messages.message_class("ConsumerProtocolSubscription", version)
    return messages.write(entity(cls, values))


@pytest.mark.parametrize(
    ("allowed", "shown"),
    [
        (None, ["team-a..orders", "plain"]),
        (["DESCRIBE TOPIC team-a:orders"], ["team-a..orders"]),
        ([], []),
    ],
)
def test_the_subscriptions_of_others_are_shown_to_those_who_describe_a_group(
    allowed: list[str] | None, shown: list[str]
) -> None:
    """Only topics that the client may also describe are shown."""
    authorizer = None if allowed is None else Allowing(["DESCRIBE GROUP app", *allowed])
    pair = Pair(spelling="legal", topics=["team-a..orders", "plain"], authorizer=authorizer)
    cls = messages.message_class("DescribeGroupsRequest", 5)
    pair.ask("DescribeGroups", 5, messages.build(cls, groups=("app",)))
    names = ["team-a..orders", "plain"]
    group = {
        "group_id": "app",
        "protocol_type": "consumer",
        "members": [{"member_id": "m", "member_metadata": {"subscription": names}}],
    }
    got = pair.reply("DescribeGroups", 5, answer("DescribeGroups", 5, groups=[group]))
    told = consumer_protocol("ConsumerProtocolSubscription", {"topics": shown})
    assert got.groups[0].members[0].member_metadata == told
