"""A time in a request may be any int64, as at a broker, whatever else is in the request."""

from __future__ import annotations

from struct import pack

import pytest

from protocol import messages
from protocol.primitives import legacy_string
from tests.session.pair import Pair, frames, raw_frame

OFFSET_COMMIT = 8


def commit(retention_ms: int, *topics: bytes) -> bytes:
    """An OffsetCommit v3 of one partition of each topic."""
    body = legacy_string(b"g") + pack(">i", -1) + legacy_string(b"") + pack(">q", retention_ms)
    body += pack(">i", len(topics))
    for topic in topics:
        body += legacy_string(topic) + pack(">iiq", 1, 0, 5) + legacy_string(b"")
    return raw_frame(OFFSET_COMMIT, 3, body)


@pytest.mark.parametrize("retention_ms", [-1, 86_400_000, 2**63 - 1, -(2**63)])
def test_offsets_that_are_kept_for_any_time(retention_ms: int) -> None:
    """A broker adds it to the current time (GroupCoordinator) and answers each partition
    separately."""
    pair = Pair(topics=["t"])
    pair.send(commit(retention_ms, b"t", b"no/topic"))
    assert len(frames(pair.to_broker())) == 1
    response = messages.made(
        "OffsetCommitResponse", 3, {"topics": [{"name": "t", "partitions": [{"error_code": 0}]}]}
    )
    payload = pack(">i", 7) + response
    pair.answered(pack(">i", len(payload)) + payload)
    (answer,) = frames(pair.to_client())
    found = messages.parse("OffsetCommitResponse", 3, answer[4:])
    codes = {topic.name: [one.error_code for one in topic.partitions] for topic in found.topics}
    assert codes["t"] == [0]
    assert len(codes["no/topic"]) == 1
    assert codes["no/topic"] != [0]
