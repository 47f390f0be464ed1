"""A cluster in the middle of a rolling upgrade: node 1 is Kafka 4.3, node 2 is 3.9 and then 4.3.

A node of the gateway advertises the versions of the broker behind it, before a login and in a tree
as well. Clients of every listener work as they do directly.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, KafkaProducer

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from protocol.schema import api_key_of
from tests.live.support import clients, java_tools
from tests.live.support.wire import ConnectionEnded, Wire

pytestmark = pytest.mark.long("brokers")

SECONDS = clients.SECONDS
NEW, OLD = 1, 2
PARTITIONS = 4
APIS = [api_key_of(f"{name}Request") for name in ("Produce", "Metadata")]
"""APIs that Kafka 3.9 serves in fewer versions than 4.3, and the gateway in as many as 4.3."""

PASSWORD = "wonderland"  # noqa: S105 - of this test
LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "alice",
    "sasl_password": PASSWORD,
}


Trip = Callable[[str, str, bool], None]
"""A client that writes ``first`` to a topic and reads it.

Its parameters are bootstrap servers, topic, and whether it has to log in.
"""


class Site(NamedTuple):
    """Two brokers behind a gateway, and behind a gateway whose tree has another cluster beside
    them."""

    kafka: KafkaCluster
    plain: GatewayProcess
    tree: GatewayProcess

    def at(self, listener: str) -> GatewayProcess:
        return self.tree if listener.startswith("tree") else self.plain

    def servers(self, listener: str) -> str:
        return self.at(listener).bootstrap_servers(listener)

    def node(self, listener: str, node_id: int) -> str:
        """The gateway's address for a broker."""
        entries = self.at(listener).plan.config["listeners"]
        (base,) = [one["broker_base_port"] for one in entries if one["name"] == listener]
        return f"127.0.0.1:{base + node_id - 1}"


LISTENERS = ["open", "sasl", "home", "tree-open", "tree-sasl"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory() as directory:
        password = Path(directory) / "alice"
        password.write_text(f"{PASSWORD}\n")
        sasl: dict[str, Any] = {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl": {"mechanisms": ["PLAIN"], "users": {"alice": {"file": str(password)}}},
        }
        plain = [
            Listener("open", "asks nobody"),
            Listener("sasl", "asks everybody", security=sasl),
            Listener("home", "asks everybody", home="team-a", security=sasl),
        ]
        in_tree = [
            Listener("tree-open", "asks nobody", security={"volume": "la"}),
            Listener("tree-sasl", "asks everybody", security={"volume": "la", **sasl}),
        ]
        with (
            KafkaCluster(
                2, missed_quickly=True, jar_sets={OLD: "kafka-3.9"}, release="3.9"
            ) as kafka,
            KafkaCluster() as other,
        ):
            mounted = [
                MountedCluster("la", 1, kafka.bootstrap_servers),
                MountedCluster("ny", 2, other.bootstrap_servers),
            ]
            with (
                GatewayProcess(kafka.bootstrap_servers, plain, ["team-a"]) as gateway,
                GatewayProcess(mounted, in_tree, []) as tree,
            ):
                yield Site(kafka, gateway, tree)


def last_versions(address: str) -> list[int]:
    """The last version that an address advertises of each API in ``APIS``, before a login."""
    with Wire(address) as wire:
        answer = wire.ask("ApiVersions", 0)
    found = {int(each.api_key): int(each.max_version) for each in answer.api_keys}
    return [found[key] for key in APIS]


def check_versions(site: Site, listener: str) -> None:
    """A node advertises the versions of its broker, and a bootstrap port the common versions.

    In a tree, a node advertises the common versions of Metadata, because it responds for all
    brokers.
    """
    direct = {node: last_versions(site.kafka.addresses[node]) for node in (NEW, OLD)}
    least = [min(each) for each in zip(*direct.values(), strict=True)]
    for node, versions in direct.items():
        produce, metadata = versions
        expected = [produce, least[1] if listener.startswith("tree") else metadata]
        assert last_versions(site.node(listener, node)) == expected, (listener, node)
    if listener != "open":  # its requests are forwarded to any broker
        assert last_versions(site.servers(listener)) == least


def check_client(site: Site, listener: str, topic: str, trip: Trip) -> None:
    """Create a topic with partitions on both brokers, write to it and read all of it."""
    has_login = "open" not in listener
    settings = clients.settings(site.servers(listener), **(LOGIN if has_login else {}))
    create_topics(AdminClient(settings), [NewTopic(topic, PARTITIONS, 1)])
    await_led(site.kafka.bootstrap_servers, f"team-a..{topic}" if listener == "home" else topic)
    trip(site.servers(listener), topic, has_login)


def await_led(servers: str, flat: str) -> None:
    """Wait until each leader knows its partitions, because brokers list a topic before that."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(flat, number): latest for number in range(PARTITIONS)}

    def led() -> bool:
        found = clients.admin(servers).list_offsets(asked, request_timeout=SECONDS)
        failed = any([future.exception(SECONDS) for future in found.values()])
        if failed:  # librdkafka caches unknown topics: see clients.await_led
            clients.admin(servers).list_topics(topic=flat, timeout=SECONDS)
        return not failed

    wait_until(led, f"leaders of {flat}", SECONDS)


def librdkafka(servers: str, topic: str, has_login: bool) -> None:
    """librdkafka sends ApiVersions before its login, and not again."""
    settings = clients.settings(servers, **(LOGIN if has_login else {}))
    assert clients.round_trip(settings, topic, f"{topic}-readers") == ["first"]


def java(servers: str, topic: str, has_login: bool) -> None:
    """Java sends ApiVersions again after its login."""
    with tempfile.TemporaryDirectory() as directory:
        login = java_tools.login_file(Path(directory), "alice", PASSWORD)
        config = ["--command-config", str(login)] if has_login else []
        java_tools.console_produce(servers, topic, ["first"], *config)
        assert java_tools.console_consume(servers, topic, 1, *config) == ["first"]


def python_login(has_login: bool) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT" if has_login else "PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORD,
    }


def aiokafka(servers: str, topic: str, has_login: bool) -> None:
    asyncio.run(_aiokafka(topic, {"bootstrap_servers": servers, **python_login(has_login)}))


async def _aiokafka(topic: str, settings: dict[str, Any]) -> None:
    async with AIOKafkaProducer(**settings) as producer:
        await producer.send_and_wait(topic, b"first")
    reading = {"auto_offset_reset": "earliest", "group_id": f"{topic}-readers"}
    async with AIOKafkaConsumer(topic, **settings, **reading) as consumer:
        assert (await consumer.getone()).value == b"first"


def kafka_python(servers: str, topic: str, has_login: bool) -> None:
    settings = {"bootstrap_servers": servers, **python_login(has_login)}
    with closing(KafkaProducer(**settings)) as producer:
        producer.send(topic, b"first").get(SECONDS)
    reading = {"auto_offset_reset": "earliest", "consumer_timeout_ms": SECONDS * 1000}
    with closing(KafkaConsumer(topic, **settings, **reading)) as consumer:
        assert next(iter(consumer)).value == b"first"


@pytest.mark.parametrize("listener", LISTENERS)
def test_each_node_advertises_what_its_broker_does(site: Site, listener: str) -> None:
    assert last_versions(site.kafka.addresses[NEW]) != last_versions(site.kafka.addresses[OLD])
    check_versions(site, listener)


@pytest.mark.parametrize("trip", [librdkafka, java, aiokafka, kafka_python])
@pytest.mark.parametrize("listener", LISTENERS)
def test_clients_work(site: Site, listener: str, trip: Trip) -> None:
    for number in range(5 if trip is librdkafka else 2):
        check_client(site, listener, f"{trip.__name__}-{listener}-{number}", trip)
    assert "which is not enabled" not in site.kafka.log_tail(OLD, lines=1_000)


def test_a_broker_that_is_upgraded_and_one_that_is_downgraded(site: Site) -> None:
    before = last_versions(site.kafka.addresses[OLD])
    for jar_set in ("kafka", "kafka-3.9"):
        site.kafka.stop_broker(OLD)
        site.kafka.restart_broker(OLD, jar_set=jar_set)
        direct = last_versions(site.kafka.addresses[OLD])
        assert (direct == before) is (jar_set == "kafka-3.9")
        for listener in LISTENERS:
            await_produce(site.node(listener, OLD), direct[0])
            check_versions(site, listener)
            for trip in (librdkafka, aiokafka):
                check_client(site, listener, f"{jar_set}-{trip.__name__}-{listener}", trip)


def await_produce(address: str, highest: int) -> None:
    """Wait until an address advertises Produce up to this version."""

    def looked() -> bool:
        try:
            return last_versions(address)[0] == highest
        except (OSError, ConnectionEnded):
            return False

    wait_until(looked, "the versions of the broker that is back", SECONDS)
