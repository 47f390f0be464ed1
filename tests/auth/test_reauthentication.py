"""Re-authentication: a client's principal cannot change (KIP-368)."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.auth.reauthentication import Reauthentication
from gateway.identity import Identity
from protocol import messages
from tests.auth.logins import Accepts

ALICE = Identity("User:alice", "ONE")


def begun(before: Identity = ALICE, mechanism: str = "ONE") -> Reauthentication:
    return Reauthentication(Accepts(5_000), before, mechanism, 0.0)


def step(reauth: Reauthentication, token: bytes) -> Any:
    return messages.parse("SaslAuthenticateResponse", 2, reauth.step(2, token))


def test_the_same_again() -> None:
    reauth = begun()
    assert not reauth.over
    told = step(reauth, b"alice")
    assert (int(told.error_code), told.auth_bytes) == (0, b"done")
    assert told.session_lifetime.total_seconds() == 5
    assert reauth.over
    assert (reauth.identity, reauth.failed, reauth.user) == (ALICE, None, "alice")


def test_in_two_tokens() -> None:
    reauth = begun(Identity("User:alice", "TWO"), "TWO")
    told = step(reauth, b"first")
    assert (told.auth_bytes, told.session_lifetime.total_seconds()) == (b"more first", 0)
    assert not reauth.over
    step(reauth, b"alice")
    assert reauth.over


@pytest.mark.parametrize(
    ("mechanism", "token", "reason", "told"),
    [
        ("ONE", b"bad", "it was bad", "Authentication with ONE failed: it is bad."),
        (
            "ONE",
            b"bob",
            "it changed the principal",
            "Authentication with ONE failed: a session goes on with the principal that began it.",
        ),
        (
            "TWO",
            b"alice",
            "it changed the mechanism",
            "Authentication with TWO failed: a session begun with ONE goes on with that.",
        ),
    ],
)
def test_rejected(mechanism: str, token: bytes, reason: str, told: str) -> None:
    reauth = begun(mechanism=mechanism)
    answer = step(reauth, token)
    assert (int(answer.error_code), answer.error_message) == (58, told)
    assert (reauth.identity, reauth.failed, reauth.over) == (None, reason, True)


def test_what_cannot_be_told_is_not_answered() -> None:
    reauth = begun()
    assert reauth.step(2, b"wait") == b""
    assert reauth.failed == "not now"
