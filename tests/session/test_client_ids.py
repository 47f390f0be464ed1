"""The names that a client gives itself: the client id of a request's header, as a broker reads and
shows it, and the name and version of its software."""

from __future__ import annotations

import pytest

from gateway.exchanges.state import EARLIER_FLOWS
from protocol import messages
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


@pytest.mark.parametrize("changing", ["client_id", "software"])
def test_a_client_that_changes_its_name_all_the_time_has_few_flows(changing: str) -> None:
    pair = Pair()
    asked = messages.message_class("ApiVersionsRequest", 4)
    empty = messages.build(messages.message_class("ApiVersionsResponse", 4))
    for number in range(3 * EARLIER_FLOWS):
        other = f"s{number}"
        named = other if changing == "software" else "s"
        entity = messages.build(asked, client_software_name=named, client_software_version="1")
        client_id = other.encode() if changing == "client_id" else b"c"
        pair.send(request_frame("ApiVersions", 4, entity, client_id=client_id))
        pair.reply("ApiVersions", 4, empty)
    assert EARLIER_FLOWS <= len(pair.session.take_flows()) <= EARLIER_FLOWS + 2
