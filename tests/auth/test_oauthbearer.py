"""OAUTHBEARER: RFC 7628's messages, Kafka's challenge and the response to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.auth.exchange import AuthenticationFailed, CannotTell
from gateway.auth.oauthbearer import OAuthBearerExchange, Token, TokenChecker, Verification
from gateway.identity import Identity
from tests.auth.test_tokens import checker
from tests.auth.tokens import token as signed

CHALLENGE = b'{"status":"invalid_token"}'


class Checker:
    """Accepts one token, and cannot decide about another."""

    def begin(self, token: str) -> Verification:
        raise CannotTell("nothing is done in a thread here")

    def check(self, token: str) -> Token:
        if token == "unknown":  # noqa: S105
            raise CannotTell("no keys")
        if token != "good":  # noqa: S105
            raise AuthenticationFailed("the token has expired", "the token has expired")
        return Token("alice", 5_000.0)


def begun() -> OAuthBearerExchange:
    return OAuthBearerExchange(cast(TokenChecker, Checker()))


@pytest.mark.parametrize(
    "token",
    [
        b"n,,\x01auth=Bearer good\x01\x01",
        b"y,,\x01auth=Bearer good\x01\x01",
        b"n,a=alice,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=bearer good\x01\x01",
        b"n,,\x01auth=Bearer  good \x01\x01",
        b"n,,\x01traceId=12 34\x01auth=Bearer good\x01host=kafka\x01\x01",
    ],
)
def test_right(token: bytes) -> None:
    exchange = begun()
    assert exchange.step(token) == b""
    assert exchange.user == "alice"
    assert exchange.identity == Identity("User:alice", "OAUTHBEARER", 5_000.0)


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (b"n,,\x01auth=Bearer bad\x01\x01", "the token has expired"),
        (
            b"n,a=bob,\x01auth=Bearer good\x01\x01",
            "it asked to act for another user (authzid)",
        ),
    ],
)
def test_a_bad_token_is_challenged_and_then_rejected(token: bytes, reason: str) -> None:
    exchange = begun()
    assert exchange.step(token) == CHALLENGE
    assert exchange.identity is None
    with pytest.raises(AuthenticationFailed) as failed:
        exchange.step(b"\x01")
    assert failed.value.reason == reason


def test_a_client_is_told_why_its_token_is_bad() -> None:
    exchange = begun()
    exchange.step(b"n,,\x01auth=Bearer bad\x01\x01")
    with pytest.raises(AuthenticationFailed) as failed:
        exchange.step(b"\x01")
    assert failed.value.message == "the token has expired"


def test_there_is_no_second_try_after_a_challenge() -> None:
    exchange = begun()
    exchange.step(b"n,,\x01auth=Bearer bad\x01\x01")
    with pytest.raises(AuthenticationFailed, match="what answers a challenge"):
        exchange.step(b"n,,\x01auth=Bearer good\x01\x01")
    assert exchange.identity is None


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"\x01",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,\x01auth=Bearer good\x01\x01\x01",
        b"n,,auth=Bearer good\x01\x01",
        b"p=tls-unique,,\x01auth=Bearer good\x01\x01",
        b"n,a=\xff,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer g\xff\x01\x01",
        b"n,,\x01auth=Bearer good\x01auth=Bearer bad\x01\x01",
        b"n,,\x01=Bearer good\x01\x01",
    ],
)
def test_malformed(token: bytes) -> None:
    exchange = begun()
    with pytest.raises(AuthenticationFailed) as failed:
        exchange.step(token)
    assert failed.value.message == ""
    assert exchange.identity is None


def test_what_cannot_be_told_is_no_rejection() -> None:
    with pytest.raises(CannotTell):
        begun().step(b"n,,\x01auth=Bearer unknown\x01\x01")


@given(token=st.one_of(st.binary(), st.from_regex(rb"n,(a=[^,]*)?,(\x01[a-z]*=[^\x01]*)*\x01*")))
def test_garbage_is_rejected(token: bytes) -> None:
    exchange = begun()
    try:
        outcome = exchange.step(token)
    except AuthenticationFailed:
        return
    assert outcome == CHALLENGE or exchange.identity is not None


def response(bearer: str) -> bytes:
    return b"n,,\x01auth=Bearer " + bearer.encode() + b"\x01\x01"


@pytest.mark.parametrize(
    ("token", "good"),
    [
        (lambda: signed("ES256"), True),
        (lambda: signed("ES256", exp=1), False),
        (lambda: signed("ES256")[:-8] + "AAAAAAAA", False),
        (lambda: "no.token.atall", False),
    ],
)
def test_signatures_are_verified_before_the_step(
    token: Callable[[], str], good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a thread, for which ``work`` is; the step has the same outcome as without."""
    exchange, whole = (OAuthBearerExchange(checker()) for _ in range(2))
    bearer = token()
    expected = whole.step(response(bearer))
    work = exchange.work(response(bearer))
    if work is not None:
        work()
    monkeypatch.setattr(jwt, "decode", None)
    assert exchange.step(response(bearer)) == expected == (b"" if good else CHALLENGE)
    assert exchange.identity == whole.identity
    assert (exchange.identity is not None) == good
    assert exchange.work(b"\x01") is None


@given(st.binary(max_size=60) | st.just(response("x.y.z")))
def test_there_is_no_work_that_fails(token: bytes) -> None:
    exchange = OAuthBearerExchange(checker())
    work = exchange.work(token)
    if work is not None:
        work()
