"""A described KIP-848 member has its own expression and the names that it subscribed to itself.

The gateway describes it as a broker does.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire

SECONDS: Final = clients.SECONDS
NOT_YET: Final = frozenset({14, 15, 16})
"""Error codes while a group's coordinator is not available yet."""


class Subscription(NamedTuple):
    """A member's subscription: names without the prefix of its namespace, and an expression."""

    names: list[str] | None
    regex: str | None


class Shown(NamedTuple):
    """A member's subscription as ConsumerGroupDescribe returns it."""

    names: tuple[str, ...]
    regex: str | None


def join(wire: Wire, group: str, subscribed: Subscription) -> None:
    """Join a group, and send no more heartbeats."""

    def joined() -> bool:
        wire.ask("FindCoordinator", 3, key=group, key_type=0)  # brokers create coordinators
        answer = beat(wire, group, 0, subscribed)
        assert answer.error_code in {0, *NOT_YET}, answer
        return int(answer.error_code) == 0

    wait_until(joined, "a coordinator takes the member", SECONDS)


def beat(wire: Wire, group: str, epoch: int, subscribed: Subscription) -> Any:
    return wire.ask(
        "ConsumerGroupHeartbeat",
        1,
        group_id=group,
        member_id="member",
        member_epoch=epoch,
        instance_id=None,
        rack_id=None,
        rebalance_timeout=timedelta(minutes=5),
        subscribed_topic_names=subscribed.names,
        subscribed_topic_regex=subscribed.regex,
        server_assignor=None,
        topic_partitions=[] if epoch == 0 else None,
    )


def described(wire: Wire, version: int, group: str) -> Shown:
    answer = wire.ask("ConsumerGroupDescribe", version, group_ids=[group])
    (found,) = answer.groups
    assert not found.error_code, found
    (member,) = found.members
    return Shown(tuple(sorted(member.subscribed_topic_names)), member.subscribed_topic_regex)


SUBSCRIPTIONS: Final = {
    "expression": Subscription([], "{topic}.*"),
    "expression that matches nothing": Subscription([], "no-such-topic-.*"),
    "expression and a name": Subscription(["{topic}-2"], "{topic}-1"),
    "names": Subscription(["{topic}-1", "{topic}-2"], ""),
}


@pytest.mark.parametrize("what", SUBSCRIPTIONS)
@pytest.mark.parametrize(
    ("listener", "prefix"),
    [("colon", ""), ("colon", "team-a:"), ("home-a", ""), ("legal", "team-a..")],
)
def test_a_member_is_described_as_by_a_broker(
    kafka: KafkaCluster,
    gateway: GatewayProcess,
    unique: Callable[[str], str],
    listener: str,
    prefix: str,
    what: str,
) -> None:
    topic, group = unique("described"), unique("group")
    at_gateway = gateway.bootstrap_servers(listener)
    for number in (1, 2):
        clients.create(kafka.bootstrap_servers, f"{topic}-{number}")
        if prefix or listener == "home-a":
            clients.create(at_gateway, f"{prefix}{topic}-{number}")
    names, regex = SUBSCRIPTIONS[what]
    assert names is not None
    assert regex is not None

    def subscription(before: str) -> Subscription:
        own = [before + name.format(topic=topic) for name in names]
        return Subscription(own, before + regex.format(topic=topic) if regex else "")

    with Wire(kafka.bootstrap_servers) as direct, Wire(at_gateway) as through:
        join(direct, f"{group}-direct", subscription(""))
        join(through, group, subscription(prefix))
        for version in (0, 1):
            expected = described(direct, version, f"{group}-direct")
            wanted = subscription(prefix)
            assert expected == Shown(tuple(subscription("").names or ()), expected.regex)
            shown = described(through, version, group)
            assert shown.names == tuple(wanted.names or ())
            assert shown.regex == (wanted.regex if expected.regex else expected.regex)


def test_it_is_described_to_others_in_its_own_spelling(
    kafka: KafkaCluster, gateway: GatewayProcess, unique: Callable[[str], str]
) -> None:
    """Topic names are in the listener's spelling, and the expression is as its client wrote it."""
    topic, group = unique("described"), unique("group")
    home, colon = (gateway.bootstrap_servers(name) for name in ("home-a", "colon"))
    clients.create(home, f"{topic}-1")
    clients.create(home, f"{topic}-2")
    with Wire(home) as member, Wire(colon) as other:
        join(member, group, Subscription([f"{topic}-2"], f"{topic}-.*"))
        expected = Shown((f"team-a:{topic}-2",), f"{topic}-.*")
        assert described(other, 1, f"team-a..{group}") == expected


def test_an_expression_that_is_given_up_is_shown_no_more(
    kafka: KafkaCluster, colon: str, unique: Callable[[str], str]
) -> None:
    topic, group = unique("described"), unique("group")
    clients.create(colon, topic)
    shown = []
    for address, own in ((kafka.bootstrap_servers, f"{group}-direct"), (colon, group)):
        with Wire(address) as wire:
            join(wire, own, Subscription([], f"{topic}.*"))
            assert described(wire, 1, own) == Shown((), f"{topic}.*")
            epoch = beat(wire, own, 1, Subscription(None, None)).member_epoch
            answer = beat(wire, own, epoch, Subscription([topic], ""))
            assert not answer.error_code, answer
            shown.append(described(wire, 1, own))
    assert shown[0] == shown[1]
    assert shown[0].names == (topic,)
