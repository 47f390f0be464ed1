"""TLS contexts, made of the files that the configuration names.

A context is made anew whenever its files change; it is never altered, so that what a handshake
began with is what it ends with.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from gateway.config.security import ClientTls, ListenerTls, Secret
from gateway.identity import ANONYMOUS, Identity
from gateway.tls.client_hello import ClientHello
from gateway.tls.files import (
    TlsError,
    certificate_bytes,
    check_pair,
    read_certificates,
    read_password,
    read_private_key,
)

__all__ = ["NamedObject", "TlsError", "client_context", "server_context", "watched_files"]

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2: forward secrecy and authenticated encryption alone. TLS 1.3 has nothing else."""

Admits = Callable[[str | None], bool]
"""Whether there is such a server name here (SNI, RFC 6066); None: the client named none."""

UNRECOGNIZED_NAME: Final = bytes((21, 3, 3, 0, 2, 2, ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME))
"""The fatal alert, as a record (RFC 8446, 6), for a client whose TLS does not even begin."""

_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


ON_ALERT: Final[ContextVar[Callable[[bytes], object] | None]] = ContextVar("on_alert", default=None)
"""Sends the bytes that tell a client why its handshake fails. Event loops drop them; then Java's
client takes it for a lost connection, and tries again and again."""


HELLO: Final[ContextVar[ClientHello | None]] = ContextVar("hello", default=None)
"""What a client has sent before its TLS began here; TLS begins with it."""


class NamedObject(ssl.SSLObject):
    """A client's TLS, which knows the ``server_name`` that it asked for, and, once that is known,
    who it is."""

    server_name: str | None = None
    hello: ClientHello | None = None
    identity: Identity = ANONYMOUS
    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        """Go on with the handshake; one that fails is told to the client."""
        try:
            super().do_handshake()
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError:
            send = ON_ALERT.get()
            if send is not None:
                send(self.outgoing.read())
            raise


class ServerContext(ssl.SSLContext):
    """A context whose connections are a :class:`NamedObject` each."""

    sslobject_class = NamedObject

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """TLS over these buffers."""
        made = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        assert isinstance(made, NamedObject)
        made.outgoing = outgoing
        made.hello = HELLO.get()
        if made.hello is not None:
            incoming.write(made.hello.data)
        return made


def server_context(tls: ListenerTls, admits: Admits | None = None) -> ssl.SSLContext:
    """What a listener shows, and believes of clients.

    A client that asks for a name that ``admits`` does not know gets the alert unrecognized_name.
    Raises TlsError.
    """
    context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
    _harden(context)
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    # No tickets: their keys would outlive the sessions' secrecy. TLS 1.2 still resumes what the
    # context remembers; a context made anew, or for another name, remembers nothing of it.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    _show(context, tls.certificate, tls.key, tls.key_password)
    context.verify_mode = _CLIENT_AUTH[tls.client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        if tls.client_ca is None:
            raise TlsError("client_ca", "is missing; give the authorities of client certificates")
        _believe(context, "client_ca", tls.client_ca)
    if admits is not None:
        context.sni_callback = _name_check(admits)
    return context


def client_context(tls: ClientTls) -> ssl.SSLContext:
    """What the gateway believes, and shows, as a client. Raises TlsError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _harden(context)
    context.check_hostname = tls.verify_hostname
    if tls.ca is None:
        context.load_default_certs()
    else:
        _believe(context, "ca", tls.ca)
    if tls.certificate is not None:
        if tls.key is None:
            raise TlsError("key", "is missing; give the private key of the certificate")
        _show(context, tls.certificate, tls.key, tls.key_password)
    elif tls.key is not None:
        raise TlsError("certificate", "is missing; give the certificate of the key")
    return context


def watched_files(tls: ListenerTls | ClientTls) -> tuple[Path, ...]:
    """Every file that such a context is made of."""
    authorities = tls.client_ca if isinstance(tls, ListenerTls) else tls.ca
    password = None if tls.key_password is None else tls.key_password.file
    found = (tls.certificate, tls.key, authorities, password)
    return tuple(path for path in found if path is not None)


def _harden(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    # Whatever stands among the authorities is believed, as in a Java truststore; else an
    # intermediate one would be worth nothing without its root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _show(context: ssl.SSLContext, certificate: Path, key: Path, password: Secret | None) -> None:
    chain = read_certificates("certificate", certificate)
    secret = read_password("key_password", password)
    check_pair("key", key, read_private_key("key", key, secret), chain[0])
    try:
        # Without a password OpenSSL would ask the terminal for one.
        context.load_cert_chain(certificate, key, lambda: secret or "")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or "malformed"
        text = f"'{certificate}' cannot be used: {str(reason).lower().replace('_', ' ')}"
        raise TlsError("certificate", f"{text}; give another") from None


def _believe(context: ssl.SSLContext, key: str, path: Path) -> None:
    authorities = read_certificates(key, path)
    try:
        context.load_verify_locations(
            cadata=b"".join(certificate_bytes(each) for each in authorities)
        )
    except ssl.SSLError as error:
        reason = (error.reason or "malformed").lower().replace("_", " ")
        raise TlsError(key, f"'{path}' cannot be used: {reason}; give another") from None


def _name_check(
    admits: Admits,
) -> Callable[[ssl.SSLObject, str | None, ssl.SSLContext], int | None]:
    def check(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        if not admits(name):
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        if isinstance(connection, NamedObject):
            if connection.hello is not None and not _same(connection.hello.server_name, name):
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            connection.server_name = name
        return None

    return check


def _same(asked: bytes | None, name: str | None) -> bool:
    """Whether the name is the one in the ClientHello; a session's that is resumed might not be."""
    if asked is None or name is None:
        return asked is None and name is None
    return asked.lower().removesuffix(b".") == name.encode().lower().removesuffix(b".")
