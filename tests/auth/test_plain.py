"""PLAIN: RFC 4616, and secrets that change while the gateway runs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.auth.exchange import AuthenticationFailed, CredentialsError
from gateway.auth.passwords import PlainExchange, PlainUsers
from gateway.config.security import Secret
from gateway.identity import Identity

KEY = "listeners[0].sasl.users"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """The file with alice's password."""
    path = tmp_path / "alice"
    path.write_text("wonderland\n")
    return path


@pytest.fixture
def users(secret: Path, monkeypatch: pytest.MonkeyPatch) -> PlainUsers:
    monkeypatch.setenv("BOB", "builder")
    made = PlainUsers({"alice": Secret(file=secret), "bob": Secret(env="BOB")}, KEY)
    made.load()
    return made


def why(users: PlainUsers, token: bytes) -> str:
    """The reason for which a token is rejected."""
    exchange = PlainExchange(users)
    with pytest.raises(AuthenticationFailed) as failed:
        exchange.step(token)
    assert exchange.identity is None
    return failed.value.reason


@pytest.mark.parametrize("user", ["*", "a\nb"])
def test_a_user_who_would_be_everyone(secret: Path, user: str) -> None:
    made = PlainUsers({user: Secret(file=secret)}, KEY)
    made.load()
    assert why(made, f"\0{user}\0wonderland".encode())


@pytest.mark.parametrize(
    ("token", "user"),
    [
        (b"\0alice\0wonderland", "alice"),
        (b"alice\0alice\0wonderland", "alice"),
        (b"\0bob\0builder", "bob"),
    ],
)
def test_right(users: PlainUsers, token: bytes, user: str) -> None:
    exchange = PlainExchange(users)
    assert exchange.step(token) == b""
    assert exchange.user == user
    assert exchange.identity == Identity(f"User:{user}", "PLAIN", user=user)


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (b"", "PLAIN takes 3 parts, not 1 (RFC 4616)"),
        (b"alice\0wonderland", "PLAIN takes 3 parts, not 2 (RFC 4616)"),
        (b"\0alice\0wonderland\0", "PLAIN takes 3 parts, not 4 (RFC 4616)"),
        (b"\0\0wonderland", "without a user name"),
        (b"\0alice\0", "without a password"),
        (b"\0alice\0\xff", "the token is not UTF-8"),
        (b"\0alice\0wonderlan", "wrong password"),
        (b"\0alice\0builder", "wrong password"),
        (b"\0carol\0wonderland", "there is no such user"),
        (b"bob\0alice\0wonderland", "it asked to act for another user (authzid)"),
    ],
)
def test_wrong(users: PlainUsers, token: bytes, reason: str) -> None:
    assert why(users, token) == reason


def test_nothing_is_told_that_says_which_users_there_are(users: PlainUsers) -> None:
    told = set()
    for token in (b"\0alice\0x", b"\0carol\0x"):
        with pytest.raises(AuthenticationFailed) as failed:
            PlainExchange(users).step(token)
        told.add(failed.value.message)
    assert told == {""}


@given(token=st.binary(max_size=100))
def test_garbage_is_rejected(token: bytes) -> None:
    nobody = PlainUsers({}, KEY)
    nobody.load()
    with pytest.raises(AuthenticationFailed):
        PlainExchange(nobody).step(token)


def test_secrets_that_cannot_be_read_are_all_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    users = PlainUsers(
        {
            "alice": Secret(file=tmp_path / "none"),
            "bob": Secret(env="NO_SUCH_VARIABLE"),
            "carol": Secret(file=empty),
        },
        KEY,
    )
    with pytest.raises(CredentialsError) as error:
        users.load()
    lines = str(error.value).splitlines()
    assert lines == [
        f"{KEY}.alice: '{tmp_path}/none' cannot be read: No such file or directory",
        f"{KEY}.bob: environment variable NO_SUCH_VARIABLE is not set; set it",
        f"{KEY}.carol: '{empty}' is empty; its first line is to be the secret",
    ]


def test_a_changed_file_is_read_again(
    users: PlainUsers, secret: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not users.look_again()
    secret.write_text("looking-glass\n")
    with caplog.at_level(logging.INFO):
        assert not users.look_again()
    assert caplog.messages == [f"{KEY}.alice has been read again"]
    assert users.matches("alice", "looking-glass")
    assert not users.matches("alice", "wonderland")


def test_a_user_goes_with_the_file(
    users: PlainUsers, secret: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret.unlink()
    assert users.look_again()
    assert "alice" not in users
    assert "bob" in users
    assert not users.matches("alice", "wonderland")
    assert "nobody logs in as this user" in caplog.text
    assert not users.look_again()  # once is enough
    secret.write_text("wonderland\n")
    assert not users.look_again()
    assert users.matches("alice", "wonderland")


def test_no_secret_is_shown(users: PlainUsers, caplog: pytest.LogCaptureFixture) -> None:
    assert repr(users) == f"PlainUsers(2 at {KEY})"
    for value in vars(users).values():
        assert "wonderland" not in repr(value)
        assert "builder" not in repr(value)
    assert "wonderland" not in why(users, b"\0alice\0wonderland\0")
    assert "wonderland" not in caplog.text
