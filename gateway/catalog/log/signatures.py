"""The place of a record in the catalog, and signatures that bind records to their places.

A signature is HMAC-SHA256 over the record's key, its value and its place. The place holds the
offset that the record was written for, so if somebody copies a signed record to another offset,
readers recognize the copy, even after compaction has removed the first record.
"""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from gateway.files import UnreadableFile, read_text

log = logging.getLogger(__name__)

NOWHERE: Final = -1
"""In place of an offset, or a count, that the record does not have."""

MIN_SECRET_BYTES: Final = 32

_DOMAIN: Final = b"kafka-namespace-gateway: a record of the catalog, version 1"
_NULL: Final = b"\xff" * 8
_LINE: Final = re.compile(r"([A-Za-z0-9._-]{1,64})\s+([0-9a-fA-F]+)\s*\Z")
_MAX_FILE_BYTES: Final = 64 * 1024


class Place(NamedTuple):
    """The place of a record.

    - ``seq``: grows by 1 with every record over the life of the catalog, and is the catalog's
      version after the record.
    - ``last``: the ``seq`` of the last record of its decision.
    - ``decision``: a random text that all records of a decision share.
    - ``after``: the decision before it; empty for the first decision.
    - ``at``: the offset that the record was written for; older gateways leave it out.
    - ``entities``: the number of entities after its decision; older gateways leave it out.
    """

    seq: int
    last: int
    decision: str
    after: str
    at: int = NOWHERE
    entities: int = NOWHERE

    def headers(self) -> list[tuple[str, bytes | None]]:
        """The headers of its record."""
        told = ((name, value) for name, value in self._asdict().items() if value != NOWHERE)
        return [(name, str(value).encode()) for name, value in told]


class SigningKey(NamedTuple):
    """A key, and the id by which records name it."""

    key_id: str
    secret: bytes

    def __repr__(self) -> str:
        """The key's id without the secret, wherever it may be printed."""
        return f"SigningKey({self.key_id!r})"


class Signature(NamedTuple):
    """A record's signature. ``strict``: made in a catalog whose records all have to be signed."""

    key_id: str
    strict: bool
    mac: bytes

    @classmethod
    def of(
        cls, key: SigningKey, name: bytes | None, value: bytes | None, place: Place, *, strict: bool
    ) -> Signature:
        """The signature of a record with this key and value at that place."""
        parts: list[bytes | None] = [key.key_id.encode(), b"1" if strict else b"0", name, value]
        parts += [str(part).encode() for part in place]
        return cls(key.key_id, strict, hmac.digest(key.secret, _message(parts), "sha256"))

    def headers(self) -> list[tuple[str, bytes | None]]:
        """The headers of its record."""
        strict = b"1" if self.strict else b"0"
        return [("key", self.key_id.encode()), ("strict", strict), ("mac", self.mac)]

    @classmethod
    def found(cls, headers: Sequence[tuple[str, bytes | None]]) -> Signature | None:
        """The signature that the headers of a record hold, if it is signed."""
        values = dict(headers)
        mac = values.get("mac")
        if mac is None:
            return None
        key_id = (values.get("key") or b"").decode(errors="replace")
        return cls(key_id, values.get("strict") == b"1", mac)

    def holds(self, key: SigningKey, name: bytes | None, value: bytes | None, place: Place) -> bool:
        """True if this key has signed such a record."""
        wanted = Signature.of(key, name, value, place, strict=self.strict)
        return hmac.compare_digest(wanted.mac, self.mac)


class KeyFileError(Exception):
    """The keys cannot be read; the text says where and what to do, and holds no key."""


class KeyFile:
    """``catalog.key_file``: a key a line, ``ID HEX``; ``catalog sign`` uses the first key.

    It is read again when it has changed, so that keys can be added while the gateway runs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, SigningKey] = {}
        self._failed = False

    def load(self) -> None:
        """Read the file as it is now. Raises KeyFileError."""
        try:
            found = self._path.stat()
        except (OSError, ValueError):  # read_text says why
            stamp = None
        else:
            stamp = found.st_mtime_ns, found.st_size, found.st_ino
        try:
            text = read_text(self._path, _MAX_FILE_BYTES)
        except UnreadableFile as error:
            raise KeyFileError(f"'{self._path}' cannot be read: {error}; correct it") from None
        keys = dict(self._parsed(text))
        if not keys:
            raise KeyFileError(
                f"'{self._path}' holds no key; add a line: ID, a blank, 64 hex digits"
            )
        self._stamp = stamp
        self._keys, self._failed = keys, False

    @property
    def first(self) -> SigningKey:
        """The key with which ``catalog sign`` signs. Raises KeyFileError."""
        if not self._keys:
            self.load()
        return next(iter(self._keys.values()))

    def get(self, key_id: str) -> SigningKey | None:
        """The key with this id, if the file held it when it was last read."""
        return self._keys.get(key_id)

    def refresh(self) -> None:
        """Read the file again after a change; if it cannot be read, the keys read before stay."""
        try:
            found = self._path.stat()
            if (found.st_mtime_ns, found.st_size, found.st_ino) == self._stamp:
                return
            self.load()
        except (OSError, KeyFileError) as error:
            if not self._failed:
                log.error("catalog.key_file: the keys read before stay in use: %s", error)
            self._failed = True

    def _parsed(self, text: str) -> Iterator[tuple[str, SigningKey]]:
        seen: set[str] = set()
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            where = f"line {number} of '{self._path}'"
            match = _LINE.match(line.strip())
            if match is None or len(match[2]) % 2:
                raise KeyFileError(f"{where} is no key; write ID, a blank, 64 hex digits")
            secret = bytes.fromhex(match[2])
            if len(secret) < MIN_SECRET_BYTES:
                raise KeyFileError(
                    f"{where} has {len(secret)} bytes; a key needs {MIN_SECRET_BYTES} or more"
                )
            if match[1] in seen:
                raise KeyFileError(f"{where} has the id '{match[1]}' again; give each key its own")
            seen.add(match[1])
            yield match[1], SigningKey(match[1], secret)


def _message(parts: Sequence[bytes | None]) -> bytes:
    """Parts behind their lengths, so that no two lists of parts look the same."""
    pieces = [_DOMAIN]
    for part in parts:
        pieces += [_NULL] if part is None else [len(part).to_bytes(8, "big"), part]
    return b"".join(pieces)
