"""gateway.brokers.opening_turns: whose opening begins when. The clock skips waiting times."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.brokers.opening_turns import LEAST, MOST, SLOW_SECONDS, OpeningTurns
from tests.catalog.skipped_time import run, skipping


class Broker:
    """Answers openings, one every ``interval`` seconds, in order; if it is 0, all at once."""

    def __init__(self, interval: float = 0.0, turns: OpeningTurns | None = None) -> None:
        self.turns = turns or OpeningTurns()
        self.interval = interval
        self.begun: list[int] = []
        self.answered: list[int] = []
        self.under_way = 0
        self.most = 0
        self._next = 0.0

    async def open(self, name: int) -> None:
        loop = asyncio.get_running_loop()
        async with self.turns.turn():
            self.begun.append(name)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            try:
                # An opening that has begun waits in the broker's backlog, even if its client gives
                # up.
                self._next = max(self._next, loop.time()) + self.interval
                await asyncio.sleep(self._next - loop.time())
                self.answered.append(name)
            finally:
                self.under_way -= 1

    def openings(self, count: int) -> list[asyncio.Task[None]]:
        return [asyncio.ensure_future(self.open(name)) for name in range(count)]


@skipping
async def test_in_order_a_few_at_once() -> None:
    broker = Broker(interval=SLOW_SECONDS)
    await asyncio.gather(*broker.openings(40))
    assert broker.answered == list(range(40))
    assert broker.most == LEAST
    assert asyncio.get_running_loop().time() == pytest.approx(40 * SLOW_SECONDS)


@skipping
async def test_a_broker_that_answers_within_a_second_is_not_held_up() -> None:
    """A login at a broker far away takes many round trips, and none of its clients need wait."""
    turns = OpeningTurns()

    async def open_far() -> None:
        async with turns.turn():
            await asyncio.sleep(0.5)

    await asyncio.gather(*(open_far() for _ in range(10 * MOST)))
    assert asyncio.get_running_loop().time() <= 0.5 * 10 + 0.5 * 4


@skipping
async def test_about_what_the_broker_answers_in_a_second() -> None:
    """An opening is at the broker for at most two seconds: its outcome is known one second
    later."""
    broker = Broker(interval=0.1)
    await asyncio.gather(*broker.openings(200))
    assert broker.most <= 21
    assert asyncio.get_running_loop().time() == pytest.approx(20.0)


@skipping
async def test_a_broker_that_becomes_slow_has_fewer() -> None:
    broker = Broker(interval=0.001)
    await asyncio.gather(*broker.openings(100))
    broker.interval, broker.most = 1.0, 0
    await asyncio.gather(*broker.openings(100))
    assert broker.most <= MOST
    broker.most = 0
    await asyncio.gather(*broker.openings(100))
    assert broker.most <= LEAST + 1


@skipping
async def test_who_gives_up_while_waiting_costs_the_broker_nothing() -> None:
    """60 of 120 clients wait no longer than 5 s; the others are served as if these had not come."""
    broker = Broker(interval=0.2)
    clients = broker.openings(120)
    await asyncio.sleep(5.0)
    given_up = [each for number, each in enumerate(clients) if number % 2 and not each.done()]
    begun = len(broker.begun)
    for each in given_up:
        each.cancel()
    await asyncio.wait(clients)
    assert len(broker.answered) >= 120 - len(given_up)
    assert asyncio.get_running_loop().time() <= 0.2 * (120 - len(given_up) + broker.most) + 0.1
    assert begun < 40


@skipping
async def test_openings_that_hang_do_not_stop_the_others() -> None:
    turns = OpeningTurns()
    begun: list[float] = []
    back = asyncio.Event()

    async def open_when_back() -> None:
        async with turns.turn():
            begun.append(asyncio.get_running_loop().time())
            await back.wait()

    clients = [asyncio.ensure_future(open_when_back()) for _ in range(100)]
    await asyncio.sleep(5.5)
    assert begun == [0.0] * LEAST + [1.0, 2.0, 3.0, 4.0, 5.0]
    back.set()
    await asyncio.gather(*clients)
    assert max(begun) == 5.5, "all of them come in at once when the broker is back"


@skipping
async def test_a_turn_that_comes_as_its_client_leaves_goes_to_the_next() -> None:
    turns = OpeningTurns()
    begun: dict[str, float] = {}

    async def open_for(name: str) -> None:
        async with turns.turn():
            begun[name] = asyncio.get_running_loop().time()
            await asyncio.sleep(60)

    first = [asyncio.ensure_future(open_for(f"first {number}")) for number in range(LEAST)]
    await asyncio.sleep(0.5)
    leaving = asyncio.ensure_future(open_for("leaving"))
    last = asyncio.ensure_future(open_for("last"))
    await asyncio.sleep(0.7)
    first[0].cancel()
    await asyncio.sleep(0)  # it has given its turn on, and no client has taken it yet
    leaving.cancel()
    await asyncio.wait([leaving])
    assert leaving.cancelled()
    await asyncio.sleep(0.1)
    assert "leaving" not in begun
    assert begun["last"] == pytest.approx(1.2)
    for each in (*first, last):
        each.cancel()
    await asyncio.wait([*first, last])


@given(
    st.lists(
        st.tuples(
            st.floats(0, 3),  # the time at which the client comes
            st.floats(0, 3),  # how long its opening takes
            st.floats(0, 6),  # how long it waits
            st.booleans(),  # whether its opening fails
        ),
        max_size=60,
    )
)
def test_nobody_waits_for_ever_and_no_turn_is_lost(
    clients: list[tuple[float, float, float, bool]],
) -> None:
    async def check() -> None:
        turns = OpeningTurns()
        under_way = most = 0

        async def come(at: float, takes: float, patience: float, fails: bool) -> None:
            nonlocal under_way, most
            await asyncio.sleep(at)
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(patience), turns.turn():
                    under_way += 1
                    most = max(most, under_way)
                    try:
                        await asyncio.sleep(takes)
                        if fails:
                            raise OSError("refused")
                    finally:
                        under_way -= 1

        await asyncio.gather(*(come(*each) for each in clients))
        assert under_way == 0
        assert most <= MOST + 9
        # As many as ever may begin at once now.
        fresh = [asyncio.ensure_future(come(0, 100, 200, False)) for _ in range(LEAST)]
        await asyncio.sleep(0.001)
        assert under_way == LEAST
        for each in fresh:
            each.cancel()
        await asyncio.wait(fresh)

    run(check)
