"""CloudEvents 1.0 and its JSON format, as a check written by hand from the specification."""

from __future__ import annotations

import json
import re
from typing import Any

REQUIRED = ("id", "source", "specversion", "type")
OPTIONAL = ("datacontenttype", "dataschema", "subject", "time")

# RFC 3986: the characters of a URI-reference.
_URI_REFERENCE = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
_ATTRIBUTE_NAME = re.compile(r"[a-z0-9]+")
_TIME = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)"
)
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(\s*;.*)?")


def checked(text: bytes) -> dict[str, Any]:
    """The event in a JSON text; fails if it breaks a MUST of the specification."""
    event = json.loads(text.decode("utf-8"), object_pairs_hook=_without_doubles)
    assert isinstance(event, dict)
    for name in REQUIRED:
        assert isinstance(event[name], str)
        assert event[name], f"{name} is empty"
    assert event["specversion"] == "1.0"
    assert _URI_REFERENCE.fullmatch(event["source"])
    for name, value in event.items():
        if name == "data":
            continue
        assert _ATTRIBUTE_NAME.fullmatch(name)
        assert name in (*REQUIRED, *OPTIONAL), f"{name} is an extension that nobody has documented"
        assert isinstance(value, str)
        assert value, f"{name} is there and empty"
        assert all(map(_is_allowed, value)), f"{name} holds a control character or the like"
    assert _TIME.fullmatch(event["time"])
    assert _MEDIA_TYPE.fullmatch(event["datacontenttype"])
    # JSON data is the value itself, not a text.
    assert event["datacontenttype"] == "application/json"
    assert isinstance(event["data"], dict)
    return event


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    assert len(found) == len(pairs), "a key stands twice in one object"
    return found


def _is_allowed(char: str) -> bool:
    """The type String: no control characters, no surrogates, no noncharacters."""
    code = ord(char)
    is_control = code <= 0x1F or 0x7F <= code <= 0x9F
    is_noncharacter = 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    return not (is_control or is_noncharacter or 0xD800 <= code <= 0xDFFF)
