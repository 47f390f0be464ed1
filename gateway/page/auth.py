"""Authentication of the page by HTTP Basic (RFC 7617), or a bearer token (RFC 6750).

If no authentication is configured, the page is on loopback alone, and :func:`is_own_host` decides,
as it does for all paths that need no login.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final

from gateway.config.connecting import SecretError
from gateway.config.models import MetricsSettings
from gateway.config.values import is_loopback
from gateway.page.passwords import NOBODY, PasswordHash, PasswordsError, read_passwords

log = logging.getLogger(__name__)

MAX_WAITING: Final = 8
"""Logins whose password is being hashed, or waits for its turn: one is hashed at a time."""

MAX_KNOWN: Final = 64
"""Logins that are remembered, so that only the first request of a login costs a hash."""

_MAX_HEADER: Final = 2_000


class Verdict(Enum):
    """The decision on a request for the page."""

    ALLOWED = "allowed"
    UNAUTHENTICATED = "unauthenticated"
    FOREIGN_HOST = "foreign host"
    BUSY = "busy"


class PageAuth:
    """Decides on requests by their headers ``Authorization`` and ``Host``. Files are read again if
    they have changed."""

    def __init__(self, settings: MetricsSettings) -> None:
        self._settings = settings.auth
        self._host = settings.host
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}
        self._users: dict[str, PasswordHash] = {}
        self._read_as: object = None
        self._waiting = 0
        self._hashing = asyncio.Lock()

    @property
    def required(self) -> bool:
        """Whether clients have to authenticate."""
        return self._settings is not None

    @property
    def challenge(self) -> str:
        """The value of WWW-Authenticate: Basic if passwords are configured, because browsers prompt
        for it."""
        assert self._settings is not None
        if self._settings.passwords is None:
            return 'Bearer realm="kafka-gateway"'
        return 'Basic realm="kafka-gateway", charset="UTF-8"'

    async def verdict(self, authorization: str, host: str) -> Verdict:
        """Decide on a request."""
        if self._settings is None:
            own = is_loopback(self._host) and is_own_host(self._host, host)
            return Verdict.ALLOWED if own else Verdict.FOREIGN_HOST
        scheme, _, given = authorization[:_MAX_HEADER].partition(" ")
        match scheme.casefold():
            case "bearer":
                allowed = self._is_token(given.strip())
            case "basic":
                return await self._password_verdict(given.strip())
            case _:
                allowed = False
        return Verdict.ALLOWED if allowed else Verdict.UNAUTHENTICATED

    def _is_token(self, given: str) -> bool:
        assert self._settings is not None
        if self._settings.token is None:
            return False
        try:
            token = self._settings.token.read()
        except SecretError as error:
            log.error("metrics.auth.token: %s", error)
            return False
        # Digests have the same length, so that the time does not show even the token's length.
        return hmac.compare_digest(self._digest(given), self._digest(token))

    async def _password_verdict(self, given: str) -> Verdict:
        assert self._settings is not None
        if self._settings.passwords is None or not self._read(self._settings.passwords):
            return Verdict.UNAUTHENTICATED
        digest = self._digest(given)
        if digest in self._known:
            return Verdict.ALLOWED
        try:
            user, _, password = base64.b64decode(given, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return Verdict.UNAUTHENTICATED
        if self._waiting >= MAX_WAITING:
            return Verdict.BUSY
        hashed = self._users.get(user, NOBODY)
        if not await self._in_turn(lambda: hashed.matches(password)):
            log.warning("a login to the page failed")
            return Verdict.UNAUTHENTICATED
        if self._users.get(user) is hashed:  # the file may have changed meanwhile
            if len(self._known) >= MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[digest] = None
        return Verdict.ALLOWED

    async def _in_turn(self, check: Callable[[], bool]) -> bool:
        self._waiting += 1
        try:
            async with self._hashing:
                return await asyncio.to_thread(check)
        finally:
            self._waiting -= 1

    def _read(self, path: Path) -> bool:
        """Read the file if it has changed; returns whether it has users."""
        try:
            status = path.stat()
            now = (status.st_mtime_ns, status.st_size, status.st_ino)
            if now != self._read_as:
                self._known.clear()
                self._users = read_passwords(path)
                self._read_as = now
        except (OSError, PasswordsError) as error:
            self._users, self._read_as = {}, None
            self._known.clear()
            log.error("metrics.auth.passwords: %s", error)
        return bool(self._users)

    def _digest(self, text: str) -> bytes:
        # Bytes of a header that are not UTF-8 are lone surrogates.
        data = text.encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, data, hashlib.sha256)


def is_own_host(bound: str, host: str) -> bool:
    """Whether a request with this Host header needs no login at a port bound to ``bound``.

    On loopback the Host has to be loopback, or the name bound, because any web page could otherwise
    read the port by a name of its own that resolves to 127.0.0.1. A request without the header does
    not come from a browser. Ports on other addresses have names that only their clients know.
    """
    name = host_name(host)
    if not name or not is_loopback(bound):
        return True
    return is_loopback(name) or name.casefold() == bound.casefold()


def host_name(host: str) -> str:
    """The name or address in a Host header, without its port.

    >>> host_name("[::1]:9404"), host_name("localhost")
    ('::1', 'localhost')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
