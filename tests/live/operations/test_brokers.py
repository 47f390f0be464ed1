"""Several brokers behind a gateway: a broker joins, a broker stops, while clients work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Self

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire

pytestmark = pytest.mark.long("kills")

TOPIC, FLAT = "team-a:orders", "team-a..orders"
PARTITIONS = 6
SECONDS = clients.SECONDS

Address = tuple[str, int]


class Traffic:
    """A producer and a member of a group that work until the end of the ``with``."""

    def __init__(self, servers: str, group: str) -> None:
        self._servers = servers
        self._group = group
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=work.__name__)
            for work in (self._produce, self._consume)
        ]
        self.acknowledged: set[bytes] = set()
        self.seen: set[bytes] = set()
        self.problems: list[str] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(SECONDS)

    def await_progress(self, what: str) -> None:
        """Wait until a hundred more records have been consumed."""
        acknowledged, seen = len(self.acknowledged) + 100, len(self.seen) + 100
        wait_until(
            lambda: len(self.acknowledged) >= acknowledged and len(self.seen) >= seen,
            f"records after {what}",
            SECONDS,
        )

    def await_all(self) -> None:
        """Wait until every record that was acknowledged by now has been consumed."""
        due = set(self.acknowledged)
        wait_until(lambda: self.seen >= due, "the last of the records", SECONDS)

    def _produce(self) -> None:
        producer = Producer(clients.settings(self._servers, linger_ms=5, acks="all"))
        number = 0
        while not self._stop.is_set():
            producer.produce(
                TOPIC, str(number), partition=number % PARTITIONS, on_delivery=self._delivered
            )
            number += 1
            producer.poll(0.005)
        if left := producer.flush(SECONDS):
            self.problems.append(f"{left} records were never acknowledged")

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self.problems.append(f"not delivered: {error}")
        else:
            self.acknowledged.add(message.value() or b"")

    def _consume(self) -> None:
        with clients.consumer(self._servers, self._group) as client:
            client.subscribe([TOPIC])
            while not self._stop.is_set():
                record = client.poll(0.1)
                if record is None:
                    continue
                error = record.error()
                if error is None and record.topic() == TOPIC:
                    self.seen.add(record.value() or b"")
                elif error is None or error.fatal():
                    self.problems.append(str(error or record.topic()))


class Site:
    """Three brokers and two gateways; ``narrow`` has addresses for these three brokers only."""

    def __init__(self, kafka: KafkaCluster, wide: GatewayProcess, narrow: GatewayProcess) -> None:
        self.kafka = kafka
        self.wide = wide
        self.narrow = narrow
        self.servers = wide.bootstrap_servers("colon")

    @property
    def bootstrap_servers(self) -> str:
        """The brokers' own addresses."""
        return self.kafka.bootstrap_servers

    def brokers(self, servers: str) -> dict[int, Address]:
        """The brokers that ``servers`` advertises."""
        found = clients.admin(servers).list_topics(timeout=clients.SECONDS).brokers
        return {node: (str(broker.host), broker.port) for node, broker in found.items()}

    def leaders(self, servers: str, topic: str) -> dict[int, int]:
        """The leader of each partition, as ``servers`` report it."""
        found = clients.admin(servers).list_topics(topic=topic, timeout=clients.SECONDS)
        return {number: part.leader for number, part in found.topics[topic].partitions.items()}

    def coordinator(self, group: str) -> tuple[int, Address] | None:
        """The coordinator of a group, as the gateway reports it, or None while there is none."""
        with Wire(self.servers) as wire:
            found = wire.ask("FindCoordinator", 3, key=group, key_type=0)
        return None if int(found.error_code) else (found.node_id, (found.host, found.port))

    def coordinator_but(self, node: int, group: str) -> tuple[int, Address] | None:
        """The coordinator, or None while it is this broker: others may not know yet that it
        left."""
        found = self.coordinator(group)
        return None if found is None or found[0] == node else found


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    listeners, namespaces = (Listener("colon", "all"),), ["team-a"]
    with ExitStack() as stack:
        kafka = stack.enter_context(KafkaCluster(3))
        servers = kafka.bootstrap_servers
        wide = stack.enter_context(GatewayProcess(servers, listeners, namespaces))
        cluster = {"name": "main", "bootstrap_servers": servers.split(","), "node_ids": ["1-3"]}
        narrow = stack.enter_context(
            GatewayProcess(servers, listeners, namespaces, overrides={"clusters": [cluster]})
        )
        yield Site(kafka, wide, narrow)


def test_brokers_come_and_go_while_clients_work(site: Site) -> None:
    kafka = site.kafka
    clients.create(site.servers, TOPIC, partitions=PARTITIONS, replicas=3)
    wait_until(
        lambda: len(_leaders(site)) == PARTITIONS and set(_leaders(site).values()) == {1, 2, 3},
        "leaders of all partitions",
        SECONDS,
    )
    addresses = site.brokers(site.servers)
    assert sorted(addresses) == [1, 2, 3]
    _check_addresses(site, addresses)

    group, leaving = _group_of_a_broker_that_may_stop(site)
    with Traffic(site.servers, group) as traffic:
        traffic.await_progress("the start")

        kafka.add_broker(4)
        wait_until(lambda: 4 in site.brokers(site.servers), "the fourth broker", SECONDS)
        with_fourth = site.brokers(site.servers)
        assert {node: with_fourth[node] for node in addresses} == addresses, "a port moved"
        _check_addresses(site, with_fourth)
        _use_the_fourth(site)
        _check_narrow(site)
        traffic.await_progress("the fourth broker joined")

        kafka.stop_broker(leaving)
        wait_until(lambda: leaving not in _leaders(site).values(), "new leaders", SECONDS)
        wait_until(lambda: leaving not in site.brokers(site.servers), "one broker less", SECONDS)
        new = wait_until(lambda: site.coordinator_but(leaving, group), "a new coordinator", SECONDS)
        assert new is not None
        assert new[1] == with_fourth[new[0]]
        traffic.await_progress(f"broker {leaving} stopped")
        traffic.await_all()
    assert traffic.problems == []
    wait_until(
        lambda: _leaders(site) == site.leaders(kafka.bootstrap_servers, FLAT),
        "the leaders that the brokers have",
        SECONDS,
    )


def _leaders(site: Site) -> dict[int, int]:
    return site.leaders(site.servers, TOPIC)


def _check_addresses(site: Site, advertised: dict[int, Address]) -> None:
    """Check that each place in the node id ranges has a port, and no broker's own port."""
    (entry,) = site.wide.plan.config["listeners"]
    base = entry["broker_base_port"]
    assert advertised == {node: ("127.0.0.1", base + node - 1) for node in advertised}
    own = set(site.kafka.addresses.values())
    assert not own & {f"{host}:{port}" for host, port in advertised.values()}


def _group_of_a_broker_that_may_stop(site: Site) -> tuple[str, int]:
    """A group whose coordinator is not the only controller, and that coordinator."""
    for number in range(100):
        group = f"readers-{number}"
        found = wait_until(lambda name=group: site.coordinator(name), "a coordinator", SECONDS)  # type: ignore[misc]
        assert found is not None
        node, address = found
        assert address == site.brokers(site.servers)[node]
        if node != 1:
            return group, node
    raise AssertionError("every group is coordinated by broker 1")


def _use_the_fourth(site: Site) -> None:
    """A topic that only the fourth broker has, so that its port must serve."""
    topic = NewTopic("team-a:fourth", 1, replica_assignment=[[4]])
    create_topics(clients.admin(site.servers), [topic])
    clients.produce(site.servers, "team-a:fourth", ["one"])
    assert clients.consume(site.servers, "team-a:fourth", 1, "fourth-readers") == ["one"]
    wait_until(
        lambda: site.leaders(site.bootstrap_servers, "team-a..fourth") == {0: 4},
        "its leader, as the brokers know it",
        SECONDS,
    )


def _check_narrow(site: Site) -> None:
    """If the configuration has no address for a broker, it is not advertised, but logged and
    counted."""
    servers = site.narrow.bootstrap_servers("colon")
    said = "broker 4 is outside node_ids"
    assert sorted(site.brokers(servers)) == [1, 2, 3]
    # Its partitions have no leader, and its address is nowhere.
    wait_until(
        lambda: site.leaders(servers, "team-a:fourth") == {0: -1}, "no leader to see", SECONDS
    )
    with Wire(servers) as wire:
        answer = wire.ask("Metadata", 9, topics=[{"name": "team-a:fourth"}])
        assert sorted(broker.node_id for broker in answer.brokers) == [1, 2, 3]
    site.narrow.wait_for_log(said)
    assert site.narrow.log().count(said) == 1
