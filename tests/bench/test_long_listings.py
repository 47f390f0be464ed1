"""bench.long_listings: listings are measured, at a real gateway before a relay."""

from __future__ import annotations

import pytest

from bench import long_listings
from bench.long_listings import measure

pytestmark = [pytest.mark.live, pytest.mark.long("measures")]


def test_long_listings_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_listings, "TRIES", 1)
    rows = list(measure((20, 60), lambda _: None))
    assert [(row.figure, row.unit, row.bar) for row in rows] == [
        (f"all of {size} topics, {what}", "CPU us/topic", None)
        for size in (20, 60)
        for what in (
            "the first time",
            "the worker's report behind it",
            "again",
            "again, a leader's epoch differs",
            "again, a topic differs",
        )
    ]
    assert all(row.value > 0 for row in rows if "report" not in row.figure)
