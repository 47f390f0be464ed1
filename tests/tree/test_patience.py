"""gateway.tree.patience: which time counts as waiting for a cluster, and which does not."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from gateway.tree.patience import TICK_SECONDS, Patience

AN_HOUR = 3_600.0


async def answers_after(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "an answer"


async def test_an_answer_in_time() -> None:
    patience = Patience(AN_HOUR)
    assert await patience.wait(answers_after(0)) == "an answer"
    assert await patience.wait(answers_after(2 * TICK_SECONDS)) == "an answer"


async def test_no_answer_in_time() -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        await Patience(2.5 * TICK_SECONDS).wait(answers_after(AN_HOUR))
    assert time.monotonic() - began >= 2.5 * TICK_SECONDS


async def test_all_waits_of_a_request_count_together() -> None:
    patience = Patience(TICK_SECONDS)
    waits = 0
    with pytest.raises(TimeoutError):
        while waits < 1_000:
            await patience.wait(answers_after(TICK_SECONDS / 5))
            waits += 1
    assert waits <= 5


async def test_no_time_is_left_for_another_wait() -> None:
    patience = Patience(0.001)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await patience.wait(answers_after(AN_HOUR))


async def test_what_this_process_does_meanwhile_does_not_count() -> None:
    """The response is there while the loop is busy; a timeout is due by then, too."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    mine, its = both = socket.socketpair()
    loop.add_reader(mine, lambda: answer.set_result(mine.recv(1).decode()))

    def busy() -> None:
        its.send(b"!")
        time.sleep(4 * TICK_SECONDS)  # longer than it may wait in all

    try:
        loop.call_soon(busy)
        assert await Patience(TICK_SECONDS).wait(answer) == "!"
    finally:
        loop.remove_reader(mine)
        for end in both:
            end.close()


async def test_what_is_done_between_two_waits_does_not_count() -> None:
    patience = Patience(2 * TICK_SECONDS)
    await patience.wait(answers_after(0))
    await asyncio.sleep(4 * TICK_SECONDS)
    assert await patience.wait(answers_after(TICK_SECONDS / 5)) == "an answer"


async def test_what_is_done_within_a_wait_may_not_count() -> None:
    patience = Patience(2 * TICK_SECONDS)

    async def checks_before_it_asks(seconds: float) -> str:
        with patience.paused():
            await asyncio.sleep(4 * TICK_SECONDS)
        return await answers_after(seconds)

    assert await patience.wait(checks_before_it_asks(TICK_SECONDS / 5)) == "an answer"
    with pytest.raises(TimeoutError):
        await patience.wait(checks_before_it_asks(AN_HOUR))


async def test_a_busy_process_waits_no_more_than_once_more() -> None:
    async def never() -> None:
        while True:
            time.sleep(3 * TICK_SECONDS)
            await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        await Patience(2 * TICK_SECONDS).wait(never())
