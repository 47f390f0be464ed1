"""bench.catalog: every row, on a small catalog."""

from __future__ import annotations

import pytest

from bench import catalog
from bench.catalog_rows import CatalogRow
from gateway.decision import Denied
from gateway.views.view import View, ViewSettings


def test_the_names_that_are_looked_up_are_found() -> None:
    """A rejection would take another time than a found name."""
    snapshot = catalog.populated(50, 500)
    view = View(ViewSettings("test"), snapshot)
    for entry in snapshot.topics.values():
        found = view.resolve(str(entry.name).encode())
        assert not isinstance(found, Denied)
        assert found.flat == entry.flat.encode()
        assert view.spell(found.flat) == str(entry.name).encode()


def test_looking_up_is_held_to_a_microsecond() -> None:
    rows = list(catalog.look_ups(catalog.populated(50, 500)))
    assert [(row.figure, row.unit, row.bar) for row in rows] == [
        ("View.resolve, a name in use", "ns", 1_000.0),
        ("View.resolve, a name never seen", "us", None),
        ("View.spell, a name in use", "ns", 1_000.0),
        ("View.spell, a name never seen", "us", None),
    ]
    assert rows[0].value / 1e3 < rows[1].value < 1_000


def test_changes_are_told_in_milliseconds() -> None:
    rows = list(catalog.changes(catalog.populated(50, 500)))
    assert {row.unit for row in rows} == {"ms"}
    assert len(rows) == 4
    assert all(0 < row.value < 1_000 for row in rows)


def test_all_rows_stand_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    small = catalog.populated(50, 500)
    last = CatalogRow("a gateway starts", "s", 1.0)
    monkeypatch.setattr(catalog, "populated", lambda: small)
    monkeypatch.setattr(catalog, "measure_gateways", lambda _: iter([last]))
    said: list[str] = []
    rows = list(catalog.measure_catalog(said.append))
    assert rows[-1] is last
    assert len({row.figure for row in rows}) == len(rows) == 9
    assert said
