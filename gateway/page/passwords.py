"""The file of the page's passwords: a line per user, with a hash by scrypt (RFC 7914).

``kafka-gateway page-password`` makes the lines, ``USER:scrypt:N:R:P:SALT:HASH`` with salt and hash
in Base64. Lines that are empty or begin with ``#`` are left out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.files import UnreadableFile, read_text

METHOD: Final = "scrypt"

_COST: Final = (2**15, 8, 3)
"""N, r and p: OWASP's recommendation for 32 MiB; an attempt takes a quarter of a second."""

_MOST_MEMORY: Final = 256 * 2**20
_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32
_MAX_USER: Final = 64
_MAX_FILE_BYTES: Final = 1024 * 1024
_FORM: Final = "write the line that kafka-gateway page-password prints"


class PasswordsError(Exception):
    """The file of passwords cannot be used; the text says why, and the next step."""


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """A password as scrypt hashes it, with its parameters. It shows nothing of the password."""

    n: int
    r: int
    p: int
    salt: bytes
    digest: bytes

    @classmethod
    def of(cls, password: str) -> PasswordHash:
        """A new hash of a password, with a salt of its own."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return cls(*_COST, salt, _scrypt(password, salt, _COST, _HASH_BYTES))

    def matches(self, password: str) -> bool:
        """Whether this is the password's hash. Takes some 0.3 s for any password, without the
        interpreter's lock: call it in a thread."""
        parameters = self.n, self.r, self.p
        found = _scrypt(password, self.salt, parameters, len(self.digest))
        return hmac.compare_digest(found, self.digest)

    def __str__(self) -> str:
        parts = (METHOD, self.n, self.r, self.p, _text(self.salt), _text(self.digest))
        return ":".join(map(str, parts))


NOBODY: Final = PasswordHash(*_COST, bytes(_SALT_BYTES), bytes(_HASH_BYTES))
"""The hash with which the password of an unknown user is compared, so that it takes as long."""


def check_user(user: str) -> None:
    """Raise ValueError, with a sentence, if ``user`` cannot be a user's name in the file."""
    if not user or len(user) > _MAX_USER or not user.isprintable() or ":" in user or user[0] == "#":
        raise ValueError(
            f"'{user[:_MAX_USER]}' is no user name; use 1 to {_MAX_USER} characters without ':',"
            " and no '#' in front"
        )


def password_line(user: str, password: str) -> str:
    """The line of the file for a user. Raises ValueError for an invalid name."""
    check_user(user)
    return f"{user}:{PasswordHash.of(password)}"


def read_passwords(path: Path) -> dict[str, PasswordHash]:
    """The users of a file. Raises PasswordsError, which names the malformed line."""
    try:
        lines = read_text(path, _MAX_FILE_BYTES).splitlines()
    except UnreadableFile as error:
        raise PasswordsError(f"'{path}' cannot be read: {error}; correct the path") from None
    found: dict[str, PasswordHash] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, _, rest = line.rstrip().partition(":")
        try:
            check_user(user)
            hashed = _parse(rest)
        except ValueError as error:
            raise PasswordsError(f"'{path}' line {number}: {error}") from None
        if user in found:
            raise PasswordsError(f"'{path}' line {number}: '{user}' is there twice; keep one line")
        found[user] = hashed
    if not found:
        raise PasswordsError(f"'{path}' has no user; add the line of kafka-gateway page-password")
    return found


def _parse(text: str) -> PasswordHash:
    match text.split(":"):
        case [method, n, r, p, salt, digest] if method == METHOD:
            if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in (n, r, p)):
                raise ValueError(f"its parameters are no numbers; {_FORM}")
            found = PasswordHash(int(n), int(r), int(p), _bytes(salt), _bytes(digest))
        case _:
            raise ValueError(f"it is no {METHOD} hash; {_FORM}")
    cost = 128 * found.n * found.r
    power_of_two = found.n > 1 and found.n & (found.n - 1) == 0
    if not power_of_two or not 0 < found.p <= 16 or not 0 < cost < _MOST_MEMORY:
        raise ValueError(f"its parameters are not scrypt's, or too large; {_FORM}")
    if len(found.salt) < _SALT_BYTES or len(found.digest) < _HASH_BYTES:
        raise ValueError(f"its salt or hash is too short; {_FORM}")
    return found


def _scrypt(password: str, salt: bytes, parameters: tuple[int, int, int], length: int) -> bytes:
    n, r, p = parameters
    return hashlib.scrypt(
        password.encode(), salt=salt, n=n, r=r, p=p, maxmem=2 * _MOST_MEMORY, dklen=length
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"its salt or hash is not Base64; {_FORM}") from None
