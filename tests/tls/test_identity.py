"""gateway.tls.principal_mapping: certificates that become principals."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from devkit.certificates import Credentials, subject
from gateway.identity import ANONYMOUS, Identity
from gateway.tls.contexts import TlsConnection, server_context
from gateway.tls.listener import TlsListener
from gateway.tls.principal_mapping import (
    NoPrincipal,
    PrincipalMapping,
    certificate_identity,
    identity_of,
)
from tests.tls.name_samples import CN, ORG, C
from tests.tls.pki import Pki
from tests.tls.tls_pair import Pair

DEFAULT = PrincipalMapping(["DEFAULT"])
SHORT = PrincipalMapping(["RULE:CN=([^,]+),O=Example.*/$1/L"])


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path)


def der(credentials: Credentials) -> bytes:
    found = x509.load_pem_x509_certificate(credentials.certificate.read_bytes())
    return found.public_bytes(Encoding.DER)


def test_the_principal_is_the_subject_as_java_writes_it(pki: Pki) -> None:
    made = pki.ours.client("alice", subject((C, "CH"), (ORG, "Example, Inc."), (CN, "Alice")))
    found = certificate_identity(der(made), DEFAULT)
    assert found == Identity(r"User:CN=Alice,O=Example\, Inc.,C=CH", "TLS")
    assert (found.expires, found.user) == (None, None)


def test_mapping_rules_make_it_short(pki: Pki) -> None:
    made = pki.ours.client("alice", subject((ORG, "Example"), (CN, "Alice")))
    assert certificate_identity(der(made), SHORT).principal == "User:alice"


def test_no_rule_is_for_it(pki: Pki) -> None:
    made = pki.ours.client("bob", subject((ORG, "Elsewhere"), (CN, "Bob")))
    with pytest.raises(NoPrincipal) as caught:
        certificate_identity(der(made), SHORT)
    assert str(caught.value) == "no rule of principal_mapping_rules is for 'CN=Bob,O=Elsewhere'"


@pytest.mark.parametrize("name", ["*", "a\nb"])
def test_a_name_that_no_client_may_have(pki: Pki, name: str) -> None:
    made = pki.ours.client("star", subject((ORG, "Example"), (CN, name)))
    with pytest.raises(NoPrincipal):
        certificate_identity(der(made), PrincipalMapping(["RULE:CN=((?s:.+)),O=Example/$1/"]))


def test_a_certificate_without_a_subject_is_nobody(pki: Pki) -> None:
    made = pki.ours.client("nobody", x509.Name([]))
    with pytest.raises(NoPrincipal, match="no rule of principal_mapping_rules is for ''"):
        certificate_identity(der(made), DEFAULT)


def test_a_certificate_that_has_expired_since_the_session_began(pki: Pki) -> None:
    made = pki.ours.client("late", valid=-timedelta(seconds=1))
    with pytest.raises(NoPrincipal, match="the certificate of 'CN=late' has expired"):
        certificate_identity(der(made), DEFAULT)


@pytest.mark.parametrize("certificate", [b"", b"\x30\x03\x02\x01\x01", b"garbage"])
def test_what_is_no_certificate(certificate: bytes) -> None:
    with pytest.raises(NoPrincipal, match="its certificate cannot be read: "):
        certificate_identity(certificate, DEFAULT)


def test_over_tls(pki: Pki) -> None:
    settings = pki.listener(client_auth="requested", client_ca=pki.ours.file)
    listener = TlsListener("here", settings, None)
    alice = Pair(listener.context, pki.client(pki.ours.client("alice"))).server
    assert listener.identity_of(alice).principal == "User:CN=alice"
    assert listener.identity_of(Pair(listener.context, pki.client()).server) is ANONYMOUS


class Transport(asyncio.BaseTransport):
    """A transport over this TLS, or without TLS."""

    def __init__(self, connection: object) -> None:
        super().__init__({"ssl_object": connection})


def test_what_was_found_out_is_remembered_by_the_transport(pki: Pki) -> None:
    connection = Pair(server_context(pki.listener()), pki.client()).server
    assert identity_of(Transport(connection)) is ANONYMOUS
    alice = Identity("User:alice", "TLS")
    assert isinstance(connection, TlsConnection)
    connection.identity = alice
    assert identity_of(Transport(connection)) is alice
    assert identity_of(Transport(None)) is ANONYMOUS
