"""Frames, request headers and response headers.

Every request and response is preceded by its size, an int32 that excludes itself.

Request header 1 holds API key, version, correlation id and client id; 2 adds tagged fields.
Response header 0 holds the correlation id; 1 adds tagged fields. The client id is a legacy string
in both request headers. An ApiVersions response always has header 0 (KIP-511), because a client
that is too new must be able to read it.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Any, Final

from protocol.errors import ProtocolError, TruncatedError
from protocol.primitives import skip_tags
from protocol.schema import message_class, request_name, response_name

API_VERSIONS: Final = 18
_API_VERSIONS_FLEXIBLE_SINCE: Final = 3
SIZE_PREFIX: Final = Struct(">i")
"""Unpacks a frame's size; the caller must reject negative and oversized values."""

_REQUEST: Final = Struct(">hhih")
_CORRELATION_ID: Final = Struct(">i")


MAX_HEADER_TAGS: Final = 4 * 1024
"""The most bytes of tagged fields in a header. Kafka has no such fields, and millions of empty ones
would be skipped in one go before the request is decided."""


def frame(*parts: bytes) -> bytes:
    """The frame of a payload, which is ``parts`` joined."""
    return SIZE_PREFIX.pack(sum(map(len, parts))) + b"".join(parts)


@cache
def request_header_version(api_key: int, version: int) -> int:
    """The version of a request's header, 1 or 2. Raises ProtocolError for an unknown API key or
    version; every version of ApiVersions is known, because a client may always send a newer version
    (KIP-511)."""
    if api_key == API_VERSIONS and version >= _API_VERSIONS_FLEXIBLE_SINCE:
        return 2
    return _header_version(request_name(api_key), version)


@cache
def response_header_version(api_key: int, version: int) -> int:
    """The version of a response's header, 0 or 1. Raises ProtocolError for an unknown API key or
    version."""
    if api_key == API_VERSIONS:
        return 0
    return _header_version(response_name(api_key), version)


def read_request_header(buf: bytes, pos: int, end: int) -> tuple[int, int, int, bytes | None, int]:
    """Read the header that starts at ``pos``, the first byte after the frame's size.

    Returns (API key, version, correlation id, client id, position of the body). Raises
    TruncatedError, or ProtocolError for a header whose layout is not known.
    """
    start = pos + _REQUEST.size
    if start > end:
        raise TruncatedError("a request ends inside its header")
    api_key, version, correlation_id, length = _REQUEST.unpack_from(buf, pos)
    client_id: bytes | None = None
    if length >= 0:
        pos = start + length
        if pos > end:
            raise TruncatedError("a request ends inside its client id")
        client_id = buf[start:pos]
    elif length == -1:
        pos = start
    else:
        raise ProtocolError(f"a client id has a length of {length}")
    if request_header_version(api_key, version) == 2:
        if pos < end and not buf[pos]:
            pos += 1
        else:
            pos = _skip_header_tags(buf, pos, end)
    return api_key, version, correlation_id, client_id, pos


def response_body_pos(buf: bytes, pos: int, end: int, header_version: int) -> int:
    """The position of a response's body; ``pos`` is the first byte after the frame's size."""
    pos += _CORRELATION_ID.size
    if pos > end:
        raise TruncatedError("a response ends inside its header")
    if not header_version:
        return pos
    return pos + 1 if pos < end and not buf[pos] else _skip_header_tags(buf, pos, end)


def _skip_header_tags(buf: bytes, pos: int, end: int) -> int:
    """The position behind a header's tagged fields.

    Raises TruncatedError if they may go on behind ``end``, ProtocolError if they are too long,
    because then it does not help to wait for more bytes.
    """
    try:
        return skip_tags(buf, pos, min(end, pos + MAX_HEADER_TAGS))
    except TruncatedError:
        if end - pos >= MAX_HEADER_TAGS:
            why = f"the tagged fields of a header take more than {MAX_HEADER_TAGS} bytes"
            raise ProtocolError(why) from None
        raise


def response_header(correlation_id: int, header_version: int) -> bytes:
    """A response header without tagged fields."""
    return _CORRELATION_ID.pack(correlation_id) + (b"\x00" if header_version else b"")


def _header_version(name: str, version: int) -> int:
    cls: Any = message_class(name, version)
    return int(cls.__header_schema__.__version__)
