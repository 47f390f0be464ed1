"""What the catalog's figures are, what they are to reach, and how they are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.machine import provenance
from bench.report import append_record, table

_HEAD = ("unit", "value", "bar", "verdict")


@dataclass(frozen=True, slots=True)
class CatalogRow:
    """One figure; ``bar`` is what it may be at most, None if nothing is asked of it."""

    figure: str
    unit: str
    value: float
    bar: float | None = None

    @property
    def passed(self) -> bool | None:
        """Whether the figure reaches its bar; None without a bar."""
        return None if self.bar is None else self.value <= self.bar


def catalog_table(rows: Sequence[CatalogRow], subject: str = "catalog") -> str:
    """The table of the figures of the catalog, or of another ``subject``, in Markdown."""
    return table((subject, *_HEAD), [_line(row) for row in rows])


def print_table(
    measure: Callable[[Callable[[str], None]], Iterable[CatalogRow]], subject: str, *, record: bool
) -> None:
    """Print the table of what is measured, and its steps meanwhile on stderr. ``record``: append
    the table to RESULTS.md."""
    where = provenance()
    rows = list(measure(lambda line: print(f"  {line}", file=sys.stderr)))
    text = catalog_table(rows, subject)
    print(text)
    if record:
        append_record(where, text)


def catalog_json(rows: Sequence[CatalogRow]) -> list[dict[str, Any]]:
    """The rows for programs."""
    return [
        {
            "figure": row.figure,
            "unit": row.unit,
            "value": row.value,
            "bar": row.bar,
            "passed": row.passed,
        }
        for row in rows
    ]


def _line(row: CatalogRow) -> tuple[str, ...]:
    value = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.3g}"
    if row.bar is None:
        return row.figure, row.unit, value, "", ""
    verdict = "pass" if row.passed else "MISS"
    if row.bar:
        verdict += f" by {abs(row.value - row.bar) / row.bar:.0%}"
    return row.figure, row.unit, value, f"<= {row.bar:,g}", verdict
