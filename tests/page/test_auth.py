"""gateway.page.auth: which clients may see the page."""

from __future__ import annotations

import asyncio
import base64
import hmac
import os
from pathlib import Path
from typing import Any

import pytest

from gateway.config.models import MetricsSettings
from gateway.page import auth as auth_module
from gateway.page.auth import MAX_KNOWN, MAX_WAITING, PageAuth, Verdict, host_name, is_own_host
from gateway.page.passwords import PasswordHash, password_line

PASSWORD, TOKEN = "correct horse", "0123456789abcdef0123"
LINE = password_line("alice", PASSWORD)
HOST = "gw.example.org:9404"


def page_auth(directory: Path, *, passwords: bool = True, token: bool = True) -> PageAuth:
    auth: dict[str, Any] = {}
    if passwords:
        (directory / "passwords").write_text(f"{LINE}\n")
        auth["passwords"] = directory / "passwords"
    if token:
        (directory / "token").write_text(f"{TOKEN}\n")
        auth["token"] = {"file": directory / "token"}
    return PageAuth(MetricsSettings.model_validate({"host": "192.0.2.7", "auth": auth}))


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def test_right_wrong_and_missing(tmp_path: Path) -> None:
    auth = page_auth(tmp_path)
    assert await auth.verdict(basic("alice", PASSWORD), HOST) is Verdict.ALLOWED
    assert await auth.verdict(f"Bearer {TOKEN}", HOST) is Verdict.ALLOWED
    assert await auth.verdict(f"bearer  {TOKEN} ", HOST) is Verdict.ALLOWED  # RFC 9110: any case
    for wrong in (
        "",
        basic("alice", PASSWORD + "x"),
        basic("alice", ""),
        basic("bob", PASSWORD),
        "Basic !",
        "Basic " + base64.b64encode(b"\xff\xfe").decode(),
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        "Bearer",
        f"Digest {TOKEN}",
        TOKEN,
        "Bearer " + "x" * 100_000,
    ):
        assert await auth.verdict(wrong, HOST) is Verdict.UNAUTHENTICATED, wrong


async def test_each_alone(tmp_path: Path) -> None:
    only_token = page_auth(tmp_path, passwords=False)
    assert only_token.challenge.startswith("Bearer ")
    assert await only_token.verdict(basic("alice", PASSWORD), HOST) is Verdict.UNAUTHENTICATED
    only_passwords = page_auth(tmp_path, token=False)
    assert only_passwords.challenge.startswith("Basic ")
    assert await only_passwords.verdict(f"Bearer {TOKEN}", HOST) is Verdict.UNAUTHENTICATED


async def test_secrets_are_compared_in_constant_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hmac.compare_digest, over values whose length does not depend on the client's value."""
    compared: list[tuple[int, int]] = []
    real = hmac.compare_digest

    def noted(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    auth = page_auth(tmp_path)
    for given in ("x", TOKEN, TOKEN * 20):
        await auth.verdict(f"Bearer {given}", HOST)
    await auth.verdict(basic("alice", "x"), HOST)
    await auth.verdict(basic("nobody", "x" * 500), HOST)
    assert compared == [(32, 32)] * 5


async def test_an_unknown_user_costs_as_much_as_a_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[tuple[int, int, int]] = []

    def noted(self: PasswordHash, _: str) -> bool:
        hashed.append((self.n, self.r, self.p))
        return False

    monkeypatch.setattr(PasswordHash, "matches", noted)
    auth = page_auth(tmp_path)
    await auth.verdict(basic("alice", "x"), HOST)
    await auth.verdict(basic("nobody", "x"), HOST)
    assert hashed == [hashed[0]] * 2


async def test_a_login_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = 0
    real = PasswordHash.matches

    def counted(self: PasswordHash, password: str) -> bool:
        nonlocal hashed
        hashed += 1
        return real(self, password)

    monkeypatch.setattr(PasswordHash, "matches", counted)
    auth = page_auth(tmp_path)
    for _ in range(5):
        assert await auth.verdict(basic("alice", PASSWORD), HOST) is Verdict.ALLOWED
    assert hashed == 1
    for _ in range(2):
        assert await auth.verdict(basic("alice", "wrong"), HOST) is Verdict.UNAUTHENTICATED
    assert hashed == 3


async def test_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    auth = page_auth(tmp_path)
    assert await auth.verdict(basic("alice", PASSWORD), HOST) is Verdict.ALLOWED
    file = tmp_path / "passwords"
    file.write_text(f"{password_line('alice', 'another one')}\n")
    os.utime(file, (1, 1))
    assert await auth.verdict(basic("alice", PASSWORD), HOST) is Verdict.UNAUTHENTICATED
    assert await auth.verdict(basic("alice", "another one"), HOST) is Verdict.ALLOWED
    file.unlink()
    assert await auth.verdict(basic("alice", "another one"), HOST) is Verdict.UNAUTHENTICATED
    (tmp_path / "token").write_text("f" * 20)
    assert await auth.verdict(f"Bearer {TOKEN}", HOST) is Verdict.UNAUTHENTICATED
    assert await auth.verdict(f"Bearer {'f' * 20}", HOST) is Verdict.ALLOWED


async def test_logins_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PasswordHash, "matches", lambda *_: False)
    auth = page_auth(tmp_path)
    given = [basic("alice", str(number)) for number in range(MAX_WAITING + 5)]
    found = await asyncio.gather(*(auth.verdict(one, HOST) for one in given))
    assert found.count(Verdict.BUSY) == 5
    assert found.count(Verdict.UNAUTHENTICATED) == MAX_WAITING


async def test_what_is_remembered_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PasswordHash, "matches", lambda *_: True)
    auth = page_auth(tmp_path)
    for number in range(MAX_KNOWN + 10):
        assert await auth.verdict(basic("alice", str(number)), HOST) is Verdict.ALLOWED
    assert len(auth._known) == MAX_KNOWN
    assert not any(b"alice" in digest for digest in auth._known)


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:9404", True),
        ("127.0.0.1:9404", True),
        ("127.0.0.1", True),
        ("[::1]:9404", True),
        ("LOCALHOST", True),
        ("evil.example:9404", False),
        ("127.0.0.1.evil.example", False),
        ("192.0.2.7:9404", False),
        ("", True),  # no browser leaves it out
        ("[::1", True),
    ],
)
async def test_without_authentication_the_host_is_loopback(host: str, allowed: bool) -> None:
    """Otherwise a web site whose name resolves to 127.0.0.1 could read the page (DNS rebinding)."""
    auth = PageAuth(MetricsSettings())
    assert not auth.required
    expected = Verdict.ALLOWED if allowed else Verdict.FOREIGN_HOST
    assert await auth.verdict("", host) is expected


@pytest.mark.parametrize(
    ("bound", "host", "own"),
    [
        ("127.0.0.1", "evil.example", False),
        ("localhost", "localhost:9404", True),
        ("127.0.0.2", "127.0.0.2:9404", True),
        ("192.0.2.7", "gw.example.org:9404", True),  # its clients' name for it
    ],
)
def test_names_of_a_port_that_needs_no_login(bound: str, host: str, own: bool) -> None:
    assert is_own_host(bound, host) is own


async def test_bytes_that_are_no_text_are_wrong(tmp_path: Path) -> None:
    """If a header's bytes are not UTF-8, a server passes them on as lone surrogates."""
    auth = page_auth(tmp_path)
    for scheme in ("Bearer", "Basic"):
        header = scheme.encode() + b" \xff\xfe" + TOKEN.encode()
        given = header.decode("utf-8", "surrogateescape")
        assert await auth.verdict(given, HOST) is Verdict.UNAUTHENTICATED


def test_names_in_host_headers() -> None:
    assert host_name("gw.example:9404") == "gw.example"
    assert host_name("[fe80::1]:80") == "fe80::1"
    assert auth_module.host_name("") == ""
