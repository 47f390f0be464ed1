"""protocol.text: strings are read as Kafka reads them, which makes a Java String of any bytes."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.entities import ALL_KINDS, Kind
from protocol.errors import NotUtf8, ProtocolError
from protocol.text import as_brokers_read, readable
from protocol.walkers import walker
from tests.protocol.oracle import encode
from tests.protocol.strategies import CASES, PROFILE, Case, messages_of

REQUESTS = [case for case in CASES if case[0].endswith("Request")]

GOOD = "ü€😀"
"""A string with which messages are drawn, and which no bytes field holds."""
BAD = b"\x80" + b"\xe2\x82" * 4
READ = "\ufffd" * 5

R = "\ufffd".encode()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b"", b""),
        (b"orders\0", b"orders\0"),
        (GOOD.encode(), GOOD.encode()),
        (R, R),
        (b"\xef\xbb\xbfa", b"\xef\xbb\xbfa"),
        (b"a\x80b", b"a" + R + b"b"),
        (b"\xc0\xaf", R * 2),
        (b"\xe0\x80\xaf", R * 3),
        (b"\xe2\x82", R),
        (b"\xe2\x82a", R + b"a"),
        (b"\xf0\x9f\x98", R),
        (b"\xf0\x9f\x98\xe2\x82\xac", R + "€".encode()),
        (b"\xf4\x90\x80\x80", R * 4),
        (b"\xff\xfe", R * 2),
        # Differences of Java from Python: a surrogate, or the beginning of one, is one part.
        (b"\xed\xa0\x80", R),
        (b"\xed\xa0", R),
        (b"\xed\xa0a", R + b"a"),
        (b"\xed\xa0\x80\xed\xb0\x80", R * 2),
        (b"\xed", R),
        (b"\xed\x80", R),
        (b"\xe2\xed\xa0\x80", R * 2),
    ],
)
def test_is_what_a_broker_reads(text: bytes, read: bytes) -> None:
    """A real broker reads it like this: tests/live/fuzz/test_text_not_utf8.py."""
    assert as_brokers_read(text) == read


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: f"{case[0]}-{case[1]}")
@PROFILE
@given(data=st.data())
def test_every_text_of_a_request_is_read(case: Case, data: st.DataObject) -> None:
    entity = data.draw(messages_of(case))
    body = messages.write(entity)
    assert readable(*case, body) == body
    bad = body.replace(GOOD.encode(), BAD)
    read = readable(*case, bad)
    assert read == messages.write(_read(entity))
    walk = walker(*case, ALL_KINDS | {Kind.TEXT}, whole=True)
    assert walk(read, 0, len(read), []) == len(read)
    if bad != body:
        with pytest.raises(NotUtf8):
            walk(bad, 0, len(bad), [])
        with pytest.raises(NotUtf8):
            messages.parse(*case, bad)


def _read(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(GOOD, READ)
    if isinstance(value, tuple):
        return tuple(map(_read, value))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{each.name: _read(getattr(value, each.name)) for each in fields(value)})


def test_what_a_broker_does_not_look_at_is_left_out() -> None:
    entity = messages.make(messages.message_class("HeartbeatRequest", 4), {"group_id": "g"})
    body = messages.write(entity)
    assert readable("HeartbeatRequest", 4, encode(entity, [(99, b"\x80")]) + b"\x80") == body


def test_bytes_are_no_text() -> None:
    values = {"protocols": [{"name": "range", "metadata": b"\x80"}]}
    body = messages.made("JoinGroupRequest", 5, values)
    assert readable("JoinGroupRequest", 5, body) == body


def test_a_text_that_grows_too_long_is_rejected() -> None:
    body = messages.made("HeartbeatRequest", 3, {"group_id": "~" * 32_767})
    longest = b"\x80" * 10_922
    bad = body.replace(b"~" * 32_767, longest + b"a")
    bad = len(longest + b"a").to_bytes(2, "big") + bad[2:]
    assert readable("HeartbeatRequest", 3, bad).startswith(b"\x7f\xff" + R * 10_922 + b"a")
    with pytest.raises(ProtocolError, match="too long to be read"):
        readable("HeartbeatRequest", 3, body.replace(b"~", b"\x80"))


def test_a_malformed_body_is_rejected() -> None:
    body = messages.made("HeartbeatRequest", 3, {"group_id": "g"})
    with pytest.raises(ProtocolError, match="ends early"):
        readable("HeartbeatRequest", 3, body[:-1])
