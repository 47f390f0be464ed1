"""gateway.config.security, loaded from a file: TLS, logins, limits of connections, principals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config.models import Config
from tests.config import config_samples
from tests.config_file.written import MINIMAL, load, rejections, rejections_with
from tests.tls.pki import Pki


def test_everything_of_tls_can_be_set(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    made = pki.ours.client("locked", password="open sesame")  # noqa: S106
    (tmp_path / "password").write_text("open sesame\n")
    text = (
        MINIMAL
        + f"""\
    advertised_host: kafka.example
    broker_names: "broker-{{node_id}}.kafka.example"
    security_protocol: SSL
    tls:
      certificate: {made.certificate}
      key: {made.key}
      key_password: {{file: {tmp_path / "password"}}}
      client_auth: requested
      client_ca: {pki.ours.file}
      principal_mapping_rules: ["RULE:CN=(.*)/$1/L", DEFAULT]
"""
    )
    (listener,) = load(tmp_path, text).listeners
    assert listener.broker_names == "broker-{node_id}.kafka.example"
    assert listener.security_protocol == "SSL"
    assert listener.tls is not None
    assert listener.tls.model_dump() == {
        "certificate": made.certificate,
        "key": made.key,
        "key_password": {"file": tmp_path / "password", "env": None},
        "client_auth": "requested",
        "client_ca": pki.ours.file,
        "principal_mapping_rules": ("RULE:CN=(.*)/$1/L", "DEFAULT"),
    }
    config = load(tmp_path, text)
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("listener", "rejection"),
    [
        (
            {"security_protocol": "TLS"},
            "listeners[0].security_protocol: must be 'PLAINTEXT', 'SSL'",
        ),
        ({"tls": {"key": "k"}}, "listeners[0].tls.certificate: is missing; add it"),
        (
            {"tls": {"certificate": 5, "key": "k"}},
            "listeners[0].tls.certificate: must be a path, no",
        ),
        (
            {"tls": {"certificate": "c", "key": "k", "client_auth": "want"}},
            "listeners[0].tls.client_auth: must be 'none', 'requested' or 'required', not 'want'",
        ),
        (
            {"tls": {"certificate": "c", "key": "k", "key_password": "open sesame"}},
            "listeners[0].tls.key_password: must be the file or env that holds the secret, not the",
        ),
        (
            {"tls": {"certificate": "c", "key": "k", "key_password": {}}},
            "listeners[0].tls.key_password: give either file or env, so that the secret itself st",
        ),
        (
            {"tls": {"certificate": "c", "key": "k", "ca": "x"}},
            "listeners[0].tls.ca: unknown key 'ca'",
        ),
    ],
)
def test_rejected_keys_of_tls(tmp_path: Path, listener: dict[str, Any], rejection: str) -> None:
    values = config_samples.values()
    values["listeners"][0] |= listener
    (line,) = rejections_with(tmp_path, **values)
    assert line.startswith(rejection)
    assert "sesame" not in line


@pytest.mark.parametrize(
    ("limits", "rejection"),
    [
        ({"max.connections": 0}, "listeners[0].max.connections: must be at least 1, not 0"),
        ({"max.connections.per.ip": -1}, "listeners[0].max.connections.per.ip: must be at least 0"),
        (
            {"max.connections.per.ip.overrides": {"localhost": 5}},
            "listeners[0].max.connections.per.ip.overrides.localhost",
        ),
        (
            {"max.connection.creation.rate": 0},
            "listeners[0].max.connection.creation.rate: must be at least 1",
        ),
    ],
)
def test_rejected_limits_of_connections(
    tmp_path: Path, limits: dict[str, Any], rejection: str
) -> None:
    values = config_samples.values()
    values["listeners"][0] |= limits
    (line,) = rejections_with(tmp_path, **values)
    assert line.startswith(rejection)


def test_everything_of_logins_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOB", "builder")
    (tmp_path / "alice").write_text("wonderland\n")
    text = (
        MINIMAL
        + f"""\
    security_protocol: SASL_PLAINTEXT
    sasl:
      mechanisms: [PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER]
      users:
        alice: {{file: {tmp_path / "alice"}}}
        bob: {{env: BOB}}
      oauthbearer:
        jwks: https://localhost/keys
        audience: [kafka, gateway]
        issuer: https://localhost
        principal_claim: azp
        required_claims: {{scope: kafka}}
        clock_skew_seconds: 0
        refresh_seconds: 60
      max_reauth_seconds: 3600
      pass_through: false
principals:
  "User:alice": {{home: team-a}}
unauthenticated:
  max_bytes: 2048
  max_seconds: 0.5
  max_connections: 10
  max_share_per_ip: 1
  failure_delay_seconds: 0
incomplete_requests:
  max_bytes: 1048577
  max_bytes_per_ip: 1048576
collected_responses:
  max_bytes: 2097153
  max_bytes_per_ip: 2097152
"""
    )
    config = load(tmp_path, text)
    (listener,) = config.listeners
    assert listener.sasl is not None
    assert listener.sasl.model_dump() == {
        "mechanisms": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
        "users": {
            "alice": {"file": tmp_path / "alice", "env": None},
            "bob": {"file": None, "env": "BOB"},
        },
        "oauthbearer": {
            "jwks": "https://localhost/keys",
            "audience": ("kafka", "gateway"),
            "issuer": "https://localhost",
            "principal_claim": "azp",
            "required_claims": {"scope": "kafka"},
            "clock_skew_seconds": 0,
            "refresh_seconds": 60,
        },
        "max_reauth_seconds": 3_600,
        "pass_through": False,
    }
    assert {who: known.home for who, known in config.principals.items()} == {"User:alice": "team-a"}
    assert config.unauthenticated.model_dump() == {
        "max_bytes": 2_048,
        "max_seconds": 0.5,
        "max_connections": 10,
        "max_share_per_ip": 1,
        "failure_delay_seconds": 0,
    }
    limits = config.incomplete_requests
    assert (limits.max_bytes, limits.max_bytes_per_ip) == (1_048_577, 1_048_576)
    room = config.collected_responses
    assert (room.max_bytes, room.max_bytes_per_ip) == (2_097_153, 2_097_152)
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("keys", "rejection"),
    [
        (
            {"mechanisms": ["GSSAPI"]},
            "sasl.mechanisms[0]: must be 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512' or 'OAUTHB",
        ),
        ({"mechanisms": []}, "sasl.mechanisms: is an empty list; add an item"),
        ({}, "sasl.mechanisms: is missing; add it"),
        (
            {"mechanisms": ["PLAIN"], "users": {"alice": {"file": "a", "env": "B"}}},
            "sasl.users.alice: give either file or env, so that the secret itself stands elsew",
        ),
        (
            {"mechanisms": ["PLAIN"], "max_reauth_seconds": -1},
            "sasl.max_reauth_seconds: must be at least 0, not -1; raise it",
        ),
        (
            {"mechanisms": ["PLAIN"]},
            "sasl.users: is missing, as PLAIN is among the mechanisms; give name and secret",
        ),
    ],
)
def test_rejected_logins(tmp_path: Path, keys: dict[str, Any], rejection: str) -> None:
    values = config_samples.values()
    values["listeners"][0] |= {"security_protocol": "SASL_PLAINTEXT", "sasl": keys}
    text = yaml.safe_dump(values)
    lines = [line.partition(": ")[2] for line in rejections(tmp_path, text)]
    assert lines[0].startswith(f"listeners[0].{rejection}")


@pytest.mark.parametrize(
    ("overrides", "rejection"),
    [
        ({"principals": {"alice": {"home": "a"}}}, "'alice' is no principal; write it like User:"),
        ({"principals": {"User:a": {}}}, "principals.User:a.home: is missing; add it"),
        ({"principals": {"User:a": {"home": "a:"}}}, "principals.User:a.home: tier '(empty)' of"),
        ({"unauthenticated": {"max_bytes": 1}}, "unauthenticated.max_bytes: must be at least 1024"),
    ],
)
def test_rejected_principals(tmp_path: Path, overrides: dict[str, Any], rejection: str) -> None:
    (line,) = rejections_with(tmp_path, **overrides)
    assert rejection in line
