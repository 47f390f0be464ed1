"""The gateway reads every member's request, even if it concerns members that the broker rejects.

A broker evaluates an expression over all flat names, and stores a leader's assignments. If the
gateway forwarded such a request unread, a client could learn ids and partition counts of other
tenants' topics. By hand, because no client does it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.brokers.messages import CLIENT_ID
from protocol import messages
from protocol.entities import Kind
from protocol.headers import request_header_version
from protocol.schema import api_key_of
from tests.cluster.scripted_broker import Answer
from tests.live.fleet.test_kip_848_members import Member, coordinator, described
from tests.live.records.relay import FaultyRelay
from tests.live.support import by_hand, clients
from tests.live.support.wire import Wire, entity, request_frame, response_body
from tests.scenarios.entities import consumer_protocol
from tests.session.test_same_reading import embedded_names

Names = Callable[[str], str]

SECONDS: Final = clients.SECONDS
HOME: Final = "team-a"
INCONSISTENT_GROUP_PROTOCOL = 23
HEARTBEAT: Final = "ConsumerGroupHeartbeat"
DESCRIBE: Final = "ConsumerGroupDescribe"


@pytest.fixture(scope="module")
def relay() -> Iterator[FaultyRelay]:
    """A relay in front of a broker that only this file uses."""
    with FaultyRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        with KafkaCluster(overrides=advertised) as kafka:
            relay.upstream = kafka.addresses[1]
            yield relay


@pytest.fixture(scope="module")
def gateway(relay: FaultyRelay) -> Iterator[GatewayProcess]:
    """A gateway that reaches its broker through the relay; a listener confines clients to
    team-a."""
    listeners = (Listener("colon", "all"), Listener("home-a", "team-a is home", home=HOME))
    with GatewayProcess(relay.address, listeners, [HOME, "team-b"]) as process:
        yield process


class Held:
    """A response of the broker, held back at the relay until it is released."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.released = threading.Event()

    async def __call__(self, answer: Answer) -> None:
        """The fault: the response is unchanged but late."""
        self.arrived.set()
        await asyncio.to_thread(self.released.wait, SECONDS)
        answer.writer.write(answer.frame())
        await answer.writer.drain()


def create(gateway: GatewayProcess, topic: str, partitions: int = 1) -> Any:
    """Create a topic and wait until it can be used; its id."""
    colon = gateway.bootstrap_servers("colon")
    clients.create(colon, topic, partitions=partitions)
    clients.await_led(colon, topic)
    return by_hand.topic_id(colon, topic)


def join(wire: Wire, member: Member, topic: str) -> None:
    """Join with the full state, in a heartbeat that the broker accepts."""

    def joined() -> bool:
        member.beat(
            wire,
            subscribed_topic_names=(topic,),
            subscribed_topic_regex="",
            topic_partitions=(),
            rebalance_timeout=timedelta(seconds=60),
        )
        return member.error == 0

    wait_until(joined, f"{member.group} to be joined", SECONDS, poll=0.2)


def heartbeat(member: Member, regex: str) -> bytes:
    """The frame of a heartbeat whose only change is an expression."""
    asked = entity(
        messages.message_class(f"{HEARTBEAT}Request", 1),
        {
            "group_id": member.group,
            "member_id": member.member_id,
            "member_epoch": member.epoch,
            "rebalance_timeout": timedelta(milliseconds=-1),
            "subscribed_topic_names": None,
            "subscribed_topic_regex": regex,
            "topic_partitions": None,
        },
    )
    key = api_key_of(f"{HEARTBEAT}Request")
    header = request_header_version(key, 1)
    return request_frame(key, 1, messages.write(asked), header_version=header)


def answered(wire: Wire) -> Any:
    """The response to :func:`heartbeat`."""
    body = response_body(api_key_of(f"{HEARTBEAT}Request"), 1, 1, wire.frame())
    return messages.parse(f"{HEARTBEAT}Response", 1, body)


def test_an_expression_for_a_member_that_joins_meanwhile(
    relay: FaultyRelay, gateway: GatewayProcess, unique: Names
) -> None:
    """A member joins by another connection while the gateway queries the broker about it.

    The heartbeat with the expression follows before the broker's response arrives.
    """
    own, later = unique("own"), unique("later")
    ids = {create(gateway, f"{HOME}:{own}")}
    create(gateway, f"team-b:{unique('secret')}", partitions=7)
    home = gateway.bootstrap_servers("home-a")
    before, member, stranger = (Member(unique("group")) for _ in range(3))
    stranger.group, stranger.member_id = member.group, member.member_id
    at = coordinator(home, before.group)
    assert coordinator(home, member.group) == at
    held = Held()
    with Wire(at) as one, Wire(at) as other:
        join(one, before, own)
        stranger.epoch = before.epoch  # the epoch of a member that joins a new group
        relay.spoil_next(CLIENT_ID, api_key_of(f"{DESCRIBE}Request"), held)
        other.send(heartbeat(stranger, ".*"))
        assert held.arrived.wait(SECONDS)
        join(one, member, own)
        assert member.epoch == stranger.epoch
        held.released.set()
        answer = answered(other)
        assert int(answer.error_code) == 0
        # From now on it is assigned the topics that it subscribes to by name, old and new.
        ids.add(create(gateway, f"{HOME}:{later}"))
        member.beat(one, subscribed_topic_names=(own, later))

        def assigned() -> bool:
            member.beat(one, topic_partitions=member.owning())
            assert member.error == 0, member.error
            assert member.owned.keys() <= ids
            return member.owned.keys() == ids

        wait_until(assigned, "both topics to be assigned", SECONDS, poll=0.2)
        assert {len(partitions) for partitions in member.owned.values()} == {1}
    with Wire(relay.upstream) as direct:
        (at_broker,) = described(direct, f"{HOME}..{member.group}").members
    assert not at_broker.subscribed_topic_regex


def test_what_a_leader_assigns_after_it_was_rejected_with_another_protocol(
    relay: FaultyRelay, gateway: GatewayProcess, unique: Names
) -> None:
    """If the broker rejects a JoinGroup of type "connect", the group stays a consumer group.

    The gateway still reads its assignments as those of consumers.
    """
    secret, group = unique("secret"), unique("classic")
    create(gateway, f"team-b:{secret}", partitions=7)
    foreign = f"team-b..{secret}"
    at = coordinator(gateway.bootstrap_servers("home-a"), group)
    asked: dict[str, Any] = {
        "group_id": group,
        "session_timeout": timedelta(seconds=30),
        "rebalance_timeout": timedelta(seconds=30),
        "protocols": [
            {
                "name": "range",
                "metadata": consumer_protocol(
                    "ConsumerProtocolSubscription", {"topics": [foreign]}
                ),
            }
        ],
    }
    with Wire(at) as wire:
        joined = wire.ask("JoinGroup", 3, **asked, protocol_type="consumer")
        assert int(joined.error_code) == 0
        rejected = wire.ask("JoinGroup", 3, **asked, protocol_type="connect")
        assert int(rejected.error_code) == INCONSISTENT_GROUP_PROTOCOL
        given = {"assigned_partitions": [{"topic": foreign, "partitions": [6]}]}
        assignment = consumer_protocol("ConsumerProtocolAssignment", given)
        synced = wire.ask(
            "SyncGroup",
            3,
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            assignments=[{"member_id": joined.member_id, "assignment": assignment}],
        )
        assert int(synced.error_code) == 0
        with Wire(relay.upstream) as direct:
            asked_for = (f"{HOME}..{group}",)
            (found,) = direct.ask("DescribeGroups", 5, groups=asked_for).groups
    (member,) = found.members
    told = embedded_names(Kind.ASSIGNMENT, member.member_assignment)
    assert told | embedded_names(Kind.SUBSCRIPTION, member.member_metadata) == {
        f"{HOME}..{foreign}".encode()
    }
