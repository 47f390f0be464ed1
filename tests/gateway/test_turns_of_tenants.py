"""gateway.slices: long work of a tenant leaves others a share of the turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from gateway import slices
from gateway.rotation import Line
from gateway.slices import InSlices, Slices, Turns, in_slices
from protocol.pausing import pause_point
from tests.pauses import pause_everywhere

OTHER = Line("other", "b")

LOOPS = 30

LONG, OWN = 200, 50
"""Steps of each piece of work of the flood, and of the work that is watched."""

SLACK = 10
"""Turns that are given before the work begins."""

FLOODS = {
    "a tenant": lambda number: Line("flood", "a"),
    "a tenant at the other's address": lambda number: Line("flood", "b"),
    "a tenant with many addresses": lambda number: Line("flood", number),
    "an address with many tenants": lambda number: Line(number, "a"),
}


@pytest.fixture(autouse=True)
def pausing_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pause point pause, however fast the machine is."""
    pause_everywhere(monkeypatch)


@pytest.fixture(params=[0.0, 3600.0], ids=["waits to begin", "begins at once"])
def firsts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """First slices wait for a turn, or not."""
    monkeypatch.setattr(slices, "FIRSTS_SECONDS", request.param)


class Flood:
    """Loops of long work. ``steps`` is what all have done."""

    def __init__(self) -> None:
        self.steps = 0

    def work(self) -> None:
        for _ in range(LONG):
            pause_point()
            self.steps += 1

    async def loop(self, turns: Turns) -> None:
        while True:
            await in_slices(turns, Slices(self.work))


@asynccontextmanager
async def flood(turns: Sequence[Turns]) -> AsyncIterator[Flood]:
    one = Flood()
    loops = [asyncio.create_task(one.loop(each)) for each in turns]
    while one.steps < 2 * LONG:
        await asyncio.sleep(0)
    yield one
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)


def own_steps() -> None:
    for _ in range(OWN):
        pause_point()


def is_idle(turns: Turns) -> bool:
    """Whether nothing waits, and nothing is kept of those who have."""
    rota = turns._rota
    sides = (rota.tenants, rota.beside, rota.own, rota.revoked)
    return not any(side.turns or side.waiting or any(side.places._held) for side in sides)


@pytest.mark.usefixtures("firsts")
@pytest.mark.parametrize("of", FLOODS.values(), ids=FLOODS)
async def test_a_flood_has_half_of_the_turns(of: Callable[[int], Line]) -> None:
    turns = Turns()
    async with flood([turns.of(of(number)) for number in range(LOOPS)]) as one:
        before = one.steps
        await in_slices(turns.of(OTHER), Slices(own_steps))
        assert one.steps - before <= OWN + SLACK
    assert is_idle(turns)


@pytest.mark.usefixtures("firsts")
async def test_several_tenants_have_a_share_each() -> None:
    turns = Turns()
    tenants = [turns.of(Line(number % 4, number % 4)) for number in range(LOOPS)]
    async with flood(tenants) as one:
        before = one.steps
        await in_slices(turns.of(OTHER), Slices(own_steps))
        # It waits until each flood has had another place, and then has its share of the turns.
        assert one.steps - before <= 2 * 4 * LONG + 3 * OWN + SLACK
    assert is_idle(turns)


OWN_SIDES: dict[str, Callable[[Turns], Turns]] = {
    "own": lambda turns: turns,
    "own, apart": lambda turns: turns.apart("freezes"),
    "revoked": Turns.revoked,
    "beside": lambda turns: turns.beside(Line("flood", "a")),
}


@pytest.mark.usefixtures("firsts")
@pytest.mark.parametrize("side", OWN_SIDES.values(), ids=OWN_SIDES)
async def test_the_gateways_own_work_does_not_wait_for_tenants(
    side: Callable[[Turns], Turns],
) -> None:
    turns = Turns()
    tenants = [turns.of(Line(number, number)) for number in range(LOOPS)]
    async with flood(tenants) as one:
        assert not turns._rota.tenants.places.free
        before = one.steps
        await in_slices(side(turns), Slices(own_steps))
        assert one.steps - before <= OWN + SLACK
    assert is_idle(turns)


async def test_a_check_of_rights_does_not_wait_for_the_gateways_other_work() -> None:
    turns = Turns()
    others = [turns, turns.apart("freezes"), turns.beside(OTHER), turns.of(OTHER)]
    async with flood(others * 5) as one:
        before = one.steps
        await in_slices(turns.revoked(), Slices(own_steps))
        assert one.steps - before <= 3 * OWN + SLACK


async def test_a_coroutine_holds_no_place_while_it_waits() -> None:
    """So those who wait for each other cannot hold each other's places."""
    turns = Turns()
    line = turns.of(OTHER)
    everybody = asyncio.Event()
    begun = 0

    async def meet() -> None:
        nonlocal begun
        own_steps()
        begun += 1
        if begun == LOOPS:
            everybody.set()
        await everybody.wait()
        await InSlices(line, own())

    async def own() -> None:
        own_steps()

    async with asyncio.timeout(60):
        await asyncio.gather(*(InSlices(line, meet()) for _ in range(LOOPS)))
    assert is_idle(turns)


async def test_no_more_is_under_way_than_there_are_places() -> None:
    turns, under_way, most = Turns(), 0, 0

    def work() -> None:
        nonlocal under_way, most
        pause_point()
        under_way += 1
        most = max(most, under_way)
        for _ in range(10):
            pause_point()
        under_way -= 1

    views = [turns, turns.apart("a"), turns.apart("b"), turns.revoked(), turns.beside(OTHER)]
    views += [turns.of(Line(number, number)) for number in range(10)]
    await asyncio.gather(*(in_slices(each, Slices(work)) for each in views * 3))
    assert (under_way, most) == (0, 8)
