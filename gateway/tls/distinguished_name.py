"""A certificate's subject as Java's ``X500Principal.getName()`` writes it (RFC 2253).

Kafka's principals of TLS clients, its mapping rules and so its ACLs are written for that form,
which no Python library gives: the last attribute first, ``CN=alice,OU=Payments,O=Example\\, Inc.``,
and attributes that RFC 2253 does not know as ``2.5.4.5=#1303313233``: OID and DER in hex.

Pure: it reads the DER (X.690) that OpenSSL has verified, and checks every length all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""Attribute types with a name in RFC 2253 (2.3)."""

MAX_CHARACTERS: Final = 4_096
"""Characters of a name at most: more than any directory has; limits the text that is matched,
logged and kept."""

_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_OID: Final = 0x06
_EXPLICIT_VERSION: Final = 0xA0
_CONTENT_TAGS: Final = 0x1F

_STRINGS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""Java shows these as text: UTF8String, PrintableString, T61String, IA5String, GeneralString and
BMPString."""

_ESCAPED: Final = frozenset(',=+<>#;"\\')
_SPACES: Final = " \r"


class UnreadableName(Exception):
    """The bytes are no distinguished name; the text says why."""


def subject_name(certificate: bytes) -> str:
    """The subject of an X.509 certificate (DER), which may be empty. Raises UnreadableName."""
    _, outer = _element(certificate, 0)
    _, signed = _element(outer, 0)
    fields = list(_elements(signed))
    if fields and fields[0][0] == _EXPLICIT_VERSION:
        del fields[0]
    # RFC 5280, 4.1: serialNumber, signature, issuer, validity, subject.
    if len(fields) < 5 or fields[4][0] != _SEQUENCE:
        raise UnreadableName("the certificate has no subject")
    return name_text(fields[4][1])


def name_text(content: bytes) -> str:
    """The text of a Name's content: a SEQUENCE OF SET OF attribute. Raises UnreadableName."""
    parts = ["+".join(_attributes(found)) for found in _inner(content, _SET)]
    text = ",".join(reversed(parts))
    if len(text) > MAX_CHARACTERS:
        raise UnreadableName(f"the subject has over {MAX_CHARACTERS} characters")
    return text


def _attributes(content: bytes) -> Iterator[str]:
    for found in _inner(content, _SEQUENCE):
        offset = _bounds(found, 0)[1]
        tag, oid = _element(found, 0)
        if tag != _OID or _bounds(found, offset)[1] != len(found):
            raise UnreadableName("an attribute is not a type and a value")
        value_tag, value = _element(found, offset)
        dotted = _oid_text(oid)
        keyword = KEYWORDS.get(dotted)
        if keyword is None or value_tag not in _STRINGS:
            yield f"{keyword or dotted}=#{found[offset:].hex()}"
        else:
            # Java takes the bytes of every kind of string for UTF-8.
            yield f"{keyword}={_escaped(value.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    """Escape as in RFC 2253, 2.4, and as Java does: spaces and carriage returns at both ends,
    too."""
    stripped = text.strip(_SPACES)
    lead = len(text) - len(text.lstrip(_SPACES))
    inner = "".join(
        "\\00" if each == "\0" else f"\\{each}" if each in _ESCAPED else each for each in stripped
    )
    before = "".join(f"\\{each}" for each in text[:lead])
    after = "".join(f"\\{each}" for each in text[lead + len(stripped) :])
    return before + inner + after


def _oid_text(content: bytes) -> str:
    """``2.5.4.3`` from its DER (X.690, 8.19)."""
    arcs: list[int] = []
    value = 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            arcs.append(value)
            value = 0
    if not arcs or content[-1] & 0x80:
        raise UnreadableName("an attribute's type is no OID")
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, (first, arcs[0] - 40 * first, *arcs[1:])))


def _inner(content: bytes, tag: int) -> Iterator[bytes]:
    for found, inside in _elements(content):
        if found != tag:
            raise UnreadableName("the subject is no list of attributes")
        yield inside


def _elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """(tag, content) of each element, end to end."""
    offset = 0
    while offset < len(content):
        start, end = _bounds(content, offset)
        yield content[offset], content[start:end]
        offset = end


def _element(data: bytes, offset: int) -> tuple[int, bytes]:
    start, end = _bounds(data, offset)
    return data[offset], data[start:end]


def _bounds(data: bytes, offset: int) -> tuple[int, int]:
    """The positions where the content of the element at ``offset`` begins and ends (X.690, 8.1)."""
    start = offset + 2
    if start > len(data) or data[offset] & _CONTENT_TAGS == _CONTENT_TAGS:
        raise UnreadableName("the certificate is cut off")
    length = data[offset + 1]
    if length & 0x80:
        size = length & 0x7F
        if not 1 <= size <= 4 or start + size > len(data):
            raise UnreadableName("the certificate has a length that leads nowhere")
        length = int.from_bytes(data[start : start + size], "big")
        start += size
    if start + length > len(data):
        raise UnreadableName("the certificate is cut off")
    return start, start + length
