"""The report's page: rows in, one HTML file out that needs nothing else. Knows nothing of Spark.

The rows of all tables are one JSON block in the page, from which its scripts make the tables and
the charts, so their figures cannot differ. The page fetches nothing, and its content security
policy lets it fetch nothing and run no script but its own.
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
"""One row of a table: values by column; a column that is missing is null."""

DEFAULT_LIMIT: Final = 1000
"""Rows of a table that a page shows; more make it slow on a phone."""

DEFAULT_TITLE: Final = "Kafka by namespace"

_EXACT: Final = 2**53
"""The largest number up to which the numbers of a script have every whole one."""

_LIBRARY: Final = "echarts.min.js"
_SCRIPTS: Final = ("format.js", "table.js", "charts.js", "bars.js", "report.js")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to show, best first, and how many there are in all."""

    rows: Sequence[Row]
    total: int

    @classmethod
    def of(cls, rows: Iterable[Row], limit: int = DEFAULT_LIMIT) -> Table:
        """All rows of a table, of which ``limit`` are kept."""
        every = list(rows)
        return cls(every[:limit], len(every))


@dataclass(frozen=True, slots=True)
class About:
    """What the page is about. Times are in UTC; None is not known."""

    source: str
    made: dt.datetime
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    title: str = DEFAULT_TITLE
    notes: Sequence[str] = field(default_factory=tuple)


def page(tables: Mapping[str, Table], totals: Row, about: About) -> str:
    """The page. ``tables`` are by name (``sections.SECTIONS``); of one that is missing the section
    says that nobody asked for it, or that it is empty.

    Raises ValueError for a table that no section shows, and for a row with a key that is no column
    of its table: a figure that is silently left out is worse than no page.
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
    """A value as JSON has it: times as ISO 8601 in UTC, whole numbers whole, what is no number
    null. Whole numbers that a script would round are their digits. Raises TypeError for anything
    else."""
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
            # What has no zone is in UTC: Spark's sessions are set so.
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
    # One pass over the frame, so that nothing inside a part is taken for a place in the frame.
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
    """JSON that can stand in a script element: no name in it ends the element or begins a tag."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _content_security_policy(*scripts: str) -> str:
    """Only these scripts run, and nothing is fetched. Styles are also the charts' own, inline."""
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:"
