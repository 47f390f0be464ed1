"""No bytes that clients send cause a long callback: a search for bytes that do.

``make callbacks SECONDS=3600`` searches for that long, from another beginning each time.
"""

from __future__ import annotations

import os

import pytest

from tests.session.callback_search import Search, Shape, steady

LONGEST_SECONDS = 0.05
"""CPU seconds of the longest callback. Callbacks are made to take 5 ms; the code between two pause
points, and Python's own work (garbage, first uses), may come on top."""

BUDGET = float(os.environ.get("CALLBACK_SECONDS", "15"))
SEED = int(os.environ.get("CALLBACK_SEED", "1"))


pytestmark = [pytest.mark.usefixtures("quietly"), pytest.mark.alone]


def bound(shape: Shape) -> float:
    """Freeing tens of thousands of items takes time as well."""
    return LONGEST_SECONDS if shape.items <= 10_000 else 2 * LONGEST_SECONDS


def test_a_search_finds_no_long_callback() -> None:
    search = Search(SEED, LONGEST_SECONDS)
    search.run(BUDGET)
    print(search.tried, *(f"{took:.3f} {shape}" for took, shape in search.worst), sep="\n")
    assert search.tried >= 10
    # On a busy machine CPU time has outliers; a long callback is long again.
    long = [shape for took, shape in search.worst if took > bound(shape)]
    again = [(steady(shape, bound(shape)), shape) for shape in long]
    assert [one for one in again if one[0] > bound(one[1])] == []


FOUND = [
    Shape("DescribeGroups", 5, "groups", 30_000, 1, "", False),
    Shape("AlterConfigs", 0, "resources", 30_000, 1, "no such:", True),
    Shape("AlterConfigs", 2, "resources", 30_000, 1, "team-a:t", True),
    Shape("Metadata", 13, "topics", 30_000, 1, "team-a:t", True),
    Shape("DescribeLogDirs", 1, "topics", 30_000, 1, "t", True),
    Shape("FindCoordinator", 4, "coordinator_keys", 10, 10_000, "x:", False),
    Shape("FindCoordinator", 4, "coordinator_keys", 99_000, 1, "", False, malformed=True),
    Shape("CreateTopics", 5, "topics", 99_000, 1, "t", True),
    Shape("AlterUserScramCredentials", 0, "deletions", 396_000, 1, "", True),
    Shape("Produce", 9, "topic_data", 10_000, 1, "t", True, leaving=True),
    Shape("Fetch", 12, "topics", 10_000, 1, "t", True, leaving=True),
    Shape("Produce", 9, "topic_data", 3_000, 100, "t", False, changing=True),
]
"""Shapes that the search has found."""


@pytest.mark.parametrize("shape", FOUND, ids=str)
def test_what_it_has_found(shape: Shape) -> None:
    assert steady(shape, bound(shape)) < bound(shape)
