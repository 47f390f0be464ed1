"""Stock clients over TLS: certificates that are trusted, rejected, and renewed."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from cryptography import x509

from devkit import java
from devkit.broker import KafkaCluster
from devkit.certificates import Authority, Credentials
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.authentication.pki import LivePki
from tests.live.support import clients, java_tools

Names = Callable[[str], str]

FOREIGN = "the client's certificate is not believed: unable to get local issuer certificate"
EXPIRED = "the client's certificate is not believed: certificate has expired"
NONE = "peer did not return a certificate"

IN_PASSING = 1.0
"""Seconds within which an accepted client has its response."""


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> LivePki:
    return LivePki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def gateway(kafka: KafkaCluster, pki: LivePki) -> Iterator[GatewayProcess]:
    """TLS listeners on which clients present no certificate, may present one, or must."""
    rules = ["RULE:CN=([a-z-]+)/$1/", "DEFAULT"]
    asked = {"client_ca": pki.ours.file, "principal_mapping_rules": rules}
    listeners = [
        Listener(name, "TLS", security={"security_protocol": "SSL", "tls": pki.tls(**tls)})
        for name, tls in {
            "ssl": {},
            "requested": {"client_auth": "requested", **asked},
            "mtls": {"client_auth": "required", **asked},
        }.items()
    ]
    with GatewayProcess(kafka.bootstrap_servers, listeners, ["team-a"], workers=2) as process:
        yield process


def confluent(
    servers: str, settings: dict[str, str], **more: str | int | bool
) -> dict[str, str | int | float | bool]:
    return {**clients.settings(servers, **more), **settings}


def create(servers: str, settings: dict[str, str], topic: str) -> None:
    create_topics(AdminClient(confluent(servers, settings)), [NewTopic(topic, 1, 1)])


def principals(gateway: GatewayProcess, topic: str) -> set[str]:
    """The principals that produced to a topic, according to the traffic log."""
    found = set()
    for path in gateway.traffic_log_directory.glob("*.jsonl"):
        written = path.read_bytes()
        for line in written[: written.rfind(b"\n") + 1].splitlines():
            record = json.loads(line)
            if (record.get("logical_topic"), record["api"]) == (topic, "Produce"):
                found.add(record["principal"])
    return found


def test_confluent_over_tls(gateway: GatewayProcess, pki: LivePki, unique: Names) -> None:
    servers, topic = gateway.bootstrap_servers("ssl"), f"team-a:{unique('orders')}"
    create(servers, pki.confluent(), topic)
    settings = confluent(servers, pki.confluent())
    read = clients.round_trip(settings, topic, unique("readers"), ["0", "1", "2"])
    assert read == ["0", "1", "2"]
    wait_until(
        lambda: principals(gateway, topic) == {"User:ANONYMOUS"}, "the traffic log", clients.SECONDS
    )


@pytest.mark.parametrize("listener", ["requested", "mtls"])
def test_confluent_with_a_certificate(
    gateway: GatewayProcess, pki: LivePki, unique: Names, listener: str
) -> None:
    servers, topic = gateway.bootstrap_servers(listener), f"team-a:{unique('orders')}"
    settings = pki.confluent(pki.ours.client(f"alice-{listener}"))
    create(servers, settings, topic)
    read = clients.round_trip(
        confluent(servers, settings), topic, unique("readers"), ["0", "1", "2"]
    )
    assert read == ["0", "1", "2"]
    wait_until(
        lambda: principals(gateway, topic) == {f"User:alice-{listener}"},
        "the traffic log",
        clients.SECONDS,
    )


WITH_AND_WITHOUT = [("mtls", "alice"), ("ssl", None)]
"""Listeners, and the user whose certificate a client presents there, or None."""


def of(user: str | None) -> set[str]:
    """The traffic log's principal for such a client."""
    return {"User:ANONYMOUS" if user is None else f"User:{user}"}


@pytest.mark.parametrize(("listener", "user"), WITH_AND_WITHOUT)
async def test_aiokafka(
    gateway: GatewayProcess, pki: LivePki, unique: Names, listener: str, user: str | None
) -> None:
    servers, topic = gateway.bootstrap_servers(listener), f"team-a:{unique('orders')}"
    shown = None if user is None else pki.ours.client(user)
    create(servers, pki.confluent(shown), topic)
    context = ssl.create_default_context(cafile=pki.ours.file)
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    secure = {"bootstrap_servers": servers, "security_protocol": "SSL", "ssl_context": context}
    async with AIOKafkaProducer(**secure) as producer:
        await producer.send_and_wait(topic, b"hello")
    async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **secure) as consumer:
        record = await consumer.getone()
    assert (record.topic, record.value) == (topic, b"hello")
    wait_until(lambda: principals(gateway, topic) == of(user), "the log", clients.SECONDS)


@pytest.mark.parametrize(("listener", "user"), WITH_AND_WITHOUT)
def test_java_s_tools(
    gateway: GatewayProcess, pki: LivePki, unique: Names, listener: str, user: str | None
) -> None:
    servers, topic = gateway.bootstrap_servers(listener), f"team-a:{unique('orders')}"
    shown = None if user is None else pki.ours.client(user)
    create(servers, pki.confluent(shown), topic)
    config = ["--command-config", str(pki.java(shown))]
    java_tools.console_produce(servers, topic, ["one", "two"], *config)
    assert java_tools.console_consume(servers, topic, 2, *config) == ["one", "two"]
    assert topic in java_tools.topics(servers, "--list", *config).lines
    wait_until(lambda: principals(gateway, topic) == of(user), "the log", clients.SECONDS)


# -- rejected clients ----------------------------------------------------------------------------


def rejections(gateway: GatewayProcess) -> float:
    """The number of failed TLS handshakes in /metrics."""
    name = 'kafka_gateway_connection_closes_total{reason="TLS handshake failed"} '
    lines = [line for line in gateway.metrics().splitlines() if line.startswith(name)]
    return float(lines[0].removeprefix(name)) if lines else 0.0


def shown_to(pki: LivePki, which: str) -> Credentials | None:
    """The certificate with which a client is rejected, or None if it presents no certificate."""
    if which == "foreign":
        return pki.foreign.client("mallory")
    return pki.ours.client("late", valid=-timedelta(hours=1)) if which == "expired" else None


CASES = [("none", NONE), ("foreign", FOREIGN), ("expired", EXPIRED)]


@pytest.mark.parametrize(("which", "reason"), CASES)
def test_confluent_is_rejected(
    gateway: GatewayProcess, pki: LivePki, which: str, reason: str
) -> None:
    before, errors = rejections(gateway), list[str]()
    settings: dict[str, Any] = {
        **clients.settings(gateway.bootstrap_servers("mtls")),
        **pki.confluent(shown_to(pki, which)),
        "error_cb": lambda error: errors.append(str(error)),
    }
    admin = AdminClient(settings)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=IN_PASSING)

    def told() -> bool:
        admin.poll(0.05)
        return any("SSL" in error for error in errors)

    wait_until(told, "that the client is told", clients.SECONDS, poll=0)
    gateway.wait_for_log(f"on mtls: TLS handshake failed: {reason}")
    wait_until(lambda: rejections(gateway) > before, "the refusal is counted", clients.SECONDS)


@pytest.mark.parametrize(("which", "reason"), CASES)
def test_java_is_rejected_and_knows_why(
    gateway: GatewayProcess, pki: LivePki, which: str, reason: str
) -> None:
    """Java's client ends at once with an SslAuthenticationException; after a reset it would
    retry."""
    config = str(pki.java(shown_to(pki, which)))
    servers = gateway.bootstrap_servers("mtls")
    ended = java_tools.attempt(java.TOPICS, servers, "--command-config", config, "--list")
    assert ended.returncode != 0
    assert "SslAuthenticationException" in ended.stdout + ended.stderr
    gateway.wait_for_log(f"on mtls: TLS handshake failed: {reason}")


def test_clients_do_not_believe_a_foreign_gateway(gateway: GatewayProcess, pki: LivePki) -> None:
    servers = gateway.bootstrap_servers("ssl")
    admin = AdminClient(confluent(servers, pki.confluent(authority=pki.foreign)))
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=IN_PASSING)
    gateway.wait_for_log("on ssl: TLS handshake failed: tlsv1 alert unknown ca")
    config = str(pki.java(authority=pki.foreign))
    ended = java_tools.attempt(java.TOPICS, servers, "--command-config", config, "--list")
    assert ended.returncode != 0
    assert "SslAuthenticationException" in ended.stdout + ended.stderr


def test_plain_text_is_rejected(gateway: GatewayProcess) -> None:
    admin = AdminClient(clients.settings(gateway.bootstrap_servers("ssl")))
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=IN_PASSING)
    gateway.wait_for_log("on ssl: TLS handshake failed: wrong version number")


# -- renewal ------------------------------------------------------------------------------------


def subject_shown(servers: str, authority: Authority) -> str:
    """The subject of the certificate that the server presents on a new connection."""
    host, port = servers.split(":")
    context = ssl.create_default_context(cafile=authority.file)
    with (
        socket.create_connection((host, int(port))) as tcp,
        context.wrap_socket(tcp, server_hostname="localhost") as tls,
    ):
        der = tls.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der).subject.rfc4514_string()


def test_renewed_without_a_restart_while_an_old_connection_goes_on(
    kafka: KafkaCluster, tmp_path: Path, unique: Names
) -> None:
    pki = LivePki(tmp_path)
    (tmp_path / "clients.pem").write_bytes(pki.ours.file.read_bytes())
    asked = {"client_auth": "required", "client_ca": tmp_path / "clients.pem"}
    listeners = [
        Listener(name, "renewed", security={"security_protocol": "SSL", "tls": pki.tls(**more)})
        for name, more in {"ssl": {}, "mtls": asked}.items()
    ]
    alice, bob = pki.ours.client("alice"), pki.foreign.client("bob")
    topic = unique("orders")
    with GatewayProcess(kafka.bootstrap_servers, listeners, [], workers=2) as gateway:
        servers = gateway.bootstrap_servers("mtls")
        create(servers, pki.confluent(alice), topic)
        reports: list[Message] = []
        producer = Producer(confluent(servers, pki.confluent(alice)))

        def produce() -> None:
            count = len(reports)
            producer.produce(topic, "x", on_delivery=lambda _, report: reports.append(report))
            assert producer.flush(clients.SECONDS) == 0
            assert len(reports) == count + 1
            assert reports[-1].error() is None

        produce()
        assert subject_shown(gateway.bootstrap_servers("ssl"), pki.ours) == "CN=server"

        made = pki.ours.server("renewed")
        (tmp_path / "clients.pem").write_bytes(pki.foreign.file.read_bytes())
        pki.server.key.write_bytes(made.key.read_bytes())
        pki.server.certificate.write_bytes(made.certificate.read_bytes())
        # Each worker, with all files. A worker that looked while the files were being replaced logs
        # the line for mtls twice, and for ssl, whose key and certificate come last, once it has
        # them all.
        gateway.wait_for_log("listener ssl uses the TLS files as they are now", 2)

        assert subject_shown(gateway.bootstrap_servers("ssl"), pki.ours) == "CN=renewed"
        admin = AdminClient(confluent(servers, pki.confluent(bob)))
        assert topic in admin.list_topics(timeout=clients.SECONDS).topics
        with pytest.raises(KafkaException):
            AdminClient(confluent(servers, pki.confluent(alice))).list_topics(timeout=IN_PASSING)
        produce()  # over the connections that alice still has
