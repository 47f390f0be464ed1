"""gateway.auth.reauthentication: sessions that the broker prolongs (KIP-368)."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.auth.reauthentication import PassThroughReauthentication
from gateway.brokers.messages import request_frame, response_body, response_entity
from gateway.identity import Identity
from tests.auth.passing_client import NOW, SECRET, HonestTokens, broker_of, through_of
from tests.auth.sasl_broker import ALL, REFUSED, Outcome, SaslBroker

ALICE = Identity("User:alice", "PLAIN", NOW + 5)


def begun(
    mechanism: str = "PLAIN", before: Identity = ALICE, **options: Any
) -> PassThroughReauthentication:
    return PassThroughReauthentication(through_of(**options), before, mechanism, 3.5)


class Broker:
    """Answers the requests on a broker connection."""

    def __init__(self, broker: SaslBroker) -> None:
        self.broker = broker

    async def ask(self, name: str, version: int, entity: Any) -> Any:
        answer = self.broker.take(request_frame(name, version, 1, entity))
        return response_entity(name, version, response_body(name, version, 1, answer[4:]))


def agree(again: PassThroughReauthentication, broker: SaslBroker) -> Any:
    body = asyncio.run(again.agree(1, Broker(broker).ask))
    return response_entity("SaslHandshakeRequest", 1, body)


def step(again: PassThroughReauthentication, broker: SaslBroker, token: bytes) -> Any:
    body = asyncio.run(again.step(2, token, Broker(broker).ask))
    return response_entity("SaslAuthenticateRequest", 2, body)


def test_the_handshake_is_the_brokers() -> None:
    again = begun()
    answer = agree(again, broker_of(mechanisms=["SCRAM-SHA-256", "PLAIN"]))
    assert (int(answer.error_code), answer.mechanisms) == (0, ("PLAIN", "SCRAM-SHA-256"))
    assert not again.over
    assert again.began == 3.5


def test_a_mechanism_that_the_broker_has_no_more() -> None:
    again = begun()
    answer = agree(again, broker_of(mechanisms=["SCRAM-SHA-256"]))
    assert (int(answer.error_code), answer.mechanisms) == (33, ("SCRAM-SHA-256",))
    assert again.failed == "the broker does not offer the mechanism"


def test_a_broker_without_sasl() -> None:
    again = begun()
    answer = agree(again, broker_of(handshake_error=34))
    assert (int(answer.error_code), answer.mechanisms) == (33, ())
    assert again.over


def test_it_prolongs_the_session() -> None:
    again, broker = begun(), broker_of(lifetime_ms=60_000)
    assert agree(again, broker).mechanisms == ALL
    answer = step(again, broker, HonestTokens("PLAIN").first)
    assert int(answer.error_code) == 0
    assert answer.session_lifetime.total_seconds() == 60
    assert again.identity == Identity("User:alice", "PLAIN", NOW + 60)
    assert (again.over, again.failed, again.user) == (True, None, "alice")


def test_scram_takes_two_steps() -> None:
    again = begun("SCRAM-SHA-256", Identity("User:alice", "SCRAM-SHA-256"))
    broker, honest = broker_of(), HonestTokens("SCRAM-SHA-256")
    agree(again, broker)
    challenge = step(again, broker, honest.first)
    assert not again.over
    final = honest.after(challenge.auth_bytes)
    assert final is not None
    outcome = step(again, broker, final)
    assert honest.after(outcome.auth_bytes) is None
    assert again.identity == Identity("User:alice", "SCRAM-SHA-256")


def test_a_wrong_password() -> None:
    again, broker = begun(), broker_of()
    agree(again, broker)
    answer = step(again, broker, HonestTokens("PLAIN", "wrong").first)
    assert int(answer.error_code) == 58
    assert REFUSED not in answer.error_message
    assert again.failed == f"the broker refuses it ({REFUSED})"
    assert again.identity is None


def test_another_principal_does_not_reach_the_broker() -> None:
    again, broker = begun(), SaslBroker({"bob": SECRET})
    agree(again, broker)
    answer = step(again, broker, f"\0bob\0{SECRET}".encode())
    assert int(answer.error_code) == 58
    assert "the principal that began it" in answer.error_message
    assert broker.tokens == []
    assert again.failed == "it changed the principal"


def test_another_mechanism_does_not_reach_the_broker() -> None:
    again, broker = begun("SCRAM-SHA-256"), broker_of()
    agree(again, broker)
    answer = step(again, broker, b"n,,n=alice,r=abc")
    assert "begun with PLAIN" in answer.error_message
    assert broker.tokens == []


def test_a_broker_that_lies() -> None:
    again = begun("SCRAM-SHA-256", Identity("User:alice", "SCRAM-SHA-256"))
    broker = broker_of()
    broker.lies.append(Outcome())
    agree(again, broker)
    assert int(step(again, broker, b"n,,n=alice,r=abc").error_code) == 58
    assert again.identity is None


def test_a_broker_before_kafka_2_2() -> None:
    again, broker = begun(served=(0, 0)), broker_of()
    assert int(step(again, broker, HonestTokens("PLAIN").first).error_code) == 58
    assert broker.tokens == []
