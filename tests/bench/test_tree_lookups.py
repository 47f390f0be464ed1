"""bench.tree_lookups: every row, on a small tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import report, tree_lookups
from bench.catalog_rows import CatalogRow

SMALL = (1, 3, 9, 27)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_lookups, "LEVELS", SMALL)


def test_each_tree_has_its_figures() -> None:
    said: list[str] = []
    rows = list(tree_lookups.measure(said.append, 20))
    assert len(rows) == 2 * 13 + 1
    assert len({row.figure for row in rows}) == len(rows)
    assert len(said) == 3
    values = {row.figure: row.value for row in rows}
    for name, nodes in (("one gateway a mount", 40), ("two gateways a mount", 80)):
        assert values[f"{name}: gateways"] == nodes
        assert 1 <= values[f"{name}: hops, mean"] <= values[f"{name}: hops, most"] <= 6
        assert values[f"{name}: messages, cold, mean"] >= 2 * values[f"{name}: hops, mean"]
        assert values[f"{name}: CPU of a question, cold"] > 0
    assert all(row.passed for row in rows if row.bar == 0.0)
    assert [row.bar for row in rows if row.unit == "ns"] == [1_000.0]


def test_a_run_is_recorded_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "RECORD", tmp_path / "RESULTS.md")
    rows = [CatalogRow("hops", "", 12.0, 12.0), CatalogRow("again", "", 0.0, 0.0)]
    monkeypatch.setattr(tree_lookups, "measure", lambda _: iter(rows))
    assert tree_lookups.main([]) == 0
    assert not (tmp_path / "RESULTS.md").exists()
    assert tree_lookups.main(["--record"]) == 0
    recorded = (tmp_path / "RESULTS.md").read_text()
    assert "commit" in recorded.splitlines()[1]
    assert "| lookups in a tree of 10,000 mounts |" in recorded
    assert "| pass" in capsys.readouterr().out
