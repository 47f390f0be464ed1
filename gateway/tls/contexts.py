"""TLS contexts, made of the files that the configuration names.

A context is made anew if its files change, and never altered, so that a handshake ends with the
files that it began with. The gateway reads the PEM files before OpenSSL does: OpenSSL's own errors
say little ("PEM lib"), and the gateway's name the key, the file and the reason.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.config.connecting import InlineSecret, SecretError, TlsValues
from gateway.files import UnreadableFile, read_file
from gateway.identity import ANONYMOUS, Identity
from gateway.tls.client_hello import ClientHello

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

    # Types alone: at run time they would import pydantic, which clients do without.
    from gateway.config.security import ClientTls, ListenerTls, Secret

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2: only forward secrecy and authenticated encryption. TLS 1.3 has nothing else."""

Admits = Callable[[str | None], bool]
"""Whether this listener has such a server name (SNI, RFC 6066); None stands for a client that named
no server."""

UNRECOGNIZED_NAME: Final = bytes((21, 3, 3, 0, 2, 2, ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME))
"""The fatal alert, as a record (RFC 8446, 6), for a client that is rejected before its TLS
begins."""

_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}

ON_ALERT: Final[ContextVar[Callable[[bytes], object] | None]] = ContextVar("on_alert", default=None)
"""Sends a client the alert that says why its handshake fails. Event loops drop it, and then Java's
client takes the failure for a lost connection, and tries again and again."""

HELLO: Final[ContextVar[ClientHello | None]] = ContextVar("hello", default=None)
"""The bytes that a client sent before its TLS began; TLS begins with them."""


class TlsConnection(ssl.SSLObject):
    """A client's TLS, with the ``server_name`` that it requested and, after the handshake, its
    ``identity``."""

    server_name: str | None = None
    hello: ClientHello | None = None
    identity: Identity = ANONYMOUS
    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        """Continue the handshake; if it fails, send the client the alert."""
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
    sslobject_class = TlsConnection

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        assert isinstance(made, TlsConnection)
        made.outgoing = outgoing
        made.hello = HELLO.get()
        if made.hello is not None:
            incoming.write(made.hello.data)
        return made


def server_context(tls: ListenerTls, admits: Admits | None = None) -> ServerContext:
    """The context of a listener. If a client requests a server name which ``admits`` rejects, it
    gets the alert unrecognized_name. Reads and checks every file, and decrypts the key, which may
    take seconds. Raises TlsError."""
    context = _listening(_CLIENT_AUTH[tls.client_auth])
    _present(context, tls.certificate, tls.key, tls.key_password)
    if context.verify_mode is not ssl.CERT_NONE:
        if tls.client_ca is None:
            raise TlsError("client_ca", "is missing; give the authorities of client certificates")
        _trust(context, "client_ca", tls.client_ca)
    if admits is not None:
        context.sni_callback = _name_check(admits)
    return context


def named_context(shared: ServerContext, admits: Admits) -> ServerContext:
    """A context with a memory of TLS 1.2 sessions of its own, for the clients of one server name;
    its handshakes continue with the certificate, the key and the authorities of ``shared``. It
    reads no file, and takes 0.3 ms."""
    context = _listening(shared.verify_mode)
    context.sni_callback = _name_check(admits, shared)
    return context


def _listening(verify_mode: ssl.VerifyMode) -> ServerContext:
    """A context of a listener, without a certificate."""
    context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
    _harden(context)
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    # No tickets, because their keys would outlive the sessions' secrecy. TLS 1.2 still resumes the
    # sessions that the context remembers; a context made anew, or for another name, has no such
    # sessions.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    context.verify_mode = verify_mode
    return context


def client_context(tls: ClientTls | TlsValues) -> ssl.SSLContext:
    """The context of the gateway as a client of brokers. Raises TlsError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _harden(context)
    context.check_hostname = tls.verify_hostname
    if tls.ca is None:
        context.load_default_certs()
    else:
        _trust(context, "ca", tls.ca)
    if tls.certificate is not None:
        if tls.key is None:
            raise TlsError("key", "is missing; give the private key of the certificate")
        _present(context, tls.certificate, tls.key, tls.key_password)
    elif tls.key is not None:
        raise TlsError("certificate", "is missing; give the certificate of the key")
    return context


def listener_files(tls: ListenerTls) -> tuple[Path, ...]:
    """Every file that a listener's context is made of."""
    return _files(tls.certificate, tls.key, tls.client_ca, tls.key_password)


def client_files(tls: ClientTls | TlsValues) -> tuple[Path, ...]:
    """Every file that a client's context is made of."""
    return _files(tls.certificate, tls.key, tls.ca, tls.key_password)


def _files(
    certificate: Path | None,
    key: Path | None,
    ca: Path | None,
    password: Secret | InlineSecret | None,
) -> tuple[Path, ...]:
    secret = None if password is None else password.file
    return tuple(path for path in (certificate, key, ca, secret) if path is not None)


def _harden(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    # Every authority in the file is trusted, as in a Java truststore; otherwise an intermediate
    # authority would count for nothing without its root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _present(
    context: ssl.SSLContext, certificate: Path, key: Path, password: Secret | InlineSecret | None
) -> None:
    chain = read_certificates("certificate", certificate)
    secret = read_password("key_password", password)
    encrypted = _check_encryption("key", key, secret)
    try:
        # OpenSSL reads the key first, because it lets other threads run meanwhile: an encrypted key
        # takes seconds with many rounds. Without a password OpenSSL would ask the terminal for one.
        context.load_cert_chain(certificate, key, lambda: secret or "")
    except (OSError, ValueError) as error:
        said = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
        if said in _NO_PAIR:
            raise _no_pair("key", key) from None
        if encrypted and said in _UNREADABLE:
            raise TlsError("key", f"'{key}' {_UNDECRYPTED}") from None
        if not encrypted:
            check_pair("key", key, read_private_key("key", key, None), chain[0])
        text = f"'{certificate}' cannot be used: {_in_words(said)}"
        raise TlsError("certificate", f"{text}; give another") from None


_NO_PAIR: Final = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""OpenSSL's reasons if a key is not the certificate's: another key of its type, or another type."""

_UNREADABLE: Final = (None, "BAD_DECRYPT", "BAD_PASSWORD_READ")
"""OpenSSL's reasons, or none, if a password does not decrypt a key."""

_UNDECRYPTED: Final = "cannot be decrypted; correct key_password"


def _in_words(reason: str | None) -> str:
    return (reason or "malformed").lower().replace("_", " ")


def _check_encryption(key: str, path: Path, password: str | None) -> bool:
    """Whether a key is encrypted, by its PEM header. Raises TlsError if it is not a private key, or
    if there is a password for a key that has none, or none for an encrypted key."""
    data = read_pem(key, path)
    if b"PRIVATE KEY-----" not in data:
        raise TlsError(key, f"'{path}' holds no PEM private key; give one that does")
    encrypted = b"ENCRYPTED" in data
    if encrypted and password is None:
        raise TlsError(key, f"'{path}' is encrypted; give key_password")
    if password is not None and not encrypted:
        raise TlsError(key, f"'{path}' is not encrypted; remove key_password")
    return encrypted


def _trust(context: ssl.SSLContext, key: str, path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding

    authorities = read_certificates(key, path)
    try:
        der = b"".join(each.public_bytes(Encoding.DER) for each in authorities)
        context.load_verify_locations(cadata=der)
    except ssl.SSLError as error:
        text = f"'{path}' cannot be used: {_in_words(error.reason)}; give another"
        raise TlsError(key, text) from None


def _name_check(
    admits: Admits, shared: ServerContext | None = None
) -> Callable[[ssl.SSLObject, str | None, ssl.SSLContext], int | None]:
    def check(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        if not admits(name):
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        if isinstance(connection, TlsConnection):
            if connection.hello is not None and not _same(connection.hello.server_name, name):
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            connection.server_name = name
        if shared is not None:
            connection.context = shared  # whose certificate OpenSSL chooses after this
        return None

    return check


def _same(in_hello: bytes | None, name: str | None) -> bool:
    """Whether OpenSSL's name is the name in the ClientHello; a resumed session's might not be."""
    if in_hello is None or name is None:
        return in_hello is None and name is None
    return in_hello.lower().removesuffix(b".") == name.encode().lower().removesuffix(b".")


MAX_FILE_BYTES = 4 * 1024 * 1024
"""More than any chain or bundle of authorities has; a larger file is a mistake."""


class TlsError(Exception):
    """A file or key of TLS cannot be used. ``key`` is the configuration's, ``reason`` gives the
    error and the next step; neither holds a secret."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"{key}: {reason}")


def read_pem(key: str, path: Path) -> bytes:
    """The bytes of a file that the configuration names. Raises TlsError."""
    try:
        return read_file(path, MAX_FILE_BYTES)
    except UnreadableFile as error:
        reason = str(error).lower()
        raise TlsError(key, f"'{path}' cannot be read: {reason}; correct it") from None


def read_certificates(key: str, path: Path) -> tuple[x509.Certificate, ...]:
    """Every certificate of a PEM file, in order; at least one. Raises TlsError."""
    # Imported for the first certificate: it is large, and most listeners have no certificate.
    from cryptography import x509

    data = read_pem(key, path)
    if b"-----BEGIN CERTIFICATE-----" not in data:
        raise TlsError(key, f"'{path}' holds no PEM certificate; give one that does")
    try:
        return tuple(x509.load_pem_x509_certificates(data))
    except ValueError:
        text = f"'{path}' holds a certificate that cannot be read; export it again"
        raise TlsError(key, text) from None


def read_password(key: str, secret: Secret | InlineSecret | None) -> str | None:
    """The password of a private key, if it has any. Raises TlsError."""
    try:
        return None if secret is None else secret.read()
    except SecretError as error:
        raise TlsError(key, str(error)) from None


def read_private_key(key: str, path: Path, password: str | None) -> PrivateKeyTypes:
    """The private key of a PEM file. Raises TlsError, which holds nothing of the file's content."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = read_pem(key, path)
    if b"PRIVATE KEY-----" not in data:
        raise TlsError(key, f"'{path}' holds no PEM private key; give one that does")
    try:
        # An RSA key's primes are not tested: that takes 0.4 s for 4,096 bits, in which no other
        # thread runs, and OpenSSL checks that key and certificate belong together.
        return load_pem_private_key(
            data,
            None if password is None else password.encode(),
            unsafe_skip_rsa_key_validation=True,
        )
    except TypeError:
        reasons = "is encrypted; give key_password", "is not encrypted; remove key_password"
    except (ValueError, UnsupportedAlgorithm):
        reasons = "cannot be read; export it again", "cannot be decrypted; correct key_password"
    reason = reasons[password is not None]
    raise TlsError(key, f"'{path}' {reason}") from None


def check_pair(
    key: str, path: Path, private: PrivateKeyTypes, certificate: x509.Certificate
) -> None:
    """Raise TlsError if a private key is not the certificate's."""
    if private.public_key() != certificate.public_key():
        raise _no_pair(key, path)


def _no_pair(key: str, path: Path) -> TlsError:
    text = f"'{path}' is not the key of the certificate; give the two that belong together"
    return TlsError(key, text)


def seconds_left(certificates: Sequence[x509.Certificate]) -> float:
    """Seconds until the first of a chain's certificates expires; negative after that."""
    now = datetime.now(UTC)
    return min((each.not_valid_after_utc - now).total_seconds() for each in certificates)
