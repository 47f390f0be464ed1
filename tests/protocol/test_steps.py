from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, TruncatedError
from protocol.primitives import compact, nullable_compact, reject_length, skip_tags


def test_compact_lengths() -> None:
    assert compact(b"\x80\x01", 0, 2, "name") == (127, 2)
    assert nullable_compact(b"\x80\x01", 0, 2, "name") == (127, 2)
    assert nullable_compact(b"\x80\x00", 0, 2, "name") == (-1, 2)
    with pytest.raises(ProtocolError, match="name is null"):
        compact(b"\x80\x00", 0, 2, "name")
    with pytest.raises(TruncatedError):
        compact(b"\x80\x01", 0, 1, "name")


def test_a_rejected_length_says_which() -> None:
    with pytest.raises(ProtocolError, match=r"topics\.name has a length of -3"):
        reject_length(-3, "topics.name")


def test_tagged_fields_are_skipped() -> None:
    tags = b"\x02\x05\x02ab\x80\x01\x00"
    buf = b"!" + tags + b"rest"
    assert skip_tags(b"\0", 0, 1) == 1
    assert skip_tags(buf, 1, len(buf)) == 1 + len(tags)
    for end in range(1, 1 + len(tags)):
        with pytest.raises(TruncatedError):
            skip_tags(buf, 1, end)


def test_a_huge_count_of_tagged_fields_ends_with_the_bytes() -> None:
    with pytest.raises(TruncatedError):
        skip_tags(b"\xff\xff\xff\xff\x07" + b"\x01\x00" * 50, 0, 105)
