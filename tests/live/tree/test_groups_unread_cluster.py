"""A group of the consumer protocol over two clusters at a gateway that is started while one of them
is down."""

from __future__ import annotations

import re
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire
from tests.live.tree.conftest import LISTENERS, mounted
from tests.live.tree.group_tools import COUNT, fill, more, shadow_of

pytestmark = pytest.mark.long("kills")

QUICK = {
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
HEARTBEATS = 5
GROUP = "unread"


def member_at(cluster: KafkaCluster) -> tuple[Any, ...]:
    """The only member of the group as its broker has it: id, epoch, subscription, assignment."""
    with Wire(clients.any_broker(cluster.bootstrap_servers)) as wire:
        (group,) = wire.ask("ConsumerGroupDescribe", 0, group_ids=[GROUP]).groups
    (member,) = group.members
    assigned = sorted(
        (each.topic_name, each.partitions) for each in member.assignment.topic_partitions
    )
    names = sorted(member.subscribed_topic_names)
    return member.member_id, member.member_epoch, names, assigned


def heartbeats(gateway: GatewayProcess) -> float:
    """The heartbeats of members that the gateway has had."""
    pattern = r'^kafka_gateway_requests_total\{.*api="ConsumerGroupHeartbeat".*\} (\S+)$'
    return sum(map(float, re.findall(pattern, gateway.metrics(), re.MULTILINE)))


def test_a_member_keeps_its_partitions() -> None:
    """Its broker sees no change at all: neither another subscription nor another epoch."""
    here, there = "unread-here", ":ny:tracking:unread-there"
    with (
        KafkaCluster(overrides=QUICK) as la,
        KafkaCluster(missed_quickly=True) as ny,
        GatewayProcess(mounted(la, ny), LISTENERS, []) as gateway,
    ):
        servers = gateway.bootstrap_servers("la")
        fill(servers, here, there, partitions=2)
        with clients.consumer(servers, GROUP, **{"group.protocol": "consumer"}) as client:
            client.subscribe([here, there])
            clients.take(client, 4 * COUNT)
            before = member_at(la)
            shadow = shadow_of(ny, "unread-there", 2)
            assert before[3] == sorted([(here, (0, 1)), (shadow, (0, 1))])

            ny.kill_broker(1)
            gateway.kill()
            gateway.start_again()
            more(servers, here, count=1)
            assert [record.topic() for record in clients.take(client, 1)] == [here]
            wait_until(
                lambda: heartbeats(gateway) >= HEARTBEATS, "some heartbeats", clients.SECONDS
            )
            assert member_at(la) == before
            assert {part.topic for part in client.assignment()} == {here, there}

            ny.restart_broker(1)
            clients.await_led(servers, there)
            more(servers, there, count=1)
            assert [record.topic() for record in clients.take(client, 1)] == [there]
            assert member_at(la) == before
