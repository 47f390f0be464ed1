"""Who a TLS client is: the subject of the certificate that it has proved to own."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime
from typing import Final

from gateway.identity import ANONYMOUS, Identity
from gateway.tls.contexts import NamedObject
from gateway.tls.distinguished_name import UnreadableName, subject_name
from gateway.tls.principal_mapping import NoMatchingRule, PrincipalMapping

MECHANISM: Final = "TLS"


class NoPrincipal(Exception):
    """The certificate gives no principal here; the text says why."""


def note_identity(connection: ssl.SSLObject, identity: Identity) -> None:
    """Remember who is on the other side of this TLS, for :func:`identity_of`."""
    if isinstance(connection, NamedObject):
        connection.identity = identity


def identity_of(transport: asyncio.BaseTransport) -> Identity:
    """Who the handshake showed the client to be; ANONYMOUS without TLS or a certificate."""
    connection = transport.get_extra_info("ssl_object")
    return connection.identity if isinstance(connection, NamedObject) else ANONYMOUS


def peer_identity(connection: ssl.SSLObject, mapping: PrincipalMapping) -> Identity:
    """The client's principal, as Kafka's DefaultKafkaPrincipalBuilder makes it; ANONYMOUS for one
    that showed no certificate. Raises NoPrincipal."""
    certificate = connection.getpeercert(binary_form=True)
    if certificate is None:
        return ANONYMOUS
    return certificate_identity(certificate, mapping)


def certificate_identity(certificate: bytes, mapping: PrincipalMapping) -> Identity:
    """The principal of a client's certificate (DER), which TLS has verified. Raises NoPrincipal."""
    from cryptography import x509

    try:
        ends = x509.load_der_x509_certificate(certificate).not_valid_after_utc
        name = subject_name(certificate)
    except (UnreadableName, ValueError) as error:
        raise NoPrincipal(f"its certificate cannot be read: {error}") from None
    # A resumed TLS 1.2 session shows a certificate that was verified up to two hours ago.
    if ends <= datetime.now(UTC):
        raise NoPrincipal(f"the certificate of '{name}' has expired")
    try:
        return Identity(f"User:{mapping.name(name)}", MECHANISM)
    except NoMatchingRule:
        raise NoPrincipal(f"no rule of principal_mapping_rules is for '{name}'") from None
