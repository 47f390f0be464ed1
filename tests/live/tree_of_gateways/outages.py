"""Clients of a tree while a site is lost.

Some must not notice, the others use names of the lost site.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients, steady
from tests.live.support.steady import Steady
from tests.live.support.steady_java import JavaProducer, java_producer
from tests.live.tree_of_gateways.latency import Prober
from tests.live.tree_of_gateways.sites import Site, absolute, metadata
from tests.pace import Pace

NONE, LEADER_NOT_AVAILABLE, NO_LEADER = 0, 5, -1

CALM: Final = {"topic_metadata_refresh_interval_ms": 200, "pause": 2 * steady.PAUSE}
"""Settings of producers: frequent metadata, but few records, so that load does not affect
latency."""


@contextmanager
def gateway_killed(site: Site) -> Iterator[None]:
    """The gateway is killed, as by ``kill -9``, but its cluster is up."""
    site.gateway.kill()
    try:
        yield
    finally:
        site.gateway.start_again()


@contextmanager
def cluster_killed(site: Site) -> Iterator[None]:
    """The cluster is killed, but its gateway is up."""
    site.kafka.kill_broker(1)
    try:
        yield
    finally:
        site.kafka.restart_broker(1)


class Untouched:
    """Clients of a site that use only its own topics, and must see no error at all.

    This holds whatever happens to the ``lost`` site.
    """

    def __init__(self, site: Site, lost: Site, name: str) -> None:
        self.site = site
        self.loaded, self.by_aiokafka, self.probed = (
            f"{name}-{kind}" for kind in ("loaded", "aiokafka", "probed")
        )
        servers, topics = site.servers(), (self.loaded, self.by_aiokafka, self.probed)
        clients.create(servers, *topics)
        clients.await_led(servers, *topics)
        self.producer = steady.producer(f"{name} writes", servers, self.loaded, **CALM)
        self.member = steady.member(f"{name} reads", servers, f"{name}-group", self.loaded)
        self.aiokafka = steady.aiokafka(
            f"{name} aiokafka", servers, self.by_aiokafka, f"{name}-aiokafka", age_ms=2_000
        )
        self.prober = Prober(servers, self.probed)
        self.all: Sequence[Steady] = (self.producer, self.member, self.aiokafka, self.prober)
        (cluster,) = lost.gateway.plan.config["clusters"]
        for each in self.all:
            each.lost_volume = cluster["number"]

    def settle(self) -> None:
        """Stop writing, and wait until every acknowledged record has been read."""
        self.producer.stop()
        self.member.await_seen(self.loaded, self.producer.acked[self.loaded])

    def check(self) -> None:
        """Once its clients have ended, check that they saw no error.

        Every acknowledged record must be stored and read, once each.
        """
        for each in self.all:
            each.check()
        _check_stored(self.site.kafka, self.loaded, self.producer.acked[self.loaded])
        written = self.aiokafka.acked[self.by_aiokafka]
        _check_stored(self.site.kafka, self.by_aiokafka, written)
        steady.once_each(self.member.seen[self.loaded], self.aiokafka.seen[self.by_aiokafka])


class Far:
    """Clients of a site that use a topic of the lost site, beside a topic of their own cluster.

    confluent-kafka's, and a producer of Java's that is not in :attr:`all`.
    """

    def __init__(self, site: Site, lost: Site, name: str) -> None:
        self.site, self.lost = site, lost
        self.far_name, self.near_name = f"{name}-far", f"{name}-near"
        self.far = absolute(site.mount, lost.mount, self.far_name)
        self.near = absolute(site.mount, site.mount, self.near_name)
        servers, topics = site.servers(), (self.far, self.near)
        clients.create(servers, *topics)
        clients.await_led(servers, *topics)
        self.producer = steady.producer(
            f"{name} writes both", servers, *topics, ignoring=True, **CALM
        )
        self.member = steady.member(
            f"{name} reads both", servers, f"{name}-both", *topics, ignoring=True
        )
        self.all: Sequence[Steady] = (self.producer, self.member)
        self.java: JavaProducer | None = None

    @contextmanager
    def with_java(self, directory: Path) -> Iterator[None]:
        """Let a producer of Java's write to both topics as well."""
        topics = (self.far, self.near)
        with java_producer(self.site.servers(), directory, *topics) as producer:
            self.java = producer
            yield

    def await_progress(self, what: str, topic: str) -> None:
        """Wait until its clients have made progress with one of the two topics."""
        for each in self.all:
            each.await_progress(what, topic)

    def settle(self) -> None:
        """Stop writing, and wait until every acknowledged record has been read."""
        self.producer.stop()
        for topic in (self.far, self.near):
            self.member.await_seen(topic, self.producer.acked[topic])

    def check(self) -> None:
        """Once its clients have ended, check that acknowledged records are stored once each."""
        self.producer.check()
        self.member.check()
        for kafka, topic, stored in (
            (self.lost.kafka, self.far, self.far_name),
            (self.site.kafka, self.near, self.near_name),
        ):
            by_java = [] if self.java is None else self.java.acked(topic)
            _check_stored(kafka, stored, [*self.producer.acked[topic], *by_java])
        assert self.java is None or not self.java.failed


class Metadata:
    """A gateway's Metadata of a topic of the lost site and its own, before and during the
    outage."""

    def __init__(self, servers: str, lost: str, near: str) -> None:
        self._servers = servers
        self._names = (lost, near)
        wait_until(self._all_led, f"leaders of {self._names}", clients.SECONDS)
        self._before = self._ask()

    def check_lost(self, bound: float, pace: Pace) -> None:
        """Check that the lost topic has partitions without leaders, and nothing else has changed.

        The response takes ``bound`` seconds at most.
        """
        began = time.monotonic()
        now = self._ask()
        took = time.monotonic() - began
        assert took < pace.stretched(bound), f"{self._names}: {took:.2f} s"
        assert _about_tree(now) == _about_tree(self._before)
        (lost, near), (lost_before, near_before) = now.topics, self._before.topics
        assert near == near_before
        assert (lost.error_code, lost.topic_id) == (NONE, lost_before.topic_id)
        assert len(lost.partitions) == len(lost_before.partitions)
        for each in lost.partitions:
            assert (each.error_code, each.leader_id) == (LEADER_NOT_AVAILABLE, NO_LEADER)

    def await_return(self) -> None:
        """Wait until both topics have leaders again; the tree must be as before."""
        wait_until(self._all_led, f"leaders of {self._names}", clients.SECONDS)
        assert _about_tree(self._ask()) == _about_tree(self._before)

    def _all_led(self) -> bool:
        topics = self._ask().topics
        return all(
            topic.partitions and all(each.leader_id != NO_LEADER for each in topic.partitions)
            for topic in topics
        )

    def _ask(self) -> Any:
        return metadata(self._servers, *self._names)


def _about_tree(answer: Any) -> tuple[object, ...]:
    """The fields of Metadata about no particular topic."""
    brokers = sorted((each.node_id, each.host, each.port) for each in answer.brokers)
    return brokers, answer.cluster_id, answer.controller_id


def _check_stored(kafka: KafkaCluster, topic: str, sent: Sequence[str]) -> None:
    """Check that a topic stores these records, each once."""
    stored = clients.consume(kafka.bootstrap_servers, topic, len(sent), f"direct-{topic}")
    assert sorted(stored) == sorted(sent)


@contextmanager
def running(*loads: Untouched | Far) -> Iterator[None]:
    """Run the clients; the body begins when all have made progress."""
    with ExitStack() as stack:
        every = [stack.enter_context(each) for load in loads for each in load.all]
        for each in every:
            each.await_progress("the start")
        yield
