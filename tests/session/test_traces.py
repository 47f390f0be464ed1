"""Traces that begin and end while requests pass: which requests each gets, and what is left."""

from __future__ import annotations

import gc

import pytest

from gateway.apis.table import PLANS, plan_of
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.watch import WATCH
from gateway.session.tracing import MOST_TRACES, TooManyTraces, Tracing
from gateway.traced import MOST_ITEMS, Outcome, Wanted
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce, produced
from tests.session.test_tracing import HEAD_AND_MORE, ORDERS, OWN, metadata, traced, written

METADATA = 3


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (Wanted(), True),
        (Wanted(listener="test", principal="User:ANONYMOUS", api="Produce"), True),
        (Wanted(client_id="test-client"), True),
        (Wanted(client_id="test"), False),
        (Wanted(listener="other"), False),
        (Wanted(principal="User:alice"), False),
        (Wanted(api="Fetch"), False),
    ],
)
def test_only_what_is_wanted(wanted: Wanted, matches: bool) -> None:
    pair = Pair()
    with traced(wanted) as seen:
        written(pair)
        frame = request_frame("Produce", 9, produce({ORDERS: [batch(1) + bytes(1000)]}, 9))
        pair.send(frame[:HEAD_AND_MORE])
        pair.send(frame[HEAD_AND_MORE:])
        pair.answered(response_frame("Produce", 9, produced({OWN: [0]}, 9)))
    assert len(seen) == 2 * matches


def test_as_many_as_are_wanted() -> None:
    pair = Pair()
    with traced(Wanted(count=2)) as seen:
        for number in range(5):
            written(pair, correlation_id=number)
    assert [one.correlation_id for one in seen] == [0, 1]


def test_two_traces_at_a_time() -> None:
    pair, tracing = Pair(), Tracing(0)
    with traced(tracing=tracing) as all_of_it:
        with traced(Wanted(api="Fetch"), tracing) as fetches:
            written(pair)
        written(pair)
    assert (len(all_of_it), len(fetches)) == (2, 0)


def test_no_more_traces_than_these() -> None:
    tracing = Tracing(0)
    traces = [tracing.begin(Wanted(), lambda _: None) for _ in range(MOST_TRACES)]
    try:
        with pytest.raises(TooManyTraces):
            tracing.begin(Wanted(), lambda _: None)
    finally:
        for trace in traces:
            tracing.end(trace)
            tracing.end(trace)  # does nothing


def test_nothing_is_left_of_a_trace() -> None:
    """The handlers are those from before, of plans that were made meanwhile, too."""
    pair = Pair()
    written(pair)
    plan_of(METADATA, 9)
    before = {key: (plan.on_request, plan.on_response) for key, plan in PLANS.items()}
    forgotten = METADATA << 16 | 9
    del PLANS[forgotten], before[forgotten]
    with traced() as seen:
        written(pair)
        assert PLANS[9].on_request is not before[9][0]
        pair.send(request_frame("Metadata", 9, metadata()))
        pair.let_answer()
    assert [one.api for one in seen] == ["Produce", "Metadata"]
    assert (WATCH.made, WATCH.denied, WATCH.done) == (None, None, None)
    for key, handlers in before.items():
        assert (PLANS[key].on_request, PLANS[key].on_response) == handlers
    with traced() as seen:
        pass
    written(pair)
    assert not seen


def test_requests_without_an_answer_are_freed_with_their_connections() -> None:
    """A trace may go on for hours, and a request may have 8 MiB."""

    def alive() -> int:
        gc.collect()
        return sum(isinstance(one, Exchange) for one in gc.get_objects())

    before = alive()
    with traced(Wanted(count=1000)) as seen:
        for _ in range(10):
            Pair().send(request_frame("Metadata", 9, metadata(ORDERS)))
        assert alive() == before
    assert not seen


@pytest.mark.parametrize("changes", [0, 1])
def test_a_trace_that_begins_or_ends_before_the_response(changes: int) -> None:
    """Nobody has seen the decision on a request that came before it."""
    pair = Pair()
    frames = (
        request_frame("Metadata", 9, metadata(ORDERS)),
        request_frame("Produce", 9, produce({ORDERS: [batch(1)]}, 9)),
    )
    for frame in frames:
        if changes:
            with traced() as before:
                pair.send(frame)
            assert not before
        else:
            pair.send(frame)
        with traced() as seen:
            pair.let_answer()
        assert not seen


def test_a_second_trace_that_begins_before_the_response() -> None:
    pair, tracing = Pair(), Tracing(0)
    with traced(tracing=tracing) as first:
        pair.send(request_frame("Produce", 9, produce({ORDERS: [batch(1)]}, 9)))
        with traced(tracing=tracing) as second:
            pair.let_answer()
            written(pair)
    assert (len(first), len(second)) == (2, 1)


@pytest.mark.parametrize("more", [b"\0\0\0", b""])
def test_a_refresh_is_told_of_requests_that_are_decided_several_times(more: bytes) -> None:
    """librdkafka sends bytes after the end of Metadata."""
    pair = Pair()
    frame = request_frame("Metadata", 9, metadata("nowhere:t"))
    with traced() as seen:
        pair.send((len(frame) - 4 + len(more)).to_bytes(4, "big") + frame[4:] + more)
        pair.let_answer()
    (one,) = seen
    assert one.outcomes == [Outcome.REFRESH, Outcome.REBUILD]


def test_a_defect_of_tracing_is_no_clients(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """All traces end, with one line in the log; the request passes as without one."""

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a defect")

    def passed() -> tuple[bytes, bytes]:
        pair = Pair()
        pair.send(request_frame("Produce", 9, produce({ORDERS: [batch(1)]}, 9)))
        sent = pair.to_broker()
        pair.answered(response_frame("Produce", 9, produced({OWN: [0]}, 9)))
        return sent, pair.to_client()

    without = passed()
    ended: list[int] = []
    for place in ("find", "put_denials"):
        with monkeypatch.context() as patch:
            patch.setattr(f"gateway.session.traced_items.TracedItems.{place}", fails)
            caplog.clear()
            tracing = Tracing(0)
            trace = tracing.begin(Wanted(), lambda _: None, lambda: ended.append(1))
            assert passed() == without
            assert (trace.left, WATCH.done) == (0, None)
            assert [record.levelname for record in caplog.records] == ["ERROR"]
            tracing.end(trace)  # does nothing
    assert len(ended) == 2


def test_a_denied_item_is_shown_among_many() -> None:
    pair = Pair(authorizer=Allowing([f"WRITE TOPIC team-a:t{number}" for number in range(99)]))
    names = [f"team-a:t{number}" for number in range(100)]
    with traced() as seen:
        pair.send(request_frame("Produce", 9, produce({name: [batch(1)] for name in names}, 9)))
        answered = {name.replace(":", ".."): [0] for name in names[:99]}
        pair.answered(response_frame("Produce", 9, produced(answered, 9)))
    (one,) = seen
    assert (len(one.items), one.more_items) == (MOST_ITEMS, 50)
    assert [item.name for item in one.items if item.error] == ["team-a:t99"]
