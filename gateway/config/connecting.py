"""The security of a connection, for code that connects: protocol, TLS files, login, secrets.

The configuration's models (``config/security.py``) have this shape. The plain values here have it,
too, for commands that connect without a configuration, because these do not load pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class SecretError(Exception):
    """A secret cannot be read. The text names its place, and never holds any of it."""


class SecretSource(Protocol):
    """The place of a secret; ``file`` is None if it is not in a file."""

    @property
    def file(self) -> Path | None: ...

    def read(self) -> str:
        """The current secret. Raises SecretError."""
        ...


class TlsSettings(Protocol):
    """The files of a client's TLS (PEM). If there is no ``ca``, the system's authorities are
    trusted; ``certificate`` and ``key`` are the client's own."""

    @property
    def ca(self) -> Path | None: ...
    @property
    def certificate(self) -> Path | None: ...
    @property
    def key(self) -> Path | None: ...
    @property
    def key_password(self) -> SecretSource | None: ...
    @property
    def verify_hostname(self) -> bool: ...


class SaslSettings(Protocol):
    """The mechanism and credentials of a login."""

    @property
    def mechanism(self) -> str: ...
    @property
    def username(self) -> str: ...
    @property
    def password(self) -> SecretSource: ...


class SecuritySettings(Protocol):
    """The security of connections; ``protocol`` is Kafka's ``security.protocol``."""

    @property
    def protocol(self) -> str: ...
    @property
    def tls(self) -> TlsSettings: ...
    @property
    def sasl(self) -> SaslSettings | None: ...


@dataclass(frozen=True, slots=True)
class TlsValues:
    """TlsSettings as plain values."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: SecretSource | None = None
    verify_hostname: bool = True


@dataclass(frozen=True, slots=True)
class SaslValues:
    """SaslSettings as plain values."""

    mechanism: str
    username: str
    password: SecretSource


@dataclass(frozen=True, slots=True)
class SecurityValues:
    """SecuritySettings as plain values; by default neither TLS nor a login."""

    protocol: str = "PLAINTEXT"
    tls: TlsSettings = TlsValues()
    sasl: SaslSettings | None = None
