"""bench.starts: commands and a worker are measured, at a real gateway."""

from __future__ import annotations

import pytest

from bench import starts
from bench.starts import measure_starts

pytestmark = [pytest.mark.live, pytest.mark.long("measures")]


def test_starts_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "_ROUNDS", 1)
    rows = list(measure_starts(lambda _: None))
    assert [(row.figure, row.unit, row.bar) for row in rows] == [
        ("kafka-gateway --help", "CPU s", 0.4),
        ("kafka-gateway check FILE", "CPU s", 0.4),
        ("kafka-gateway topics --list", "CPU s", 0.4),
        ("a worker, until it is ready", "CPU s", 1.5),
    ]
    # Each loads more than the one before.
    seconds = [row.value for row in rows]
    assert 0 < seconds[0] < min(seconds[1:])
    assert max(seconds[:3]) < seconds[3] < 60
