"""How long a login lasts: re-authentication (KIP-368), tokens that expire, deleted users."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from devkit import java
from devkit.waiting import POLL_SECONDS, wait_until
from tests.live.authentication.test_sasl_clients import java_config, properties
from tests.live.support import clients, sasl
from tests.live.support.sasl import MECHANISMS, PASSWORDS, SHORT_SECONDS, SecuredGateway, count
from tests.live.support.wire import Wire
from tests.pace import Pace

Names = Callable[[str], str]

AT_ONCE = 1.0
"""Seconds, on an idle machine, within which an ended right stops the operations it allowed."""

BETWEEN = 1.1
"""Seconds after which a connection may begin another re-authentication, as at a broker."""

CLOCKS = 0.1
"""Seconds by which a wall clock may differ from a monotonic clock."""

ILLEGAL_SASL_STATE = 34
SASL_AUTHENTICATION_FAILED = 58


def results(gateway: SecuredGateway, result: str, mechanism: str) -> float:
    labels = {"listener": "short", "mechanism": mechanism, "result": result}
    return count(gateway, "authentications_total", **labels)


# -- re-authentication ------------------------------------------------------------------------


@pytest.mark.alone  # it re-authenticates after nine tenths of its session
def test_a_client_of_librdkafka_goes_on(secured: SecuredGateway, unique: Names) -> None:
    """Over several sessions, on the same connections, without an error."""
    topic = unique("orders")
    clients.create(secured.open, f"team-a:{topic}")
    secured.process.fresh_metrics()  # counts from earlier tests are dropped

    def check(mechanism: str) -> None:
        errors = list[KafkaError]()
        login = sasl.settings(mechanism)
        producer = Producer(clients.settings(secured.short) | login | {"error_cb": errors.append})
        accepted, renewed = (results(secured, name, mechanism) for name in ("accepted", "renewed"))
        _send_until(producer, topic, lambda: results(secured, "renewed", mechanism) >= renewed + 2)
        assert errors == []
        assert results(secured, "accepted", mechanism) <= accepted + 3  # bootstrap, broker, spare

    clients.together(check, MECHANISMS)


def _send_until(producer: Producer, topic: str, condition: Callable[[], bool]) -> None:
    problems: list[KafkaError | None] = []
    deadline = time.monotonic() + clients.SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        producer.produce(topic, b"x", on_delivery=lambda error, _: problems.append(error))
        assert producer.flush(clients.SECONDS) == 0
        time.sleep(POLL_SECONDS)
    assert {*problems} == {None}


@pytest.mark.long("kills")
def test_a_java_client_goes_on(secured: SecuredGateway, unique: Names, tmp_path: Path) -> None:
    """Twenty seconds, which are three sessions."""
    topic = unique("orders")
    clients.create(secured.open, f"team-a:{topic}")
    options = [f"-D{name}={value}" for name, value in properties(tmp_path).items()]

    def check(mechanism: str) -> None:
        config = java_config(tmp_path, mechanism)
        renewed = results(secured, "renewed", mechanism)
        arguments = ["--bootstrap-server", secured.short, "--command-config", str(config)]
        arguments += ["--topic", topic, "--record-size", "10"]
        arguments += ["--num-records", "200", "--throughput", "10"]
        ended = java.run_java(java.PRODUCER_PERFORMANCE, arguments, options=options)
        assert "200 records sent" in ended.stdout, ended.stderr
        assert "Exception" not in ended.stderr
        wait_until(
            lambda: results(secured, "renewed", mechanism) >= renewed + 2, "both", clients.SECONDS
        )

    clients.together(check, ["SCRAM-SHA-512", "OAUTHBEARER"])


@contextmanager
def inside(servers: str, mechanism: str, user: str = "alice", **claims: int) -> Iterator[Wire]:
    """A connection that has logged in."""
    with Wire(servers) as wire:
        assert not sasl.log_in(wire, mechanism, user, **claims).error_code
        assert sasl.is_served(wire)
        yield wire


@pytest.mark.long("kills")
def test_a_session_ends_without_it(secured: SecuredGateway) -> None:
    """A session ends with the next request, as at a broker (test_expired_sessions.py)."""

    def check(mechanism: str) -> None:
        with Wire(secured.short) as wire:
            began = time.monotonic()
            told = sasl.log_in(wire, mechanism, exp=int(time.time()) + 60)
            assert told.session_lifetime.total_seconds() == SHORT_SECONDS
            served_until(wire, time.monotonic() + SHORT_SECONDS)
            assert time.monotonic() - began > SHORT_SECONDS

    clients.together(check, MECHANISMS)


def served_until(wire: Wire, end: float) -> None:
    """Send requests until the connection is closed.

    A request after the end (of the monotonic clock) must not be served.
    """
    while True:
        asked = time.monotonic()
        if not sasl.is_served(wire):
            return
        assert asked < end
        time.sleep(POLL_SECONDS)


@pytest.mark.long("kills")
def test_a_session_is_prolonged(secured: SecuredGateway) -> None:
    def check(mechanism: str) -> None:
        with inside(secured.short, mechanism, exp=int(time.time()) + 60) as wire:
            began = time.monotonic()
            while time.monotonic() < began + SHORT_SECONDS + AT_ONCE:
                told = sasl.log_in(wire, mechanism, exp=int(time.time()) + 60)
                lifetime = told.session_lifetime.total_seconds()
                assert (told.error_code, lifetime) == (0, SHORT_SECONDS)
                assert sasl.is_served(wire)
                time.sleep(BETWEEN)

    clients.together(check, MECHANISMS)


@pytest.mark.long("kills")
def test_beginning_to_prove_it_is_no_proof(secured: SecuredGateway) -> None:
    with inside(secured.short, "PLAIN") as wire:
        wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        served_until(wire, time.monotonic() + SHORT_SECONDS)


@pytest.mark.parametrize(
    ("mechanism", "user", "told"),
    [
        ("PLAIN", "bob", "goes on with the principal that began it"),
        ("SCRAM-SHA-256", "alice", "begun with PLAIN goes on with that"),
        ("PLAIN", "carol", "the credentials are not valid"),
    ],
)
def test_a_session_stays_whose_it_is(
    secured: SecuredGateway, pace: Pace, mechanism: str, user: str, told: str
) -> None:
    with inside(secured.short, "PLAIN") as wire:
        wire.ask("SaslHandshake", 1, mechanism=mechanism)
        answer = sasl.prove(wire, "PLAIN", user)
        assert int(answer.error_code) == SASL_AUTHENTICATION_FAILED
        assert told in answer.error_message
        address = wire.local_address
        assert sasl.seconds_to_end(wire) < pace.stretched(AT_ONCE)
    secured.process.wait_for_log(f"{address} on short: re-authentication failed: ")


def test_where_nobody_is_asked(secured: SecuredGateway) -> None:
    """A listener without SASL responds as a Kafka without SASL."""
    with Wire(secured.open) as wire:
        answer = wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        assert (int(answer.error_code), answer.mechanisms) == (ILLEGAL_SASL_STATE, ())
        answer = wire.ask("SaslAuthenticate", 2, auth_bytes=b"")
        assert int(answer.error_code) == ILLEGAL_SASL_STATE
        assert sasl.is_served(wire)


# -- rights that end --------------------------------------------------------------------------


@pytest.mark.long("kills")
def test_a_token_that_ends(secured: SecuredGateway) -> None:
    ends = int(time.time()) + 6
    with inside(secured.sasl, "OAUTHBEARER", exp=ends) as wire:
        served_until(wire, time.monotonic() + ends - time.time() + CLOCKS)
        assert time.time() > ends - CLOCKS


def test_a_scram_user_who_is_deleted(secured: SecuredGateway, unique: Names, pace: Pace) -> None:
    user = unique("carol")
    sasl.set_password(secured.open, user, user)
    with inside(secured.sasl, "SCRAM-SHA-256", user) as wire:
        sasl.delete_user(secured.open, user)
        address = wire.local_address
        assert sasl.seconds_to_end(wire) < pace.stretched(AT_ONCE)
    with Wire(secured.sasl) as wire:
        assert sasl.log_in(wire, "SCRAM-SHA-256", user).error_code
    secured.process.wait_for_log(f"{address} on sasl: user is gone")


def test_a_changed_password_ends_no_session(secured: SecuredGateway, unique: Names) -> None:
    user = unique("carol")
    sasl.set_password(secured.open, user, user)
    with inside(secured.sasl, "SCRAM-SHA-256", user) as wire:
        sasl.set_password(secured.open, user, "another")
        with Wire(secured.sasl) as other:
            assert sasl.log_in(other, "SCRAM-SHA-256", user).error_code
        assert sasl.is_served(wire)


def test_a_plain_user_whose_file_is_gone(secured: SecuredGateway, pace: Pace) -> None:
    file = secured.directory / "bob"
    with inside(secured.sasl, "PLAIN", "bob") as bob, inside(secured.sasl, "PLAIN") as alice:
        try:
            file.unlink()
            assert sasl.seconds_to_end(bob) < pace.stretched(AT_ONCE)
            with Wire(secured.sasl) as wire:
                assert sasl.log_in(wire, "PLAIN", "bob").error_code
            assert sasl.is_served(alice)
        finally:
            file.write_text(PASSWORDS["bob"])
    wait_until(lambda: _logs_in(secured, "bob"), "the file to be read", clients.SECONDS)


def _logs_in(gateway: SecuredGateway, user: str) -> bool:
    with Wire(gateway.sasl) as wire:
        return not sasl.log_in(wire, "PLAIN", user).error_code
