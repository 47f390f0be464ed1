"""gateway.commands.init.asked: the brokers' responses, and sentences about brokers that do not
respond."""

from __future__ import annotations

from pathlib import Path

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.init.asked import ask_brokers
from gateway.commands.init.unanswered import Unanswered
from gateway.config.addresses import Address
from tests.commands.init.fake_brokers import (
    HOST,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC,
    FakeBrokers,
)

SECONDS = 30.0
PLAIN = ClientSecurity(None)
NONE, CLUSTER_AUTHORIZATION_FAILED = 0, 31


async def test_everything_that_is_found() -> None:
    topics = {
        "orders": [1, 2],
        "team-a..orders": [2, 7],
        "team-a..clicks": [1],
        "org.apache..x": [],
        "odd..": [],
    }
    closed = free_port()
    addresses = {3: (HOST, closed)}
    async with FakeBrokers([3, 1, 2], flat_topics=topics, addresses=addresses, acls=31) as brokers:
        server = Address(HOST, brokers.port)
        found = await ask_brokers([Address(HOST, free_port()), server], PLAIN, timeout=SECONDS)
    assert found.server == server
    assert (found.cluster_id, found.controller_id) == ("kafka-1", 3)
    assert found.brokers == {1: server, 2: server, 3: Address(HOST, closed)}
    assert found.node_ids == {1, 2, 3, 7}  # 7 is down: only its replicas are known
    assert found.topics == 5
    assert found.namespaces == {"org:apache": 1, "team-a": 2}
    assert found.unreachable == {3: "cannot connect: Connection refused"}
    assert not found.has_catalog


@pytest.mark.parametrize(
    ("code", "expected"),
    [(54, False), (31, True), (0, True), (None, None), (-1, None)],
    ids=["SECURITY_DISABLED", "CLUSTER_AUTHORIZATION_FAILED", "NONE", "no DescribeAcls", "UNKNOWN"],
)
async def test_whether_there_is_an_authorizer(code: int | None, expected: bool | None) -> None:
    async with FakeBrokers(acls=code) as brokers:
        found = await ask_brokers([Address(HOST, brokers.port)], PLAIN, timeout=SECONDS)
    assert found.has_authorizer is expected


@pytest.mark.parametrize(
    ("acls", "named", "sees_all"),
    [
        (NONE, UNKNOWN_TOPIC, True),
        (NONE, TOPIC_AUTHORIZATION_FAILED, False),
        (CLUSTER_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, False),
        (None, TOPIC_AUTHORIZATION_FAILED, False),
    ],
)
async def test_whether_all_topics_were_seen(acls: int | None, named: int, sees_all: bool) -> None:
    async with FakeBrokers(acls=acls, named=named) as brokers:
        found = await ask_brokers([Address(HOST, brokers.port)], PLAIN, timeout=SECONDS)
    assert found.sees_all_topics is sees_all
    every, one = brokers.asked("Metadata")
    assert (every.topics, one.allow_auto_topic_creation) == (None, False)


async def test_without_an_authorizer_all_topics_are_seen() -> None:
    async with FakeBrokers() as brokers:
        found = await ask_brokers([Address(HOST, brokers.port)], PLAIN, timeout=SECONDS)
    assert found.sees_all_topics
    assert len(brokers.asked("Metadata")) == 1


@pytest.mark.parametrize(
    ("levels", "software"),
    [
        # MetadataVersion.java: 3.3-IV3 is 7, 3.7-IV4 is 19, 4.0-IV0 is 22, 4.3-IV0 is 30.
        ((7, 7), "Kafka 3.3 (metadata.version 7)"),
        ((19, 8), "Kafka 3.7 (metadata.version 8)"),
        ((21, 21), "Kafka 3.9 (metadata.version 21)"),
        ((25, 22), "Kafka 4.0 (metadata.version 22)"),
        ((30, 30), "Kafka 4.3 (metadata.version 30)"),
        ((31, 30), "Kafka 4.3 or later (metadata.version 30)"),
        (None, "Kafka before 3.3, or with ZooKeeper"),
    ],
)
async def test_which_kafka_it_is(levels: tuple[int, int] | None, software: str) -> None:
    async with FakeBrokers(levels=levels) as brokers:
        found = await ask_brokers([Address(HOST, brokers.port)], PLAIN, timeout=SECONDS)
    assert found.software == software


async def test_the_catalog_of_another_gateway() -> None:
    async with FakeBrokers(flat_topics={"__kafka_gateway_catalog": [1]}) as brokers:
        found = await ask_brokers([Address(HOST, brokers.port)], PLAIN, timeout=SECONDS)
    assert found.has_catalog


async def unanswered(
    brokers: FakeBrokers | None, tmp_path: Path, properties: str | None = None
) -> tuple[str, int]:
    """The error about an address, which is called AT there, and the exit status."""
    security, path = PLAIN, tmp_path / "client.properties"
    if properties is not None:
        path.write_text(properties)
        security = ClientSecurity(path)
    server = Address(HOST, free_port() if brokers is None else brokers.port)
    with pytest.raises(Unanswered) as caught:
        await ask_brokers([server], security, timeout=5)
    text = str(caught.value).replace(str(server), "AT").replace(str(path), "FILE")
    return text, caught.value.status


async def test_nobody_is_there(tmp_path: Path) -> None:
    assert await unanswered(None, tmp_path) == (
        "AT: cannot connect: Connection refused; see that Kafka runs there, and that"
        " --bootstrap-server is what it advertises",
        69,
    )


async def test_another_protocol(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    ssl = f"security.protocol=SSL\nssl.truststore.location={ca.file}\n"
    async with FakeBrokers(credentials=ca.server()) as with_tls:
        assert await unanswered(with_tls, tmp_path) == (
            "AT speaks TLS there, and has no login; give a file with security.protocol=SSL:"
            " --command-config client.properties",
            69,
        )
    async with FakeBrokers(mechanisms=["PLAIN"]) as with_login:
        assert await unanswered(with_login, tmp_path) == (
            "AT speaks no TLS there, and asks for a login by PLAIN; give a file with"
            " security.protocol=SASL_PLAINTEXT, sasl.mechanism and sasl.jaas.config:"
            " --command-config client.properties",
            69,
        )
    async with FakeBrokers(mechanisms=["PLAIN"], credentials=ca.server()) as with_both:
        text, _ = await unanswered(with_both, tmp_path, ssl)
        assert text == (
            "AT speaks TLS there, and asks for a login by PLAIN; write"
            " security.protocol=SASL_SSL, sasl.mechanism and sasl.jaas.config into FILE"
        )
    async with FakeBrokers() as plain:
        text, _ = await unanswered(plain, tmp_path, ssl)
        assert text == (
            "AT speaks no TLS there, and has no login; write security.protocol=PLAINTEXT into FILE"
        )
    async with FakeBrokers(is_controller=True) as controller:
        text, _ = await unanswered(controller, tmp_path)
        assert text.startswith("AT is no broker, and may be a controller")


async def test_a_login_that_fails(tmp_path: Path) -> None:
    login = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=me\n"
    async with FakeBrokers(mechanisms=["PLAIN"]) as brokers:
        text, status = await unanswered(brokers, tmp_path, login + "sasl.password=secret\n")
    assert (text, status) == (
        "AT: refuses user 'me' by PLAIN (No.); correct the user name in FILE or the password in"
        " FILE",
        1,
    )


async def test_a_certificate_that_is_not_believed(tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other")
    properties = f"security.protocol=SSL\nssl.truststore.location={other.file}\n"
    async with FakeBrokers(credentials=Authority(tmp_path / "ca").server()) as brokers:
        text, status = await unanswered(brokers, tmp_path, properties)
    assert "its certificate is not believed" in text
    assert text.endswith("correct ssl.truststore.location in FILE")
    assert status == 69


async def test_every_address_has_its_sentence(tmp_path: Path) -> None:
    servers = [Address(HOST, free_port()), Address("no-such-host.invalid", 9092)]
    with pytest.raises(Unanswered) as caught:
        await ask_brokers(servers, PLAIN, timeout=SECONDS)
    lines = str(caught.value).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [str(one) for one in servers]
