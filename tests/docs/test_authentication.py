"""docs/authentication.md: its mechanisms, protocols and examples against the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from gateway.config.security import Mechanism, OAuthBearer, SecurityProtocol
from gateway.config_file.loading import load_config
from tests.auth.tokens import jwk, key_set
from tests.config import config_samples
from tests.docs import markdown

PAGE = markdown.read("docs/authentication.md")
LISTENERS, OAUTHBEARER = (
    yaml.safe_load(block.text) for block in markdown.blocks(PAGE) if block.language == "yaml"
)


def first_column(head: str) -> list[str]:
    return [markdown.code(row[0]) for row in markdown.table(PAGE, head)]


def test_every_mechanism() -> None:
    assert first_column("mechanism") == list(get_args(Mechanism))


def test_every_protocol() -> None:
    assert first_column("`security_protocol`") == list(get_args(SecurityProtocol))


def test_the_example_is_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEGACY_APP_PASSWORD", "secret")
    Path("secrets").mkdir()
    Path("secrets/reporting").write_text("secret")
    Path("secrets/jwks.json").write_text(key_set(jwk("ES256")))
    values: dict[str, Any] = config_samples.values(**LISTENERS)
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    config = load_config(path)
    (listener,) = config.listeners
    assert listener.sasl is not None
    assert set(listener.sasl.users) == {"reporting", "legacy-app"}
    assert config.principals["User:alice"].home == "team-a"


def test_the_example_of_a_url() -> None:
    settings = OAuthBearer.model_validate(OAUTHBEARER["oauthbearer"], strict=False)
    assert settings.required_claims == {"scope": "kafka", "department": "payments"}
