"""A producer writes to both clusters while brokers respond slowly, or responses are lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from devkit.broker import KafkaCluster
from devkit.gateway_config import MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol.headers import frame
from tests.live.records import relay as relays
from tests.live.support import clients, processes, steady
from tests.live.support.steady_java import java_producer
from tests.live.tree.conftest import LISTENERS
from tests.live.tree.volumes import LA, NY

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
PRODUCE = 0
SLOW = 0.4
"""Seconds that a response to Produce takes."""


class Relay(relays.FaultyRelay):
    """A relay that delays responses to Produce by ``delay`` seconds.

    If ``lost_every`` is set, each so many-th response is lost with its connection, although its
    records are written.
    """

    def __init__(self) -> None:
        super().__init__()
        self.delay = 0.0
        self.lost_every = 0
        self.lost = 0
        self.produced = 0

    async def _answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: relays.Asked
    ) -> None:
        while True:
            payload = await relays._payload(reader)
            api_key, _, _ = asked.pop(int.from_bytes(payload[:4], "big"))
            if api_key == PRODUCE:
                self.produced += 1
                if self.lost_every and not self.produced % self.lost_every:
                    self.lost += 1
                    return
                await asyncio.sleep(self.delay)
            writer.write(frame(payload))
            await writer.drain()


@contextmanager
def _relayed() -> Iterator[tuple[Relay, KafkaCluster]]:
    with Relay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        with KafkaCluster(overrides=advertised) as kafka:
            relay.upstream = kafka.addresses[1]
            yield relay, kafka


Site = tuple[GatewayProcess, dict[str, tuple[Relay, KafkaCluster]]]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The gateway, and by mount the cluster and the relay before its broker."""
    with _relayed() as la, _relayed() as ny:
        clusters = [
            MountedCluster(LA, 1, la[0].address),
            MountedCluster(NY, 2, ny[0].address),
        ]
        with GatewayProcess(clusters, LISTENERS, []) as gateway:
            yield gateway, {LA: la, NY: ny}


@contextmanager
def faults(site: Site, *, delay: float = 0.0, lost_every: int = 0) -> Iterator[list[Relay]]:
    """Set the faults of all relays for the body of the ``with``."""
    all_relays = [relay for relay, _ in site[1].values()]
    for relay in all_relays:
        relay.delay, relay.lost_every, relay.lost = delay, lost_every, 0
    try:
        yield all_relays
    finally:
        for relay in all_relays:
            relay.delay, relay.lost_every = 0.0, 0


def _await_lost(relays_of_all: list[Relay], count: int, problems: Sequence[str] = ()) -> None:
    """Wait until each relay has lost more than so many responses.

    On a busy machine, requests have more records, and there are fewer responses to lose.
    ``problems`` of a client end the wait.
    """

    def lost() -> bool:
        return bool(problems) or all(relay.lost > count for relay in relays_of_all)

    wait_until(lost, f"more than {count} lost answers", SECONDS)


def stored(site: Site, mount: str, topic: str, count: int) -> list[str]:
    """All records of a topic on its broker, including any beyond ``count``."""
    _, kafka = site[1][mount]
    servers = kafka.bootstrap_servers
    with clients.consumer(servers, f"direct-{topic}", enable_partition_eof=False) as reader:
        low_high = [reader.get_watermark_offsets(part, SECONDS) for part in _parts(reader, topic)]
        total = sum(high - low for low, high in low_high)
        reader.subscribe([topic])
        records = clients.take(reader, total)
    assert total >= count
    return clients.values(records)


def _parts(reader: Consumer, topic: str) -> list[TopicPartition]:
    found = reader.list_topics(topic, SECONDS).topics[topic]
    return [TopicPartition(topic, number) for number in found.partitions]


def test_a_changing_question_sends_no_record_twice(site: Site) -> None:
    """librdkafka forgets a broker that a Metadata response does not list, with its pending
    requests.

    Without idempotence it would send the records again. (Kafka lists all brokers each time.)
    """
    gateway, _ = site
    servers = gateway.bootstrap_servers("la")
    pairs = [(f"slow{number}", f":ny:tracking:slow{number}") for number in range(6)]
    clients.create(servers, *(topic for pair in pairs for topic in pair))
    clients.await_led(servers, *(topic for pair in pairs for topic in pair))
    acked: list[Message] = []
    problems: list[object] = []

    def delivered(error: object, message: Message) -> None:
        if error is None:
            acked.append(message)
        else:
            problems.append(error)

    settings = clients.settings(
        servers,
        linger_ms=0,
        acks="all",
        topic_metadata_refresh_interval_ms=50,
        socket_timeout_ms=int(1_000 * SECONDS),  # after this time librdkafka itself would resend
    )
    producer = Producer(settings)
    with faults(site, delay=SLOW):
        for pair in pairs:
            for number in range(40):
                for topic in pair:
                    producer.produce(topic, str(number), on_delivery=delivered)
                # A request about a single cluster's topic, while both clusters' records are in
                # flight.
                producer.list_topics(pair[number % 2], timeout=SECONDS)
                producer.poll(0.01)
        assert producer.flush(SECONDS) == 0
    assert not problems
    sent = sorted(str(number) for number in range(40))
    for own, other in pairs:
        assert sorted(stored(site, LA, own, 40)) == sent
        assert sorted(stored(site, NY, other.rpartition(":")[2], 40)) == sent


def test_lost_answers_lose_and_double_nothing(site: Site) -> None:
    """If an idempotent producer retries written records, brokers recognize its ids and
    sequences."""
    gateway, _ = site
    servers = gateway.bootstrap_servers("la")
    topics = ["lost", ":ny:tracking:lost"]
    clients.create(servers, *topics, partitions=2)
    clients.await_led(servers, *topics)
    with faults(site, lost_every=7) as relay_of_each:
        with steady.producer("p", servers, *topics, ignoring=True) as producer:
            for _ in range(20):
                for topic in topics:
                    producer.await_progress("lost answers", topic)
            _await_lost(relay_of_each, 5, producer.problems)
        producer.check()
    for mount, topic in zip((LA, NY), topics, strict=True):
        sent = producer.acked[topic]
        assert sorted(stored(site, mount, "lost", len(sent))) == sorted(sent)


def test_lost_answers_to_java(site: Site, tmp_path: Path) -> None:
    gateway, _ = site
    servers = gateway.bootstrap_servers("la")
    topics = ["java", ":ny:tracking:java"]
    clients.create(servers, *topics)
    clients.await_led(servers, *topics)
    with (
        faults(site, lost_every=5) as relay_of_each,
        java_producer(servers, tmp_path, *topics, pause_ms=20) as java,
    ):
        java.await_acked(100)
        _await_lost(relay_of_each, 2)
    assert not java.failed
    for mount, topic in zip((LA, NY), topics, strict=True):
        sent = java.acked(topic)
        assert stored(site, mount, "java", len(sent)) == sent


async def test_lost_answers_to_aiokafka(site: Site) -> None:
    gateway, _ = site
    servers = gateway.bootstrap_servers("la")
    for mount, topic in (LA, "aio"), (NY, ":ny:tracking:aio"):
        clients.create(servers, topic)
        clients.await_led(servers, topic)
        with faults(site, lost_every=9):
            with steady.aiokafka("a", servers, topic, f"{topic}-group") as client:
                for _ in range(3):
                    client.await_progress("lost answers")
            client.check()
        sent = client.acked[topic]
        assert stored(site, mount, "aio", len(sent)) == sent


def test_a_killed_worker_loses_and_doubles_nothing(site: Site) -> None:
    """The supervisor starts another worker; until then clients retry."""
    gateway, _ = site
    servers = gateway.bootstrap_servers("la")
    topics = ["worker", ":ny:tracking:worker"]
    clients.create(servers, *topics)
    clients.await_led(servers, *topics)
    with steady.producer("p", servers, *topics, ignoring=True) as producer:
        for _ in range(3):
            for topic in topics:
                producer.await_progress("a worker was killed", topic)
            (worker,) = processes.workers(gateway)
            worker.kill()
        for topic in topics:
            producer.await_progress("the last worker was killed", topic)
    producer.check()
    for mount, topic in zip((LA, NY), topics, strict=True):
        sent = producer.acked[topic]
        assert stored(site, mount, "worker", len(sent)) == sent
