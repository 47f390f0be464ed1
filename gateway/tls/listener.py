"""The TLS of a listener: its context, made anew if any of its files changes, and its clients.

Open connections keep the context that they began with. If a file cannot be used, that is logged,
and the context before it stays in use.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
import time
from pathlib import Path
from typing import Final, NamedTuple

from gateway.broker_names import BrokerNames
from gateway.config.security import ListenerTls
from gateway.files import UnreadableFile, read_file
from gateway.identity import ANONYMOUS, Identity
from gateway.tls.client_hello import ClientHello
from gateway.tls.contexts import (
    MAX_FILE_BYTES,
    ServerContext,
    TlsConnection,
    TlsError,
    listener_files,
    named_context,
    read_certificates,
    seconds_left,
    server_context,
)
from gateway.tls.principal_mapping import PrincipalMapping, certificate_identity

log = logging.getLogger(__name__)

EXPIRES_SOON: Final = 30 * 86_400.0
"""Seconds before a certificate's expiry, from which on its expiry is logged."""

MAX_CONTEXTS: Final = 256
"""Contexts of a listener: more brokers than a cluster has, and fewer than clients can name."""


class _Contexts(NamedTuple):
    """The contexts that are made of one reading of the files."""

    shared: ServerContext
    # Those of brokers' names; None: the bootstrap's.
    by_name: dict[int | None, ServerContext]


class TlsListener:
    """Makes the contexts of a listener.

    The files are read, and the key is decrypted, once for all clients. Each server name has a
    context of its own besides, made when a client first requests it, because TLS 1.2 resumes
    sessions from its context's memory, and must not do so under another name (RFC 6066, 3). It is
    made before the client has logged in, on the event loop, so it has to be cheap.
    """

    def __init__(
        self,
        name: str,
        tls: ListenerTls,
        names: BrokerNames | None,
        *,
        identifies: bool = True,
        key: str = "listeners[].tls",
    ) -> None:
        """Read the files, which may take seconds. Raises TlsError and InvalidRules.

        - ``names``: the brokers by SNI; None: clients do not choose brokers by name.
        - ``identifies``: a client's certificate is its identity; with SASL it only admits the
          client.
        - ``key``: the place of the files in the configuration, for the log.
        """
        self.name = name
        self._key = key
        self._identifies = identifies
        self._tls = tls
        self._names = names
        self._mapping = PrincipalMapping(tls.principal_mapping_rules)
        self._files = listener_files(tls)
        self._stamps = [_stamp_of(path) for path in self._files]
        self._digest = _digest_of(self._files)
        self._expires = 0.0
        # Replaced at once, because ``reload`` runs in a thread.
        self._contexts = _Contexts(self._checked_context(), {})

    @property
    def context(self) -> ssl.SSLContext:
        """The context of clients that request no broker's name."""
        return self._contexts.shared

    @property
    def by_name(self) -> bool:
        """Whether clients choose a broker by its name."""
        return self._names is not None

    @property
    def seconds_left(self) -> float:
        """Seconds until the first certificate of the chain in use expires; negative after it."""
        return self._expires - time.time()

    def context_for(self, hello: ClientHello) -> ssl.SSLContext:
        """The context of a client's handshake, by its server name. Raises UnknownName."""
        shared, by_name = self._contexts
        if self._names is None or hello.server_name is None:
            return shared
        # A name of RFC 6066 is ASCII; any other name is escaped, and then belongs to no broker.
        node_id = self._names.node_id(hello.server_name.decode("ascii", "backslashreplace"))
        context = by_name.get(node_id)
        if context is None:
            if len(by_name) >= MAX_CONTEXTS:
                del by_name[next(iter(by_name))]
            context = by_name[node_id] = named_context(shared, self._names.admits)
        return context

    @property
    def touched(self) -> bool:
        """Whether a file may have changed since the files were last read."""
        return [_stamp_of(path) for path in self._files] != self._stamps

    def reload(self) -> None:
        """Use the files as they are now, if any has changed. May take seconds, and may run in a
        thread, one at a time."""
        stamps = [_stamp_of(path) for path in self._files]
        if stamps == self._stamps:
            return
        digest = _digest_of(self._files)
        self._stamps = stamps
        if digest == self._digest:
            return
        self._digest = digest
        try:
            self._contexts = _Contexts(self._checked_context(), {})
        except TlsError as error:
            log.error(
                "listener %s keeps the certificates it has: %s.%s", self.name, self._key, error
            )
        else:
            log.info("listener %s uses the TLS files as they are now", self.name)

    def broker_of(self, connection: ssl.SSLObject) -> int | None:
        """The broker whose name the client requested; None: the bootstrap."""
        if self._names is None or not isinstance(connection, TlsConnection):
            return None
        return self._names.node_id(connection.server_name)

    def identity_of(self, connection: ssl.SSLObject) -> Identity:
        """The client's identity by its certificate. Raises NoPrincipal."""
        certificate = connection.getpeercert(binary_form=True) if self._identifies else None
        if certificate is None:
            return ANONYMOUS
        return certificate_identity(certificate, self._mapping)

    def _checked_context(self) -> ServerContext:
        context = server_context(self._tls, None if self._names is None else self._names.admits)
        left = seconds_left(read_certificates("certificate", self._tls.certificate))
        self._expires = time.time() + left
        if left < EXPIRES_SOON:
            log.warning("listener %s: the certificate %s", self.name, expiry_text(left))
        return context


def expiry_text(seconds: float) -> str:
    """``expires in 3 days``, or ``has expired``."""
    if seconds <= 0:
        return "has expired"
    days = int(seconds // 86_400)
    return f"expires in {days} day{'' if days == 1 else 's'}"


def _stamp_of(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()  # follows links: a mounted secret is changed by turning a link
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _digest_of(files: tuple[Path, ...]) -> bytes:
    """A digest of the content alone, so that a file which was merely touched changes nothing."""
    digest = hashlib.sha256()
    for path in files:
        try:
            content = read_file(path, MAX_FILE_BYTES)
        except UnreadableFile:
            content = b""
        digest.update(hashlib.sha256(content).digest())
    return digest.digest()
