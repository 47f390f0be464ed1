"""Rejected logins: which clients, with which errors, and how many resources before the
rejection."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from devkit.waiting import wait_until
from tests.auth.logins import api_versions, authenticate, handshake, request
from tests.auth.tokens import AUDIENCE, token
from tests.live.support import clients, sasl
from tests.live.support.sasl import MECHANISMS, PASSWORDS, SecuredGateway, count
from tests.live.support.wire import ConnectionEnded, Wire
from tests.pace import Pace

METADATA = request("Metadata", 4, topics=())
IN_PASSING = 0.3
"""Seconds within which an accepted client has its response."""
AT_ONCE = 2.0
"""Seconds, on an idle machine, within which the gateway closes an evicted client."""

SASL_AUTHENTICATION_FAILED = 58
UNSUPPORTED_SASL_MECHANISM = 33


# -- clients ----------------------------------------------------------------------------------


def rejection(servers: str, login: dict[str, Any]) -> str:
    """The error with which a confluent-kafka client is rejected."""
    errors: list[KafkaError] = []
    config = clients.settings(servers) | login | {"error_cb": errors.append}
    client = AdminClient(config)

    def told() -> str | None:
        client.poll(0.05)
        return next((error.str() for error in errors if error.name() == "_AUTHENTICATION"), None)

    client.poll(0)  # calls oauth_cb for a token
    for _ in range(2):  # it reconnects, and is rejected again
        with pytest.raises(KafkaException):
            client.list_topics(timeout=IN_PASSING)
        text = wait_until(told, "that it is told", clients.SECONDS, poll=0)
    assert text is not None
    return text


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("carol", "wonderland")])
def test_a_wrong_password_and_an_unknown_user_are_told_alike(
    secured: SecuredGateway, mechanism: str, user: str, password: str
) -> None:
    told = rejection(secured.sasl, sasl.settings(mechanism, user, password))
    text = f"Authentication with {mechanism} failed: the credentials are not valid."
    assert text in told


@pytest.mark.parametrize(
    ("seconds", "wrong", "told"),
    [
        (-1, {}, "the token has expired"),
        (60, {"name": "foreign"}, "the credentials are not valid"),
        (60, {"aud": "other"}, "the token is not for this audience"),
    ],
)
def test_a_token_that_does_not_hold(
    secured: SecuredGateway, seconds: int, wrong: dict[str, Any], told: str
) -> None:
    claims = {"exp": int(time.time()) + seconds, **wrong}
    login = sasl.settings("OAUTHBEARER") | {
        # The client's own idea of the token's expiry does not matter.
        "oauth_cb": lambda _: (token(sub="alice", **claims), time.time() + 60)
    }
    assert f"Authentication with OAUTHBEARER failed: {told}." in rejection(secured.sasl, login)


# -- bytes ------------------------------------------------------------------------------------


def test_a_mechanism_that_is_not_listed(secured: SecuredGateway) -> None:
    for mechanism in ("GSSAPI", "SCRAM-SHA-1", "plain", "ANONYMOUS"):
        with Wire(secured.sasl) as wire:
            answer = wire.ask("SaslHandshake", 1, mechanism=mechanism)
            assert int(answer.error_code) == UNSUPPORTED_SASL_MECHANISM
            assert answer.mechanisms == MECHANISMS
            assert wire.wait_for_end() == b""


def test_the_one_that_was_agreed_is_the_one_that_is_used(secured: SecuredGateway) -> None:
    """If a handshake chose a mechanism, a token of another mechanism is rejected."""
    with Wire(secured.sasl) as wire:
        wire.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-512")
        answer = sasl.prove(wire, "PLAIN")
        assert int(answer.error_code) == SASL_AUTHENTICATION_FAILED
        assert wire.wait_for_end() == b""


@pytest.mark.parametrize(
    "first", [METADATA, request("Produce", 9, acks=1), request("SaslAuthenticate", 2)]
)
def test_nothing_is_served_before_a_login(secured: SecuredGateway, first: bytes) -> None:
    with Wire(secured.sasl) as wire:
        wire.send(first)
        assert wire.wait_for_end() == b""


def test_versions_are_told_to_everyone(secured: SecuredGateway) -> None:
    with Wire(secured.sasl) as early, Wire(secured.open) as late:
        named = {"client_software_name": "wire", "client_software_version": "1"}
        before = early.ask("ApiVersions", 4, **named)
        after = late.ask("ApiVersions", 4, **named)
        assert before.api_keys
        assert {*before.api_keys} == {*after.api_keys}
        assert before.finalized_features == after.finalized_features
        assert {17, 36} <= {key.api_key for key in before.api_keys}


PLAIN_TOKEN = f"\0alice\0{PASSWORDS['alice']}".encode()
IN_REQUESTS = api_versions() + handshake("PLAIN") + authenticate(PLAIN_TOKEN)
BARE = handshake("PLAIN", 0) + len(PLAIN_TOKEN).to_bytes(4, "big") + PLAIN_TOKEN


def accepted(gateway: SecuredGateway) -> float:
    return count(gateway, "authentications_total", listener="sasl", result="accepted")


@pytest.mark.parametrize(
    ("login", "answers"), [(IN_REQUESTS, 3), (BARE, 2)], ids=["in requests", "bare"]
)
def test_a_login_that_is_cut_is_none(secured: SecuredGateway, login: bytes, answers: int) -> None:
    """A login cut at any offset fails, whatever follows instead of the rest."""
    secured.process.fresh_metrics()  # counts from earlier tests are dropped
    before = accepted(secured)
    for cut in range(len(login)):
        for instead in (b"", b"\xff" + METADATA):
            with Wire(secured.sasl) as wire:
                wire.send(login[:cut] + instead)
                wire.end()
                wire.wait_for_end()
    with Wire(secured.sasl) as wire:
        wire.send(login)
        for _ in range(answers):
            wire.frame()
        assert sasl.is_served(wire)
    wait_until(lambda: accepted(secured) > before, "the count", clients.SECONDS)
    assert accepted(secured) == before + 1


def test_pieces_are_put_together(secured: SecuredGateway) -> None:
    with Wire(secured.sasl) as wire:
        for byte in IN_REQUESTS:
            wire.send(bytes([byte]))
        for _ in range(3):
            wire.frame()
        assert sasl.is_served(wire)


# -- limits -----------------------------------------------------------------------------------


def closes(gateway: SecuredGateway, reason: str) -> float:
    return count(gateway, "connection_closes_total", reason=reason)


def test_a_client_that_does_not_log_in_is_sent_away(secured: SecuredGateway, pace: Pace) -> None:
    reason = "client did not log in in time"
    secured.process.fresh_metrics()  # counts from earlier tests are dropped
    before = closes(secured, reason)
    began = time.monotonic()
    with Wire(secured.sasl) as silent, Wire(secured.sasl) as slow:
        slow.ask("SaslHandshake", 1, mechanism="PLAIN")
        silent.wait_for_end()
        assert 3.0 < time.monotonic() - began < 4.0 + pace.stretched(AT_ONCE)
        assert sasl.seconds_to_end(slow) < pace.stretched(AT_ONCE)
    wait_until(lambda: closes(secured, reason) == before + 2, "the count", clients.SECONDS)


def test_too_many_bytes(secured: SecuredGateway, pace: Pace) -> None:
    with Wire(secured.sasl) as wire:
        wire.send((64 * 1024).to_bytes(4, "big"))
        assert sasl.seconds_to_end(wire) < pace.stretched(AT_ONCE)


def test_too_many_clients_at_once(secured: SecuredGateway, pace: Pace) -> None:
    """An address has half of the places; the longest silent client is closed, a logged-in client
    stays."""
    reason = "too many unauthenticated connections"
    before = closes(secured, reason)
    with ExitStack() as stack:
        inside = stack.enter_context(Wire(secured.sasl))
        sasl.log_in(inside, "PLAIN")
        first = stack.enter_context(Wire(secured.sasl))
        for _ in range(25):
            stack.enter_context(Wire(secured.sasl))
        assert sasl.seconds_to_end(first) < pace.stretched(AT_ONCE)
        assert sasl.is_served(inside)
        assert _may_log_in(secured)
    wait_until(lambda: closes(secured, reason) >= before + 1, "the count", clients.SECONDS)


def _may_log_in(gateway: SecuredGateway) -> bool:
    with Wire(gateway.sasl) as wire:
        try:
            return not sasl.log_in(wire, "PLAIN").error_code
        except (ConnectionEnded, OSError):
            return False


def test_a_rejection_takes_its_time(secured: SecuredGateway) -> None:
    """``unauthenticated.failure_delay_seconds`` is 0.1 unless it is set."""
    with Wire(secured.sasl) as wire:
        wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        started = time.monotonic()
        answer = wire.ask("SaslAuthenticate", 2, auth_bytes=b"\0alice\0wrong")
        assert time.monotonic() - started > 0.09
        assert int(answer.error_code) == SASL_AUTHENTICATION_FAILED


# -- counts and logs ------------------------------------------------------------------------------


def test_attempts_are_counted_and_logged_without_secrets(secured: SecuredGateway) -> None:
    labels = {"listener": "sasl", "mechanism": "PLAIN", "result": "refused"}
    before = count(secured, "authentications_total", **labels)
    with Wire(secured.sasl) as wire:
        wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        wire.ask("SaslAuthenticate", 2, auth_bytes=b"\0alice\0not-her-password")
        address = wire.local_address
        wire.wait_for_end()
    wait_until(
        lambda: count(secured, "authentications_total", **labels) > before,
        "the count",
        clients.SECONDS,
    )
    said = "on sasl: authentication failed: PLAIN of 'alice': wrong password"
    secured.process.wait_for_log(f"{address} {said}")
    log = secured.process.log()
    for secret in (*PASSWORDS.values(), "not-her-password", "Bearer", AUDIENCE + "."):
        assert secret not in log
