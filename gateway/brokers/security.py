"""TLS and the gateway's own login on connections to the brokers of a cluster.

One object serves all connections to brokers: for clients, for the gateway's own requests, and for
the catalog. Files and secrets are read when a connection is made, so that they can be changed while
the gateway runs.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gateway.brokers.errors import SecurityError
from gateway.brokers.login import BrokerLogin
from gateway.config.connecting import SecretError, SecurityValues
from gateway.tls.contexts import TlsError, client_context, client_files

if TYPE_CHECKING:
    # A type alone: at run time it would import pydantic, which clients do without.
    from gateway.config.security import ClusterSecurity

KEY: Final = "clusters[0].security"
"""The configuration key of these settings; that of another cluster is ``Config.security_key``."""

SESSION_USE: Final = 0.5
"""The part of a session's time (KIP-368) after which it is renewed, or its connection is no longer
used. The rest is for requests under way: a broker handles a renewal after all requests before
it."""

_OR_FULL: Final = (
    "Or has it as many connections of this machine's address as max.connections.per.ip of the"
    " broker allows?"
)

_HOSTNAME_MISMATCH: Final = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_


class BrokerSecurity:
    """The settings of ``clusters[].security``, ready for use; by default neither TLS nor login.

    The functions in ``on_unanswered`` are called with the address of a broker that closes a
    connection of the gateway's own without a byte (``Unanswered``).
    """

    def __init__(
        self,
        settings: ClusterSecurity | SecurityValues | None = None,
        key: str = KEY,
        *,
        always_tls: bool = False,
    ) -> None:
        """``key`` is the configuration's key of ``settings``, for error texts; with ``always_tls``
        they have no protocol to choose."""
        self._protocol = "" if always_tls else f"{key}.protocol"
        self._settings = settings or SecurityValues()
        self.key = key
        self.on_unanswered: list[Callable[[tuple[str, int]], None]] = []
        self._context: ssl.SSLContext | None = None
        self._stamp: tuple[object, ...] = ()

    @property
    def has_tls(self) -> bool:
        """True if connections are encrypted, and brokers authenticate by TLS."""
        return self._settings.protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        """True if the gateway authenticates by SASL."""
        return self._settings.protocol.startswith("SASL_")

    def socket_options(self, host: str) -> Mapping[str, Any]:
        """asyncio's options ``ssl`` and ``server_hostname``, or nothing without TLS. Raises
        SecurityError."""
        if not self.has_tls:
            return {}
        return {"ssl": self.context(), "server_hostname": host}

    def context(self) -> ssl.SSLContext:
        """The TLS context; built again after a change of its files. Raises SecurityError."""
        stamp = tuple(map(_stamp_of, client_files(self._settings.tls)))
        if self._context is None or stamp != self._stamp:
            try:
                self._context = client_context(self._settings.tls)
            except TlsError as error:
                key = f"{self.key}.tls.{error.key}"
                raise SecurityError(f"no TLS: {key}: {error.reason}") from None
            self._stamp = stamp
        return self._context

    def login(self) -> BrokerLogin | None:
        """A login with the password as it is now, or None without a configured login. Raises
        SecurityError."""
        sasl = self._settings.sasl
        if not self.has_login or sasl is None:
            return None
        key = f"{self.key}.sasl"
        try:
            password = sasl.password.read()
        except SecretError as error:
            raise SecurityError(f"no login: {key}.password: {error}") from None
        return BrokerLogin(sasl.mechanism, sasl.username, password, key)

    def reason(self, error: Exception) -> str:
        """Why a connection failed, and how to correct it; fits after ``host:port: ``."""
        if isinstance(error, ssl.SSLCertVerificationError):
            said = error.verify_message or error.reason or "no reason given"
            if error.verify_code in _HOSTNAME_MISMATCH:
                return (
                    f"its certificate is another host's ({said}); correct the address, let its "
                    f"certificate name it, or set {self.key}.tls.verify_hostname to false"
                )
            return f"its certificate is not believed ({said}); correct {self.key}.tls.ca"
        if isinstance(error, ssl.SSLError):
            said = (error.reason or str(error)).replace("_", " ").lower()
            if not self._protocol:
                return f"no TLS ({said}); correct {self.key}.tls.certificate"
            return (
                f"no TLS ({said}); correct {self._protocol}, or its .tls.certificate "
                "if the broker asks for one"
            )
        if isinstance(error, EOFError | ConnectionError) and self.has_tls:
            as_said = f", as {self._protocol} says" if self._protocol else ""
            full = f" {_OR_FULL}" if isinstance(error, ConnectionResetError) else ""
            return f"{self.lost(error)}; does it speak TLS there{as_said}?{full}"
        return plain_reason(error)

    def note_unanswered(self, address: tuple[str, int]) -> None:
        """Report that a broker has closed a connection of the gateway's own without a byte."""
        for callback in self.on_unanswered:
            callback(address)

    @property
    def hint_for_unanswered(self) -> str:
        """The settings and limits to look at if a broker closes a connection without a byte."""
        return f"is {self.key}.protocol what it speaks there? {_OR_FULL}"

    def lost(self, error: Exception) -> str:
        """The reason why an open connection was lost."""
        return self.reason(error) if isinstance(error, ssl.SSLError) else plain_reason(error)


def plain_reason(error: Exception) -> str:
    """The system's error text, without the address that asyncio puts into it."""
    if isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.errno:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    """A stamp that changes with the file, or None if there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
