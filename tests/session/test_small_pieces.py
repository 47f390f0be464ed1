"""A request that arrives in small pieces costs no more than its bytes."""

from __future__ import annotations

from time import thread_time

import pytest

from protocol.errors import ProtocolError
from protocol.headers import MAX_HEADER_TAGS
from protocol.primitives import write_uvarint
from tests.session import producing
from tests.session.pair import CLIENT_ID, Pair

HEAD = 14 + len(CLIENT_ID)
"""Bytes of a request frame up to the tagged fields of its header."""

TAG = b"\x05\x00"

pytestmark = pytest.mark.usefixtures("quietly")


def tagged(count: int) -> bytes:
    """A Produce whose header has ``count`` tagged fields."""
    plain = producing.large(9, 1, 1, 100_000)
    assert not plain[HEAD]
    body = plain[4:HEAD] + write_uvarint(count) + TAG * count + plain[HEAD + 1 :]
    return len(body).to_bytes(4, "big") + body


def fed(frame: bytes, stop: int) -> float:
    """CPU seconds of a session that gets the first bytes of a frame one by one."""
    pair = Pair(topics=["team-a..t0"])
    began = thread_time()
    for start in range(stop):
        pair.session.client_data(frame[start : start + 1])
    return thread_time() - began


@pytest.mark.alone
def test_the_header_of_a_produce_is_not_walked_again_for_each_byte() -> None:
    usual = min(fed(tagged(0), 4_000) for _ in range(3))
    assert min(fed(tagged(1_900), 4_000) for _ in range(3)) < 10 * usual


def test_a_header_that_can_never_be_read_ends_the_connection_at_once() -> None:
    frame = tagged(20_000)
    pair = Pair(topics=["team-a..t0"])
    room = HEAD + MAX_HEADER_TAGS
    for start in range(room):
        pair.session.client_data(frame[start : start + 1])
    with pytest.raises(ProtocolError, match="tagged fields of a header"):
        pair.session.client_data(frame[room : 2 * room])


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 100, 1_000])
def test_a_head_in_pieces_is_forwarded_before_its_records_have_come(piece: int) -> None:
    frame = tagged(1_000)
    pair = Pair(topics=["team-a..t0"])
    sent = 0
    for start in range(0, len(frame) - 50_000, piece):
        pair.session.client_data(frame[start : start + piece])
        sent += sum(map(len, pair.session.to_broker))
        pair.session.to_broker.clear()
    assert sent > len(frame) - 51_000
