"""bench.catalog_rows: the table and the JSON."""

from __future__ import annotations

import json

import pytest

from bench.catalog_rows import CatalogRow, catalog_json, catalog_table


def _line(row: CatalogRow) -> list[str]:
    return [cell.strip() for cell in catalog_table([row]).splitlines()[-1].strip("|").split("|")]


@pytest.mark.parametrize(("value", "passed"), [(4.9, True), (5.0, True), (5.1, False)])
def test_the_bar_itself_is_good_enough(value: float, passed: bool) -> None:
    assert CatalogRow("start", "s", value, 5.0).passed is passed


def test_the_table_says_how_far_from_the_bar() -> None:
    row = CatalogRow("memory", "bytes", 1_536.0, 1_024.0)
    assert _line(row) == ["memory", "bytes", "1,536", "<= 1,024", "MISS by 50%"]
    assert _line(CatalogRow("start", "s", 4.0, 5.0))[2:] == ["4", "<= 5", "pass by 20%"]
    assert _line(CatalogRow("change", "ms", 1.234))[2:] == ["1.23", "", ""]


def test_the_json_has_the_verdict() -> None:
    rows = [CatalogRow("start", "s", 6.0, 5.0), CatalogRow("change", "ms", 1.0)]
    assert json.loads(json.dumps(catalog_json(rows))) == [
        {"figure": "start", "unit": "s", "value": 6.0, "bar": 5.0, "passed": False},
        {"figure": "change", "unit": "ms", "value": 1.0, "bar": None, "passed": None},
    ]
