"""The security of a connection, for code that connects: protocol, TLS files, login, secrets.

These are plain values for commands that connect without a configuration, because such commands do
not load pydantic. The configuration's models (``config/security.py``) have the same attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class SecretError(Exception):
    """A secret cannot be read. The text names its place, and never holds any of it."""


class InlineSecret:
    """A secret that is given as it is, as in a properties file of Kafka's tools; the gateway's
    configuration does not allow this. In place of ``Secret``."""

    file = None

    def __init__(self, value: str) -> None:
        self._value = value

    def read(self) -> str:
        """The secret."""
        return self._value

    def __repr__(self) -> str:
        return "(not shown)"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class TlsValues:
    """The files of a client's TLS (PEM), in place of ``ClientTls``. If there is no ``ca``, the
    system's authorities are trusted; ``certificate`` and ``key`` are the client's own."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: InlineSecret | None = None
    verify_hostname: bool = True


@dataclass(frozen=True, slots=True)
class SaslValues:
    """The mechanism and credentials of a login, in place of ``ClientSasl``."""

    mechanism: str
    username: str
    password: InlineSecret


@dataclass(frozen=True, slots=True)
class SecurityValues:
    """The security of connections, in place of ``ClusterSecurity``; by default neither TLS nor a
    login. ``protocol`` is Kafka's ``security.protocol``."""

    protocol: str = "PLAINTEXT"
    tls: TlsValues = TlsValues()
    sasl: SaslValues | None = None
