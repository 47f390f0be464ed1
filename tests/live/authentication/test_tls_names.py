"""One port for all brokers: stock clients that reach each broker by its name (SNI).

``*.gw.localhost`` is in no DNS. Java has a file of hosts (``jdk.net.hosts.file``), and aiokafka a
resolver; librdkafka has neither, so confluent-kafka is not tested here.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.authentication.pki import LivePki
from tests.live.support import clients
from tests.live.support.fixtures import own_kafka
from tests.live.support.tool_server import ToolServer

BOOTSTRAP = "gw.localhost"
BROKER = "b{node_id}.gw.localhost"
BROKERS = (1, 2)
PARTITIONS = 4


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> LivePki:
    return LivePki(tmp_path_factory.mktemp("pki"), BOOTSTRAP, f"*.{BOOTSTRAP}")


kafka = own_kafka(nodes=len(BROKERS))


@pytest.fixture(scope="module")
def gateway(kafka: KafkaCluster, pki: LivePki) -> Iterator[GatewayProcess]:
    security = {
        "security_protocol": "SSL",
        "tls": pki.tls(),
        "advertised_host": BOOTSTRAP,
        "broker_names": BROKER,
    }
    listener = Listener("names", "one port for all brokers", security=security)
    with GatewayProcess(kafka.bootstrap_servers, [listener], ["team-a"]) as process:
        yield process


@pytest.fixture(scope="module")
def port(gateway: GatewayProcess) -> int:
    return int(gateway.bootstrap_servers("names").rpartition(":")[2])


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve the gateway's names in this process."""
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
        known = isinstance(host, str) and host.endswith(BOOTSTRAP)
        return real("127.0.0.1" if known else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[ToolServer]:
    """A Java that resolves the gateway's names, and no others."""
    hosts = tmp_path / "hosts"
    names = [BOOTSTRAP, *(BROKER.format(node_id=node) for node in BROKERS)]
    hosts.write_text("".join(f"127.0.0.1 {name}\n" for name in [*names, "localhost"]))
    server = ToolServer([f"-Djdk.net.hosts.file={hosts}"])
    yield server
    server.close()


async def test_aiokafka(
    gateway: GatewayProcess, pki: LivePki, port: int, resolver: None, unique: Callable[[str], str]
) -> None:
    """Metadata names both brokers, and each name leads to its broker, for every partition."""
    topic = f"team-a:{unique('orders')}"
    secure: dict[str, Any] = {
        "bootstrap_servers": f"{BOOTSTRAP}:{port}",
        "security_protocol": "SSL",
        "ssl_context": ssl.create_default_context(cafile=pki.ours.file),
    }
    admin = AIOKafkaAdminClient(**secure)
    await admin.start()
    await admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    described = await admin.describe_cluster()
    await admin.close()
    assert {(each["host"], each["port"]) for each in described["brokers"]} == {
        (BROKER.format(node_id=node), port) for node in BROKERS
    }
    async with AIOKafkaProducer(**secure) as producer:
        for partition in range(PARTITIONS):
            await producer.send_and_wait(topic, b"%d" % partition, partition=partition)
        cluster = producer.client.cluster
        leaders = {
            cluster.leader_for_partition(TopicPartition(topic, partition))
            for partition in range(PARTITIONS)
        }
    assert leaders == set(BROKERS)
    async with AIOKafkaConsumer(
        topic, group_id=unique("readers"), auto_offset_reset="earliest", **secure
    ) as consumer:
        values = {(await consumer.getone()).value for _ in range(PARTITIONS)}
    assert values == {b"0", b"1", b"2", b"3"}


def test_java(
    gateway: GatewayProcess,
    pki: LivePki,
    port: int,
    tools: ToolServer,
    unique: Callable[[str], str],
) -> None:
    topic = f"team-a:{unique('orders')}"
    common = ["--bootstrap-server", f"{BOOTSTRAP}:{port}"]
    config = ["--command-config", str(pki.java())]

    def run(tool: str, *args: str, stdin: str = "") -> java.JavaResult:
        ended = tools.run(tool, [*common, *config, *args], stdin=stdin)
        assert ended.returncode == 0, ended.stderr
        return ended

    run(java.TOPICS, "--create", "--topic", topic, "--partitions", str(PARTITIONS))
    run(java.CONSOLE_PRODUCER, "--topic", topic, stdin="".join(f"{n}\n" for n in range(100)))
    limits = ["--from-beginning", "--max-messages", "100", "--timeout-ms", "120000"]
    consumed = run(java.CONSOLE_CONSUMER, "--topic", topic, *limits)
    assert sorted(map(int, consumed.lines)) == list(range(100))
    described = run(java.TOPICS, "--describe", "--topic", topic)
    assert set(re.findall(r"Leader: (\d+)", described.stdout)) == {"1", "2"}


def test_names_that_lead_nowhere(
    gateway: GatewayProcess, pki: LivePki, port: int, resolver: None
) -> None:
    """A name outside node_ids is rejected in TLS; if a node id has no broker, TLS succeeds
    first."""
    context = ssl.create_default_context(cafile=pki.ours.file)

    def connect(name: str) -> ssl.SSLSocket:
        tcp = socket.create_connection(("127.0.0.1", port), timeout=clients.SECONDS)
        return context.wrap_socket(tcp, server_hostname=name)

    for name in (BROKER.format(node_id=9), "elsewhere.gw.localhost"):
        with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
            connect(name)
    reason = "on names: TLS handshake failed: there is no such server name (SNI) here"
    gateway.wait_for_log(reason, 2)
    with connect(BROKER.format(node_id=8)) as connection:
        connection.sendall(b"\0\0\0\x0c\0\x12\0\0\0\0\0\1\0\2me")
        assert connection.recv(1) == b""
    told = "on names: no broker connection: the cluster has no broker 8"
    gateway.wait_for_log(told)
