"""Key sets: which keys are usable, and files that change."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.auth.exchange import CredentialsError
from gateway.auth.jwks import MAX_BYTES, FileKeys, KeySet
from tests.auth.tokens import jwk, key_set

KEY = "listeners[0].sasl.oauthbearer.jwks"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", 'it has no list of "keys" (RFC 7517)'),
        ('{"keys": {}}', 'it has no list of "keys" (RFC 7517)'),
        ('{"keys": []}', "it has no key for signatures by RSA, EC or Ed25519"),
        ('{"keys": [5, null, {}]}', "it has no key for signatures by RSA, EC or Ed25519"),
        (
            '{"keys": [{"kty": "oct", "k": "AAAA"}]}',
            "it has no key for signatures by RSA, EC or Ed25519",
        ),
    ],
)
def test_no_key_set(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(reason)}$"):
        KeySet.parse(text)


@pytest.mark.parametrize(
    "unusable",
    [
        jwk("RS256", use="enc"),
        jwk("ES256", key_ops=["sign"]),
        jwk("ES256", key_ops="verify"),
        jwk("ES256", crv="secp256k1"),
        jwk("EdDSA", crv="X25519"),
        jwk("RS256", alg="RSA-OAEP"),
        jwk("ES256", alg="ES384"),
    ],
)
def test_keys_that_are_left_out(unusable: dict[str, Any]) -> None:
    assert len(KeySet.parse(key_set(jwk("ES256", "good"), unusable))) == 1


def test_keys_are_found_by_name_and_algorithm() -> None:
    keys = KeySet.parse(
        key_set(jwk("RS256", "rsa", alg=None), jwk("ES256", "ec"), jwk("ES256", "ec-2"))
    )
    assert keys.knows("rsa")
    assert not keys.knows("other")
    assert [key.key_id for key in keys.find("ec", "ES256")] == ["ec"]
    assert [key.key_id for key in keys.find(None, "ES256")] == ["ec", "ec-2"]
    assert [key.key_id for key in keys.find(None, "PS512")] == ["rsa"]
    assert keys.find("ec", "RS256") == []
    assert keys.find("rsa", "PS256") == keys.find("rsa", "PS256")


def test_a_malformed_key_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    broken = {**jwk("ES256", "broken"), "x": "AAAA"}
    keys = KeySet.parse(key_set(broken, jwk("ES256", "good")))
    assert [key.key_id for key in keys.find(None, "ES256")] == ["good"]
    assert [key.key_id for key in keys.find(None, "ES256")] == ["good"]
    assert caplog.messages == ["a key of a JWKS cannot be used: no ES256 key, or malformed"]


# -- files ------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "jwks.json"
    made.write_text(key_set(jwk("ES256")))
    return made


def loaded(path: Path) -> FileKeys:
    keys = FileKeys(path, KEY)
    keys.load()
    return keys


def names(keys: FileKeys) -> list[str | None]:
    assert keys.current is not None
    return [key.key_id for key in keys.current.find(None, "ES256")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [(None, "No such file or directory"), ("{}", 'it has no list of "keys" (RFC 7517)')],
)
def test_a_file_that_is_none(tmp_path: Path, text: str | None, reason: str) -> None:
    path = tmp_path / "jwks.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CredentialsError) as error:
        loaded(path)
    assert str(error.value) == f"{KEY}: '{path}' cannot be used: {reason}"


def test_a_file_that_is_too_large(path: Path) -> None:
    path.write_text(" " * (MAX_BYTES + 1))
    with pytest.raises(CredentialsError, match="it has over 1,048,576 bytes"):
        loaded(path)


def test_a_changed_file_is_read_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys = loaded(path)
    before = keys.current
    keys.look_again()
    assert keys.current is before
    path.write_text(key_set(jwk("ES256", "two")))
    with caplog.at_level(logging.INFO):
        keys.look_again()
    assert names(keys) == ["two"]
    assert caplog.messages == [f"{KEY} has been read again"]


@pytest.mark.parametrize("text", [None, "", json.dumps({"keys": []})])
def test_keys_stay_when_a_file_breaks(
    path: Path, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    keys = loaded(path)
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    keys.look_again()
    keys.look_again()
    assert names(keys) == ["one"]
    assert len(caplog.messages) == 1
    assert "the keys read before stay in use" in caplog.text


async def test_a_file_needs_nothing_in_the_background(path: Path) -> None:
    keys = loaded(path)
    keys.missed()
    await keys.stop()
    assert names(keys) == ["one"]
