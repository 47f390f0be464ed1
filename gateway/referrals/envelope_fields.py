"""Fields of the tag in envelopes between gateways: numbers, texts, paths, ids and hops as bytes.

Numbers are unsigned varints, strings and arrays compact (KIP-482). Writers and readers have the
same limits, and raise ProtocolError.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final, NoReturn, TypeVar

from gateway.names import InvalidName, check_namespace
from gateway.referrals.questions import MAX_HOPS, Hop
from protocol.errors import ProtocolError, TruncatedError
from protocol.primitives import MAX_INT32, compact, compact_string, read_uvarint, write_uvarint

CONTENT_VERSION: Final = 0
"""The version of the tag's content, in its first byte."""

MAX_ID: Final = 64
"""Characters of a gateway's id."""

MAX_PATH: Final = 1_000
"""Characters of a mount or of another path in the tree."""

_MOST_UTF8_BYTES: Final = 4

_SHOWN: Final = 100
"""Characters of a wrong path in an error."""

_Enum = TypeVar("_Enum", bound=IntEnum)
_T = TypeVar("_T")


class Content:
    """Reads the fields in the tag, in order. All methods raise ProtocolError.

    ``what`` names a field in the error.
    """

    def __init__(self, body: bytes, start: int) -> None:
        """The tag's content is all of ``body`` from ``start`` on."""
        self._body = body
        self._pos = start + 1
        self._end = len(body)
        if start == self._end:
            raise TruncatedError("An envelope between gateways has an empty tag")
        if body[start] != CONTENT_VERSION:
            reject(f"has version {body[start]}")

    def number(self, most: int, what: str) -> int:
        """A number of 0 to ``most``."""
        value, self._pos = read_uvarint(self._body, self._pos, self._end)
        return checked(value, most, what)

    def member(self, enum: type[_Enum]) -> _Enum:
        """A member of an enum whose values are 0, 1 and so on."""
        name = enum.__name__.lower()
        return enum(self.number(max(enum), f"the {name}"))

    def string(self, most: int, what: str) -> str:
        """A string of at most ``most`` characters."""
        length, start = compact(self._body, self._pos, self._end, what)
        checked(length, most * _MOST_UTF8_BYTES, f"the length of {what}")
        self._pos = start + length
        if self._pos > self._end:
            raise TruncatedError(f"An envelope between gateways ends inside {what}")
        try:
            value = self._body[start : self._pos].decode()
        except UnicodeDecodeError:
            reject(f"has {what} not in UTF-8")
        checked(len(value), most, f"the length of {what}")
        return value

    def path(self, what: str) -> str:
        """A path of the tree, which may be the root."""
        return _checked_path(self.string(MAX_PATH, what), what)

    def gateway_id(self) -> str:
        """The id of a gateway: printable, and not empty."""
        return _checked_id(self.string(MAX_ID, "a gateway's id"))

    def hop(self) -> Hop:
        """An id, microseconds, and whether the hop was cached."""
        gateway_id = self.gateway_id()
        micros = self.number(MAX_INT32, "the microseconds of a hop")
        return Hop(gateway_id, micros, bool(self.number(1, "whether a hop was cached")))

    def array(self, element: Callable[[], _T], what: str) -> tuple[_T, ...]:
        """At most :data:`MAX_HOPS` elements, each read by ``element``."""
        count, self._pos = compact(self._body, self._pos, self._end, what)
        checked(count, MAX_HOPS, f"the length of {what}")
        return tuple(element() for _ in range(count))

    def expect_end(self) -> None:
        """Raise ProtocolError if more bytes follow."""
        if self._pos != self._end:
            reject(f"has {self._end - self._pos} bytes after the last field of its tag")


def hop_bytes(hop: Hop) -> bytes:
    """An element of the hops, as bytes."""
    return id_bytes(hop.gateway_id) + number_bytes(clamped(hop.micros)) + number_bytes(hop.cached)


def path_bytes(path: str, what: str) -> bytes:
    """A path of the tree, as bytes; empty for the root."""
    checked(len(path), MAX_PATH, f"the length of {what}")
    return compact_string(_checked_path(path, what).encode())


def id_bytes(gateway_id: str) -> bytes:
    """The id of a gateway, as bytes."""
    checked(len(gateway_id), MAX_ID, "the length of a gateway's id")
    return compact_string(_checked_id(gateway_id).encode())


def count_bytes(count: int, what: str) -> bytes:
    """The length of an array, as bytes; the elements follow."""
    return number_bytes(checked(count, MAX_HOPS, f"the length of {what}") + 1)


def number_bytes(value: int) -> bytes:
    """A number that is not negative, as bytes."""
    return write_uvarint(int(value))


def clamped(value: float) -> int:
    """The nearest number that fits into the field."""
    return round(min(max(0.0, value), MAX_INT32))


def checked(value: int, most: int, what: str) -> int:
    """The value. Raises ProtocolError unless it is within 0 to ``most``."""
    if not 0 <= value <= most:
        reject(f"has {value} as {what}; at most {most} is allowed")
    return value


def _checked_path(path: str, what: str) -> str:
    try:
        if path:
            check_namespace(path)
    except InvalidName:
        reject(f"has {path[:_SHOWN]!r} as {what}, which is no path of a tree")
    return path


def _checked_id(gateway_id: str) -> str:
    # Line ends, terminal controls and halves of surrogate pairs are not printable.
    if not gateway_id or not gateway_id.isprintable():
        reject(f"has {gateway_id!r} as a gateway's id")
    return gateway_id


def reject(reason: str) -> NoReturn:
    """Raise ProtocolError."""
    raise ProtocolError(f"An envelope between gateways {reason}")
