"""Fetch responses in pieces have the same bytes as whole responses, and no piece is held back."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.exchanges.fetch_stream import UNIT_LIMIT
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make
from protocol.records import BATCH_HEADER_SIZE
from tests.session import fetching
from tests.session.pair import Pair, request_frame, response_frame

OWN = "team-a..orders"
RECORDS = bytes(range(256)) * 2000

CASES: dict[str, tuple[int, dict[Any, list[int]], dict[Any, list[bytes]]]] = {
    "one name": (12, {"team-a:orders": [0]}, {OWN: [b"records"]}),
    "not flexible": (5, {"team-a:orders": [0]}, {OWN: [b"records"]}),
    "uniform names": (
        12,
        {"team-a:orders": [0, 1], "team-b:x": [0]},
        {"team-b..x": [b"bb"], OWN: [b"a", b""]},
    ),
    "mixed names": (
        12,
        {"team-a:orders": [0, 1], "plain": [0]},
        {"plain": [b"pp"], OWN: [b"a", b""]},
    ),
    "ids": (15, {1: [0], 2: [0, 1]}, {2: [b"bb", b"b"], 1: [b"a"]}),
    "denied names": (12, {"nowhere:x": [0], "team-a:orders": [0]}, {OWN: [b"records"]}),
    "denied ids": (13, {99: [0], 1: [0]}, {1: [b"records"]}),
    "denied and mixed names": (
        12,
        {"nowhere:x": [0], "team-a:orders": [0], "plain": [0]},
        {"plain": [b"p"], OWN: [b"a"]},
    ),
    "nothing new": (12, {"team-a:orders": [0]}, {}),
}


def asked(version: int, topics: Any, count: int = 1) -> Pair:
    """A session whose broker has got ``count`` requests."""
    pair = Pair(topics=[OWN, "team-b..x"])
    entity = fetching.request(version, topics)
    for correlation_id in range(7, 7 + count):
        pair.send(request_frame("Fetch", version, entity, correlation_id))
    pair.to_broker()
    return pair


@pytest.mark.parametrize("case", CASES)
def test_a_response_cut_anywhere_gives_the_same_bytes(case: str) -> None:
    version, topics, answered = CASES[case]
    entity = fetching.response(version, answered)
    frame = b"".join(response_frame("Fetch", version, entity, n) for n in (7, 8))
    whole = asked(version, topics, 2)
    whole.session.broker_data(frame)
    expected = whole.to_client()
    assert expected
    for cut in range(1, len(frame)):
        pair = asked(version, topics, 2)
        pair.session.broker_data(frame[:cut])
        pair.session.broker_data(frame[cut:])
        assert pair.to_client() == expected, f"cut at {cut}"
        assert pair.session.quiet
    bytewise = asked(version, topics, 2)
    for value in frame:
        bytewise.session.broker_data(bytes((value,)))
    assert bytewise.to_client() == expected


@pytest.mark.parametrize(("version", "topic"), [(12, "team-a:orders"), (13, 1)])
def test_records_pass_as_they_arrive(version: int, topic: Any) -> None:
    pair = asked(version, {topic: [0]})
    key: Any = 1 if version > 12 else OWN
    frame = response_frame("Fetch", version, fetching.response(version, {key: [RECORDS]}))
    head = frame.index(RECORDS) + BATCH_HEADER_SIZE
    pair.session.broker_data(frame[:head])
    passed = len(pair.to_client())
    assert passed
    for at in range(head, len(frame), 65_536):
        piece = frame[at : at + 65_536]
        pair.session.broker_data(piece)
        assert pair.to_client() == piece


def test_a_head_that_is_too_long_ends_the_connection() -> None:
    pair = asked(12, {"team-a:orders": [0]})
    cls = messages.message_class("FetchResponse", 12)
    partition = element_class(element_class(cls, "responses"), "partitions")
    aborted = make(element_class(partition, "aborted_transactions"), {})
    entity = fetching.response(12, {OWN: [b"records"]})
    topic = entity.responses[0]
    values = {"aborted_transactions": (aborted,) * (UNIT_LIMIT // 16 + 10)}
    long = make(type(topic), {"topic": OWN, "partitions": (make(partition, values),)})
    frame = response_frame("Fetch", 12, make(cls, {"responses": (long,)}))
    assert len(frame) > UNIT_LIMIT
    with pytest.raises(ProtocolError, match="head longer"):
        for at in range(0, len(frame) - 1, 65_536):
            pair.session.broker_data(frame[at : min(at + 65_536, len(frame) - 1)])


def test_records_that_go_on_after_the_response() -> None:
    pair = asked(5, {"team-a:orders": [0]})
    frame = bytearray(response_frame("Fetch", 5, fetching.response(5, {OWN: [RECORDS]})))
    at = frame.index(RECORDS) - 4
    frame[at : at + 4] = (len(RECORDS) + 1).to_bytes(4, "big")
    with pytest.raises(ProtocolError, match="go on after its end"):
        pair.session.broker_data(bytes(frame[: at + 100]))


def test_bytes_after_the_end_of_a_response() -> None:
    pair = asked(13, {1: [0]})
    frame = response_frame("Fetch", 13, fetching.response(13, {1: [RECORDS]})) + b"abc"
    frame = (len(frame) - 4).to_bytes(4, "big") + frame[4:]
    pair.session.broker_data(frame[:5000])
    with pytest.raises(ProtocolError, match="after its end"):
        pair.session.broker_data(frame[5000:])


@pytest.mark.parametrize("cut", [None, 50])
def test_a_response_whose_frame_is_too_short(cut: int | None) -> None:
    pair = asked(13, {1: [0]})
    frame = response_frame("Fetch", 13, fetching.response(13, {1: [RECORDS]}))
    frame = (len(frame) - 4 - 3).to_bytes(4, "big") + frame[4:-3]
    with pytest.raises(ProtocolError, match=r"ends|go on"):
        for piece in (frame[:cut], frame[cut:]) if cut else (frame,):
            pair.answered(piece)
