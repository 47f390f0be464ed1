"""If a cluster of a tree dies or hangs, clients of the other cluster do not notice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, steady
from tests.live.support.steady_java import java_producer
from tests.live.support.wire import Wire
from tests.live.tree.conftest import LISTENERS, mounted

pytestmark = pytest.mark.alone

SECONDS = clients.SECONDS
NONE, UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, COORDINATOR_NOT_AVAILABLE = 0, 3, 5, 15
LOST = 1
"""The number of the volume at ``la:tracking``."""
STALENESS = 5
AT_ONCE, BOUNDED = 0.4, 1.5
"""Seconds for a response, 0.5 of them for the wait; the rest is for a busy machine."""
FEW = 10
"""Responses in which a topic of the other cluster has no leader, because it took over 0.5 s."""


@pytest.fixture(scope="module")
def dying() -> Iterator[KafkaCluster]:
    """The cluster at ``la:tracking``."""
    with KafkaCluster(missed_quickly=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def gateway(dying: KafkaCluster, ny: KafkaCluster) -> Iterator[GatewayProcess]:
    overrides = {"catalog": {"max_staleness": STALENESS}}
    with GatewayProcess(mounted(dying, ny), LISTENERS, [], overrides=overrides) as process:
        yield process


class Seen:
    """The Metadata of the tree while both clusters were up."""

    def __init__(self, gateway: GatewayProcess, *names: str) -> None:
        self.servers = gateway.bootstrap_servers("la")
        self.found = metadata(self.servers, *names)
        self.topics = {topic.name: topic for topic in self.found.topics}
        self.addresses = [self.servers, *(f"{b.host}:{b.port}" for b in self.found.brokers)]

    def check(self, topic: str, other: str, seconds: float) -> None:
        """Check that every node responds soon about a topic of the lost cluster and another
        topic."""
        for address in self.addresses:
            began = time.monotonic()
            now = metadata(address, topic, other, ":la:tracking:search:never")
            took = time.monotonic() - began
            assert took < seconds, f"{address} took {took:.2f} s"
            assert brokers(now) == brokers(self.found)
            assert now.cluster_id == self.found.cluster_id
            assert now.controller_id == self.found.controller_id
            lost, live, never = now.topics
            before = self.topics[topic]
            assert (lost.error_code, lost.topic_id) == (NONE, before.topic_id)
            assert len(lost.partitions) == len(before.partitions)
            for partition in lost.partitions:
                assert (partition.error_code, partition.leader_id) == (LEADER_NOT_AVAILABLE, -1)
            assert live == self.topics[other]
            assert never.error_code == LEADER_NOT_AVAILABLE


def metadata(address: str, *names: str) -> Any:
    with Wire(address) as wire:
        topics = [{"topic_id": None, "name": name} for name in names]
        return wire.ask("Metadata", 12, topics=topics, allow_auto_topic_creation=False)


def brokers(answer: Any) -> list[tuple[int, str, int]]:
    return sorted((each.node_id, each.host, each.port) for each in answer.brokers)


def coordinator(address: str, group: str) -> tuple[int, float]:
    """The error that FindCoordinator returns, and the seconds that it takes."""
    began = time.monotonic()
    with Wire(address) as wire:
        (found,) = wire.ask("FindCoordinator", 4, key_type=0, coordinator_keys=[group]).coordinators
    return int(found.error_code), time.monotonic() - began


@contextmanager
def killed(cluster: KafkaCluster) -> Iterator[None]:
    cluster.kill_broker(1)
    try:
        yield
    finally:
        cluster.restart_broker(1)


@contextmanager
def stopped(cluster: KafkaCluster) -> Iterator[None]:
    process = psutil.Process(cluster.process_id(1))
    process.suspend()
    try:
        yield
    finally:
        process.resume()


@pytest.mark.parametrize("losing", [killed, stopped])
def test_clients_of_the_other_cluster_see_no_error(
    losing: Callable[[KafkaCluster], Any],
    gateway: GatewayProcess,
    dying: KafkaCluster,
    ny: KafkaCluster,
    tmp_path: Path,
) -> None:
    how = losing.__name__
    la, ny_servers = gateway.bootstrap_servers("la"), gateway.bootstrap_servers("ny")
    legal = gateway.bootstrap_servers("legal")
    lost, live = f"{how}-lost", f":ny:tracking:search:{how}-live"
    flat = f"search..{how}-live"
    clients.create(la, lost, live, partitions=3)
    clients.await_led(la, lost, live)
    one_of_each = {
        kind: f":ny:tracking:search:{how}-{kind}" for kind in ("java", "aiokafka", "python")
    }
    clients.create(la, *one_of_each.values())
    for name in one_of_each.values():
        clients.await_led(la, name)
    # Groups of the lost cluster have a coordinator.
    assert clients.produce(la, lost, ["x"])
    assert clients.consume(la, lost, 1, f"{how}-home") == ["x"]
    seen = Seen(gateway, lost, live)

    often = {"topic_metadata_refresh_interval_ms": 200}
    both = steady.producer("both", la, lost, live, ignoring=True, **often)
    reading_both = steady.member(
        "reads both", la, f":ny:tracking:{how}-both", lost, live, ignoring=True
    )
    admin = steady.admin("admin", la, live)
    untouched = [
        steady.producer("absolute", la, live, **often),
        steady.producer("relative", ny_servers, f"search:{how}-live", **often),
        steady.member("group", la, f":ny:tracking:{how}-group", live),
        steady.member("own group", ny_servers, f"{how}-own", f"search:{how}-live"),
        admin,
        steady.aiokafka("aiokafka", la, one_of_each["aiokafka"], f":ny:tracking:{how}-aiokafka"),
        steady.kafka_python(
            "kafka-python",
            legal,
            f"..ny.tracking.search..{how}-python",
            f"..ny.tracking..{how}-python",
        ),
    ]
    for each in untouched:
        each.lost_volume = LOST
    with ExitStack() as stack:
        java = stack.enter_context(java_producer(la, tmp_path, lost, one_of_each["java"]))
        running = [stack.enter_context(each) for each in (*untouched, both, reading_both)]
        for each in running:
            each.await_progress("the start")
        both.await_progress("the start", lost)
        reading_both.await_progress("the start", lost)
        known = gateway.log().count("is not reachable")
        joined = {each.name: each.assignments for each in running}
        with losing(dying):
            seen.check(lost, live, BOUNDED)
            assert coordinator(la, f"{how}-home")[0] == COORDINATOR_NOT_AVAILABLE
            gateway.wait_for_log("is not reachable", known + 1)
            seen.check(lost, live, AT_ONCE)
            error, took = coordinator(la, f"{how}-home")
            assert error == COORDINATOR_NOT_AVAILABLE
            assert took < AT_ONCE
            for each in untouched:
                each.await_progress("the loss")
            both.await_progress("the loss", live)
            reading_both.await_progress("the loss", live)
            time.sleep(2 * STALENESS)  # the catalog of the lost cluster is stale by now
            seen.check(lost, live, AT_ONCE)
            for each in untouched:
                each.await_progress("the catalog is stale")
            both.await_progress("the catalog is stale", live)
            reading_both.await_progress("the catalog is stale", live)
        both.await_progress("the return", lost)
        reading_both.await_progress("the return", lost)
        assert {each.name: each.assignments for each in running} == joined, "a group rebalanced"
        for each in (both, *untouched[:2]):
            each.stop()
            each.check()
        due = [*both.acked[live], *untouched[0].acked[live]]
        due += untouched[1].acked[f"search:{how}-live"]
        untouched[2].await_seen(live, due)
        untouched[3].await_seen(f"search:{how}-live", due)
        reading_both.await_seen(live, due)
        reading_both.await_seen(lost, both.acked[lost])
    assert admin.leaderless <= FEW, "a topic of the other cluster was without leaders"
    for each in (*untouched, both, reading_both):
        each.check()
        for records in (*each.acked.values(), *each.seen.values()):
            steady.once_each(records)
    _check_stored(ny, flat, due)
    _check_stored(dying, lost, ["x", *both.acked[lost], *java.acked(lost)])
    assert not java.failed
    name = one_of_each["java"]
    _check_stored(ny, f"search..{how}-java", java.acked(name))


def _check_stored(cluster: KafkaCluster, flat: str, sent: list[str]) -> None:
    """Check that a topic stores these records, each once."""
    stored = clients.consume(cluster.bootstrap_servers, flat, len(sent), f"direct-{flat}")
    assert sorted(stored) == sorted(sent)
