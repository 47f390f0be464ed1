"""The report's page, opened in a browser for tests that look at it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from devkit.browser import Page, kept_browser
from spark.page import Row, Table, page
from spark.sections import SECTIONS
from tests.spark.report_rows import ABOUT

CHARTS = [chart.maker for section in SECTIONS for chart in section.charts]
"""The charts that a full page has, from top to bottom."""

_CELLS = """
[...document.querySelectorAll("#TABLE tbody tr")].map(row => [...row.cells].map(cell =>
  "value" in cell.dataset
    ? (cell.dataset.value === "" ? null : Number(cell.dataset.value))
    : cell.querySelector("span, code").textContent))
"""


@contextlib.asynccontextmanager
async def opened(
    directory: Path, tables: Mapping[str, Table], totals: Row | None = None, *, width: int = 1200
) -> AsyncIterator[Page]:
    """The page of some tables in a window ``width`` wide, for which the browser reported no
    problem."""
    file = directory / "report.html"
    file.write_text(page(tables, totals or {}, ABOUT), encoding="utf-8")
    async with kept_browser() as browser, browser.page() as tab:
        await tab.resize(width, 900)
        await tab.open(file)
        assert await tab.run("document.documentElement.dataset.ready") == "yes", tab.errors
        yield tab
        assert tab.errors == []
        assert tab.console == []
        assert tab.requests == [file.as_uri()]


async def cells_of(tab: Page, table: str) -> list[list[Any]]:
    """The cells of a table, row by row: numbers as their exact values, other cells as text."""
    found: list[list[Any]] = await tab.run(_CELLS.replace("TABLE", table))
    return found
