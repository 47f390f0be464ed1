from __future__ import annotations

import datetime
from typing import Any

import pytest

from protocol import messages
from protocol.errors import ProtocolError, TruncatedError
from tests.protocol.strategies import CASES, Case

# Reading random messages, with and without unknown tagged fields, is tested with the walkers.


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_what_is_built_can_be_written_and_read(case: Case) -> None:
    entity = messages.build(messages.message_class(*case))
    body = messages.write(entity)
    assert messages.parse(*case, body) == entity
    with pytest.raises(ProtocolError, match="1 bytes after its end"):
        messages.parse(*case, body + b"\0")
    if body:
        with pytest.raises(TruncatedError):
            messages.parse(*case, body[:-1])


def build(name: str, version: int, **values: object) -> Any:
    return messages.build(messages.message_class(name, version), **values)


def test_build_takes_defaults_before_zeros() -> None:
    request: Any = build("MetadataRequest", 12)
    assert request.allow_auto_topic_creation is True
    assert request.topics == ()
    heartbeat: Any = build("StreamsGroupHeartbeatRequest", 0)
    assert heartbeat.rebalance_timeout == datetime.timedelta(milliseconds=-1)


def test_build_fills_nested_structs() -> None:
    response: Any = build("ConsumerGroupHeartbeatResponse", 0)
    assert response.assignment is None
    assert response.error_code == 0
    fetched: Any = build("FetchRequest", 15)
    assert fetched.replica_state.replica_id == -1


def test_build_takes_what_is_given() -> None:
    request: Any = build("HeartbeatRequest", 0, group_id="app", generation_id=7)
    assert (request.group_id, request.generation_id, request.member_id) == ("app", 7, "")
    with pytest.raises(TypeError, match="no_such_field"):
        build("HeartbeatRequest", 0, no_such_field=1)


@pytest.mark.parametrize(
    ("case", "body"),
    [
        (("HeartbeatRequest", 0), b"\0\1\xff" + bytes(6)),  # not UTF-8
        (("CreateDelegationTokenResponse", 1), bytes(6) + b"\x7f" * 24 + bytes(10)),  # a date
    ],
    ids=["text", "date"],
)
def test_values_that_kio_cannot_hold_are_rejected(case: Case, body: bytes) -> None:
    with pytest.raises(ProtocolError, match=f"{case[0]} v{case[1]} cannot be read"):
        messages.parse(*case, body)


def test_a_count_inside_a_tagged_field_is_bounded_before_kio_reads_it() -> None:
    body = messages.write(build("ProduceResponse", 10))[:-1]
    huge = b"\1\0\5\xff\xff\xff\xff\7"
    with pytest.raises(ProtocolError):
        messages.parse("ProduceResponse", 10, body + huge)


def test_values_that_do_not_fit_are_rejected() -> None:
    for values in ({"group_id": "g" * 32768}, {"generation_id": 2**31}, {"group_id": "\ud800"}):
        with pytest.raises(ProtocolError, match="HeartbeatRequest cannot be written"):
            messages.write(build("HeartbeatRequest", 0, **values))


def test_unknown_messages_are_rejected() -> None:
    with pytest.raises(ProtocolError, match="HeartbeatRequest has no version 99"):
        messages.parse("HeartbeatRequest", 99, b"")
