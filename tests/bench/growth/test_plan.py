"""bench.growth.plan: a sweep ends before it takes too long."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.growth.plan import LEAST, Plan, climb, repeated


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def climbed(
    sizes: list[int], limit: float, takes: Callable[[int], float]
) -> tuple[list[int], list[str]]:
    """The sizes that are measured if each takes so many seconds, and the notes."""
    clock, notes, said = Clock(), list[str](), list[str]()
    found = []
    for size in climb(Plan(sizes, 1.0, limit), "topics", notes, said.append, clock):
        found.append(size)
        clock.seconds += takes(size)
    assert said == [*(f"{size:,} topics" for size in found), *notes]
    return found, notes


def test_what_a_broker_takes_to_start_is_not_taken_for_growth() -> None:
    assert climbed([100, 1_000, 10_000], 30.0, lambda size: 20 + size / 2_000) == (
        [100, 1_000, 10_000],
        [],
    )


def test_sizes_beyond_the_limit_are_left_out_and_named() -> None:
    found, notes = climbed([1_000, 10_000, 100_000, 200_000], 60.0, lambda size: size / 1_000)
    assert found == [1_000, 10_000]
    assert notes == [
        "100,000 and 200,000 topics were left out: 100,000 would have taken some 100 s, and 60 s"
        " are the limit of a size."
    ]


@given(
    st.lists(st.integers(1, 1_000_000), min_size=1, max_size=8, unique=True).map(sorted),
    st.floats(1.0, 1_000.0),
    st.floats(0.0, 100.0),
    st.floats(1e-6, 10.0),
)
def test_of_linear_costs_only_the_second_size_may_take_longer_than_the_limit(
    sizes: list[int], limit: float, fixed: float, each: float
) -> None:
    found, notes = climbed(sizes, limit, lambda size: fixed + size * each)
    assert found == sizes[: len(found)]
    assert all(fixed + size * each <= limit * 1.001 for size in found[2:])
    assert bool(notes) == (len(found) < len(sizes))


@pytest.mark.parametrize(("seconds", "times"), [(0.0, LEAST), (2.5, LEAST), (9.5, 10)])
def test_repeated_goes_on_until_the_time_is_over(seconds: float, times: int) -> None:
    clock = Clock()

    def take() -> float:
        clock.seconds += 1.0
        return clock.seconds

    assert repeated(take, seconds, clock) == [float(n) for n in range(1, times + 1)]
