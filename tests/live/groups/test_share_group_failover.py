"""Share groups go on when the leader of their partition, or the share coordinator, fails over.

Members behind the gateway and members direct at the brokers work at once, so that one failure
strikes both.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.support import clients, share_workers
from tests.live.support.fixtures import own_gateway
from tests.live.support.share_workers import Member
from tests.live.support.wire import Wire

pytestmark = pytest.mark.long("brokers")

LEADER, COORDINATOR = 2, 3
"""The brokers that lead the partitions, and the groups' states; node 1 is the controller."""

SHARE: Final = 2
"""The key type of FindCoordinator for a share coordinator (KIP-932)."""

VALUES: Final = [*(f"again-{number}" for number in range(10)), *map(str, range(190))]
BEFORE: Final = 40
PACE: Final = {"max.poll.records": "5"}
PREFIX: Final = "team-a.."

FAILOVER_SECONDS: Final = 2 * clients.SECONDS
"""Direct it takes a minute on a busy machine: a new leader, and the ends of locks."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    """Three brokers that may be killed."""
    with KafkaCluster(3, missed_quickly=True, overrides=share_workers.QUICK) as cluster:
        yield cluster


gateway = own_gateway(Listener("home-a", "team-a is home", home="team-a"), namespaces=["team-a"])


def share_coordinator(kafka: KafkaCluster, group: str, flat: str) -> int:
    """The broker that keeps a group's state of partition 0 of a topic (flat names)."""
    with Wire(kafka.addresses[1]) as wire:
        (topic,) = wire.ask("Metadata", 12, topics=[{"name": flat}]).topics
        encoded = base64.urlsafe_b64encode(topic.topic_id.bytes).decode().rstrip("=")
        keys = [f"{group}:{encoded}:0"]

        def found() -> int | None:
            (each,) = wire.ask(
                "FindCoordinator", 6, key_type=SHARE, coordinator_keys=keys
            ).coordinators
            return None if int(each.error_code) else int(each.node_id)

        return wait_until(lambda: found() or 0, f"the share coordinator of {keys}", clients.SECONDS)


def group_at_coordinator(kafka: KafkaCluster, prefix: str, topic: str) -> str:
    """A group whose state of a topic COORDINATOR keeps."""
    for number in itertools.count():
        group = f"{topic}-{number}"
        if share_coordinator(kafka, f"{prefix}{group}", f"{prefix}{topic}") == COORDINATOR:
            return group
    raise AssertionError


@pytest.mark.parametrize("failing", [LEADER, COORDINATOR], ids=["leader", "share-coordinator"])
def test_a_broker_that_is_killed(
    gateway: GatewayProcess, kafka: KafkaCluster, tmp_path: Path, failing: int
) -> None:
    """Every record is acknowledged in the end; none is given out again after its acceptance."""
    places = {"direct": kafka.bootstrap_servers, "home": gateway.bootstrap_servers("home-a")}
    prefixes = {"direct": "", "home": PREFIX}
    topic, groups = f"queue-{failing}", {}
    for name, servers in places.items():
        wanted = NewTopic(topic, 1, replica_assignment=[[LEADER, 1, COORDINATOR]])
        create_topics(clients.admin(servers), [wanted])
        clients.await_led(servers, topic)
        groups[name] = group_at_coordinator(kafka, prefixes[name], topic)
        share_workers.from_the_beginning(kafka, f"{prefixes[name]}{groups[name]}")
        share_workers.produce(servers, topic, VALUES)
    members = [
        Member(name, at, groups[name], (topic,), 0, 100, PACE) for name, at in places.items()
    ]
    with share_workers.share_workers(tmp_path, *members) as workers:
        for name in places:
            workers.await_more(name, "accept", BEFORE)
        kafka.kill_broker(failing)
        for name in places:
            assert len(workers.values(name, "accept")) < len(VALUES), "it was over before"
        for name in places:
            group, flat = f"{prefixes[name]}{groups[name]}", f"{prefixes[name]}{topic}"
            share_workers.await_done(kafka, group, flat, FAILOVER_SECONDS)
    kafka.restart_broker(failing)
    for name in places:
        outcome = workers.outcome(name)
        lost = {*VALUES} - outcome.accepted
        assert lost <= workers.values(name, "failed") | workers.values(name, "unanswered"), name
        assert workers.values(name, "take") == {*VALUES}
        assert outcome.again == frozenset(), name
    assert workers.errors("home") <= workers.errors("direct")
