"""Produce v0 to v2, rejected partition by partition."""

from __future__ import annotations

import pytest

from gateway.apis.records.produce_rejections import reject_old
from protocol.errors import ProtocolError

CODE = b"\x00\x23"
NO_LONG = b"\xff" * 8


def request(acks: int = 1) -> bytes:
    """Topic ``t`` with partitions 0 and 5, topic ``uu`` with partition 1 and null records."""
    return b"".join(
        (
            acks.to_bytes(2, "big", signed=True),
            (30_000).to_bytes(4, "big"),
            b"\x00\x00\x00\x02",
            b"\x00\x01t\x00\x00\x00\x02",
            b"\x00\x00\x00\x00\x00\x00\x00\x03abc",
            b"\x00\x00\x00\x05\x00\x00\x00\x00",
            b"\x00\x02uu\x00\x00\x00\x01",
            b"\x00\x00\x00\x01\xff\xff\xff\xff",
        )
    )


@pytest.mark.parametrize(
    ("version", "time", "throttle"),
    [(0, b"", b""), (1, b"", bytes(4)), (2, NO_LONG, bytes(4))],
)
def test_every_partition_is_rejected(version: int, time: bytes, throttle: bytes) -> None:
    rejection = CODE + NO_LONG + time
    assert reject_old(version, request(), 35) == b"".join(
        (
            b"\x00\x00\x00\x02",
            b"\x00\x01t\x00\x00\x00\x02",
            b"\x00\x00\x00\x00" + rejection,
            b"\x00\x00\x00\x05" + rejection,
            b"\x00\x02uu\x00\x00\x00\x01",
            b"\x00\x00\x00\x01" + rejection,
            throttle,
        )
    )


def test_without_acks_there_is_no_answer() -> None:
    assert reject_old(2, request(acks=0), 35) == b""


def test_every_cut_is_a_protocol_error() -> None:
    whole = request()
    for end in range(len(whole)):
        with pytest.raises(ProtocolError):
            reject_old(2, whole[:end], 35)


def test_bytes_too_many_are_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        reject_old(2, request() + b"\x00", 35)


@pytest.mark.parametrize(("topics", "partitions"), [(1, 2_000), (1_001, 1), (2_001, 0)])
def test_more_than_one_turn_answers_is_a_protocol_error(topics: int, partitions: int) -> None:
    topic = b"\x00\x01t" + partitions.to_bytes(4, "big") + bytes(8) * partitions
    body = request()[:6] + topics.to_bytes(4, "big") + topic * topics
    with pytest.raises(ProtocolError):
        reject_old(2, body, 35)


def test_names_that_are_long_together_are_a_protocol_error() -> None:
    topic = b"\x7f\xff" + b"x" * 32_767 + bytes(4)
    assert reject_old(2, request()[:6] + b"\x00\x00\x00\x02" + topic * 2, 35)
    with pytest.raises(ProtocolError):
        reject_old(2, request()[:6] + b"\x00\x00\x00\x03" + topic * 3, 35)


@pytest.mark.parametrize("count", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
def test_an_absurd_count_is_a_protocol_error(count: bytes) -> None:
    with pytest.raises(ProtocolError):
        reject_old(0, bytes(6) + count, 35)
