"""The client id of a request's header, as a broker reads and shows it."""

from __future__ import annotations

import pytest

from tests.session.pair import Pair, request_frame, topic_id
from tests.session.samples import request

R = "\ufffd"


@pytest.mark.parametrize(
    ("client_id", "read"),
    [
        (b"app-1", "app-1"),
        (b"a\x80b", f"a{R}b"),
        # A surrogate is one malformed part to Java (tests/live/fuzz/test_text_not_utf8.py).
        (b"a\xed\xa0\x80b", f"a{R}b"),
        (b"\xed\xa0\x80\xed\xb0\x80", R * 2),
        (b"", ""),
    ],
)
def test_is_shown_as_a_broker_shows_it(client_id: bytes, read: str) -> None:
    pair = Pair()
    body = request("Metadata", 9, "team-a:t", topic_id(1))
    pair.send(request_frame("Metadata", 9, body, client_id=client_id))
    assert pair.session.state.source.client_id == read
