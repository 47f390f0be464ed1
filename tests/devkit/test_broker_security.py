"""devkit.broker_security: brokers that authenticate their clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.broker_security import PROTOCOLS, BrokerSecurity, BrokerTls, jaas_config
from devkit.certificates import Authority
from devkit.waiting import wait_until

USERS = {"alice": "alice-secret"}
SCRAM_USERS = {"bob": "bob-secret"}
SECONDS = 120


def test_nothing_is_set_that_nobody_asked_for(tmp_path: Path) -> None:
    assert BrokerSecurity(protocols=()).properties(tmp_path) == {}


def test_listeners_with_sasl_have_their_mechanisms(tmp_path: Path) -> None:
    security = BrokerSecurity(plain_users=USERS, scram_users=SCRAM_USERS)
    settings = security.properties(tmp_path)
    prefix = "listener.name.sasl_plaintext"
    expected = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
    assert settings[f"{prefix}.sasl.enabled.mechanisms"] == expected
    assert settings[f"{prefix}.plain.sasl.jaas.config"] == (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_alice="alice-secret";'
    )
    assert "bob-secret" not in "".join(settings.values())
    assert security.format_arguments() == [
        f"--add-scram=SCRAM-SHA-{bits}=[name=bob,password=bob-secret]" for bits in (256, 512)
    ]


def test_unsecured_tokens_are_believed_on_request(tmp_path: Path) -> None:
    settings = BrokerSecurity(unsecured_oauthbearer=True).properties(tmp_path)
    assert settings["listener.name.sasl_plaintext.sasl.enabled.mechanisms"].endswith(",OAUTHBEARER")


def test_an_authorizer(tmp_path: Path) -> None:
    security = BrokerSecurity(authorizer=True, super_users=("User:ANONYMOUS", "User:gateway"))
    settings = security.properties(tmp_path)
    assert settings["super.users"] == "User:ANONYMOUS;User:gateway"
    assert settings["allow.everyone.if.no.acl.found"] == "false"


def test_the_key_store_is_one_file_that_others_cannot_read(tmp_path: Path) -> None:
    server = Authority(tmp_path / "ca").server()
    tls = BrokerTls(server.certificate, server.key)
    settings = BrokerSecurity(protocols=("SSL",), tls=tls).properties(tmp_path)
    store = Path(settings["ssl.keystore.location"])
    assert store.read_text() == server.key.read_text() + server.certificate.read_text()
    assert store.stat().st_mode & 0o077 == 0
    assert "ssl.truststore.location" not in settings


def test_a_java_clients_login() -> None:
    assert jaas_config("SCRAM-SHA-512", "bob", "bob-secret") == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="bob" password="bob-secret";'
    )


@pytest.mark.live
@pytest.mark.long("brokers")
def test_every_listener_lets_its_users_in_and_acls_hold(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    server = ca.server()
    security = BrokerSecurity(
        protocols=PROTOCOLS,
        plain_users=USERS,
        scram_users=SCRAM_USERS,
        tls=BrokerTls(server.certificate, server.key, ca.file, "requested"),
        authorizer=True,
    )

    def admin(kafka: KafkaCluster, protocol: str, **sasl: Any) -> AdminClient:
        return AdminClient(
            {
                "bootstrap.servers": kafka.servers(protocol),
                "security.protocol": protocol,
                "ssl.ca.location": str(ca.file),
                "log_level": 0,
                **{f"sasl.{name}": value for name, value in sasl.items()},
            }
        )

    alice = {"mechanism": "PLAIN", "username": "alice", "password": "alice-secret"}
    with KafkaCluster(nodes=2, security=security) as kafka:
        binding = AclBinding(
            ResourceType.TOPIC,
            "orders",
            ResourcePatternType.LITERAL,
            "User:alice",
            "*",
            AclOperation.CREATE,
            AclPermissionType.ALLOW,
        )
        # Clients are kept, because a pending request fails when its client is collected.
        anonymous = kafka.admin()
        anonymous.create_acls([binding])[binding].result(SECONDS)
        asking = admin(kafka, "SASL_PLAINTEXT", **alice)

        def may_create() -> bool:  # the controller, too, learns of an ACL after it has responded
            made = asking.create_topics([NewTopic("orders", 1)])["orders"]
            return made.exception(SECONDS) is None

        wait_until(may_create, "the ACL", SECONDS)
        made = asking.create_topics([NewTopic("others", 1)])
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            made["others"].result(SECONDS)
        encrypted = admin(kafka, "SSL")
        wait_until(
            lambda: set(encrypted.list_topics(timeout=SECONDS).brokers) == {1, 2},
            "both brokers",
            SECONDS,
        )
        for protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
            assert admin(kafka, protocol, **alice).list_topics(timeout=SECONDS).brokers
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                bob = {"mechanism": mechanism, "username": "bob", "password": "bob-secret"}
                assert admin(kafka, protocol, **bob).list_topics(timeout=SECONDS).brokers
            with pytest.raises(KafkaException):
                wrong = {**alice, "password": "wrong"}
                admin(kafka, protocol, **wrong).list_topics(timeout=3)
        joined = kafka.add_broker(3)
        assert joined == kafka.addresses[3]
        assert len(kafka.servers("SASL_SSL").split(",")) == 3
