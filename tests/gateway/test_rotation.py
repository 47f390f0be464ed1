"""gateway.rotation: who is next, by tenant and by address, and who has a place."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Hashable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.rotation import Line, Places, Rotation, Side

TENANTS, ADDRESSES = 4, 3

LINES = st.builds(Line, st.integers(1, TENANTS), st.sampled_from("abc"))


def taken(rotation: Rotation[int]) -> int:
    found = rotation.take()
    assert found is not None
    return found[1]


def test_tenants_take_turns() -> None:
    rotation: Rotation[int] = Rotation()
    for number in range(3):
        rotation.add(Line("flood", "a"), number)
    rotation.add(Line("other", "b"), 10)
    rotation.add(Line("third", "c"), 20)
    assert [taken(rotation) for _ in range(5)] == [0, 10, 20, 1, 2]
    assert rotation.take() is None


@pytest.mark.parametrize("flood", ["tenants of an address", "addresses of a tenant"])
def test_neither_tenants_nor_addresses_are_worth_more_than_half(flood: str) -> None:
    rotation: Rotation[int] = Rotation()
    for number in range(100):
        many = Line(number, "a") if flood == "tenants of an address" else Line("flood", number)
        rotation.add(many, number)
    order: list[int] = []
    for _ in range(20):
        if order[-1:] in ([], [1_000]):
            rotation.add(Line("other", "z"), 1_000)
        order.append(taken(rotation))
    assert order.count(1_000) >= 9


def test_lines_that_may_not_be_served_keep_their_turn() -> None:
    rotation: Rotation[int] = Rotation()
    one, other = Line("one", "a"), Line("other", "b")
    rotation.add(one, 1)
    rotation.add(other, 2)
    rotation.add(other, 3)
    assert rotation.take(lambda line: False) is None
    assert rotation.take(lambda line: line == other) == (other, 2)
    assert [taken(rotation), taken(rotation)] == [1, 3]


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "discard"]), LINES), max_size=200))
def test_any_arrivals_and_ends(steps: Sequence[tuple[str, Line]]) -> None:
    """Items of a line come in order, no tenant and no address waits for longer than all others have
    had two turns, and nothing is left of those who are gone."""
    rotation: Rotation[int] = Rotation()
    waiting: dict[Line, list[int]] = {}
    passed: Counter[Hashable] = Counter()

    def forget(line: Line) -> None:
        if not waiting[line]:
            del waiting[line]
        for key in set(line) - {key for each in waiting for key in each}:
            del passed[key]

    def take() -> None:
        found = rotation.take()
        if found is None:
            assert not waiting
            return
        line, item = found
        assert item == waiting[line].pop(0)
        passed.update({key for each in waiting for key in each})
        for key in line:
            passed[key] = 0
        forget(line)
        assert all(
            passed[key] <= 2 * (TENANTS if key == each.tenant else ADDRESSES)
            for each in waiting
            for key in each
        )

    for number, (step, line) in enumerate(steps):
        if step == "add":
            rotation.add(line, number)
            waiting.setdefault(line, []).append(number)
        elif step == "take":
            take()
        elif line in waiting:
            rotation.discard(line, waiting[line].pop())
            forget(line)
        else:
            rotation.discard(line, number)
        assert len(rotation) == len(waiting)
    while waiting:
        take()
    assert rotation._orders == (OrderedDict(), OrderedDict())


def test_a_tenant_leaves_as_many_places_as_it_has() -> None:
    places = Places(4)
    flood, other, third = Line("flood", "a"), Line("other", "a"), Line("third", "b")
    for _ in range(2):
        assert places.may_take(flood)
        places.take(flood)
    assert not places.may_take(flood)
    assert places.may_take(other)
    places.take(other)
    assert not places.may_take(Line("more", "a")), "an address leaves a place to others"
    assert places.may_take(third)
    places.take(third)
    assert not places.may_take(Line("fifth", "c"))
    places.give_back(flood)
    assert places.may_take(Line("fifth", "c"))


class Piece:
    """A piece of work that waits for a place, and has it until it may end."""

    def __init__(self, side: Side, line: Line) -> None:
        self.line = line
        self.placed = False
        self.end = asyncio.Event()
        self._side = side
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self._side.take_place(self.line)
        self.placed = True
        try:
            await self.end.wait()
        finally:
            self.placed = False
            self._side.give_place_back(self.line)


NUMBER = 4

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), LINES),
        st.tuples(st.sampled_from(["end", "cancel"]), st.integers(0, 20)),
        st.tuples(st.just("wait"), st.just(0)),
    ),
    max_size=60,
)


def look(side: Side, pieces: Sequence[Piece]) -> None:
    """Places are never too many, and none is free for a piece that waits, once all have run."""
    held = [piece.line for piece in pieces if piece.placed]
    assert len(held) == NUMBER - side.places.free <= NUMBER
    assert all(count < NUMBER for count in Counter(line.tenant for line in held).values())
    assert all(count < NUMBER for count in Counter(line.address for line in held).values())
    waiting = [piece.line for piece in pieces if not piece.placed and not piece.task.done()]
    assert not any(map(side.places.may_take, waiting))


async def all_have_run() -> None:
    for _ in range(70):
        await asyncio.sleep(0)


async def live(steps: Sequence[tuple[str, Line | int]]) -> None:
    side, pieces = Side(NUMBER), list[Piece]()
    for step, of in steps:
        if isinstance(of, Line):
            pieces.append(Piece(side, of))
        elif step == "wait":
            await all_have_run()
            look(side, pieces)
        elif pieces:
            piece = pieces[of % len(pieces)]
            if step == "end":
                piece.end.set()
            else:
                piece.task.cancel()
    for piece in pieces:
        piece.end.set()
    await asyncio.gather(*(piece.task for piece in pieces), return_exceptions=True)
    assert side.places.free == NUMBER
    assert side.places._held == ({}, {})
    assert not side.waiting


@given(STEPS)
def test_any_pieces_of_work(steps: Sequence[tuple[str, Line | int]]) -> None:
    """All get a place in the end; those who are cancelled while they wait, or in the round in which
    they get it, keep none."""
    asyncio.run(live(steps))


async def test_a_place_that_is_given_to_work_that_is_cancelled_in_the_same_round() -> None:
    side = Side(1)
    first, second, third = (Line(number, number) for number in range(3))
    await side.take_place(first)
    cancelled = asyncio.create_task(side.take_place(second))
    other = asyncio.create_task(side.take_place(third))
    await asyncio.sleep(0)
    side.give_place_back(first)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await other
    assert not side.places.may_take(first)
    side.give_place_back(third)
    assert side.places.may_take(first)
