"""bench.stats."""

from __future__ import annotations

from bench.stats import Summary, differences, ratios, summarize


def test_a_summary_is_the_median_and_the_extremes() -> None:
    assert summarize([5.0, 1.0, 2.0]) == Summary(2.0, 1.0, 5.0, 3)
    assert summarize([4.0, 2.0]).median == 3.0


def test_ratios_and_differences_are_taken_round_by_round() -> None:
    values, base = {0: 2.0, 1: 9.0, 2: 5.0}, {1: 3.0, 0: 1.0, 7: 4.0}
    assert ratios(values, base) == [2.0, 3.0]
    assert differences(values, base) == [1.0, 6.0]


def test_a_base_of_zero_gives_no_ratio() -> None:
    assert ratios({0: 1.0, 1: 4.0}, {0: 0.0, 1: 2.0}) == [2.0]


def test_a_round_that_slows_both_does_not_move_the_ratio() -> None:
    base = {0: 1.0, 1: 10.0, 2: 1.0}
    values = {number: 1.5 * value for number, value in base.items()}
    assert summarize(ratios(values, base)) == Summary(1.5, 1.5, 1.5, 3)
