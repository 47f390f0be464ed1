"""gateway.slices: work that pauses, its errors and its end, and whose turn it is."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from gateway import slices
from gateway.rotation import OWN_AT_ONCE
from gateway.slices import Collector, InSlices, Slices, Turns, all_in_slices, in_slices
from protocol import pausing
from protocol.pausing import pause_point
from tests.pauses import pause_everywhere

USUAL = (700, 10, 10)
"""Python's own thresholds of its collector."""


@pytest.fixture(autouse=True)
def pausing_each_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every pause point pause, however fast the machine is."""
    pause_everywhere(monkeypatch)
    # Other tests may have left work behind, for which passes of the collector are put off.
    monkeypatch.setattr(slices, "COLLECTOR", Collector())
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def counting(times: int, seen: list[int]) -> int:
    for number in range(times):
        pause_point()
        seen.append(number)
    return times


def test_work_in_a_thread_beside_a_slice_does_not_pause() -> None:
    """A thread writes long answers while slices of other requests run; its code has the same pause
    points, and is done in one go."""
    seen: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        work = Slices(lambda: pool.submit(counting, 3, seen).result())
        assert work.step()
    assert work.result() == 3
    assert seen == [0, 1, 2]


def test_work_goes_on_where_it_paused() -> None:
    seen: list[int] = []
    work = Slices(lambda: counting(2, seen))
    assert (work.step(), seen, pausing.may_pause()) == (False, [], False)
    assert (work.step(), seen) == (False, [0])
    assert (work.step(), seen, work.result()) == (True, [0, 1], 2)


def test_two_pieces_of_work_do_not_meet() -> None:
    one: list[int] = []
    other: list[int] = []
    works = [Slices(lambda: counting(3, one)), Slices(lambda: counting(3, other))]
    for _ in range(4):
        for work in works:
            work.step()
    assert (one, other) == ([0, 1, 2], [0, 1, 2])


def test_work_within_work_is_part_of_it() -> None:
    seen: list[int] = []

    def outer() -> int:
        inner = Slices(lambda: counting(2, seen))
        assert inner.step()
        return inner.result() + 1

    work = Slices(outer)
    assert [work.step() for _ in range(3)] == [False, False, True]
    assert work.result() == 3


def test_an_error_is_raised_to_who_wants_the_result() -> None:
    def fail() -> None:
        pause_point()
        raise ValueError("no")

    work = Slices(fail)
    assert not work.step()
    assert work.step()
    with pytest.raises(ValueError, match="no"):
        work.result()
    assert Slices(lambda: counting(0, [])).step(), "what has failed leaves nothing behind"


def test_abandoned_work_ends_at_once() -> None:
    ended: list[str] = []

    def never() -> Iterator[int]:
        try:
            while True:
                pause_point()
        finally:
            ended.append("ended")

    usual = gc.get_threshold()
    work = Slices(never)
    assert not work.step()
    work.abandon()
    assert (ended, gc.get_threshold()) == (["ended"], usual)


def test_no_pass_over_all_objects_while_work_is_paused() -> None:
    usual = gc.get_threshold()
    work = Slices(lambda: counting(1, []))
    work.step()
    assert gc.get_threshold()[2] > 1_000_000
    work.step()
    assert gc.get_threshold() == usual


async def test_others_run_between_two_slices() -> None:
    """One slice in each round of the loop, whatever the number of pieces of work."""
    turns, rounds, steps = Turns(), 0, 0

    def work() -> None:
        nonlocal steps
        for _ in range(20):
            pause_point()
            steps += 1

    async def look() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    looking = asyncio.create_task(look())
    await asyncio.gather(*(in_slices(turns, Slices(work)) for _ in range(5)))
    looking.cancel()
    assert steps == 100
    assert rounds >= steps - 5, "the first slice waits for no turn"


async def most_in_a_round(works: list[Slices[None]], steps: list[int]) -> int:
    """The most steps that work does in one round of the event loop; ``steps`` counts them."""
    turns, most = Turns(), 0

    async def look() -> None:
        nonlocal most
        while True:
            before = len(steps)
            await asyncio.sleep(0)
            most = max(most, len(steps) - before)

    looking = asyncio.create_task(look())
    await asyncio.gather(*(in_slices(turns, work) for work in works))
    looking.cancel()
    return most


async def test_work_that_has_begun_waits_for_its_turn_like_any_other() -> None:
    """As that of requests, which begin when their bytes arrive."""
    steps: list[int] = []

    def work() -> None:
        for number in range(3):
            pause_point()
            steps.append(number)

    works = [Slices(work) for _ in range(20)]
    for each in works:
        assert not each.step()
    assert await most_in_a_round(works, steps) == 1
    assert len(steps) == 60


async def test_first_slices_wait_for_turns_if_others_have_taken_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[int] = []
    works = [Slices(lambda: steps.append(1)) for _ in range(20)]
    monkeypatch.setattr(slices, "FIRSTS_SECONDS", 0.0)
    assert not any(each.first() or each.begun for each in works), "none has begun"
    assert await most_in_a_round(works, steps) == 1
    assert len(steps) == 20
    monkeypatch.setattr(slices, "FIRSTS_SECONDS", 3600.0)
    assert Slices(lambda: 1).first()


async def test_coroutines_that_go_on_at_the_same_time_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As those that wait for the same reading of the catalog."""
    monkeypatch.setattr(slices, "FIRST_SECONDS", 3600.0)
    monkeypatch.setattr(slices, "FIRSTS_SECONDS", 0.0)
    turns, read, steps, most = Turns(), asyncio.Event(), list[int](), 0

    async def work() -> None:
        await read.wait()
        for number in range(3):
            pause_point()
            steps.append(number)

    async def whole() -> None:
        await InSlices(turns, work())

    working = [asyncio.create_task(whole()) for _ in range(20)]
    await asyncio.sleep(0)
    read.set()
    while not all(each.done() for each in working):
        before = len(steps)
        await asyncio.sleep(0)
        most = max(most, len(steps) - before)
    assert (most, len(steps)) == (1, 60)


def test_the_time_of_first_slices_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(slices, "perf_counter", lambda: now)
    firsts = slices.Firsts()
    assert firsts.may_begin()
    began, now = now, now + 0.008
    firsts.add(began)
    assert firsts.may_begin(), "half of its own time has come back"
    firsts.add(began)
    assert not firsts.may_begin()
    now += 0.021
    assert firsts.may_begin()


async def test_work_that_is_cancelled_gives_its_place_to_another() -> None:
    turns = Turns()
    task = asyncio.create_task(in_slices(turns, Slices(lambda: counting(1_000_000, []))))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await in_slices(turns, Slices(lambda: counting(3, []))) == 3


WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


async def test_a_coroutine_in_slices() -> None:
    """It may await anything, in the task and the context in which it is awaited."""
    turns = Turns()
    here = asyncio.current_task()

    async def work() -> tuple[int, str]:
        counted = counting(3, [])
        await asyncio.sleep(0)
        assert asyncio.current_task() is here
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        return counted + counting(3, []), WHO.get()

    WHO.set("me")
    assert await InSlices(turns, work()) == (6, "me")


async def test_a_coroutine_that_fails_or_is_cancelled() -> None:
    turns = Turns()
    ended: list[str] = []

    async def fail() -> None:
        counting(2, [])
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        await InSlices(turns, fail())

    async def wait() -> None:
        try:
            counting(2, [])
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    usual = gc.get_threshold()

    async def waiting() -> None:
        await InSlices(turns, wait())

    task = asyncio.create_task(waiting())
    while gc.get_threshold() == usual:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (ended, gc.get_threshold()) == (["ended"], usual)


async def test_a_time_out_of_its_own_ends_the_work_and_not_its_task() -> None:
    """A coroutine whose time is over while it has paused goes on, as if it had awaited there."""
    seen: list[int] = []
    began = asyncio.Event()

    def busy() -> None:
        began.set()
        while True:
            counting(1, seen)

    async def work() -> str:
        async with asyncio.timeout(None) as limit:
            expiring = asyncio.create_task(_expire(limit, began))
            try:
                busy()
            except asyncio.CancelledError:
                counting(2, seen)  # it may pause again on its way out
                assert expiring.done()
                raise
        return "it ended"

    async def whole() -> str:
        try:
            return await work()
        except TimeoutError:
            return "its time was over"

    turns = Turns()
    assert await InSlices(turns, whole()) == "its time was over"
    assert turns._rota.own.places.free == OWN_AT_ONCE
    assert pausing.may_pause() is False


async def _expire(limit: asyncio.Timeout, began: asyncio.Event) -> None:
    await began.wait()
    limit.reschedule(0.0)


async def test_works_that_are_under_way_at_once_take_turns() -> None:
    order: list[str] = []

    async def work(name: str) -> str:
        for _ in range(3):
            order.append(name)
            pause_point()
        return name

    assert await all_in_slices(Turns(), [work("a"), work("b")]) == ["a", "b"]
    assert sorted(order) == ["a"] * 3 + ["b"] * 3
    assert order != sorted(order)
