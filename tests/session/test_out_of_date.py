"""A catalog that is out of date, and a process that was stopped and has not noticed that yet: names
may have got other owners without it, so brokers would answer, or begin, requests for these owners'
topics."""

from __future__ import annotations

import math
from time import monotonic

import pytest

from gateway.session.deciding import Deciding
from tests.pauses import pause_everywhere
from tests.session import fetching
from tests.session.far import message
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce
from tests.session.test_decided_late import FLAT, NAME, a_pair, fetch

NOT_AVAILABLE = 5
SESSION_GONE = 70
LOADING = 14


def stopped(pair: Pair) -> None:
    """Stop the process until the catalog is out of date, and let it go on without its timers."""

    def end() -> None:
        pair.worker.validity.until = math.inf
        pair.close_view()

    pair.worker.validity.end = end
    pair.worker.validity.until = monotonic() - 1e-6


def written(acks: int = -1, *names: str) -> bytes:
    asked = produce({name: [batch(1)] for name in names or (NAME,)}, acks=acks)
    return request_frame("Produce", 9, asked)


def test_what_lies_in_the_sockets_is_not_decided_by_what_was_known() -> None:
    pair = a_pair()
    stopped(pair)
    pair.send(written())
    assert pair.to_broker() == b""
    (topic,) = pair.answer("Produce", 9).responses
    assert [one.error_code for one in topic.partition_responses] == [NOT_AVAILABLE]


def test_until_then_it_is() -> None:
    pair = a_pair()
    stopped(pair)
    pair.worker.validity.until = monotonic() + 3600.0
    pair.send(written())
    assert pair.to_broker()


def test_the_rest_of_what_streams_ends_the_connection() -> None:
    pair = a_pair()
    frame = request_frame("Produce", 9, produce({NAME: [batch(1) + bytes(150_000)]}))
    pair.send(frame[:60_000])
    assert pair.session.streaming
    stopped(pair)
    pair.send(frame[60_000:])
    assert pair.reset


def test_what_was_decided_in_slices_is_decided_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pause_everywhere(monkeypatch)
    names = [f"team-a:t{number}" for number in range(1_000)]
    pair = Pair(topics=[name.replace(":", "..") for name in names])
    pair.session.client_data(written(-1, *names))
    waiting = pair.session.waiting
    assert isinstance(waiting, Deciding)
    while not waiting.slices.done:
        waiting.slices.step()
    stopped(pair)
    pair.resume()
    assert pair.to_broker() == b""
    answered = pair.answer("Produce", 9).responses
    codes = {one.error_code for topic in answered for one in topic.partition_responses}
    assert (len(answered), codes) == (len(names), {NOT_AVAILABLE})


@pytest.mark.parametrize("was_stopped", [False, True])
def test_a_fetch_that_waits_brings_nothing_more(was_stopped: bool) -> None:
    pair = a_pair()
    pair.send(fetch(2, NAME))
    pair.to_broker()
    if was_stopped:
        stopped(pair)
    else:
        pair.close_view()
    records = fetching.batch(1)
    pair.answered(response_frame("Fetch", 12, fetching.response(12, {FLAT: [records]}), 2))
    got = pair.answer("Fetch", 12, 2)
    assert (got.error_code, [*got.responses]) == (SESSION_GONE, [])
    assert not pair.reset


def test_a_listing_of_groups_is_not_empty() -> None:
    """An empty list would say that there are no groups."""
    pair = a_pair()
    pair.ask("ListGroups", 5, message("ListGroupsRequest", 5))
    pair.close_view()
    listing = message("ListGroupsResponse", 5, groups=[{"group_id": "app"}])
    answer = pair.reply("ListGroups", 5, listing)
    assert (answer.error_code, answer.groups) == (LOADING, ())
