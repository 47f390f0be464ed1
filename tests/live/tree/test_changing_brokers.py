"""Brokers come and go in a cluster of a tree: all responses of all nodes list the same brokers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.support import clients, steady
from tests.live.support.wire import Wire
from tests.live.tree.conftest import LISTENERS, mounted

pytestmark = pytest.mark.long("brokers")

SECONDS = clients.SECONDS
LA_1, LA_2, NY_1 = 1 << 16 | 1, 1 << 16 | 2, 2 << 16 | 1


@pytest.fixture(scope="module")
def growing() -> Iterator[KafkaCluster]:
    """The cluster at ``la:tracking``."""
    with KafkaCluster() as cluster:
        yield cluster


class Watch:
    """Queries every address of a listener again and again for different topics.

    ``lists``: the brokers of the responses, each time they changed. ``unlisted``: leaders that are
    not among them.
    """

    def __init__(self, addresses: list[str], topics: list[str]) -> None:
        self.lists: list[tuple[int, ...]] = []
        self.unlisted: list[int] = []
        self.answers = 0
        self._addresses = itertools.cycle(addresses)
        self._questions = itertools.cycle([[each] for each in topics] + [topics, []])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(SECONDS)

    def _run(self) -> None:
        while not self._stopping.wait(0.01):
            found = metadata(next(self._addresses), next(self._questions))
            listed = tuple(sorted(each.node_id for each in found.brokers))
            if not self.lists or self.lists[-1] != listed:
                self.lists.append(listed)
            leaders = {part.leader_id for topic in found.topics for part in topic.partitions}
            self.unlisted += leaders - {-1, *listed}
            self.answers += 1


def metadata(address: str, topics: list[str]) -> Any:
    with Wire(address) as wire:
        wanted = [{"topic_id": None, "name": topic} for topic in topics]
        return wire.ask("Metadata", 12, topics=wanted, allow_auto_topic_creation=False)


def test_all_nodes_list_the_same_brokers(growing: KafkaCluster, ny: KafkaCluster) -> None:
    with GatewayProcess(mounted(growing, ny), LISTENERS, []) as gateway:
        servers = gateway.bootstrap_servers("la")
        topics = ["steady", ":ny:tracking:search:steady"]
        clients.create(servers, *topics, partitions=2)
        clients.await_led(servers, *topics)
        first = metadata(servers, topics)
        addresses = [servers, *(f"{each.host}:{each.port}" for each in first.brokers)]
        with ExitStack() as stack:
            watch = stack.enter_context(Watch(addresses, [*topics, "placed"]))
            working = [
                stack.enter_context(steady.producer("p", servers, *topics, ignoring=True)),
                stack.enter_context(steady.member("m", servers, "steady", *topics, ignoring=True)),
            ]
            for each in working:
                each.await_progress("the start", topics[0])
            growing.add_broker(2)
            # Clients learn its first leader before the gateway's next listing.
            placed = NewTopic("placed", 1, replica_assignment=[[2]])
            admin = growing.admin()
            create_topics(admin, [placed])
            wait_until(lambda: (LA_1, LA_2, NY_1) in watch.lists, "the new broker", SECONDS)
            _await_leader(servers, "placed", LA_2)
            clients.produce(servers, "placed", ["there"])
            for each in working:
                each.await_progress("the broker joined", topics[1])
            growing.stop_broker(2)
            wait_until(lambda: watch.lists[-1] == (LA_1, NY_1), "one broker less", SECONDS)
            asked = watch.answers
            wait_until(lambda: watch.answers > asked + 50, "more answers", SECONDS)
            for each in working:
                each.await_progress("the broker left", topics[0])
                each.await_progress("the broker left", topics[1])
        for each in working:
            each.check()
        for topic in topics:
            steady.once_each(working[0].acked[topic], working[1].seen[topic])
        assert watch.lists == [(LA_1, NY_1), (LA_1, LA_2, NY_1), (LA_1, NY_1)]
        assert not watch.unlisted


def _await_leader(servers: str, topic: str, node_id: int) -> None:
    def led() -> bool:
        (found,) = metadata(servers, [topic]).topics
        return any(part.leader_id == node_id for part in found.partitions)

    wait_until(led, f"the leader of {topic}", SECONDS)
