"""The gateway of a tree starts while a cluster is down, and restarts under load."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, processes, steady
from tests.live.tree.conftest import LISTENERS, mounted
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
START_SECONDS = 40
"""Seconds until the gateway serves the first cluster, if idle: 10 for the second, then the
start."""
LATE = 1
"""The number of the volume at ``la:tracking``."""


@pytest.fixture(scope="module")
def late() -> Iterator[KafkaCluster]:
    """The cluster at ``la:tracking``, which was there before."""
    with KafkaCluster(missed_quickly=True) as cluster:
        yield cluster


def test_a_cluster_that_is_down_at_the_start_comes_later(
    late: KafkaCluster, ny: KafkaCluster, pace: Pace
) -> None:
    clusters = mounted(late, ny)
    late.kill_broker(1)
    began = time.monotonic()
    with GatewayProcess(clusters, LISTENERS, []) as gateway:
        assert time.monotonic() - began < pace.stretched(START_SECONDS)
        la, ny_servers = gateway.bootstrap_servers("la"), gateway.bootstrap_servers("ny")
        clients.create(la, ":ny:tracking:search:early")
        clients.await_led(la, ":ny:tracking:search:early")
        clients.produce(la, ":ny:tracking:search:early", ["one", "two"])
        found = clients.consume(ny_servers, "search:early", 2, "early")
        assert found == ["one", "two"]
        producer = steady.producer("early", la, ":ny:tracking:search:early")
        producer.lost_volume = LATE
        with producer:
            producer.await_progress("the start")
            late.restart_broker(1)
            _await_created(la, "search:late")
            clients.produce(la, "search:late", ["three"])
            assert clients.consume(la, "search:late", 1, "late") == ["three"]
            producer.await_progress("the other cluster came")
        producer.check()
        steady.once_each(producer.acked[":ny:tracking:search:early"])


def _await_created(servers: str, topic: str) -> None:
    def created() -> bool:
        future = clients.admin(servers).create_topics([NewTopic(topic, 1)])[topic]
        return future.exception(SECONDS) is None

    wait_until(created, f"the creation of {topic}", SECONDS, poll=0.5)
    clients.await_led(servers, topic)


def _killed(gateway: GatewayProcess) -> None:
    gateway.kill()


def _stopped(gateway: GatewayProcess) -> None:
    assert gateway.process.terminate(SECONDS) == 0
    gateway.kill()


@pytest.mark.parametrize("ends", [_killed, _stopped])
def test_a_restart_loses_and_doubles_nothing(
    ends: Callable[[GatewayProcess], None], la: KafkaCluster, ny: KafkaCluster
) -> None:
    name = f"restart{ends.__name__.replace('_', '-')}"
    topics = [name, f":ny:tracking:search:{name}"]
    with GatewayProcess(mounted(la, ny), LISTENERS, []) as gateway:
        servers = gateway.bootstrap_servers("la")
        clients.create(servers, *topics, partitions=2)
        clients.await_led(servers, *topics)
        with ExitStack() as stack:
            producer = stack.enter_context(
                steady.producer("p", servers, *topics, ignoring=True, linger_ms=5)
            )
            member = stack.enter_context(
                steady.member("m", servers, f"group-{name}", *topics, ignoring=True)
            )
            for each in (producer, member):
                for topic in topics:
                    each.await_progress("the start", topic)
            ends(gateway)
            gateway.start_again()
            processes.forget_killed(la, ny)
            for each in (producer, member):
                for topic in topics:
                    each.await_progress("the restart", topic)
            producer.stop()
            for topic in topics:
                member.await_seen(topic, producer.acked[topic])
        for each in (producer, member):
            each.check()
        for cluster, flat, topic in (la, name, topics[0]), (ny, f"search..{name}", topics[1]):
            sent = producer.acked[topic]
            stored = clients.consume(cluster.bootstrap_servers, flat, len(sent), f"direct-{name}")
            assert sorted(stored) == sorted(sent)
