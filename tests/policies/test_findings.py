"""gateway.policies.violation: limits in words."""

from __future__ import annotations

import math

import pytest

from gateway.config.policies import Range
from gateway.policies.violation import Bound, allowance, broken_bound, cut, listed


@pytest.mark.parametrize(
    ("value", "expected"), [(0, "min"), (1, None), (5, None), (6, "max"), (math.inf, "max")]
)
def test_which_end_is_broken(value: float, expected: Bound | None) -> None:
    assert broken_bound(Range(min=1, max=5), value) == expected


def test_an_end_that_is_open() -> None:
    assert broken_bound(Range(min=1), math.inf) is None
    assert broken_bound(Range(max=1), -5) is None


def test_allowance() -> None:
    both = Range(min=1, max=5)
    assert allowance(both) == "1 to 5 is allowed"
    assert allowance(both, "min") == allowance(Range(min=1)) == "at least 1 is required"
    assert allowance(both, "max") == allowance(Range(max=5)) == "at most 5 is allowed"


def test_things_that_are_counted() -> None:
    assert allowance(Range(min=1, max=5), countable=True) == "1 to 5 are allowed"
    assert allowance(Range(max=12), countable=True) == "at most 12 are allowed"
    assert allowance(Range(max=1), countable=True) == "at most 1 is allowed"
    assert allowance(Range(min=2), countable=True) == "at least 2 are required"


def test_lists() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed([str(index) for index in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"


def test_what_is_long_is_cut() -> None:
    assert cut("x" * 60) == "x" * 60
    assert cut("x" * 61) == "x" * 60 + "..."
