"""Stock clients log in by every mechanism, and have the right principal."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider

from devkit import java
from devkit.broker import KafkaCluster
from devkit.broker_security import jaas_config
from tests.auth.tokens import token
from tests.live.support import clients, java_tools, sasl
from tests.live.support.sasl import MECHANISMS, PASSWORDS, SecuredGateway

Names = Callable[[str], str]


def over_tls(secured: SecuredGateway) -> dict[str, str]:
    """The settings of a confluent-kafka client for TLS, besides its login."""
    return {"security.protocol": "SASL_SSL", "ssl.ca.location": str(secured.authority.file)}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka(
    secured: SecuredGateway, kafka: KafkaCluster, unique: Names, mechanism: str
) -> None:
    """Alice's home is team-a, which shows whether the gateway recognizes her.

    The logins without TLS are tested below, on a listener that serves all teams.
    """
    topic = unique("orders")
    clients.create(secured.open, f"team-a:{topic}")
    login = clients.settings(secured.tls) | sasl.settings(mechanism) | over_tls(secured)
    assert clients.round_trip(login, topic, unique("readers")) == ["first"]
    assert f"team-a..{topic}" in kafka.topics()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_listener_serves_all_teams(
    secured: SecuredGateway, unique: Names, mechanism: str
) -> None:
    topic = unique("orders")
    clients.create(secured.open, f"team-a:{topic}")
    assert topic in sasl.listed(sasl.admin(secured.sasl, mechanism, "alice"))
    seen_by_bob = sasl.listed(sasl.admin(secured.sasl, mechanism, "bob"))
    assert f"team-a:{topic}" in seen_by_bob
    assert topic not in seen_by_bob


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """A token provider: aiokafka requests a token whenever it connects."""

    async def token(self) -> str:
        return token(sub="alice", exp=int(time.time()) + 60)


@pytest.mark.parametrize(
    ("listener", "mechanism"), [("sasl", "SCRAM-SHA-512"), *(("tls", one) for one in MECHANISMS)]
)
async def test_aiokafka(
    secured: SecuredGateway, unique: Names, mechanism: str, listener: str
) -> None:
    topic = unique("orders")
    clients.create(secured.open, f"team-a:{topic}")
    servers = secured.process.bootstrap_servers(listener)
    login: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    if listener == "tls":
        context = ssl.create_default_context(cafile=secured.authority.file)
        login |= {"security_protocol": "SASL_SSL", "ssl_context": context}
    if mechanism == "OAUTHBEARER":
        login["sasl_oauth_token_provider"] = Tokens()
    else:
        login |= {"sasl_plain_username": "alice", "sasl_plain_password": PASSWORDS["alice"]}
    async with AIOKafkaProducer(bootstrap_servers=servers, **login) as producer:
        await producer.send_and_wait(topic, b"first")
    reading = {"auto_offset_reset": "earliest", "group_id": unique("readers")}
    async with AIOKafkaConsumer(topic, bootstrap_servers=servers, **login, **reading) as consumer:
        record = await consumer.getone()
    assert (record.topic, record.value) == (topic, b"first")


def java_config(
    directory: Path, mechanism: str, authority: Path | None = None, user: str = "alice"
) -> Path:
    """The properties with which Kafka's tools log in; over TLS if they know an ``authority``."""
    protocol = "SASL_PLAINTEXT" if authority is None else "SASL_SSL"
    lines = [f"security.protocol={protocol}", f"sasl.mechanism={mechanism}"]
    if authority is not None:
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={authority}"]
    if mechanism == "OAUTHBEARER":
        path = token_file(directory)
        path.write_text(token(sub=user, iat=int(time.time())))
        security = "org.apache.kafka.common.security.oauthbearer"
        lines += [
            f"sasl.jaas.config={security}.OAuthBearerLoginModule required;",
            f"sasl.login.callback.handler.class={security}.OAuthBearerLoginCallbackHandler",
            f"sasl.oauthbearer.token.endpoint.url=file://{path}",
        ]
    else:
        lines.append(f"sasl.jaas.config={jaas_config(mechanism, user, PASSWORDS[user])}")
    path = directory / f"{mechanism}.properties"
    path.write_text("\n".join(lines))
    return path


def token_file(directory: Path) -> Path:
    """The path at which :func:`java_config` writes a token."""
    return directory / "token"


def properties(directory: Path) -> dict[str, str]:
    """Java's system properties, without which Kafka reads no such file or URL (CVE-2025-27817)."""
    allowed, path = "org.apache.kafka.sasl.oauthbearer.allowed", token_file(directory)
    return {f"{allowed}.files": str(path), f"{allowed}.urls": f"file://{path}"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_java(secured: SecuredGateway, unique: Names, mechanism: str, tmp_path: Path) -> None:
    topic = unique("orders")
    path = java_config(tmp_path, mechanism, secured.authority.file)
    config = ["--command-config", str(path)]
    create = ["--create", "--topic", topic, *config]
    java_tools.run(java.TOPICS, secured.tls, *create, properties=properties(tmp_path))
    java_tools.console_produce(secured.tls, topic, ["first", "second"], *config)
    assert java_tools.console_consume(secured.tls, topic, 2, *config) == ["first", "second"]
    assert f"team-a:{topic}" in clients.listed(secured.open)


def test_java_is_told_of_a_wrong_password(secured: SecuredGateway, tmp_path: Path) -> None:
    config = java_config(tmp_path, "SCRAM-SHA-512")
    config.write_text(config.read_text().replace(PASSWORDS["alice"], "wrong"))
    arguments = ["--list", "--command-config", str(config)]
    result = java_tools.attempt(java.TOPICS, secured.sasl, *arguments)
    assert result.returncode == 1
    assert "SaslAuthenticationException" in result.stderr
    told = "Authentication with SCRAM-SHA-512 failed: the credentials are not valid."
    assert told in result.stderr
