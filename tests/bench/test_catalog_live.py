"""bench.catalog_live: real gateways, with an empty catalog and with a small catalog."""

from __future__ import annotations

import pytest

from bench import catalog_live
from bench.catalog_live import measure_gateways

pytestmark = [pytest.mark.live, pytest.mark.long("measures")]


def test_gateways_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_live, "_STARTS", 1)
    said: list[str] = []
    rows = list(measure_gateways(said.append, spaces=30, count=100))
    assert [(row.unit, row.bar) for row in rows] == [
        ("s", None),
        ("s", 5.0),
        ("s", None),
        ("bytes", 1_024.0),
        ("ms", None),
    ]
    assert all(row.value > 0 for row in rows if row.unit != "bytes")
    assert any("130 entries" in line for line in said)
