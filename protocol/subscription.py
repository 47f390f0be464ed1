"""Topic names inside the bytes that members of a classic consumer group exchange.

JoinGroup carries a ConsumerProtocolSubscription, SyncGroup a ConsumerProtocolAssignment, each after
its int16 version; neither is ever flexible. A version newer than the newest known is read like the
newest known, as Kafka's clients do, and bytes after the known fields are kept unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as StructError
from typing import Final

from protocol.errors import ProtocolError, TruncatedError
from protocol.pausing import paced
from protocol.primitives import legacy_string

Rename = Callable[[bytes], bytes | None]
"""New name of a topic, or None to leave the topic out."""

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_BODY_AT: Final = _INT16.size
_OWNED_PARTITIONS_SINCE: Final = 1


def rewrite_subscription(data: bytes, rename: Rename) -> bytes:
    """A versioned ConsumerProtocolSubscription with its topics renamed, both subscribed topics and
    topics of owned partitions. Raises ProtocolError for bytes that are no subscription."""
    try:
        return _rewrite_subscription(data, rename)
    except StructError:
        raise TruncatedError("a subscription ends early") from None


def rewrite_assignment(data: bytes, rename: Rename) -> bytes:
    """A versioned ConsumerProtocolAssignment with its topics renamed. Raises ProtocolError for
    bytes that are no assignment."""
    try:
        out = [data[:_BODY_AT]]
        _version(data)
        pos = _topics(data, _BODY_AT, rename, out, with_partitions=True)
    except StructError:
        raise TruncatedError("an assignment ends early") from None
    return b"".join((*out, data[pos:]))


def topics_of_subscription(data: bytes) -> list[bytes]:
    """The subscribed topics of a subscription, in its order. Raises ProtocolError for bytes that
    are no subscription."""
    topics: list[bytes] = []

    def note(name: bytes) -> bytes:
        topics.append(name)
        return name

    try:
        _version(data)
        _topics(data, _BODY_AT, note, [], with_partitions=False)
    except StructError:
        raise TruncatedError("a subscription ends early") from None
    return topics


def _rewrite_subscription(data: bytes, rename: Rename) -> bytes:
    out = [data[:_BODY_AT]]
    version = _version(data)
    topics_end = _topics(data, _BODY_AT, rename, out, with_partitions=False)
    pos = _skip_bytes(data, topics_end)
    out.append(data[topics_end:pos])
    # Some clients (Sarama before 1.38) send version 1 without owned partitions; brokers do not
    # parse it, and other clients accept it.
    if version >= _OWNED_PARTITIONS_SINCE and pos < len(data):
        pos = _topics(data, pos, rename, out, with_partitions=True)
    return b"".join((*out, data[pos:]))


def _version(data: bytes) -> int:
    version: int = _INT16.unpack_from(data, 0)[0]
    if version < 0:
        raise ProtocolError(f"the consumer protocol has no version {version}")
    return version


def _topics(data: bytes, pos: int, rename: Rename, out: list[bytes], with_partitions: bool) -> int:
    """Rewrite the array of topics at ``pos``; ``with_partitions``: an array of partitions follows
    each."""
    (count,) = _INT32.unpack_from(data, pos)
    pos += _INT32.size
    if count < 0:
        raise ProtocolError(f"an array of topics has a count of {count}")
    kept: list[bytes] = []
    for _ in paced(range(count)):
        name, rest = _string(data, pos)
        pos = _skip_partitions(data, rest) if with_partitions else rest
        new = rename(name)
        if new is not None:
            kept.append(legacy_string(new) + data[rest:pos])
    out.append(_INT32.pack(len(kept)))
    out.extend(kept)
    return pos


def _string(data: bytes, pos: int) -> tuple[bytes, int]:
    (length,) = _INT16.unpack_from(data, pos)
    pos += _INT16.size
    if length < 0:
        raise ProtocolError(f"a topic name has a length of {length}")
    return data[pos : pos + length], _within(data, pos + length)


def _skip_partitions(data: bytes, pos: int) -> int:
    (count,) = _INT32.unpack_from(data, pos)
    if count < 0:
        raise ProtocolError(f"an array of partitions has a count of {count}")
    return _within(data, pos + _INT32.size * (count + 1))


def _skip_bytes(data: bytes, pos: int) -> int:
    (length,) = _INT32.unpack_from(data, pos)
    if length < -1:
        raise ProtocolError(f"user data has a length of {length}")
    return _within(data, pos + _INT32.size + max(length, 0))


def _within(data: bytes, pos: int) -> int:
    if pos > len(data):
        raise TruncatedError("the consumer protocol's bytes end early")
    return pos
