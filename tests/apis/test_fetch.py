"""A Fetch that lost topics leaves its session, in every version that has sessions (KIP-227)."""

from __future__ import annotations

import pytest

from gateway.apis.records.fetch import outside_a_session, without_session
from protocol import messages
from protocol.messages import make


@pytest.mark.parametrize("version", range(7, 16))
def test_with_sessions(version: int) -> None:
    cls = messages.message_class("FetchRequest", version)
    left = without_session(make(cls, {"session_id": 5, "session_epoch": 8, "max_bytes": 9}))
    assert left == make(cls, {"session_id": 0, "session_epoch": -1, "max_bytes": 9})
    answer = messages.message_class("FetchResponse", version)
    assert outside_a_session(make(answer, {"session_id": 5})) == make(answer, {"session_id": 0})


@pytest.mark.parametrize("version", range(4, 7))
def test_without_sessions(version: int) -> None:
    request = make(messages.message_class("FetchRequest", version), {"max_bytes": 9})
    assert without_session(request) == request
    response = make(messages.message_class("FetchResponse", version), {})
    assert outside_a_session(response) == response
