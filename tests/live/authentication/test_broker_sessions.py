"""Brokers that limit sessions (connections.max.reauth.ms, KIP-368), the gateway's and clients'."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AclOperation

from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, gateway_log
from tests.live.support.secured_brokers import ANY, PASSWORDS, SecuredBrokers, login
from tests.live.support.wire import ConnectionEnded, Wire
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

Names = Callable[[str], str]

OWN_SECONDS = 7.0
"""Length of the gateway's own sessions (by SCRAM-SHA-256); it re-authenticates after half of it."""
SESSION_SECONDS = 12.0
"""Length of clients' sessions.

librdkafka re-authenticates after nine tenths of it, and machines are busy.
"""
PAUSE = 0.005
"""Seconds that a client under load waits at most between records."""


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    key = "connections.max.reauth.ms"
    overrides = {
        f"listener.name.sasl_ssl.{key}": str(int(SESSION_SECONDS * 1_000)),
        f"listener.name.sasl_ssl.scram-sha-256.{key}": str(int(OWN_SECONDS * 1_000)),
    }
    with SecuredBrokers(overrides=overrides) as started:
        for kind, name in ANY:
            started.allow("alice", kind, name, AclOperation.ALL)
        yield started


@pytest.fixture(scope="module")
def gateway(brokers: SecuredBrokers) -> Iterator[GatewayProcess]:
    sasl = {"mechanisms": ["PLAIN", "SCRAM-SHA-512"], "pass_through": True}
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}
    listeners = [
        Listener("all", "asks nobody"),
        Listener("through", "brokers decide", security=security),
    ]
    with brokers.gateway(brokers.identity("SASL_SSL", "SCRAM-SHA-256"), listeners) as started:
        yield started


def test_the_gateways_own_are_no_clients_concern(gateway: GatewayProcess, unique: Names) -> None:
    """Clients under load do not notice the gateway's own re-authentication, over several
    sessions."""
    servers, topic = gateway.bootstrap_servers("all"), f"org:{unique('orders')}"
    clients.create(servers, topic)
    clients.leader_address(servers, topic)
    sent, errors = load(servers, topic, unique("readers"), {}, 2.5 * OWN_SECONDS)
    assert errors == []
    assert sent > 100
    clients.create(servers, f"{topic}-2")
    assert gateway_log.complaints(gateway) == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_clients_prolong_theirs(gateway: GatewayProcess, unique: Names, mechanism: str) -> None:
    topic = f"org:{unique('orders')}"
    clients.create(gateway.bootstrap_servers("all"), topic)
    servers = gateway.bootstrap_servers("through")
    settings = login(mechanism, "alice")
    sent, errors = load(servers, topic, unique("readers"), settings, 2.1 * SESSION_SECONDS)
    assert errors == []
    assert sent > 100


class TestByHand:
    def wire(self, gateway: GatewayProcess) -> Wire:
        return Wire(gateway.bootstrap_servers("through"))

    def prove(self, wire: Wire, user: str, password: str = "") -> Any:
        token = f"\0{user}\0{password or PASSWORDS[user]}".encode()
        assert not wire.ask("SaslHandshake", 1, mechanism="PLAIN").error_code
        return wire.ask("SaslAuthenticate", 2, auth_bytes=token)

    def is_served(self, wire: Wire) -> bool:
        answer = wire.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False)
        return bool(answer.brokers)

    def answers(self, wire: Wire) -> bool:
        try:
            return self.is_served(wire)
        except (ConnectionEnded, ConnectionError):
            return False

    def test_the_end_is_told_and_comes(self, gateway: GatewayProcess, pace: Pace) -> None:
        """The session lifetime is reported, and the next request after it ends the connection."""
        with self.wire(gateway) as wire:
            asked = time.monotonic()
            answer = self.prove(wire, "alice")
            answered = time.monotonic()
            lasts = answer.session_lifetime.total_seconds()
            assert SESSION_SECONDS - pace.stretched(1) < lasts <= SESSION_SECONDS
            sent = time.monotonic()
            while self.answers(wire):
                assert sent < answered + lasts
                time.sleep(SESSION_SECONDS / 20)
                sent = time.monotonic()
            assert asked + lasts - 0.1 < time.monotonic()

    def test_it_is_prolonged_and_what_is_sent_behind_is_served(
        self, gateway: GatewayProcess
    ) -> None:
        with self.wire(gateway) as wire:
            self.prove(wire, "alice")
            began = time.monotonic()
            while time.monotonic() < began + 1.5 * SESSION_SECONDS:
                time.sleep(SESSION_SECONDS / 3)
                assert not self.prove(wire, "alice").error_code
                assert self.is_served(wire)

    def test_not_by_another_principal(self, gateway: GatewayProcess) -> None:
        with self.wire(gateway) as wire:
            self.prove(wire, "alice")
            answer = self.prove(wire, "bob")
            assert int(answer.error_code) == 58
            assert "the principal that began it" in answer.error_message
            wire.wait_for_end()

    def test_not_by_a_wrong_password(self, gateway: GatewayProcess) -> None:
        with self.wire(gateway) as wire:
            self.prove(wire, "alice")
            assert int(self.prove(wire, "alice", "wrong").error_code) == 58
            wire.wait_for_end()

    def test_not_by_another_mechanism(self, gateway: GatewayProcess) -> None:
        with self.wire(gateway) as wire:
            self.prove(wire, "alice")
            wire.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-512")
            first = b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL"
            assert int(wire.ask("SaslAuthenticate", 2, auth_bytes=first).error_code) == 58
            wire.wait_for_end()


def load(
    servers: str, topic: str, group: str, login: Mapping[str, Any], seconds: float
) -> tuple[int, list[str]]:
    """Produce and consume for a while; the number of records read, and every error."""
    errors: list[str] = []
    sent, seen = 0, 0

    def note(error: KafkaError) -> None:
        errors.append(str(error))

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            note(error)

    common = clients.settings(servers) | {"error_cb": note, **login}
    producer = Producer(common | {"linger.ms": 5})
    reader = Consumer(common | {"group.id": group, "auto.offset.reset": "earliest"})
    try:
        reader.subscribe([topic])
        ends = time.monotonic() + seconds
        while time.monotonic() < ends or seen < sent:
            assert time.monotonic() < ends + clients.SECONDS, f"{seen} of {sent}"
            if time.monotonic() < ends:
                producer.produce(topic, b"x" * 100, on_delivery=delivered)
                sent += 1
            producer.poll(PAUSE)
            record = reader.poll(PAUSE)
            if record is not None and record.error() is not None:
                errors.append(str(record.error()))
            elif record is not None:
                seen += 1
        assert producer.flush(clients.SECONDS) == 0
    finally:
        reader.close()
    return sent, errors
