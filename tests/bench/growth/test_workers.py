"""bench.growth.workers: real gateways with one worker and with two."""

from __future__ import annotations

import pytest

from bench.growth.plan import Plan
from bench.growth.workers import FIGURES, measure

pytestmark = [pytest.mark.live, pytest.mark.long("measures")]


def test_workers_are_measured() -> None:
    sweep = measure(Plan([1, 2], 0.2, 60.0, compiled=False), lambda _: None)
    assert [curve.figure for curve in sweep.curves] == list(FIGURES)
    for curve in sweep.curves:
        assert list(curve.values) == [1, 2]
        assert all(value > 0 for value in curve.values.values())
