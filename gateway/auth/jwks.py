"""The public keys that verify bearer tokens: a JSON Web Key Set (RFC 7517).

A key set in a file is read again when the file changes. A key set at a URL is fetched every
``refresh_seconds``, and soon after a token named an unknown key, because issuers change their keys.
Both happen in the background, never while a client waits. If a set cannot be read, the former set
stays in use.
"""

from __future__ import annotations

import json
import logging
import re
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from gateway.auth.exchange import CredentialsError, FileStamp, file_stamp
from gateway.files import UnreadableFile, read_file

if TYPE_CHECKING:
    import jwt

log = logging.getLogger(__name__)

MAX_BYTES: Final = 1024 * 1024
"""Bytes of the largest key set that is read."""

URLS: Final = ("http://", "https://")
"""The prefixes of a key set's location that is a URL, not a file."""

_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}")

KEY_TYPES: Final = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The accepted algorithms, all asymmetric, with the key type and curve of each."""


def check_url(url: str) -> None:
    """Raise ValueError, with a reason, for a URL from which no key set can ever be fetched."""
    if any(letter.isspace() or not letter.isprintable() for letter in url):
        raise ValueError("it has a space or a control character")
    parts = urlsplit(url)
    host = parts.hostname
    if not host:
        raise ValueError("it has no host")
    if parts.port == 0:
        raise ValueError("port 0 is no port")
    if "[" in parts.netloc:
        ip_address(host)
    # DNS names have no underscores, but names of containers do.
    elif not _HOST.fullmatch(host.encode("idna").decode()):
        raise ValueError(f"'{host}' is no host name")


class KeySet:
    """Public keys; keys that no accepted algorithm can use are left out."""

    def __init__(self, keys: list[dict[str, Any]]) -> None:
        self._keys = keys
        self._made: dict[tuple[int, str], jwt.PyJWK | None] = {}

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def parse(cls, text: str | bytes) -> KeySet:
        """Parse a key set. Raises ValueError, with a reason, if it holds no usable key."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("it is not JSON") from None
        keys = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(keys, list):
            raise ValueError('it has no list of "keys" (RFC 7517)')
        usable = cls([key for key in keys if _is_usable(key)])
        if not usable:
            raise ValueError("it has no key for signatures by RSA, EC or Ed25519")
        return usable

    def knows(self, key_id: str) -> bool:
        """Whether the set has a key of this name."""
        return any(key.get("kid") == key_id for key in self._keys)

    def find(self, key_id: str | None, algorithm: str) -> list[jwt.PyJWK]:
        """The candidate keys for a token that names this key; None: it names no key."""
        candidates = (
            self._key(index, algorithm)
            for index, key in enumerate(self._keys)
            if (key_id is None or key.get("kid") == key_id) and _fits(key, algorithm)
        )
        return [key for key in candidates if key is not None]

    def _key(self, index: int, algorithm: str) -> jwt.PyJWK | None:
        import jwt

        made = self._made
        if (index, algorithm) not in made:
            try:
                made[index, algorithm] = jwt.PyJWK(self._keys[index], algorithm)
            except (jwt.PyJWTError, ValueError, TypeError, KeyError):
                log.warning("a key of a JWKS cannot be used: no %s key, or malformed", algorithm)
                made[index, algorithm] = None
        return made[index, algorithm]


class Keys(Protocol):
    """A key set that is kept up to date: :class:`FileKeys`, or
    :class:`gateway.auth.jwks_url.UrlKeys`.

    ``current`` is None until the set was read once. ``missed`` notes that a token names an unknown
    key, so the set is fetched soon. ``load`` reads the keys at start, if that is quick, and raises
    CredentialsError. ``look_again`` is called every second, on the event loop. ``stop`` ends the
    background task.
    """

    @property
    def current(self) -> KeySet | None: ...
    def missed(self) -> None: ...
    def load(self) -> None: ...
    def look_again(self) -> None: ...
    async def stop(self) -> None: ...


class FileKeys:
    """A key set in a file. ``key``: its configuration key, for error texts."""

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key
        self._stamp: FileStamp | None = None
        self.current: KeySet | None = None

    def missed(self) -> None:
        """Does nothing: a changed file is noticed anyway."""

    def load(self) -> None:
        self._stamp = file_stamp(self._path)
        try:
            self.current = self._read()
        except ValueError as error:
            raise CredentialsError(f"{self._key}: '{self._path}' cannot be used: {error}") from None

    def look_again(self) -> None:
        stamp = file_stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.current = self._read()
        except ValueError as error:
            log.warning("%s: the keys read before stay in use: %s", self._key, error)
        else:
            log.info("%s has been read again", self._key)

    async def stop(self) -> None:
        """Does nothing: there is no background task."""

    def _read(self) -> KeySet:
        try:
            text = read_file(self._path, MAX_BYTES)
        except UnreadableFile as error:
            raise ValueError(str(error)) from None
        return KeySet.parse(text)


def _is_usable(key: object) -> bool:
    if not isinstance(key, dict) or key.get("use", "sig") != "sig":
        return False
    operations = key.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return False
    return any(_fits(key, algorithm) for algorithm in KEY_TYPES)


def _fits(key: dict[str, Any], algorithm: str) -> bool:
    key_type, curve = KEY_TYPES[algorithm]
    if key.get("kty") != key_type or (curve is not None and key.get("crv") != curve):
        return False
    return bool(key.get("alg", algorithm) == algorithm)
