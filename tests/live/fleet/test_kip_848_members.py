"""Members of KIP-848 groups continue at another gateway with their subscriptions.

They do not join again. The broker itself is queried for its own state of each member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from gateway.apis.groups.member_mark import PREFIX
from gateway.error_codes import FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID
from tests.live.fleet.conftest import Gateways
from tests.live.support import clients
from tests.live.support.wire import Wire

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
LEAVE: Final = -1

Names = Callable[[str], str]


class Member:
    """A member by hand, which may connect elsewhere between heartbeats."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.member_id = str(uuid4())
        self.epoch = 0
        self.error = 0
        self.owned: dict[Any, tuple[int, ...]] = {}

    def beat(self, wire: Wire, **news: object) -> None:
        """Send a heartbeat with only the given changes, and accept the assignment."""
        values: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "rebalance_timeout": timedelta(milliseconds=-1),
            "subscribed_topic_names": None,
            "subscribed_topic_regex": None,
            "topic_partitions": None,
            **news,
        }
        answer = wire.ask("ConsumerGroupHeartbeat", 1, **values)
        self.error = int(answer.error_code)
        if self.error:
            return
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {
                one.topic_id: tuple(one.partitions) for one in answer.assignment.topic_partitions
            }

    def owning(self) -> list[dict[str, object]]:
        """Its partitions in the format of a heartbeat."""
        return [{"topic_id": one, "partitions": parts} for one, parts in self.owned.items()]

    def join(self, wire: Wire, names: tuple[str, ...], regex: str) -> None:
        """Join with the full state, and wait until every existing partition is assigned."""

        def joined() -> bool:
            self.beat(
                wire,
                subscribed_topic_names=names,
                subscribed_topic_regex=regex,
                topic_partitions=(),
                rebalance_timeout=timedelta(seconds=60),
            )
            return self.error == 0

        wait_until(joined, f"{self.group} to be joined", SECONDS, poll=0.2)
        self.await_topics(wire, 1)

    def await_topics(self, wire: Wire, count: int) -> None:
        """Send heartbeats until so many topics are assigned."""

        def assigned() -> bool:
            self.beat(wire, topic_partitions=self.owning())
            assert self.error == 0, self.error
            return len(self.owned) == count

        wait_until(assigned, f"{count} topics for {self.group}", SECONDS, poll=0.2)


def described(wire: Wire, group: str) -> Any:
    """A group's ConsumerGroupDescribe response."""
    (found,) = wire.ask("ConsumerGroupDescribe", 0, group_ids=(group,)).groups
    assert int(found.error_code) == 0
    return found


def coordinator(servers: str, group: str) -> str:
    """The address of a group's coordinator, as these servers report it."""
    found: list[str] = []

    def is_there() -> bool:
        with Wire(servers.split(",")[0]) as wire:
            answer = wire.ask("FindCoordinator", 1, key=group, key_type=0)
        found[:] = [f"{answer.host}:{answer.port}"]
        return int(answer.error_code) == 0

    wait_until(is_there, f"a coordinator of {group}", SECONDS, poll=0.2)
    return found[0]


@pytest.fixture
def member(unique: Names) -> Member:
    """A member that has not joined."""
    return Member(unique("group"))


@pytest.fixture
def wires(gateways: Gateways, member: Member) -> Iterator[tuple[Wire, Wire]]:
    """A connection to the member's coordinator through each gateway."""
    at = [coordinator(one.bootstrap_servers("all"), member.group) for one in gateways]
    with Wire(at[0]) as one, Wire(at[1]) as two:
        yield one, two


@pytest.fixture
def direct(own: KafkaCluster, member: Member) -> Iterator[Wire]:
    """A connection to the coordinator itself."""
    with Wire(coordinator(own.bootstrap_servers, member.group)) as wire:
        yield wire


def create(gateways: Gateways, topic: str) -> None:
    """Create a topic, and wait until it can be used."""
    tools = gateways[0].bootstrap_servers("tools")
    clients.create(tools, topic)
    clients.await_led(tools, topic)


def test_a_member_with_an_expression_goes_on(
    gateways: Gateways, wires: tuple[Wire, Wire], direct: Wire, member: Member, unique: Names
) -> None:
    stem = unique("team-a:regex")
    create(gateways, f"{stem}-1")
    member.join(wires[0], (), f"{stem}-[0-9]")
    epoch = member.epoch
    member.beat(wires[1])
    assert (member.error, member.epoch) == (0, epoch)
    # The gateway knows the expression: of the new topics, only matches are assigned.
    create(gateways, f"{stem}-other")
    create(gateways, f"{stem}-2")
    member.await_topics(wires[1], 2)
    # And back, by a connection that was idle meanwhile.
    member.beat(wires[0])
    assert member.error == 0
    create(gateways, f"{stem}-3")
    member.await_topics(wires[0], 3)

    (at_broker,) = described(direct, member.group).members
    marks = [name for name in at_broker.subscribed_topic_names if name.startswith(PREFIX)]
    assert len(marks) == 1
    (shown,) = described(wires[1], member.group).members
    # As at a broker: the client's expression, not the topics that match it.
    assert (shown.subscribed_topic_names, shown.subscribed_topic_regex) == ((), f"{stem}-[0-9]")
    member.epoch = LEAVE
    member.beat(wires[1])
    assert member.error == 0


def test_a_member_with_names_goes_on_and_gets_a_topic_that_comes_later(
    gateways: Gateways, wires: tuple[Wire, Wire], member: Member, unique: Names
) -> None:
    """If no namespace of the cluster has a name, the gateway leaves it out of the broker's
    request."""
    there, later = unique("team-a:there"), unique("team-a:later")
    create(gateways, there)
    member.join(wires[0], (there, later), "")
    member.beat(wires[1])
    assert member.error == 0
    create(gateways, later)
    member.await_topics(wires[1], 2)


def test_a_changed_subscription_is_known_at_the_gateway_before(
    gateways: Gateways, wires: tuple[Wire, Wire], member: Member, unique: Names
) -> None:
    """A new connection does not continue with the subscription that its gateway remembered."""
    stem = unique("team-a:change")
    for kind in "ab":
        create(gateways, f"{stem}-{kind}-1")
    member.join(wires[0], (), f"{stem}-a-.*")
    member.beat(wires[1], subscribed_topic_names=(), subscribed_topic_regex=f"{stem}-b-.*")
    assert member.error == 0
    at_first = coordinator(gateways[0].bootstrap_servers("all"), member.group)
    with Wire(at_first) as again:
        create(gateways, f"{stem}-a-2")
        create(gateways, f"{stem}-b-2")
        member.await_topics(again, 2)
        (shown,) = described(again, member.group).members
    assert shown.subscribed_topic_regex == f"{stem}-b-.*"


def test_what_the_broker_knows_nothing_of_is_the_brokers_to_reject(
    gateways: Gateways, wires: tuple[Wire, Wire], member: Member, unique: Names
) -> None:
    topic = unique("team-a:strangers")
    create(gateways, topic)
    member.join(wires[0], (topic,), "")
    stranger = Member(member.group)
    stranger.epoch = member.epoch
    stranger.beat(wires[1])
    assert stranger.error == UNKNOWN_MEMBER_ID


def test_a_member_that_joined_the_broker_itself_joins_again(
    gateways: Gateways, wires: tuple[Wire, Wire], direct: Wire, member: Member, unique: Names
) -> None:
    """The member's expression at the broker is over flat names, of all namespaces."""
    topic = unique("direct")
    create(gateways, topic)
    member.join(direct, (), f"{topic}.*")
    member.beat(wires[1])
    assert member.error == FENCED_MEMBER_EPOCH
