"""Fetch responses of many topics or partitions, which are forwarded in pieces, each in turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.apis.table import put_around
from gateway.exchanges.fetch_stream import AT_ONCE
from gateway.flows import Flow
from gateway.tree.splitting import AROUND
from protocol import messages
from protocol.errors import ProtocolError
from protocol.pausing import FEW
from tests.examples import examples
from tests.pauses import pause_everywhere
from tests.session import fetching
from tests.session.long_requests import TimedPair, best
from tests.session.pair import frames, request_frame, response_frame

LONGEST_SECONDS = 0.05
LONGEST_READ = 256 * 1024
"""Bytes that arrive at once."""

pytestmark = pytest.mark.usefixtures("quietly")

MANY = AT_ONCE
"""Topics with so many units that they are not walked in a single callback."""

BY_NAME, BY_ID = 12, 15


def topics_of(version: int, count: int, *, flat: bool) -> list[Any]:
    if version == BY_ID:
        return list(range(1, count + 1))
    return [f"team-a{'..' if flat else ':'}t{number}" for number in range(count)]


def fetching_pair(version: int, count: int, partitions: int = 1, number: int = 0) -> TimedPair:
    """A client that has requested these partitions of ``count`` topics, at a cluster with a number
    if it is in a tree."""
    pair = TimedPair(topics=topics_of(BY_NAME, count, flat=True))
    put_around(AROUND)
    pair.worker.number = number
    wanted = {key: list(range(partitions)) for key in topics_of(version, count, flat=False)}
    pair.send(request_frame("Fetch", version, fetching.request(version, wanted)))
    assert pair.to_broker()
    pair.longest = 0.0
    return pair


def answer(
    version: int,
    count: int,
    records: Sequence[bytes] = (b"",),
    *,
    flat: bool = True,
    correlation_id: int = 7,
) -> bytes:
    """The response as the broker sends it or, if not ``flat``, as its client gets it."""
    names = topics_of(version, count, flat=flat)
    entity = fetching.response(version, {key: [*records] for key in names})
    return response_frame("Fetch", version, entity, correlation_id)


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
@settings(max_examples=examples(40))
@given(cuts=st.lists(st.floats(0, 1), min_size=1, max_size=4), turns=st.booleans())
def test_it_is_the_same_in_whatever_pieces_it_arrives(
    version: int, cuts: list[float], turns: bool
) -> None:
    records = [fetching.batch(3), b""]
    whole = answer(version, MANY, records)
    shown = answer(version, MANY, records, flat=False)
    behind = answer(version, 1, correlation_id=8)
    shown_behind = answer(version, 1, flat=False, correlation_id=8)
    pair = fetching_pair(version, MANY, 2)
    one = {key: [0] for key in topics_of(version, 1, flat=False)}
    pair.send(request_frame("Fetch", version, fetching.request(version, one), 8))
    places = sorted({0, len(whole) - 1, *(int(cut * (len(whole) - 1)) for cut in cuts)})
    pieces = [whole[start:stop] for start, stop in pairwise([*places, len(whole)])]
    with pytest.MonkeyPatch.context() as patch:
        if turns:
            pause_everywhere(patch)
        for piece in [*pieces[:-1], pieces[-1] + behind]:
            pair.answered(piece)
    assert pair.to_client() == shown + shown_behind
    flows = pair.session.take_flows()
    assert sum(flow.partitions for flow in flows) == 2 * MANY + 1
    assert sum(flow.records_out for flow in flows) == 3 * MANY
    assert sum(flow.bytes_out for flow in flows) == len(shown) + len(shown_behind)


@pytest.fixture
def pausing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let work pause wherever it may."""
    pause_everywhere(monkeypatch)


def in_the_middle(version: int) -> tuple[TimedPair, bytes]:
    """A response of which most has arrived, and is walked; and the rest of its bytes."""
    pair = fetching_pair(version, MANY)
    whole = answer(version, MANY)
    most = len(whole) * 9 // 10
    pair.session.broker_data(whole[:most])
    assert pair.session.restoring is not None
    return pair, whole[most:]


@pytest.mark.usefixtures("pausing")
@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
def test_what_arrives_meanwhile_waits(version: int) -> None:
    pair, rest = in_the_middle(version)
    before = pair.to_client()
    pair.session.broker_data(rest[:100])
    assert pair.to_client() == b""
    pair.answered(rest[100:])
    assert before + pair.to_client() == answer(version, MANY, flat=False)
    assert not pair.session.under_way


@pytest.mark.usefixtures("pausing")
def test_a_connection_that_ends_meanwhile_leaves_nothing() -> None:
    pair, _ = in_the_middle(BY_NAME)
    restoring = pair.session.restoring
    assert restoring is not None
    assert restoring.slices.paused
    pair.session.abandon()
    assert restoring.slices._greenlet is None


@pytest.mark.usefixtures("pausing")
def test_a_response_that_is_not_what_its_version_says() -> None:
    pair, rest = in_the_middle(BY_NAME)
    with pytest.raises(ProtocolError):
        pair.answered(bytes([0xFF]) * len(rest))


@pytest.mark.usefixtures("pausing")
def test_its_counts_are_collected_once_it_has_passed() -> None:
    pair, rest = in_the_middle(BY_NAME)
    restoring = pair.session.restoring
    assert restoring is not None
    flows: list[Flow] = []
    while not restoring.slices.step():
        flows += pair.session.take_flows()
    assert not any(flow.partitions for flow in flows)
    pair.session.restored()
    pair.answered(rest)
    flows += pair.session.take_flows()
    assert sum(flow.partitions for flow in flows) == MANY
    assert sum(flow.bytes_out for flow in flows) == len(answer(BY_NAME, MANY, flat=False))


@pytest.mark.usefixtures("pausing")
def test_a_change_of_the_catalog_meanwhile() -> None:
    """The response began to arrive before the change, and goes on."""
    pair, rest = in_the_middle(BY_NAME)
    begun = pair.to_client()
    pair.catalog_changed()
    assert not pair.reset
    pair.answered(rest)
    assert begun + pair.to_client() == answer(BY_NAME, MANY, flat=False)


def test_few_topics_take_no_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = fetching_pair(BY_NAME, FEW)
    monkeypatch.setattr("gateway.slices.Slices.step", None)
    whole = answer(BY_NAME, FEW)
    half = len(whole) // 2
    for piece in (whole[:half], whole[half:]):
        pair.answered(piece)
    assert pair.to_client() == answer(BY_NAME, FEW, flat=False)


@pytest.mark.alone
def test_a_whole_response_of_many_short_topics() -> None:
    """Neither its size nor the size of its request shows that it is long."""
    cls = messages.message_class("FetchResponse", 5)
    (topic,) = fetching.response(5, {"t": []}).responses
    whole = response_frame("Fetch", 5, messages.build(cls, responses=(topic,) * 37_000))
    assert len(whole) <= LONGEST_READ

    def sent() -> TimedPair:
        pair = TimedPair(topics=["t"])
        pair.send(request_frame("Fetch", 5, fetching.request(5, {":t": [0]})))
        pair.longest = 0.0
        pair.answered(whole)
        return pair

    assert best(sent, LONGEST_SECONDS).longest < LONGEST_SECONDS


@pytest.mark.alone
@pytest.mark.parametrize(
    ("version", "topics", "partitions"),
    [(BY_NAME, 10_000, 1), (BY_ID, 30_000, 1), (BY_NAME, 1, 30_000)],
)
@pytest.mark.parametrize("number", [0, 3])
def test_others_have_their_turn(version: int, topics: int, partitions: int, number: int) -> None:
    """At a cluster of a tree (with a ``number``) node ids are rewritten, too."""
    whole = answer(version, topics, [b""] * partitions)

    def sent() -> TimedPair:
        pair = fetching_pair(version, topics, partitions, number)
        for start in range(0, len(whole), LONGEST_READ):
            pair.answered(whole[start : start + LONGEST_READ])
        assert not pair.session.under_way
        assert len(frames(pair.to_client())) == 1
        return pair

    pair = best(sent, LONGEST_SECONDS)
    assert pair.longest < LONGEST_SECONDS
