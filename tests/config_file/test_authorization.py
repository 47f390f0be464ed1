"""The block ``authorization:`` of a configuration. Other keys of ``config_security`` are tested in
``test_config``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from tests.config import config_samples


def _written(directory: Path, block: str) -> Path:
    """A file with this block, as a person writes it."""
    path = config_samples.write(directory)
    path.write_text(path.read_text() + block)
    return path


def test_everything_of_authorization_can_be_set(tmp_path: Path) -> None:
    text = """\
authorization:
  authorizer.class.name: acme.Authorizer
  super.users: ["User:admin", "User:CN=root,O=acme"]
  allow.everyone.if.no.acl.found: true
  configs: {acme.url: "https://localhost", acme.retries: 3}
"""
    config = load_config(_written(tmp_path, text))
    assert config.authorization is not None
    assert config.authorization.model_dump(by_alias=True) == {
        "authorizer.class.name": "acme.Authorizer",
        "super.users": ("User:admin", "User:CN=root,O=acme"),
        "allow.everyone.if.no.acl.found": True,
        "configs": {"acme.url": "https://localhost", "acme.retries": 3},
    }
    assert Config.from_json(config.to_json()) == config


def test_an_empty_authorization_is_kafka_s_own(tmp_path: Path) -> None:
    """The block alone turns it on: nothing is allowed until there are ACLs."""
    config = load_config(_written(tmp_path, "authorization: {}\n"))
    assert config.authorization is not None
    assert config.authorization.authorizer == "gateway.acls.standard.StandardAuthorizer"
    assert config.authorization.super_users == ()
    assert not config.authorization.allow_everyone


@pytest.mark.parametrize(
    ("block", "rejection"),
    [
        ({"super.users": ["admin"]}, "super.users[0]: 'admin' is no principal; write it like User"),
        ({"super.users": "User:admin"}, "super.users: must be a list"),
        ({"super_users": []}, "unknown key 'super_users'; did you mean 'super.users'?"),
        ({"allow.everyone.if.no.acl.found": "yes"}, "allow.everyone.if.no.acl.found: must be true"),
        ({"authorizer.class.name": ""}, "authorizer.class.name: is empty"),
    ],
)
def test_rejected_authorization(tmp_path: Path, block: dict[str, Any], rejection: str) -> None:
    with pytest.raises(ConfigError) as rejected:
        load_config(config_samples.write(tmp_path, authorization=block))
    (line,) = str(rejected.value).splitlines()
    assert rejection in line
