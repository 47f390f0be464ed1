"""The TLS of one listener: its context, made anew when a file of it changes, and who a client is.

Connections keep what they began with; new ones get what the files say now. A file that cannot be
used changes nothing but the log.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
from pathlib import Path
from typing import Final

from gateway.broker_names import BrokerNames
from gateway.config.security import ListenerTls
from gateway.identity import ANONYMOUS, Identity
from gateway.tls.client_hello import ClientHello
from gateway.tls.contexts import NamedObject, TlsError, server_context, watched_files
from gateway.tls.files import MAX_FILE_BYTES, read_certificates, seconds_left
from gateway.tls.principal_mapping import PrincipalMapping, peer_identity

log = logging.getLogger(__name__)

EXPIRES_SOON: Final = 30 * 86_400.0
"""Seconds before a certificate expires from which on that is told."""

MAX_CONTEXTS: Final = 256
"""Of one listener: more brokers than a cluster has, and fewer than clients can name."""

_FileStamp = tuple[int, int, int, int] | None


class TlsListener:
    """``context`` is what the next handshake uses. ``names``: brokers by SNI, or None.

    With names, each has a context of its own, made when it is first asked for: sessions are
    resumed (TLS 1.2) from what a context remembers, and never under another name (RFC 6066, 3).

    ``identifies``: whether a client's certificate says who it is; with SASL it only lets it in.
    """

    def __init__(
        self, name: str, tls: ListenerTls, names: BrokerNames | None, *, identifies: bool = True
    ) -> None:
        """Raises TlsError and InvalidRules."""
        self.name = name
        self._identifies = identifies
        self._tls = tls
        self._names = names
        self._mapping = PrincipalMapping(tls.principal_mapping_rules)
        self._files = watched_files(tls)
        self._stamp = _stamp_of(self._files)
        self._digest = _digest_of(self._files)
        self.context = self._made()
        self._by_name: dict[int | None, ssl.SSLContext] = {}

    @property
    def by_name(self) -> bool:
        """Whether clients choose a broker by its name."""
        return self._names is not None

    def context_for(self, hello: ClientHello) -> ssl.SSLContext:
        """What a client's handshake uses, by the name that it asks for. Raises UnknownName."""
        if self._names is None or hello.server_name is None:
            return self.context
        node_id = self._names.node_id(_as_text(hello.server_name))
        context = self._by_name.get(node_id)
        if context is None:
            try:
                context = self._context()
            except TlsError:
                return self.context  # files that are being changed; ``reload`` tells of them
            if len(self._by_name) >= MAX_CONTEXTS:
                del self._by_name[next(iter(self._by_name))]
            self._by_name[node_id] = context
        return context

    def reload(self) -> None:
        """Look whether a file has changed, once a second; what is wrong with it is logged."""
        stamp = _stamp_of(self._files)
        if stamp == self._stamp:
            return
        digest = _digest_of(self._files)
        self._stamp = stamp
        if digest == self._digest:
            return
        self._digest = digest
        try:
            self.context = self._made()
            self._by_name.clear()
        except TlsError as error:
            log.error(
                "listener %s keeps the certificates it has: listeners[].tls.%s", self.name, error
            )
        else:
            log.info("listener %s uses the TLS files as they are now", self.name)

    def broker_of(self, connection: ssl.SSLObject) -> int | None:
        """The broker whose name the client asked for; None: the bootstrap."""
        if self._names is None or not isinstance(connection, NamedObject):
            return None
        return self._names.node_id(connection.server_name)

    def identity_of(self, connection: ssl.SSLObject) -> Identity:
        """Who the client is. Raises NoPrincipal."""
        if not self._identifies:
            return ANONYMOUS
        return peer_identity(connection, self._mapping)

    def _made(self) -> ssl.SSLContext:
        context = self._context()
        left = seconds_left(read_certificates("certificate", self._tls.certificate))
        if left < EXPIRES_SOON:
            log.warning("listener %s: the certificate %s", self.name, expiry_text(left))
        return context

    def _context(self) -> ssl.SSLContext:
        return server_context(self._tls, None if self._names is None else self._names.admits)


def _as_text(name: bytes) -> str:
    """A name of RFC 6066; what is not ASCII is no host's, and is no name here."""
    return name.decode("ascii", "backslashreplace")


def expiry_text(seconds: float) -> str:
    """``expires in 3 days``, or ``has expired``."""
    if seconds <= 0:
        return "has expired"
    days = int(seconds // 86_400)
    return f"expires in {days} day{'' if days == 1 else 's'}"


def _stamp_of(files: tuple[Path, ...]) -> tuple[_FileStamp, ...]:
    return tuple(map(_file_stamp, files))


def _file_stamp(path: Path) -> _FileStamp:
    """Follows links: a mounted secret is changed by turning a link."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _digest_of(files: tuple[Path, ...]) -> bytes:
    """What differs only when the content does: files that were merely touched stay in use."""
    digest = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as file:
                content = file.read(MAX_FILE_BYTES)
        except OSError:
            content = b""
        digest.update(hashlib.sha256(content).digest())
    return digest.digest()
