"""bench.growth.topics: real listings of few topics, before a relay."""

from __future__ import annotations

import pytest

from bench.growth.plan import Plan
from bench.growth.topics import FIGURES, measure

pytestmark = [pytest.mark.live, pytest.mark.long("measures")]


def test_topics_are_measured() -> None:
    sweep = measure(Plan([20, 60], 0.2, 60.0), lambda _: None)
    assert [curve.figure for curve in sweep.curves] == list(FIGURES)
    for curve in sweep.curves:
        assert list(curve.values) == [20, 60]
        assert all(value > 0 for value in curve.values.values())
