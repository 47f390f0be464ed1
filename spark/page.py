"""The report's page: makes a single HTML file that needs no other file of rows. Knows nothing of
Spark.

The rows of all tables are a single JSON block in the page, from which its scripts make both the
tables and the charts, so their figures cannot differ. The page fetches nothing, and its content
security policy lets it fetch nothing and run only its own scripts.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from importlib import resources
from typing import Any, Final

from spark.sections import SECTIONS, TOTALS, Column, Section

Row = Mapping[str, Any]
"""A row of a table: values by column; a column that is missing is null."""

DEFAULT_LIMIT: Final = 1000
"""Rows of a table that a page shows; more would make it slow on a phone."""

DEFAULT_TITLE: Final = "Kafka by namespace"

_EXACT: Final = 2**53
"""The largest number up to which JavaScript's numbers represent every whole number."""

_LIBRARY: Final = "echarts.min.js"
_SCRIPTS: Final = ("format.js", "table.js", "charts.js", "bars.js", "report.js")


@dataclass(frozen=True, slots=True)
class Table:
    """The rows to show, best first, and the number of rows in all."""

    rows: Sequence[Row]
    total: int

    @classmethod
    def of(cls, rows: Iterable[Row], limit: int = DEFAULT_LIMIT) -> Table:
        """A table of the first ``limit`` rows, with the number of all ``rows``."""
        every = list(rows)
        return cls(every[:limit], len(every))


@dataclass(frozen=True, slots=True)
class About:
    """The facts that head the page. Times are in UTC, or None if they are not known."""

    source: str
    made: dt.datetime
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    title: str = DEFAULT_TITLE
    notes: Sequence[str] = field(default_factory=tuple)


def page(tables: Mapping[str, Table], totals: Row, about: About) -> str:
    """The page. ``tables`` are by name (``sections.SECTIONS``); the section of a missing table says
    that it was not requested, or that it is empty.

    Raises ValueError if no section shows a table, or a row has a key that is no column of its
    table: silently leaving out a figure is worse than no page.
    """
    unknown = set(tables) - {section.table for section in SECTIONS}
    if unknown:
        raise ValueError(f"no section shows {', '.join(sorted(unknown))}")
    data = {
        "about": {
            "source": about.source,
            "made": _plain(about.made),
            "first": _plain(about.first),
            "last": _plain(about.last),
            "notes": list(about.notes),
        },
        "totals": {
            "columns": [asdict(column) for column in TOTALS],
            "row": _cells("totals", totals, TOTALS),
        },
        "sections": [_section(section, tables.get(section.table)) for section in SECTIONS],
    }
    return _assemble(about.title, data)


def _section(section: Section, table: Table | None) -> dict[str, Any]:
    empty = section.absent if table is None and section.absent else section.empty
    table = table or Table((), 0)
    return {
        **asdict(section),
        "empty": empty,
        "rows": [_cells(section.table, row, section.columns) for row in table.rows],
        "total": table.total,
    }


def _cells(table: str, row: Row, columns: Sequence[Column]) -> list[Any]:
    keys = [column.key for column in columns]
    unknown = row.keys() - set(keys)
    if unknown:
        raise ValueError(f"{table} has no column {', '.join(sorted(unknown))}")
    return [_plain(row.get(key)) for key in keys]


def _plain(value: Any) -> Any:
    """A value as JSON has it: times as ISO 8601 in UTC, whole numbers without a fraction, infinity
    and NaN as null. Whole numbers that a script would round become strings of digits. Raises
    TypeError for any other type."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _EXACT else str(value)
        case float() | Decimal():
            if not math.isfinite(value):
                return None
            return _plain(int(value)) if value == int(value) else float(value)
        case dt.datetime():
            # Spark's sessions use UTC, so a time without a zone is in UTC.
            aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
            return aware.astimezone(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        case dt.date():
            return value.isoformat()
        case _:
            raise TypeError(f"a page cannot show {type(value).__name__}")


def _assemble(title: str, data: Mapping[str, Any]) -> str:
    library = _asset(_LIBRARY)
    own = "\n".join(_asset(name) for name in _SCRIPTS)
    parts = {
        "title": html.escape(title),
        "policy": _content_security_policy(library, own),
        "style": _asset("report.css"),
        "data": _json_block(data),
        "library": library,
        "script": own,
    }
    # One pass over the frame, so that no text inside a part is taken for a place in the frame.
    pieces = _asset("report.html").split("{{")
    made = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        made += [parts[name], rest]
    return "".join(made)


def _asset(name: str) -> str:
    # Read through the package, which may be inside a zip file (spark-submit --py-files).
    return resources.files("spark").joinpath("assets", name).read_text(encoding="utf-8")


def _json_block(data: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: no text in it ends the element or begins a tag."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _content_security_policy(*scripts: str) -> str:
    """Only these scripts run, and nothing is fetched. The charts use inline styles, so these are
    allowed."""
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"
