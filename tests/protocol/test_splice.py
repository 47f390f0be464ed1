from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.splice import splice


def test_edits_are_made_in_place() -> None:
    buf = b"..abcdef.."
    assert splice(buf, 2, 8, []) == b"abcdef"
    assert splice(buf, 2, 8, [(2, 4, b""), (5, 5, b"--"), (7, 8, b"F")]) == b"c--deF"
    assert splice(buf, 2, 8, [(2, 8, b"new")]) == b"new"


def test_the_size_of_a_tagged_field_follows_its_content() -> None:
    # tag 0, size 5, content "ab" "cde"; then a byte outside.
    buf = b"\x00\x05abcde!"
    sized = [(1, 2, 7)]
    assert splice(buf, 0, 8, [(2, 4, b"AB")], sized) == b"\x00\x05ABcde!"
    assert splice(buf, 0, 8, [(2, 4, b"")], sized) == b"\x00\x03cde!"
    assert splice(buf, 0, 8, [(7, 8, b"!!!")], sized) == b"\x00\x05abcde!!!"
    assert splice(buf, 0, 8, [(0, 1, b"\x01")], sized) == b"\x01\x05abcde!"


@pytest.mark.parametrize("length", [120, 125, 126, 127, 128, 16000, 17000])
def test_a_size_that_grows_makes_those_around_it_grow(length: int) -> None:
    """Three nested fields: if the inner size takes another byte, the outer must too."""
    inner = b"\x02ab"  # size 2
    middle = bytes([len(inner)]) + inner
    outer = bytes([len(middle)]) + middle
    sized = [(0, 1, 5), (1, 2, 5), (2, 3, 5)]
    assert outer == b"\x04\x03\x02ab"
    spliced = splice(outer, 0, 5, [(3, 5, b"n" * length)], sized)

    def peel(data: bytes) -> bytes:
        size = shift = at = 0
        while True:
            size |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                assert len(data) - at == size
                return data[at:]

    assert peel(peel(peel(spliced))) == b"n" * length


@given(
    st.binary(min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.binary(max_size=3)), max_size=5),
)
def test_agrees_with_editing_from_the_end(buf: bytes, drawn: list[tuple[int, int, bytes]]) -> None:
    edits: list[tuple[int, int, bytes]] = []
    for first, second, new in sorted(drawn):
        at, stop = sorted((min(first, len(buf)), min(second, len(buf))))
        if not edits or at >= edits[-1][1]:
            edits.append((at, stop, new))
    expected = bytearray(buf)
    for at, stop, new in reversed(edits):
        expected[at:stop] = new
    assert splice(buf, 0, len(buf), edits) == expected


def test_many_sized_fields_cost_no_more_each() -> None:
    """Tagged fields by the ten thousand: each is looked up, not compared with every edit."""
    count = 20_000
    buf = b"\x03abc" * count
    edits = [(4 * n + 1, 4 * n + 4, b"longer") for n in range(count)]
    sized = [(4 * n, 4 * n + 1, 4 * n + 4) for n in range(count)]
    before = thread_time()
    assert splice(buf, 0, len(buf), edits, sized) == b"\x06longer" * count
    assert thread_time() - before < 1.0
