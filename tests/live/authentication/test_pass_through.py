"""Clients log in at the brokers, through the gateway, and have their own principals there."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType
from confluent_kafka.cimpl import NewTopic

from devkit import java
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools
from tests.live.support.secured_brokers import PASSWORDS, SecuredBrokers, login
from tests.live.support.wire import ConnectionEnded, Wire

Names = Callable[[str], str]

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
READ, WRITE = AclOperation.READ, AclOperation.WRITE
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


def listener(name: str, *mechanisms: str) -> Listener:
    sasl = {"mechanisms": list(mechanisms), "pass_through": True}
    return Listener(
        name, "brokers decide", security={"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}
    )


@pytest.fixture(scope="module")
def through(secured_brokers: SecuredBrokers) -> Iterator[GatewayProcess]:
    """A gateway with a super user's identity, whose clients have their own rights."""
    listeners = [
        Listener("all", "asks nobody"),
        listener("through", *MECHANISMS, "OAUTHBEARER"),
        listener("few", "PLAIN"),
    ]
    with secured_brokers.gateway(secured_brokers.identity("SASL_SSL"), listeners) as gateway:
        yield gateway


def at(gateway: GatewayProcess, mechanism: str, user: str = "alice", **more: Any) -> dict[str, Any]:
    """The settings of a confluent-kafka client."""
    servers = gateway.bootstrap_servers("through")
    return clients.settings(servers) | login(mechanism, user, **more)


@pytest.fixture
def topic(through: GatewayProcess, secured_brokers: SecuredBrokers, unique: Names) -> str:
    """A topic in a namespace, which alice may write and read by the broker's ACLs."""
    name = unique("orders")
    clients.create(through.bootstrap_servers("all"), f"org:{name}")
    clients.await_stored(secured_brokers.kafka, f"org..{name}")
    secured_brokers.allow("alice", TOPIC, f"org..{name}", READ, WRITE)
    secured_brokers.allow("alice", GROUP, "*", READ)
    return f"org:{name}"


def rejected(settings: dict[str, Any], topic: str) -> int:
    """The error with which a record is rejected."""
    errors: list[KafkaError | None] = []
    producer = Producer(settings)
    producer.produce(topic, b"no", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(clients.SECONDS) == 0
    (error,) = errors
    assert error is not None
    return int(error.code())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka_and_the_brokers_acls(
    through: GatewayProcess, topic: str, unique: Names, mechanism: str
) -> None:
    assert clients.round_trip(at(through, mechanism), topic, unique("readers")) == ["first"]
    assert rejected(at(through, mechanism, "bob"), topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka(through: GatewayProcess, topic: str, unique: Names, mechanism: str) -> None:
    settings = {
        "bootstrap_servers": through.bootstrap_servers("through"),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORDS["alice"],
    }
    async with AIOKafkaProducer(**settings) as producer:
        await producer.send_and_wait(topic, b"first")
    reading = {"auto_offset_reset": "earliest", "group_id": unique("readers")}
    async with AIOKafkaConsumer(topic, **settings, **reading) as consumer:
        record = await consumer.getone()
    assert (record.topic, record.value) == (topic, b"first")


def java_config(directory: Path, mechanism: str, user: str, password: str) -> list[str]:
    """The options with which any of Kafka's tools logs in."""
    return ["--command-config", str(java_tools.login_file(directory, user, password, mechanism))]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_java(through: GatewayProcess, topic: str, mechanism: str, tmp_path: Path) -> None:
    servers = through.bootstrap_servers("through")
    config = java_config(tmp_path, mechanism, "alice", PASSWORDS["alice"])
    java_tools.console_produce(servers, topic, ["first", "second"], *config)
    assert java_tools.console_consume(servers, topic, 2, *config) == ["first", "second"]


def test_java_is_told_of_a_wrong_password(through: GatewayProcess, tmp_path: Path) -> None:
    config = java_config(tmp_path, "SCRAM-SHA-256", "alice", "wrong")
    servers = through.bootstrap_servers("through")
    result = java_tools.attempt(java.TOPICS, servers, "--list", *config)
    assert result.returncode == 1
    told = "Authentication with SCRAM-SHA-256 failed: the credentials are not valid."
    assert told in result.stderr


def token(subject: str) -> str:
    """A JWT without a signature, which this broker accepts."""
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + 300})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts)
    return ".".join(part.decode().rstrip("=") for part in encoded) + "."


def test_tokens_are_the_brokers_to_believe(
    through: GatewayProcess, topic: str, unique: Names
) -> None:
    def settings(subject: str) -> dict[str, Any]:
        return clients.settings(through.bootstrap_servers("through")) | {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _: (token(subject), time.time() + 300),
        }

    assert clients.round_trip(settings("alice"), topic, unique("readers")) == ["first"]
    assert rejected(settings("bob"), topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password(through: GatewayProcess, mechanism: str) -> None:
    errors: list[KafkaError] = []
    settings = at(through, mechanism, password="wrong") | {"error_cb": errors.append}  # noqa: S106
    client = AdminClient(settings)
    with pytest.raises(KafkaException):
        client.list_topics(timeout=2)

    def denied() -> bool:
        client.poll(0)
        return KafkaError._AUTHENTICATION in {error.code() for error in errors}

    wait_until(denied, "the refusal of a login", clients.SECONDS)


def test_a_mechanism_that_the_listener_has_not(through: GatewayProcess) -> None:
    with Wire(through.bootstrap_servers("few")) as wire:
        answer = wire.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-256")
        assert (int(answer.error_code), answer.mechanisms) == (33, ("PLAIN",))
        wire.wait_for_end()


@pytest.mark.parametrize(
    ("mechanism", "first"),
    [
        ("SCRAM-SHA-256", b"n,,n=alice,r=abc,tokenauth=true"),
        ("PLAIN", b"bob\0alice\0wonderland"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.b.c.d.e\x01\x01"),
    ],
)
def test_what_hides_the_name(through: GatewayProcess, mechanism: str, first: bytes) -> None:
    with Wire(through.bootstrap_servers("through")) as wire:
        assert not wire.ask("SaslHandshake", 1, mechanism=mechanism).error_code
        assert int(wire.ask("SaslAuthenticate", 2, auth_bytes=first).error_code) == 58
        wire.wait_for_end()


def test_nobody_comes_in_without_a_login(through: GatewayProcess) -> None:
    with Wire(through.bootstrap_servers("through")) as wire, pytest.raises(ConnectionEnded):
        wire.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False)


def test_the_principal_is_the_gateways_too(
    secured_brokers: SecuredBrokers, unique: Names, topic: str
) -> None:
    """The gateway authorizes the client by its own ACLs, before the broker does by its ACLs."""
    listeners = [Listener("all", "asks nobody"), listener("through", "PLAIN")]
    authorization = {"super.users": ["User:ANONYMOUS"]}
    security = secured_brokers.identity("SASL_PLAINTEXT")
    with secured_brokers.gateway(security, listeners, authorization=authorization) as gateway:
        settings = at(gateway, "PLAIN")
        assert rejected(settings, topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED
        java_tools.run(
            java.ACLS,
            gateway.bootstrap_servers("all"),
            *("--add", "--allow-principal", "User:alice", "--topic", topic),
            *("--operation", "Read", "--operation", "Write"),
        )
        producer = Producer(settings)
        producer.produce(topic, b"first")
        assert producer.flush(clients.SECONDS) == 0
        asking = AdminClient(settings)
        made = asking.create_topics([NewTopic(f"org:{unique('mine')}", 1)])
        assert {clients.error_code(future) for future in made.values()} == {
            KafkaError.TOPIC_AUTHORIZATION_FAILED
        }
