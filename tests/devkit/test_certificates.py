"""devkit.certificates: the files for tests of TLS, which OpenSSL verifies."""

from __future__ import annotations

import contextlib
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from devkit.certificates import Authority, Credentials, subject


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_an_authority_is_one(tmp_path: Path) -> None:
    authority = read(Authority(tmp_path / "pki", "root").file)
    assert authority.subject.rfc4514_string() == "CN=root"
    found = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert found.value.ca
    assert authority.not_valid_before_utc < datetime.now(UTC) < authority.not_valid_after_utc


def test_a_server_is_for_its_hosts(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    made = authority.server("gateway", ["gw.example", "*.gw.example", "127.0.0.1", "::1"])
    certificate = read(made.certificate)
    certificate.verify_directly_issued_by(read(authority.file))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["gw.example", "*.gw.example"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_files_that_openssl_takes(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    for made in (authority.server(), authority.client("alice")):
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(made.certificate, made.key)
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(made.both)


def test_peers_prove_to_each_other_who_they_are(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    sides = []
    for name, purpose in (("one", ssl.Purpose.CLIENT_AUTH), ("other", ssl.Purpose.SERVER_AUTH)):
        made = authority.peer(name)
        context = ssl.create_default_context(purpose, cafile=str(authority.file))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(made.certificate, made.key)
        sides.append(context)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = sides[0].wrap_bio(to_server, to_client, server_side=True)
    client = sides[1].wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    for side in (client, server, client, server):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    assert client.getpeercert() != {}
    shown = server.getpeercert()
    assert shown is not None
    assert shown["subject"] == ((("commonName", "other"),),)


def test_a_client_has_the_subject_that_it_was_given(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    assert read(authority.client("alice").certificate).subject.rfc4514_string() == "CN=alice"
    name = subject((NameOID.ORGANIZATION_NAME, "Example"), (NameOID.COMMON_NAME, "bob"))
    assert read(authority.client("bob", name).certificate).subject == name


def test_one_that_has_expired(tmp_path: Path) -> None:
    certificate = read(Authority(tmp_path).client("late", valid=-timedelta(hours=1)).certificate)
    assert certificate.not_valid_before_utc < certificate.not_valid_after_utc < datetime.now(UTC)


def test_an_encrypted_key(tmp_path: Path) -> None:
    made = Authority(tmp_path).client("locked", password="open sesame")  # noqa: S106
    load_pem_private_key(made.key.read_bytes(), b"open sesame")
    with pytest.raises(ValueError):
        load_pem_private_key(made.key.read_bytes(), b"open barley")


def test_authorities_know_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = Authority(tmp_path / "one"), Authority(tmp_path / "other")
    with pytest.raises(InvalidSignature):
        read(one.client("alice").certificate).verify_directly_issued_by(read(other.file))


def test_a_weak_key(tmp_path: Path) -> None:
    made: Credentials = Authority(tmp_path).weak("weak")
    key = read(made.certificate).public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    assert key.key_size == 1_024
