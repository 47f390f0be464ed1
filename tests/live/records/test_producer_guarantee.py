"""The producer guarantee (KIP-679) with real producers: acks are raised, weak producers rejected.

``min.insync.replicas=2`` makes the difference visible when one of two brokers is stopped: records
with acks=0 or 1 are accepted, records with acks=all get NOT_ENOUGH_REPLICAS. (If a topic has a
single replica, Kafka requires no more than that.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import PolicyViolationError
from confluent_kafka import Producer
from confluent_kafka.cimpl import NewTopic

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.operations.test_metrics import Scrape
from tests.live.support import clients
from tests.live.support.fixtures import own_gateway

Names = Callable[[str], str]

POLICY_VIOLATION = 44
NOT_ENOUGH_REPLICAS = 19
BARE, RAISED = "orders", "raised:orders"
"""Topics that reject acks=all, because one of their two replicas is down."""

# "raised" has the default settings of namespaces.
NAMESPACES = ("raised", "strict", "numbered")
POLICIES: dict[str, Any] = {
    "namespaces": {
        "strict": {"producer": {"acks": "require"}},
        "numbered": {"producer": {"idempotence": "require"}},
    }
}


gateway = own_gateway(Listener("all", "every namespace"), namespaces=NAMESPACES, policies=POLICIES)


@pytest.fixture(scope="module")
def short() -> Iterator[GatewayProcess]:
    """A gateway and two brokers, one of which is stopped after topics were created."""
    listeners = [Listener("all", "every namespace")]
    overrides = {"catalog": {"replication_factor": 2}}
    with (
        KafkaCluster(2) as kafka,
        GatewayProcess(
            kafka.bootstrap_servers, listeners, NAMESPACES, overrides=overrides
        ) as process,
    ):
        servers = process.bootstrap_servers("all")
        config = {"min.insync.replicas": "2"}
        wanted = [NewTopic(topic, 1, 2, config=config) for topic in (BARE, RAISED)]
        create_topics(clients.admin(servers), wanted)
        kafka.stop_broker(2)

        def alone() -> bool:
            listed = clients.admin(kafka.addresses[1]).list_topics(timeout=clients.SECONDS)
            flats = [listed.topics[flat].partitions[0] for flat in (BARE, "raised..orders")]
            return all((one.leader, one.isrs) == (1, [1]) for one in flats)

        wait_until(alone, "one replica in sync", clients.SECONDS)
        yield process


@pytest.fixture
def shorthanded(short: GatewayProcess) -> str:
    return short.bootstrap_servers("all")


@pytest.fixture
def made(servers: str, unique: Names) -> Names:
    """Creates a topic in a namespace, or in the default namespace if it is ``""``."""

    def make(namespace: str) -> str:
        topic = unique("orders")
        name = f"{namespace}:{topic}" if namespace else topic
        clients.create(servers, name)
        # These producers do not retry, and with acks=0 no response reports that a record is lost.
        clients.await_led(servers, name)
        return name

    return make


def errors(servers: str, topic: str, **more: str | int | bool) -> list[tuple[int, str]]:
    """The delivery error of a record: code and text, or an empty list if it was delivered."""
    reports: list[Any] = []
    settings = {"linger_ms": 0, "retries": 0, "message_timeout_ms": 60_000, **more}
    producer = Producer(clients.settings(servers, **settings))
    producer.produce(topic, "x", on_delivery=lambda error, _: reports.append(error))
    assert producer.flush(clients.SECONDS) == 0
    assert len(reports) == 1
    return [(error.code(), error.str()) for error in reports if error is not None]


def java_producer(servers: str, topic: str, acks: int, tmp_path: Path) -> list[str]:
    """The classes of the exceptions with which Kafka's own VerifiableProducer ends.

    It neither retries nor numbers its records.
    """
    settings = tmp_path / "producer.properties"
    settings.write_text("delivery.timeout.ms=110000\nrequest.timeout.ms=100000\n")
    arguments = ["--bootstrap-server", servers, "--topic", topic, "--max-messages", "1"]
    arguments += ["--acks", str(acks), "--command-config", str(settings)]
    ended = java.run_java("org.apache.kafka.tools.VerifiableProducer", arguments)
    events = [json.loads(line) for line in ended.lines if line.startswith("{")]
    names = [event["name"] for event in events]
    assert "producer_send_success" in names or "producer_send_error" in names, ended
    failed = (event for event in events if event["name"] == "producer_send_error")
    return [event["exception"].rpartition(".")[2] for event in failed]


# -- raised ---------------------------------------------------------------------------------------


def test_a_java_producer_with_acks_1_is_written_with_all(shorthanded: str, tmp_path: Path) -> None:
    assert java_producer(shorthanded, BARE, 1, tmp_path) == []
    assert java_producer(shorthanded, BARE, -1, tmp_path) == ["NotEnoughReplicasException"]
    assert java_producer(shorthanded, RAISED, 1, tmp_path) == ["NotEnoughReplicasException"]


def test_librdkafka_with_acks_1_is_written_with_all(shorthanded: str) -> None:
    assert errors(shorthanded, BARE, acks="1") == []
    ((code, _),) = errors(shorthanded, RAISED, acks="1")
    assert code == NOT_ENOUGH_REPLICAS


def test_librdkafka_with_acks_0_is_written_with_all(
    shorthanded: str, short: GatewayProcess
) -> None:
    # Only an acknowledgement shows the end of the log, because with too few replicas no consumer
    # reads beyond the former high watermark.
    (first,) = clients.produce(shorthanded, BARE, ["x"], acks="1")
    assert errors(shorthanded, BARE, acks="0") == []
    later = 0

    def arrived() -> bool:
        # The time is unknown, because it was sent over a connection of its own.
        nonlocal later
        later += 1
        (last,) = clients.produce(shorthanded, BARE, ["x"], acks="1")
        return last.offset() == (first.offset() or 0) + 1 + later

    wait_until(arrived, "the record that was sent with acks=0", clients.SECONDS)

    before = Scrape(short.fresh_metrics())
    assert errors(shorthanded, RAISED, acks="0") == [], "it asks for no answer"
    short.wait_for_log(
        "no answer fits: Produce with acks=0, forwarded as acks=all,"
        f" failed with NOT_ENOUGH_REPLICAS for topic '{RAISED}'"
    )

    def counted() -> bool:
        now = Scrape(short.metrics())
        error = {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "namespace": "raised"}
        return all(
            now.sum(name, **labels) > before.sum(name, **labels)
            for name, labels in (
                ("errors_total", error),
                ("connection_closes_total", {"reason": "no answer fits"}),
            )
        )

    wait_until(counted, "the error and the closed connection", clients.SECONDS)


@pytest.mark.parametrize("acks", ["0", "1"])
def test_what_is_raised_arrives(servers: str, made: Names, unique: Names, acks: str) -> None:
    topic = made("raised")
    sent = [f"{n}" for n in range(500)]
    clients.produce(servers, topic, sent, acks=acks)
    assert clients.consume(servers, topic, 500, unique("readers")) == sent


def test_what_java_sends_with_acks_1_arrives(servers: str, made: Names, tmp_path: Path) -> None:
    assert java_producer(servers, made("raised"), 1, tmp_path) == []


# -- required -------------------------------------------------------------------------------------


def test_all_acks_are_required_of_librdkafka(servers: str, made: Names) -> None:
    strict = made("strict")
    ((code, _),) = errors(servers, strict, acks="1")
    assert code == POLICY_VIOLATION
    assert errors(servers, strict, acks="all") == []


def test_all_acks_are_required_of_java(servers: str, made: Names, tmp_path: Path) -> None:
    strict = made("strict")
    assert java_producer(servers, strict, 1, tmp_path) == ["PolicyViolationException"]
    assert java_producer(servers, strict, -1, tmp_path) == []


def test_acks_0_where_all_are_required_ends_the_connection(
    servers: str, made: Names, gateway: GatewayProcess
) -> None:
    strict = made("strict")
    errors(servers, strict, acks="0")
    gateway.wait_for_log(f"Produce with acks=0 was rejected: Topic '{strict}' is written with")


async def aiokafka_sends(servers: str, topic: str, **more: object) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=servers, **more)
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"x")
    finally:
        await producer.stop()


async def test_all_acks_are_required_of_aiokafka(servers: str, made: Names) -> None:
    strict = made("strict")
    with pytest.raises(PolicyViolationError):
        await aiokafka_sends(servers, strict, acks=1)
    await aiokafka_sends(servers, strict, acks="all")


def test_idempotence_is_required(
    servers: str, made: Names, tmp_path: Path, kafka: KafkaCluster, unique: Names
) -> None:
    numbered = made("numbered")
    ((code, _),) = errors(servers, numbered, acks="all")
    assert code == POLICY_VIOLATION
    assert java_producer(servers, numbered, -1, tmp_path) == ["PolicyViolationException"]
    clients.produce(servers, numbered, ["a", "b"], enable_idempotence=True)
    assert clients.consume(servers, numbered, 2, unique("readers")) == ["a", "b"]
    # If the guarantee is only observed, the same producers are served.
    assert errors(servers, made("raised"), acks="all") == []


async def test_idempotence_is_required_of_aiokafka(servers: str, made: Names) -> None:
    numbered = made("numbered")
    with pytest.raises(PolicyViolationError):
        await aiokafka_sends(servers, numbered, acks="all")
    await aiokafka_sends(servers, numbered, enable_idempotence=True)


def test_records_longer_than_a_read(servers: str, made: Names, unique: Names) -> None:
    """The gateway forwards their heads before all bytes have come, once the batch header has."""
    numbered = made("numbered")
    sent = [f"{n}" + "x" * 900_000 for n in range(3)]
    clients.produce(servers, numbered, sent, enable_idempotence=True)
    raised = made("raised")
    clients.produce(servers, raised, sent, acks="1")
    assert clients.consume(servers, numbered, 3, unique("readers")) == sent
    # Its connection stays open, because records with acks=0 may be lost with it (docs/kip-679.md).
    producer = Producer(clients.settings(servers, linger_ms=0, acks="0"))
    for value in sent:
        producer.produce(raised, value, partition=0)
    assert producer.flush(clients.SECONDS) == 0
    assert clients.consume(servers, raised, 6, unique("readers")) == sent * 2


# -- producers that would notice ----------------------------------------------------------------


def test_weak_producers_are_told_by_name(
    servers: str, made: Names, gateway: GatewayProcess
) -> None:
    clients.produce(servers, made("raised"), ["a"], acks="1", client_id="billing")
    clients.produce(servers, made(""), ["a"], acks="0", client_id="metering")
    clients.produce(servers, made("numbered"), ["a"], enable_idempotence=True, client_id="good")
    software = "confluent-kafka-python"
    expected = {
        ("raised", "billing", software, "acks1", "upgraded"),
        ("raised", "billing", software, "not_idempotent", "observed"),
        ("(default)", "metering", software, "acks0", "observed"),
        ("(default)", "metering", software, "not_idempotent", "observed"),
    }
    names = ("namespace", "client_id", "software_name", "weakness", "decision")

    def counted() -> bool:
        samples = Scrape(gateway.metrics()).labels("weak_producer_requests_total")
        rows = {tuple(labels[name] for name in names) for labels in samples}
        seen = {row for row in rows if row[1] in ("billing", "metering", "good")}
        assert seen <= expected, seen
        return seen == expected

    wait_until(counted, "the weak producers", clients.SECONDS)
