"""The audit topic's broker is killed: clients continue, files are complete, drops are counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway.catalog.log.topics import CATALOG_TOPIC
from gateway.catalog.log.topics import CONFIGS as CATALOG_CONFIGS
from tests.live.operations import audited
from tests.live.operations.audited import ADMIN, ALICE, AUDIT_TOPIC
from tests.live.operations.test_metrics import Scrape
from tests.live.support import clients

pytestmark = pytest.mark.long("kills")

QUEUE = 100


@dataclass(frozen=True)
class World:
    """A cluster of two brokers; the audit topic is on the second, all other topics on the first."""

    kafka: KafkaCluster
    gateway: GatewayProcess
    directory: Path

    def denied(self, alice: AdminClient, count: int, start: int) -> None:
        """Request so many topics that alice may not create, all of them in a single request."""
        topics = [NewTopic(f"org:no-{number}", 1, 1) for number in range(start, start + count)]
        for future in alice.create_topics(topics).values():
            assert clients.error_code(future) == KafkaError.TOPIC_AUTHORIZATION_FAILED

    def scrape(self) -> Scrape:
        return Scrape(self.gateway.metrics())

    def has_in_files(self, count: int) -> bool:
        events = audited.in_files(self.directory)
        found = [event for event in events if event["subject"].startswith("TOPIC org:no-")]
        return len(found) == count


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with KafkaCluster(missed_quickly=True) as kafka:
        kafka.add_broker(2)
        made = [
            NewTopic(CATALOG_TOPIC, 1, replica_assignment=[[1]], config=CATALOG_CONFIGS),
            NewTopic(AUDIT_TOPIC, 2, replica_assignment=[[2], [2]]),
            NewTopic("orders", 1, replica_assignment=[[1]]),
        ]
        create_topics(clients.admin(kafka.bootstrap_servers), made)
        with audited.gateway(kafka, tmp_path, max_queued_events=QUEUE) as gateway:
            yield World(kafka, gateway, tmp_path)


def test_clients_go_on_and_drops_are_counted(world: World) -> None:
    servers = world.gateway.bootstrap_servers("clients")
    alice = audited.admin(servers, ALICE)
    world.denied(alice, 10, 0)
    wait_until(lambda: world.has_in_files(10), "the first events", clients.SECONDS)
    world.kafka.kill_broker(2)
    # Until then clients are sent to the lost broker in vain, as without a gateway.
    wait_until(
        lambda: world.kafka.live_brokers() == {1}, "that the cluster notices", clients.SECONDS
    )
    alice = audited.admin(servers, ALICE)
    # Ten times more events than the queue holds, and no client notices.
    everything = 10
    for burst in range(10):
        world.denied(alice, QUEUE, everything)
        clients.produce(servers, "orders", [str(burst)], **audited.login(ADMIN))
        everything += QUEUE
        # The files have a queue of that length, too.
        wait_until(partial(world.has_in_files, everything), "the files' events", clients.SECONDS)

    def counted() -> bool:
        dropped = world.scrape().sum("audit_events_dropped_total", sink="topic")
        return dropped >= 8 * QUEUE

    wait_until(counted, "the counts of drops", clients.SECONDS)
    assert world.scrape().sum("audit_events_dropped_total", sink="file") == 0
    world.kafka.restart_broker(2)

    def all_told() -> bool:
        scrape = world.scrape()
        written = scrape.sum("audit_events_written_total", sink="topic")
        dropped = scrape.sum("audit_events_dropped_total", sink="topic")
        return written + dropped == scrape.sum("audit_events_total") > everything

    wait_until(all_told, "that each event is written or counted", clients.SECONDS)
    world.denied(alice, 1, everything)

    def arrived() -> bool:
        subjects = {event["subject"] for _, _, event in audited.in_topic(world.kafka)}
        return f"TOPIC org:no-{everything}" in subjects

    wait_until(arrived, "an event after the broker's return", clients.SECONDS)
    dropped = world.scrape().sum("audit_events_dropped_total", sink="topic")
    in_topic = {event["id"] for _, _, event in audited.in_topic(world.kafka)}
    in_files = {event["id"] for event in audited.in_files(world.directory)}
    assert in_topic <= in_files
    assert len(in_files - in_topic) == dropped
