"""Fetch sessions (KIP-227) where a request lost topics, or is refused as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from gateway.error_codes import (
    FETCH_SESSION_ID_NOT_FOUND,
    FETCH_SESSION_TOPIC_ID_ERROR,
    INVALID_FETCH_SESSION_EPOCH,
)
from protocol.messages import has_field

NO_SESSION_ID: Final = 0
NO_SESSION_EPOCH: Final = -1
"""A fetch outside any session."""

SESSION_ERRORS: Final = frozenset(
    {FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR}
)
"""Errors of a fetch session: they say nothing of a partition (SessionErrorContext)."""


def without_session(request: Any, *_: object) -> Any:
    """A FetchRequest that lost topics, outside its session: that would remember the topics, and so
    miss the refused ones without a word."""
    if not has_field(type(request), "session_id"):
        return request
    return replace(
        request, session_id=NO_SESSION_ID, session_epoch=NO_SESSION_EPOCH, forgotten_topics_data=()
    )


def outside_a_session(response: Any) -> Any:
    """A FetchResponse that names no session."""
    has_sessions = has_field(type(response), "session_id")
    return replace(response, session_id=NO_SESSION_ID) if has_sessions else response
