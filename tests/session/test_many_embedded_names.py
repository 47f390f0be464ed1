"""Names that members embed count like all others: for ``walking.MAX_SPANS`` of a request, and for
the ``classic_members.SPELLED_LIMIT`` of a connection."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from gateway.apis.groups.classic_members import SPELLED_LIMIT
from gateway.apis.walking import MAX_SPANS
from protocol.errors import ProtocolError
from tests.session.pair import Pair, request_frame
from tests.session.test_members_bytes import join


def frame(count: int) -> bytes:
    names = b"".join(struct.pack(">h", 6) + b"%06x" % i for i in range(count))
    metadata = b"\x00\x00" + struct.pack(">i", count) + names + b"\xff\xff\xff\xff"
    asked = join(5, "consumer")
    (one,) = asked.protocols
    return request_frame(
        "JoinGroup", 5, replace(asked, protocols=(replace(one, metadata=metadata),))
    )


def test_what_a_connection_remembers_is_bounded() -> None:
    pair = Pair()
    pair.send(frame(5 * SPELLED_LIMIT))
    assert len(pair.session.state.spelled or ()) <= SPELLED_LIMIT


def test_a_request_may_not_embed_more_names_than_it_may_hold() -> None:
    pair = Pair()
    with pytest.raises(ProtocolError):
        pair.send(frame(MAX_SPANS + 1))
