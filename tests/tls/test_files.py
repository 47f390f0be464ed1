"""gateway.tls.contexts: PEM files, and the errors for bad files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from devkit.certificates import Authority
from gateway.config.security import Secret
from gateway.tls.contexts import (
    MAX_FILE_BYTES,
    TlsError,
    check_pair,
    read_certificates,
    read_password,
    read_private_key,
    seconds_left,
)

PHRASE = "correct horse"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


def rejection(run: Callable[[], object]) -> TlsError:
    with pytest.raises(TlsError) as caught:
        run()
    assert PHRASE not in str(caught.value)
    assert str(caught.value) == f"{caught.value.key}: {caught.value.reason}"
    return caught.value


def test_a_chain_is_read_in_order(authority: Authority, tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    server = authority.server()
    chain.write_bytes(server.certificate.read_bytes() + authority.file.read_bytes())
    names = [each.subject.rfc4514_string() for each in read_certificates("certificate", chain)]
    assert names == ["CN=server", "CN=ca"]


def test_what_stands_beside_certificates_is_no_matter(authority: Authority) -> None:
    (certificate,) = read_certificates("certificate", authority.client("alice").both)
    assert certificate.subject.rfc4514_string() == "CN=alice"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "holds no PEM certificate; give one that does"),
        (b"hello", "holds no PEM certificate; give one that does"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "holds a certificate that cannot be read; export it again",
        ),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA",
            "holds a certificate that cannot be read; export it again",
        ),
        (
            b"x" * (MAX_FILE_BYTES + 1),
            f"cannot be read: it has over {MAX_FILE_BYTES:,} bytes; correct it",
        ),
    ],
)
def test_no_certificate(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.pem"
    path.write_bytes(content)
    error = rejection(lambda: read_certificates("client_ca", path))
    assert (error.key, error.reason) == ("client_ca", f"'{path}' {reason}")


def test_a_file_that_is_not_there_or_is_a_directory(tmp_path: Path) -> None:
    path = tmp_path / "none.pem"
    error = rejection(lambda: read_certificates("certificate", path))
    assert error.reason == f"'{path}' cannot be read: no such file or directory; correct it"
    error = rejection(lambda: read_private_key("key", tmp_path, None))
    assert error.reason == f"'{tmp_path}' cannot be read: is a directory; correct it"


def test_a_key_with_and_without_a_password(authority: Authority) -> None:
    plain, encrypted = authority.client("a"), authority.client("b", password=PHRASE)
    read_private_key("key", plain.key, None)
    read_private_key("key", encrypted.key, PHRASE)
    told = [
        rejection(lambda: read_private_key("key", encrypted.key, None)),
        rejection(lambda: read_private_key("key", encrypted.key, "wrong")),
        rejection(lambda: read_private_key("key", plain.key, PHRASE)),
        rejection(lambda: read_private_key("key", plain.certificate, None)),
    ]
    assert [error.reason.partition("' ")[2] for error in told] == [
        "is encrypted; give key_password",
        "cannot be decrypted; correct key_password",
        "is not encrypted; remove key_password",
        "holds no PEM private key; give one that does",
    ]


def test_a_mutilated_key(authority: Authority) -> None:
    key = authority.client("a").key
    key.write_bytes(key.read_bytes()[:100])
    error = rejection(lambda: read_private_key("key", key, None))
    assert error.reason == f"'{key}' cannot be read; export it again"


def test_passwords_come_from_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_password("key_password", None) is None
    monkeypatch.setenv("KEY_PASSWORD", PHRASE)
    assert read_password("key_password", Secret(env="KEY_PASSWORD")) == PHRASE
    missing = tmp_path / "none"
    error = rejection(lambda: read_password("key_password", Secret(file=missing)))
    assert error.key == "key_password"
    assert str(missing) in error.reason


def test_key_and_certificate_belong_together(authority: Authority) -> None:
    one, other = authority.client("one"), authority.client("other")
    (certificate,) = read_certificates("certificate", one.certificate)
    check_pair("key", one.key, read_private_key("key", one.key, None), certificate)
    foreign = read_private_key("key", other.key, None)
    error = rejection(lambda: check_pair("key", other.key, foreign, certificate))
    assert error.reason.endswith(
        "is not the key of the certificate; give the two that belong together"
    )
    kind = rsa.generate_private_key(65537, 2048)
    assert rejection(lambda: check_pair("key", other.key, kind, certificate)).key == "key"


def test_the_first_of_a_chain_to_expire_counts(authority: Authority) -> None:
    late = read_certificates("certificate", authority.client("late").certificate)
    soon = read_certificates(
        "certificate", authority.client("soon", valid=timedelta(hours=1)).certificate
    )
    gone = read_certificates(
        "certificate", authority.client("gone", valid=-timedelta(hours=1)).certificate
    )
    assert 3_500 < seconds_left([*late, *soon]) <= 3_600
    assert -3_700 < seconds_left([*late, *soon, *gone]) <= -3_600
