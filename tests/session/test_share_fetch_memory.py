"""The memory that a ShareFetch response of several MiB takes while it is collected, and after it.
Its bytes come in pieces, as a socket gives them."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

import pytest

from gateway.apis.share_records.share_fetch import COLLECT_LIMIT
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from protocol import messages
from tests.scenarios.entities import entity
from tests.session.pair import response_frame
from tests.session.producing import batch
from tests.session.test_share_sessions import RIGHTS, VERSION, Member

PIECE = 256 * 1024
"""Bytes that a socket gives at a time (uvloop)."""

SLACK = 1.25
"""Bytes held for each byte of a response: memory that grows is ahead of its contents by an
eighth."""

REBUILT = 3.25
"""The same, of a response that is built anew without topics that may not be read any more."""


def records(size: int) -> bytes:
    """A batch of so many bytes."""
    made = bytearray(batch(10).ljust(size, b"x"))
    made[8:12] = (size - 12).to_bytes(4, "big")
    return bytes(made)


def frame(size: int, *topics: int) -> bytes:
    """A whole response with so many bytes of records for partition 0 of each topic."""
    acquired = [{"first_offset": 0, "last_offset": 9, "delivery_count": 1}]
    partition = {"partition_index": 0, "records": records(size), "acquired_records": acquired}
    responses = [{"topic_id": number, "partitions": [partition]} for number in topics]
    response = entity(
        messages.message_class("ShareFetchResponse", VERSION), {"responses": responses}
    )
    return response_frame("ShareFetch", VERSION, response)


@pytest.fixture
def traced() -> Iterator[None]:
    """Count what Python allocates from here on."""
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def peak_of(member: Member, data: bytes) -> int:
    """Let the broker send a response; the most bytes held meanwhile, besides those of the test."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    for at in range(0, len(data), PIECE):
        member.pair.answered(data[at : at + PIECE])
    _, peak = tracemalloc.get_traced_memory()
    return peak - before


def test_a_request_is_forwarded_for_so_many_bytes() -> None:
    member = Member()
    for asked, forwarded in [(COLLECT_LIMIT - 1,) * 2, (COLLECT_LIMIT + 1, COLLECT_LIMIT)]:
        values = {"group_id": "app", "member_id": "m1", "max_bytes": asked}
        request = entity(messages.message_class("ShareFetchRequest", VERSION), values)
        sent = member.pair.ask("ShareFetch", VERSION, request)
        assert sent.max_bytes == forwarded
        member.gets()


@pytest.mark.usefixtures("traced")
def test_a_response_is_held_once() -> None:
    member = Member()
    member.asks({1: [0], 2: [0]})
    data = frame(COLLECT_LIMIT // 2, 1, 2)
    assert peak_of(member, data) < SLACK * len(data) + 2 * PIECE
    assert sum(map(len, member.pair.session.to_client)) == len(data)
    member.pair.session.to_client.clear()
    before, _ = tracemalloc.get_traced_memory()
    assert before < 2 * PIECE + len(data) + COLLECT_LIMIT // 2, "nothing is held of it any more"


@pytest.mark.usefixtures("traced")
def test_a_response_that_is_cut_is_held_a_few_times() -> None:
    member = Member(*RIGHTS[:2])
    member.asks({1: [0], 2: [0]})
    member.may(RIGHTS[0])
    data = frame(COLLECT_LIMIT // 2, 1, 2)
    assert peak_of(member, data) < REBUILT * len(data)
    response = member.pair.answer("ShareFetch", VERSION)
    codes = {each.topic_id.int: int(each.partitions[0].error_code) for each in response.responses}
    assert codes == {1: 0, 2: TOPIC_AUTHORIZATION_FAILED}
