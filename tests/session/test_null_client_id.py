"""If a connection's first request has no client id (null), its body is read from its first byte.

A header with a null client id ends in FF FF. Read one byte early, its body may look like one topic
whose records go to the end of the frame, where the broker sees another tenant's topic.
"""

from __future__ import annotations

import pytest

from gateway.acls.authorizer import Authorizer
from protocol import messages
from protocol.schema import api_key_of
from tests.session.allowing import Allowing
from tests.session.pair import Pair, frames, raw_frame, request_frame
from tests.session.producing import batch

VICTIM = b"team-b..fz"
CATALOG = b"__kafka_gateway_catalog"
TOPICS = 256
"""If it is read one byte early, this count and the zero before it are a count of 1."""
RECORDS = 0x4040
"""Bytes of records. If it is read one byte early, it is a number that may stand inside a name, in
UTF-8."""


def legacy(name: bytes) -> bytes:
    return len(name).to_bytes(2, "big") + name


def int32(value: int) -> bytes:
    return value.to_bytes(4, "big")


def shifted_produce(own: bytes, victim: bytes) -> bytes:
    """A Produce v7 of 256 topics, with ``victim`` among them. If it is read from the byte before
    its body, it has a single partition of ``own``, with records that take the rest of the frame."""
    records = batch(1)
    to_victim = legacy(victim) + int32(1) + int32(0) + int32(len(records)) + records
    nothing = (legacy(b"x") + int32(0)) * (TOPICS - 3)
    # If they are read one byte early, the two bytes of its length are the length of ``own`` and its
    # first byte.
    long_name = len(own) << 8 | own[0]
    seen_early = own[1:] + int32(1) + int32(0)
    filler = long_name - len(seen_early) - 4
    padding = RECORDS - filler - 4 - len(to_victim + nothing) - 6
    rest = to_victim + nothing + legacy(bytes(padding)) + int32(0)
    first = long_name.to_bytes(2, "big") + seen_early + int32(RECORDS) + bytes(filler)
    body = b"\xff\xff" + b"\xff\xff" + int32(30_000 << 8) + int32(TOPICS)
    body += first + int32(0) + rest
    return raw_frame(api_key_of("ProduceRequest"), 7, body, client_id=None)


@pytest.mark.parametrize("victim", [VICTIM, CATALOG])
@pytest.mark.parametrize(
    ("home", "own", "authorizer"),
    [
        ("team-a", b"fz", None),
        ("", b"team-a:fz", Allowing(["WRITE TOPIC team-a:fz"])),
        ("team-a", b"fz", Allowing(["WRITE TOPIC team-a:fz"])),
    ],
)
def test_a_frame_that_reads_otherwise_one_byte_early(
    home: str, own: bytes, authorizer: Authorizer | None, victim: bytes
) -> None:
    frame = shifted_produce(own, victim)
    body = frame[4 + 10 :]
    seen = messages.parse("ProduceRequest", 7, body)
    assert [topic.name for topic in seen.topic_data][1] == victim.decode()  # as a broker reads it
    early = messages.parse("ProduceRequest", 7, frame[4 + 9 :])
    assert [topic.name for topic in early.topic_data] == [own.decode()]

    topics = ["team-a..fz", victim.decode()]
    pair = Pair(home=home, topics=topics, authorizer=authorizer)
    pair.send(frame)
    for payload in frames(pair.to_broker()):
        forwarded = messages.parse("ProduceRequest", 7, payload[10:]).topic_data
        assert all(topic.name.startswith("team-a..") for topic in forwarded)


@pytest.mark.parametrize("pieces", [1, 2, 30])
def test_an_honest_first_request_without_a_client_id(pieces: int) -> None:
    pair = Pair()
    records = batch(1)
    topic = legacy(b"team-a:fz") + int32(1) + int32(0) + int32(len(records)) + records
    body = b"\xff\xff" + b"\xff\xff" + int32(30_000) + int32(1) + topic
    frame = raw_frame(0, 7, body, client_id=None)
    step = -(-len(frame) // pieces)
    for at in range(0, len(frame), step):
        pair.send(frame[at : at + step])
    (payload,) = frames(pair.to_broker())
    (sent,) = messages.parse("ProduceRequest", 7, payload[10:]).topic_data
    assert (sent.name, bytes(sent.partition_data[0].records)) == ("team-a..fz", records)


def test_a_client_id_that_comes_and_goes() -> None:
    pair = Pair()
    entity = messages.build(messages.message_class("ListGroupsRequest", 0))
    for client_id in (None, b"", b"a", None, b"ab", b"a", b"\xff\xff", None, b""):
        frame = request_frame("ListGroups", 0, entity, client_id=client_id)
        pair.send(frame)
        assert pair.let_answer() == frame
        shown = client_id.decode(errors="replace") if client_id else ""
        assert pair.session.state.source.client_id == shown
