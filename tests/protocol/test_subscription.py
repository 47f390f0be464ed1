from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from protocol.errors import ProtocolError, TruncatedError
from protocol.schema import message_class
from protocol.subscription import (
    rewrite_assignment,
    rewrite_subscription,
    topics_of_subscription,
)
from tests.protocol.oracle import renamed
from tests.protocol.strategies import messages_of

SUBSCRIPTION = "ConsumerProtocolSubscription"
ASSIGNMENT = "ConsumerProtocolAssignment"
versions = st.integers(0, 3)


def write(version: int, entity: Any) -> bytes:
    out = BytesIO()
    entity_writer(type(entity))(out, entity)
    return version.to_bytes(2, "big") + out.getvalue()


def read(message: str, version: int, data: bytes) -> Any:
    cls: Any = message_class(message, version)
    entity, size = entity_reader(cls)(data, 2)
    assert (int.from_bytes(data[:2], "big"), 2 + size) == (version, len(data))
    return entity


def flat(name: bytes) -> bytes:
    return b"flat." + name


@given(versions, st.data())
def test_subscriptions_are_renamed(version: int, data: st.DataObject) -> None:
    entity = data.draw(messages_of((SUBSCRIPTION, version)))
    wire = write(version, entity)
    assert rewrite_subscription(wire, lambda name: name) == wire
    assert topics_of_subscription(wire) == [topic.encode() for topic in entity.topics]
    new = read(SUBSCRIPTION, version, rewrite_subscription(wire, flat))
    assert new == renamed(SUBSCRIPTION, version, entity, lambda _, name: f"flat.{name}")


@given(versions, st.data())
def test_assignments_are_renamed(version: int, data: st.DataObject) -> None:
    entity = data.draw(messages_of((ASSIGNMENT, version)))
    wire = write(version, entity)
    assert rewrite_assignment(wire, lambda name: name) == wire
    new = read(ASSIGNMENT, version, rewrite_assignment(wire, flat))
    assert new == renamed(ASSIGNMENT, version, entity, lambda _, name: f"flat.{name}")


@given(versions, st.data())
def test_topics_can_be_left_out(version: int, data: st.DataObject) -> None:
    def keep(name: bytes) -> bytes | None:
        return name if name == b"orders" else None

    wire = write(version, data.draw(messages_of((SUBSCRIPTION, version))))
    new = rewrite_subscription(wire, keep)
    assert set(topics_of_subscription(new)) <= {b"orders"}
    entity = read(SUBSCRIPTION, version, new)
    owned = getattr(entity, "owned_partitions", ())
    assert {one.topic for one in owned} <= {"orders"}

    wire = write(version, data.draw(messages_of((ASSIGNMENT, version))))
    entity = read(ASSIGNMENT, version, rewrite_assignment(wire, keep))
    assert {one.topic for one in entity.assigned_partitions} <= {"orders"}


TOPICS = b"\0\0\0\1\0\1a"
NO_USER_DATA = b"\xff\xff\xff\xff"
PARTITIONS = b"\0\0\0\2\0\0\0\0\0\0\0\1"


def test_newer_versions_are_read_like_the_newest_and_keep_their_tail() -> None:
    owned = b"\0\0\0\1\0\1a" + PARTITIONS
    tail = b"generation, rack and what no one knows"
    wire = b"\0\x63" + TOPICS + NO_USER_DATA + owned + tail
    assert rewrite_subscription(wire, flat) == (
        b"\0\x63\0\0\0\1\0\6flat.a" + NO_USER_DATA + b"\0\0\0\1\0\6flat.a" + PARTITIONS + tail
    )
    assert rewrite_assignment(b"\0\x63\0\0\0\1\0\1a" + PARTITIONS + tail, flat) == (
        b"\0\x63\0\0\0\1\0\6flat.a" + PARTITIONS + tail
    )


def test_owned_partitions_may_be_missing() -> None:
    wire = b"\0\1" + TOPICS + NO_USER_DATA
    assert rewrite_subscription(wire, lambda name: name) == wire


def test_version_0_has_no_owned_partitions() -> None:
    wire = b"\0\0" + TOPICS + NO_USER_DATA + b"tail"
    assert rewrite_subscription(wire, lambda name: name) == wire


def test_what_ends_early_is_truncated() -> None:
    owned = b"\0\0\0\1\0\1a" + PARTITIONS
    subscription = b"\0\1" + TOPICS + b"\0\0\0\2xy" + owned
    # The place where the owned partitions would begin is a legal end, see above.
    for end in set(range(len(subscription))) - {len(subscription) - len(owned)}:
        with pytest.raises(TruncatedError):
            rewrite_subscription(subscription[:end], lambda name: name)
    for end in range(len(b"\0\1" + TOPICS)):
        with pytest.raises(TruncatedError):
            topics_of_subscription(subscription[:end])
    assignment = b"\0\1" + owned
    for end in range(len(assignment)):
        with pytest.raises(TruncatedError):
            rewrite_assignment(assignment[:end], lambda name: name)


@pytest.mark.parametrize(
    "wire",
    [
        b"\xff\xff" + TOPICS + NO_USER_DATA,
        b"\0\0\xff\xff\xff\xff" + NO_USER_DATA,
        b"\0\0\0\0\0\1\xff\xff" + NO_USER_DATA,
        b"\0\0" + TOPICS + b"\xff\xff\xff\xfe",
        b"\0\1" + TOPICS + NO_USER_DATA + TOPICS + b"\xff\xff\xff\xff",
        b"\0\0\x7f\xff\xff\xff" + bytes(40),
    ],
)
def test_nonsense_is_rejected(wire: bytes) -> None:
    with pytest.raises(ProtocolError):
        rewrite_subscription(wire, lambda name: name)
