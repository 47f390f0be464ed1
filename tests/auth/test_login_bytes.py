"""Logins byte by byte: cuts change nothing, garbage is told from a login, and bytes are bounded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.headers import frame
from tests.auth.logins import (
    MAX_BYTES,
    api_versions,
    authenticate,
    handshake,
    login,
    request,
    taken,
)

VERSIONS, METADATA = api_versions(), request("Metadata", 4, topics=())
ONE, TWO, UNLISTED = handshake("ONE"), handshake("TWO"), handshake("GSSAPI")
TWO_RAW = handshake("TWO", 0)
TOKEN, BAD = authenticate(b"alice"), authenticate(b"bad")

EXCHANGES: dict[str, tuple[bytes, ...]] = {
    "in requests": (VERSIONS, TWO, authenticate(b"first"), TOKEN),
    "bare": (VERSIONS, TWO_RAW, frame(b"first"), frame(b"alice")),
    "refused": (TWO, authenticate(b"first"), BAD),
    "unlisted": (VERSIONS, UNLISTED),
    "out of turn": (VERSIONS, TWO, METADATA),
}


def outcome(pieces: Sequence[bytes]) -> tuple[object, ...]:
    """The outcome of a login."""
    made = login()
    rest = b""
    try:
        for piece in pieces:
            if made.identity is not None:
                rest += piece  # from here on it is not the login's
            else:
                made.data(piece)
    except ProtocolError as error:
        return str(error), taken(made)
    return taken(made), made.identity, made.failed, made.rest + rest, made.software, made.user


@pytest.mark.parametrize("name", EXCHANGES)
def test_cut_anywhere_it_comes_to_the_same(name: str) -> None:
    whole = b"".join(EXCHANGES[name]) + METADATA
    expected = outcome([whole])
    for at in range(len(whole) + 1):
        assert outcome([whole[:at], whole[at:]]) == expected, at
    assert outcome([whole[at : at + 1] for at in range(len(whole))]) == expected


def test_what_comes_behind_is_the_connections() -> None:
    made = login()
    made.data(ONE + TOKEN + METADATA + b"\x00\x00")
    assert made.rest == METADATA + b"\x00\x00"


@given(data=st.data())
def test_any_cuts_come_to_the_same(data: st.DataObject) -> None:
    whole = b"".join(EXCHANGES[data.draw(st.sampled_from(sorted(EXCHANGES)))]) + METADATA
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[start:stop] for start, stop in pairwise(edges)]
    assert outcome(pieces) == outcome([whole])


@given(
    prefix=st.sampled_from([b"", VERSIONS, ONE, TWO_RAW, VERSIONS + TWO]),
    garbage=st.one_of(
        st.binary(max_size=200),
        st.binary(min_size=10, max_size=60).map(frame),
        st.builds(
            lambda key, version, rest: frame(
                key.to_bytes(2, "big"), version.to_bytes(2, "big"), bytes(4), rest
            ),
            st.sampled_from([3, 17, 18, 36]),
            st.integers(0, 5),
            st.binary(max_size=60),
        ),
    ),
)
def test_garbage_is_no_more_than_a_protocol_error(prefix: bytes, garbage: bytes) -> None:
    try:
        made = login()
        made.data(prefix)
        made.data(garbage)
    except ProtocolError:
        return


@given(st.binary(max_size=300))
def test_a_changed_byte_is_no_more_than_a_protocol_error(change: bytes) -> None:
    whole = bytearray(VERSIONS + TWO + authenticate(b"first") + TOKEN)
    for offset in range(0, len(change) - 1, 2):
        whole[change[offset] % len(whole)] = change[offset + 1]
    try:
        login().data(bytes(whole))
    except ProtocolError:
        return


def test_bytes_are_bounded_in_one_frame() -> None:
    made = login()
    with pytest.raises(ProtocolError, match="more than 4096 bytes during login"):
        made.data((MAX_BYTES - 3).to_bytes(4, "big"))


@pytest.mark.parametrize("piece", [1, 100, 10_000])
def test_bytes_are_bounded_in_all(piece: int) -> None:
    """Otherwise any number of rejected ApiVersions requests would be legal."""
    rejected = request("ApiVersions", 3, client_software_name="-", client_software_version="1")
    made, sent = login(), 0
    with pytest.raises(ProtocolError, match="more than 4096 bytes during login"):
        for start in range(0, 2 * MAX_BYTES, piece):
            made.data((rejected * 1_000)[start : start + piece])
            sent = start + piece
    assert sent <= MAX_BYTES + len(rejected) + piece
    assert made.failed is None
