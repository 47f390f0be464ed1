"""gateway.policies.instance: calls one after the other, each with a limited time."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from gateway.policies.instance import OwnThread, Raised, TooSlow
from tests.policies.classes import Unspeakable

SOON = 0.05
LATE = 20.0


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """The event for which a stuck call waits; set at the end, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()


async def test_calls_never_overlap() -> None:
    thread = OwnThread("one", 100)
    inside: list[str] = []

    def call() -> int:
        inside.append(threading.current_thread().name)
        time.sleep(0.001)
        overlapping = len(inside)
        inside.clear()
        return overlapping

    assert await asyncio.gather(*(thread.ask(call, LATE) for _ in range(20))) == [1] * 20
    await thread.finish(lambda: None, LATE)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
async def test_whatever_is_raised_is_an_answer(error: BaseException) -> None:
    thread = OwnThread("one", 100)

    def call() -> None:
        raise error

    raised = await thread.ask(call, LATE)
    assert isinstance(raised, Raised)
    assert raised.text.startswith(type(error).__name__)
    assert await thread.ask(lambda: 7, LATE) == 7
    await thread.finish(sys.exit, LATE)


async def test_an_exception_without_a_text_leaves_the_thread_alive() -> None:
    thread = OwnThread("one", 100)

    def call() -> None:
        raise Unspeakable

    assert await thread.ask(call, LATE) == Raised("Unspeakable")
    assert await thread.ask(lambda: 7, LATE) == 7
    await thread.finish(sys.exit, LATE)


async def test_a_stuck_call_and_those_behind_it(stuck: threading.Event) -> None:
    thread = OwnThread("one", 100)
    made: list[str] = []
    first = asyncio.ensure_future(thread.ask(stuck.wait, SOON))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(thread.ask(lambda: made.append("second"), SOON))
    third = asyncio.ensure_future(thread.ask(lambda: made.append("third"), LATE))
    with pytest.raises(TooSlow) as under_way:
        await first
    with pytest.raises(TooSlow) as never_begun:
        await second
    assert (under_way.value.begun, never_begun.value.begun) == (True, False)
    stuck.set()
    await third
    assert made == ["third"]
    await thread.finish(lambda: None, LATE)


async def test_only_so_many_wait(stuck: threading.Event) -> None:
    thread = OwnThread("one", 2)
    asked = [asyncio.ensure_future(thread.ask(stuck.wait, LATE))]
    await asyncio.sleep(SOON)  # it has its turn
    asked += [asyncio.ensure_future(thread.ask(stuck.wait, LATE)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TooSlow) as rejected:
        await thread.ask(stuck.wait, LATE)
    assert not rejected.value.begun
    stuck.set()
    assert await asyncio.gather(*asked) == [True] * 3
    await thread.finish(lambda: None, LATE)


async def test_the_last_call_comes_after_all_others(stuck: threading.Event) -> None:
    thread = OwnThread("one", 100)
    made: list[str] = []
    ended = threading.Event()

    def last() -> None:
        made.append("last")
        ended.set()

    first = asyncio.ensure_future(thread.ask(stuck.wait, LATE))
    second = asyncio.ensure_future(thread.ask(lambda: made.append("second"), LATE))
    await asyncio.sleep(0)
    with pytest.raises(TooSlow):
        await thread.finish(last, SOON)
    stuck.set()
    await asyncio.gather(first, second)
    assert await asyncio.to_thread(ended.wait, LATE), "it is made nevertheless"
    assert made == ["second", "last"]


async def test_whoever_gives_up_has_no_turn(stuck: threading.Event) -> None:
    thread = OwnThread("one", 100)
    made: list[str] = []
    first = asyncio.ensure_future(thread.ask(stuck.wait, LATE))
    second = asyncio.ensure_future(thread.ask(lambda: made.append("second"), LATE))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    stuck.set()
    await first
    await thread.finish(lambda: None, LATE)
    assert made == []
