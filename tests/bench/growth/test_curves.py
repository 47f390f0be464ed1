"""bench.growth.curves: exponents and verdicts."""

from __future__ import annotations

import math
from itertools import accumulate
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.growth.curves import APART, FLAT, LINEAR, WORSE, Curve, Figure, Kind, Sweep, curves

SIZES = st.lists(st.integers(1, 1_000_000), min_size=2, max_size=6, unique=True).map(sorted)
FAR_APART = st.builds(
    lambda first, factors: [*accumulate(factors, mul, initial=first)],
    st.integers(1, 10),
    st.lists(st.integers(2, 10), min_size=1, max_size=5),
)


def curve(values: dict[int, float], kind: Kind = Kind.TOTAL) -> Curve:
    return Curve(Figure("a start", "s", kind), values)


def word(exponent: float) -> str:
    """The verdict that the exponent's bounds give."""
    if exponent > WORSE:
        return "worse than linear"
    if exponent >= LINEAR:
        return "linear"
    return "less than linear" if exponent >= FLAT else "the same"


@given(FAR_APART, st.floats(-1.5, 3.0), st.floats(1e-3, 1e3))
def test_a_power_of_the_size_has_its_exponent_and_its_word(
    sizes: list[int], exponent: float, scale: float
) -> None:
    found = curve({size: scale * size**exponent for size in sizes})
    assert [step.exponent for step in found.steps] == pytest.approx(
        [exponent] * (len(sizes) - 1), abs=1e-6
    )
    if min(abs(exponent - bound) for bound in (FLAT, LINEAR, WORSE)) > 1e-6:
        assert found.verdict.partition(" (")[0].partition(":")[0] == word(exponent)


@given(FAR_APART, st.lists(st.floats(1e-3, 1e6), min_size=6, max_size=6))
def test_a_value_for_each_is_a_part_of_a_total(sizes: list[int], values: list[float]) -> None:
    totals = dict(zip(sizes, values, strict=False))
    each = curve({size: total / size for size, total in totals.items()}, Kind.EACH)
    rate = curve({size: size / total for size, total in totals.items()}, Kind.RATE)
    whole = curve(totals)
    for other in (each, rate):
        assert other.totals == pytest.approx(whole.totals)
        assert [step.exponent for step in other.steps] == pytest.approx(
            [step.exponent for step in whole.steps], abs=1e-6
        )


@given(FAR_APART, st.lists(st.floats(1e-3, 1e6), min_size=6, max_size=6), st.floats(1e-3, 1e3))
def test_units_change_nothing(sizes: list[int], values: list[float], unit: float) -> None:
    found = curve(dict(zip(sizes, values, strict=False)))
    other = curve({size: value * unit for size, value in found.values.items()})
    assert [step.exponent for step in found.steps] == pytest.approx(
        [step.exponent for step in other.steps], abs=1e-6
    )
    assert found.growth == pytest.approx(other.growth)


@given(SIZES, st.lists(st.floats(1e-3, 1e6), min_size=6, max_size=6))
def test_it_is_worse_exactly_if_a_step_is(sizes: list[int], values: list[float]) -> None:
    """Independently: the ratio of costs beyond the ratio of sizes to the power of the bound."""
    found = curve(dict(zip(sizes, values, strict=False)))
    for step in found.steps:
        assert step.high >= step.low * APART
        ratio = found.values[step.high] / found.values[step.low]
        bound = (step.high / step.low) ** WORSE
        if not math.isclose(ratio, bound):
            assert (step in found.worse) == (ratio > bound)
    assert found.verdict.startswith("worse") == bool(found.worse)


def test_the_sizes_between_which_it_is_worse_are_named() -> None:
    found = curve({1_000: 1.0, 10_000: 10.0, 100_000: 1_000.0, 200_000: 4_000.0})
    assert found.verdict == (
        "worse than linear: 10,000 to 100,000 (2.00), 100,000 to 200,000 (2.00)"
    )


def test_sizes_close_to_each_other_are_not_compared() -> None:
    """A tenth more size and twice the cost would be an exponent of 7, and is noise."""
    found = curve({1_000: 1.0, 10_000: 10.0, 11_000: 20.0, 20_000: 20.0})
    assert [(step.low, step.high) for step in found.steps] == [(1_000, 10_000), (10_000, 20_000)]
    assert found.verdict == "linear (1.00)"


def test_what_did_not_grow_has_no_exponent() -> None:
    """Memory that was free before, and a figure that was measured once."""
    assert curve({10: 0.0, 100: -1.0, 1_000: 5.0}).verdict == ""
    assert curve({10: 0.0, 100: 1.0, 1_000: 10.0}).verdict == "linear (1.00)"
    assert curve({10: 1.0}).verdict == ""
    assert curve({}).growth == {}


def test_what_is_only_shown_has_no_verdict() -> None:
    found = curve({1: 1.0, 10: 1_000.0}, Kind.SHOWN)
    assert (found.verdict, found.worse, found.growth) == ("", [], {})


def test_a_plot_begins_on_the_line_of_linear_costs() -> None:
    found = curve({100: 7.0, 1_000: 70.0, 10_000: 7_000.0})
    assert found.growth == pytest.approx({100: 100, 1_000: 1_000, 10_000: 100_000})


def test_curves_are_made_of_what_was_measured() -> None:
    start, memory = Figure("a start", "s", Kind.TOTAL), Figure("memory", "MiB", Kind.TOTAL)
    measured = {10: {"a start": 1.0, "memory": 5.0}, 100: {"memory": 50.0}}
    found = curves([start, memory], measured)
    assert found == [Curve(start, {10: 1.0}), Curve(memory, {10: 5.0, 100: 50.0})]
    assert Sweep("x", "things", found).sizes == [10, 100]
    with pytest.raises(KeyError, match="start up"):
        curves([start], {10: {"start up": 1.0}})
