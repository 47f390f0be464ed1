"""gateway.brokers.login, against a broker of this process."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import threading
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.brokers.errors import LoginError
from gateway.brokers.login import MAX_ITERATIONS, BrokerLogin
from gateway.brokers.login_exchange import authenticate_version, log_in
from gateway.brokers.messages import request_frame, response_body, response_entity
from tests.auth.sasl_broker import AUTHENTICATE, HANDSHAKE, REFUSED, Outcome, SaslBroker

KEY = "clusters[0].security.sasl"
SECRET = "gateway-secret"  # noqa: S105
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def broker_of(**options: Any) -> SaslBroker:
    return SaslBroker({"gateway": SECRET, "odd=na,me": SECRET}, **options)


def login_by(mechanism: str, user: str = "gateway", password: str = SECRET) -> BrokerLogin:
    return BrokerLogin(mechanism, user, password, KEY)


def run(broker: SaslBroker, login: BrokerLogin, version: int = 2) -> BrokerLogin:
    async def ask(name: str, version: int, entity: Any) -> Any:
        answer = broker.take(request_frame(name, version, 5, entity))
        return response_entity(name, version, response_body(name, version, 5, answer[4:]))

    asyncio.run(log_in(login, ask, version))
    return login


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("user", ["gateway", "odd=na,me"])
def test_logs_in(mechanism: str, version: int, user: str) -> None:
    broker = broker_of(lifetime_ms=90_500)
    login = run(broker, login_by(mechanism, user), version)
    assert broker.logins == [user]
    assert login.session_seconds == 90.5
    tokens = 1 if mechanism == "PLAIN" else 2
    expected = [(HANDSHAKE, 1)] + [(AUTHENTICATE, version)] * tokens
    assert [(asked.api_key, asked.version) for asked in broker.asked] == expected


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_session_without_an_end(mechanism: str) -> None:
    assert run(broker_of(), login_by(mechanism)).session_seconds == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_told_with_its_key_and_without_itself(mechanism: str) -> None:
    with pytest.raises(LoginError) as raised:
        run(broker_of(), login_by(mechanism, password="wr0ng"))  # noqa: S106
    text = str(raised.value)
    assert text.startswith(f"refuses user 'gateway' by {mechanism} ({REFUSED}); correct {KEY}.")
    assert f"{KEY}.username or {KEY}.password" in text
    assert "wr0ng" not in text


def test_a_mechanism_that_the_broker_has_not() -> None:
    with pytest.raises(LoginError, match="does not offer PLAIN but SCRAM-SHA-256") as raised:
        run(broker_of(mechanisms=["SCRAM-SHA-256"]), login_by("PLAIN"))
    assert f"{KEY}.mechanism" in str(raised.value)


def test_a_mechanism_that_is_not_in_the_list_is_not_begun() -> None:
    login = login_by("SCRAM-SHA-512")
    with pytest.raises(LoginError, match="but PLAIN; correct"):
        login.first_token(0, ["PLAIN"])


def test_a_listener_without_sasl() -> None:
    with pytest.raises(LoginError, match=r"no SASL there; correct clusters\[0\]\.security\.proto"):
        run(broker_of(handshake_error=34), login_by("PLAIN"))


def test_another_error_of_the_handshake() -> None:
    with pytest.raises(LoginError, match="answered with error 42"):
        run(broker_of(handshake_error=42), login_by("PLAIN"))


class TestBrokersThatLie:
    """A broker that does not know the password is no broker to speak with."""

    @pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
    @pytest.mark.parametrize("challenge", [b"", b"v=AAAA", b"r=x,s=AAAA,i=4096", b"\xff"])
    def test_success_at_once(self, mechanism: str, challenge: bytes) -> None:
        broker = broker_of()
        broker.lies.append(Outcome(challenge))
        with pytest.raises(LoginError, match="is not to be trusted"):
            run(broker, login_by(mechanism))

    @pytest.mark.parametrize("outcome", [b"", b"v=", b"v=AAAA", b"e=other-error", b"\xff", b"r=x"])
    def test_success_without_the_proof(self, outcome: bytes) -> None:
        broker = broker_of()
        broker.lies.extend([None, Outcome(outcome)])
        with pytest.raises(LoginError, match="is not to be trusted"):
            run(broker, login_by("SCRAM-SHA-256"))

    @pytest.mark.parametrize("right", [True, False])
    def test_the_proof_of_a_password(self, right: bool) -> None:
        login = login_by("SCRAM-SHA-256")
        first = login.first_token(0, ["SCRAM-SHA-256"]).decode().removeprefix("n,,")
        salt = b"twelve bytes"
        challenge = f"{first.partition(',')[2]}abc,s={b64encode(salt).decode()},i=4096"
        final = login.next_token(0, None, challenge.encode(), 0.0)
        assert final is not None
        messages = f"{first},{challenge},{final.decode().rpartition(',p=')[0]}"

        def proof_of(password: bytes) -> bytes:
            salted = hashlib.pbkdf2_hmac("sha256", password, salt, 4_096)
            key = hmac.digest(salted, b"Server Key", "sha256")
            return b"v=" + b64encode(hmac.digest(key, messages.encode(), "sha256"))

        if right:
            assert login.next_token(0, None, proof_of(SECRET.encode()), 0.0) is None
            return
        with pytest.raises(LoginError, match=f"signature doesn't match.*{re.escape(KEY)}.password"):
            login.next_token(0, None, proof_of(b"another"), 0.0)

    def test_more_iterations_than_kafka_stores(self) -> None:
        broker = broker_of()
        broker.iterations = MAX_ITERATIONS + 1
        with pytest.raises(LoginError, match=f"more than {MAX_ITERATIONS} iterations"):
            run(broker, login_by("SCRAM-SHA-256"))
        assert len(broker.tokens) == 1

    def test_fewer_iterations_than_are_safe(self) -> None:
        login = login_by("SCRAM-SHA-256")
        first = login.first_token(0, ["SCRAM-SHA-256"]).decode()
        nonce = first.partition(",r=")[2]
        challenge = f"r={nonce}abc,s=MTIzNDU2Nzg5MDEyMzQ=,i=1".encode()
        with pytest.raises(LoginError, match="must not be < 4096"):
            login.next_token(0, None, challenge, 0.0)

    def test_plain_has_no_challenge(self) -> None:
        broker = broker_of()
        broker.lies.append(Outcome(b"more"))
        with pytest.raises(LoginError, match="which has none"):
            run(broker, login_by("PLAIN"))

    def test_a_session_that_ends_before_it_begins_has_no_end(self) -> None:
        broker = broker_of()
        broker.lies.append(Outcome(lifetime_ms=-5))
        assert run(broker, login_by("PLAIN")).session_seconds == 0

    def test_what_it_says_cannot_forge_a_log_line(self) -> None:
        broker = broker_of()
        broker.lies.append(Outcome(error=58, message="no\n2026 INFO all is well" + "x" * 1_000))
        with pytest.raises(LoginError) as raised:
            run(broker, login_by("PLAIN"))
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 500

    @given(st.lists(st.binary(max_size=60), min_size=1, max_size=3))
    def test_whatever_it_says_is_no_proof(self, challenges: list[bytes]) -> None:
        login = login_by("SCRAM-SHA-256")
        login.first_token(0, ["SCRAM-SHA-256"])
        with pytest.raises(LoginError):
            for challenge in challenges:
                assert login.next_token(0, None, challenge, 0.0) is not None


@pytest.mark.parametrize("password", ["\x00", "a\x07b"])
def test_a_password_that_scram_forbids(password: str) -> None:
    with pytest.raises(LoginError, match=r"SCRAM-SHA-256 does not allow .*; change .*password"):
        login_by("SCRAM-SHA-256", password=password)


def test_plain_has_no_place_for_nul() -> None:
    with pytest.raises(LoginError, match="PLAIN does not allow that user or password"):
        login_by("PLAIN", password="a\0b")  # noqa: S106


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_login_does_not_show_its_password(mechanism: str) -> None:
    assert SECRET not in repr(login_by(mechanism))


def test_hashing_leaves_the_event_loop_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    next_token = BrokerLogin.next_token

    def noted(self: BrokerLogin, *answer: Any) -> bytes | None:
        threads.append(threading.current_thread() is threading.main_thread())
        return next_token(self, *answer)

    monkeypatch.setattr(BrokerLogin, "next_token", noted)
    run(broker_of(), login_by("SCRAM-SHA-512"))
    assert threads == [False, True]


@pytest.mark.parametrize(
    ("served", "expected"), [({}, 1), ({36: (0, 1)}, 1), ({36: (0, 2)}, 2), ({36: (1, 9)}, 2)]
)
def test_the_version_of_sasl_authenticate(
    served: dict[int, tuple[int, int]], expected: int
) -> None:
    assert authenticate_version(served) == expected


def test_a_broker_that_is_too_old() -> None:
    with pytest.raises(LoginError, match=r"of Kafka 2\.2 or later"):
        authenticate_version({36: (0, 0)})
