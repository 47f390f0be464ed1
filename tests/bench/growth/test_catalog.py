"""bench.growth.catalog: real gateways with few namespaces and ACLs."""

from __future__ import annotations

import pytest

from bench import catalog_live
from bench.growth import catalog
from bench.growth.catalog import ACLS, NAMESPACES, measure_acls, measure_namespaces
from bench.growth.curves import Sweep
from bench.growth.plan import Plan


def values(sweep: Sweep) -> dict[str, dict[int, float]]:
    return {curve.figure.title: dict(curve.values) for curve in sweep.curves}


@pytest.mark.live
@pytest.mark.long("measures")
def test_namespaces_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "TOPICS", 100)
    sweep = measure_namespaces(Plan([30, 90], 0.1, 100.0), lambda _: None)
    assert [curve.figure for curve in sweep.curves] == list(NAMESPACES)
    assert sweep.notes == []
    for title, found in values(sweep).items():
        assert list(found) == [30, 90], title
        assert all(value > 0 for value in found.values()), title


@pytest.mark.live
@pytest.mark.long("measures")
def test_acls_are_measured_and_a_start_that_would_fail_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the second catalog took longer to read than a worker waits."""
    real = catalog_live.read
    sizes = iter([3_000, 4_000])

    async def read(brokers: str) -> float:
        seconds = await real(brokers)
        return seconds + (31.0 if next(sizes) == 4_000 else 0.0)

    monkeypatch.setattr(catalog, "read", read)
    sweep = measure_acls(Plan([3_000, 4_000], 0.1, 100.0), lambda _: None)
    assert [curve.figure for curve in sweep.curves] == list(ACLS)
    found = values(sweep)
    assert list(found["a gateway starts"]) == list(found["memory of a worker"]) == [3_000]
    assert list(found["a decision, again"]) == [3_000, 4_000]
    assert all(value > 0 for curve in found.values() for value in curve.values())
    (note,) = sweep.notes
    assert "No gateway was started with 4,000 ACLs: a worker gives up after 30 s" in note
