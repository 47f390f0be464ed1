"""Reads the text of a request like a broker, which rejects no bytes.

Kafka makes a Java ``String`` of the bytes of a string (``Readable.readString``), in which each
malformed part becomes U+FFFD, and decides on, stores and returns that string. So the gateway
decides on a request with text that is not UTF-8, and forwards it, with the text that a broker would
read. Walkers of requests, and ``messages.parse``, raise :class:`NotUtf8` for such text, and
:func:`readable` returns the body with the replaced text.
"""

from __future__ import annotations

import re
from typing import Final

from protocol.errors import ProtocolError
from protocol.layout import Piece, with_texts
from protocol.pausing import joined
from protocol.primitives import MAX_INT16
from protocol.schema import message_spec
from protocol.walkers import validator

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
"""A surrogate in three bytes, or its first two: a single malformed part in Java, but not in
Python."""

_MALFORMED: Final = b"\xff"
"""A byte that is a malformed part by itself, in both."""


def as_brokers_read(text: bytes) -> bytes:
    """The text that a broker reads from bytes, in UTF-8.

    >>> as_brokers_read(b"orders" + bytes([0x80])) == "orders\\ufffd".encode()
    True
    """
    return text_of(text).encode()


def text_of(text: bytes) -> str:
    """The text that a broker reads from bytes, as a string."""
    return _SURROGATE.sub(_MALFORMED, text).decode(errors="replace")


def readable(message: str, version: int, body: bytes) -> bytes:
    """A request's body with each of its texts as a broker reads it; see :func:`readable_pieces`."""
    return joined(readable_pieces(message, version, body, 0, len(body)))


def readable_pieces(message: str, version: int, buf: bytes, start: int, stop: int) -> list[Piece]:
    """The pieces of a request's body, ``buf[start:stop]``, with each of its texts as a broker reads
    it, without bytes after its end and without unknown tagged fields.

    Raises ProtocolError for a malformed body, and if a text becomes too long for a message, because
    U+FFFD takes three bytes.
    """
    validator(message, version, paced=True)(buf, start, stop, [])
    return with_texts(buf, start, message_spec(message, version).body, _bounded)


def _bounded(text: bytes) -> bytes:
    read = as_brokers_read(text)
    if len(read) > MAX_INT16:
        raise ProtocolError(f"a text of {len(text)} bytes is not UTF-8, and too long to be read")
    return read
