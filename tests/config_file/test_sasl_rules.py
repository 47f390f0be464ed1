"""gateway.config_file.security_rules: settings that listeners with SASL need or cannot have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.config.errors import key_text
from gateway.config.models import Listener
from gateway.config_file.security_rules import sasl_problems
from tests.auth.tokens import jwk, key_set

AUDIENCE = {"audience": ["kafka"]}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a password and a key set."""
    (tmp_path / "alice").write_text("wonderland")
    (tmp_path / "empty").write_text("")
    (tmp_path / "jwks.json").write_text(key_set(jwk("ES256")))
    monkeypatch.setenv("BOB", "builder")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(sasl: dict[str, Any] | None, protocol: str = "SASL_SSL") -> list[str]:
    """The problems of a listener, without its place."""
    values = {"name": "a", "port": 1, "security_protocol": protocol, "sasl": sasl}
    listener = Listener.model_validate(values, strict=False)
    problems = sasl_problems({0: listener})
    return [
        f"{key_text(problem.key).removeprefix('listeners[0].')}: {problem.text}"
        for problem in problems
    ]


def plain(**more: Any) -> dict[str, Any]:
    return {"mechanisms": ["PLAIN"], "users": {"alice": {"file": "alice"}}, **more}


def bearer(jwks: str = "jwks.json", **more: Any) -> dict[str, Any]:
    return {"mechanisms": ["OAUTHBEARER"], "oauthbearer": {"jwks": jwks, **AUDIENCE}, **more}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "sasl",
    [
        plain(),
        plain(users={"alice": {"file": "alice"}, "bob": {"env": "BOB"}}),
        {"mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512"]},
        bearer(),
        bearer("https://localhost/keys"),
        bearer("http://127.0.0.1:1/keys"),
        {**plain(), **bearer(), "mechanisms": ["PLAIN", "OAUTHBEARER", "SCRAM-SHA-256"]},
        {"mechanisms": ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"], "pass_through": True},
    ],
)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_nothing_is_wrong(sasl: dict[str, Any], protocol: str) -> None:
    assert told(sasl, protocol) == []


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_nothing_is_needed_without_sasl(protocol: str) -> None:
    assert told(None, protocol) == []


@pytest.mark.usefixtures("files")
def test_it_comes_with_its_protocol() -> None:
    assert told(None) == ["sasl: is missing, as security_protocol is SASL_SSL; give its mechanisms"]
    assert told(plain(), "PLAINTEXT") == [
        "sasl: means nothing with PLAINTEXT; make security_protocol SASL_PLAINTEXT or SASL_SSL"
    ]
    assert told(plain(), "SSL") == ["sasl: means nothing with SSL; make security_protocol SASL_SSL"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("sasl", "problem"),
    [
        (
            plain(mechanisms=["PLAIN", "PLAIN"]),
            "sasl.mechanisms: PLAIN is there 2 times; once is enough",
        ),
        (
            {"mechanisms": ["PLAIN"]},
            "sasl.users: is missing, as PLAIN is among the mechanisms; give name and secret",
        ),
        (
            plain(mechanisms=["SCRAM-SHA-256"]),
            "sasl.users: means nothing without PLAIN among the mechanisms; add that or remove it",
        ),
        (
            plain(pass_through=True),
            "sasl.users: means nothing with pass_through: brokers have them; remove it",
        ),
        (
            plain(users={"": {"file": "alice"}}),
            "sasl.users: has a user without a name; give it one",
        ),
        (
            plain(users={"*": {"file": "alice"}}),
            "sasl.users: has a user who could not log in: 'User:*' stands for everyone in ACLs, so "
            "it is nobody's name",
        ),
        (
            plain(users={"a\tb": {"file": "alice"}}),
            "sasl.users: has a user who could not log in: 'User:a\\tb' has characters that cannot "
            "be printed",
        ),
        (
            plain(users={"bob": {"file": "none"}}),
            "sasl.users.bob: 'none' cannot be read: No such file or directory; correct it",
        ),
        (
            plain(users={"bob": {"file": "empty"}}),
            "sasl.users.bob: 'empty' is empty; its first line is to be the secret",
        ),
        (
            plain(users={"bob": {"env": "NO_SUCH_VARIABLE"}}),
            "sasl.users.bob: environment variable NO_SUCH_VARIABLE is not set; set it",
        ),
        (
            {"mechanisms": ["OAUTHBEARER"]},
            "sasl.oauthbearer: is missing, as OAUTHBEARER is among the mechanisms; "
            "give jwks and audience",
        ),
        (
            bearer(mechanisms=["SCRAM-SHA-256"]),
            "sasl.oauthbearer: means nothing without OAUTHBEARER among the mechanisms; "
            "add that or remove it",
        ),
        (
            bearer("ftp://issuer/keys"),
            "sasl.oauthbearer.jwks: 'ftp://issuer/keys' is neither a file nor at http:// or "
            "https://; give its path or URL",
        ),
        (
            bearer("none"),
            "sasl.oauthbearer.jwks: 'none' cannot be used: No such file or directory; "
            "give a JWKS (RFC 7517)",
        ),
        (
            bearer("alice"),
            "sasl.oauthbearer.jwks: 'alice' cannot be used: it is not JSON; give a JWKS (RFC 7517)",
        ),
    ],
)
def test_wrong(sasl: dict[str, Any], problem: str) -> None:
    assert told(sasl) == [problem]


def test_no_secret_is_told(files: Path) -> None:
    (files / "alice").write_bytes(b"wonderland\xff")
    (line,) = told(plain())
    assert line == "sasl.users.alice: 'alice' cannot be read: it is not text; correct it"
