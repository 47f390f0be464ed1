from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import writers

from protocol.errors import ProtocolError, TruncatedError
from protocol.primitives import (
    MAX_INT32,
    compact_string,
    legacy_bytes,
    legacy_string,
    read_uvarint,
    write_uvarint,
)

lengths = st.sampled_from([0, 1, 126, 127, 128, 16382, 16383, 16384, 32767])


@given(st.integers(0, MAX_INT32), st.binary(max_size=4), st.binary(max_size=4))
def test_uvarint_reads_what_was_written(value: int, before: bytes, after: bytes) -> None:
    wire = write_uvarint(value)
    end = len(before) + len(wire)
    assert read_uvarint(before + wire + after, len(before), end) == (value, end)
    expected = BytesIO()
    writers.write_unsigned_varint(expected, value)  # type: ignore[arg-type]
    assert wire == expected.getvalue()
    with pytest.raises(TruncatedError):
        read_uvarint(before + wire + after, len(before), end - 1)


@pytest.mark.parametrize("wire", [b"\xff\xff\xff\xff\xff\x01", b"\x80\x80\x80\x80\x80\x00"])
def test_uvarint_of_more_than_five_bytes_is_rejected(wire: bytes) -> None:
    with pytest.raises(ProtocolError, match="longer than five bytes"):
        read_uvarint(wire, 0, len(wire))


def test_uvarint_over_int32_is_rejected() -> None:
    assert read_uvarint(b"\xff\xff\xff\xff\x07", 0, 5) == (MAX_INT32, 5)
    with pytest.raises(ProtocolError, match="2147483648 does not fit"):
        read_uvarint(b"\x80\x80\x80\x80\x08", 0, 5)


def test_uvarint_may_be_longer_than_need_be() -> None:
    assert read_uvarint(b"\x81\x80\x00", 0, 3) == (1, 3)


@given(lengths)
def test_strings_are_written_as_kio_writes_them(length: int) -> None:
    text = "s" * length
    for write, kio_write in (
        (legacy_string, writers.write_legacy_string),
        (compact_string, writers.write_compact_string),
    ):
        expected = BytesIO()
        kio_write(expected, text)
        assert write(text.encode()) == expected.getvalue()
    expected = BytesIO()
    writers.write_legacy_bytes(expected, text.encode())
    assert legacy_bytes(text.encode()) == expected.getvalue()


def test_null() -> None:
    assert legacy_string(None) == b"\xff\xff"
    assert legacy_bytes(None) == b"\xff\xff\xff\xff"
    assert compact_string(None) == b"\x00"


def test_a_legacy_string_that_is_too_long_is_rejected() -> None:
    with pytest.raises(ProtocolError, match="32768 bytes does not fit"):
        legacy_string(b"s" * 32768)
