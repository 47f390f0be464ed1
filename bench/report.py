"""Results for people (an aligned table in Markdown) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.bars import Bar, Relation
from bench.codec import CodecRow
from bench.machine import Provenance
from bench.results import Row, Samples
from bench.stats import Summary

_HERE: Final = Path(__file__).parent
LATEST: Final = _HERE / "results" / "latest.json"
RECORD: Final = _HERE / "RESULTS.md"

# (load or "", metric) -> what the metric is called; "" is any load. What has no unit swings too
# much on small machines to be read beside what gates: it is in the JSON only.
_UNITS: Final[Mapping[tuple[str, str], str]] = {
    ("bulk produce", "cpu"): "CPU s/GiB",
    ("bulk fetch", "cpu"): "CPU s/GiB",
    ("bulk produce", "rate"): "MB/s",
    ("bulk fetch", "rate"): "MB/s",
    ("pipelined produce", "cpu"): "CPU us/request",
    ("pipelined fetch", "cpu"): "CPU us/request",
    ("pipelined produce", "rate"): "requests/s",
    ("pipelined fetch", "rate"): "requests/s",
    ("TLS handshakes", "cpu"): "CPU us/connection",
    ("closed-loop produce", "p50"): "p50 us",
    ("closed-loop fetch", "p50"): "p50 us",
    ("paced produce", "p50"): "p50 us",
    ("paced fetch", "p50"): "p50 us",
    ("", "kib"): "KiB/connection",
    ("", "rss"): "RSS MiB",
}

_HEAD: Final = ("load", "metric", "target", "median (low to high)", "compared", "bar", "verdict")
_CODEC_HEAD: Final = ("message", "bytes", "walk, splice ns", "kio ns", "kio / walker")
_NUMERIC_SIGNS: Final = frozenset("0123456789")


def wire_table(rows: Sequence[Row], titles: Mapping[str, str]) -> str:
    """The end-to-end table; a target's rows of one load and metric stand together."""
    lines: list[tuple[str, ...]] = []
    for row in sorted(rows, key=_place(rows)):
        unit = unit_of(row.load, row.metric)
        if unit is not None:
            lines.append(
                (
                    row.load,
                    unit,
                    titles[row.target],
                    _summary(row.value),
                    _relative(row),
                    _bar(row.bar, row.relation),
                    verdict(row),
                )
            )
    return table(_HEAD, lines)


def codec_table(rows: Sequence[CodecRow]) -> str:
    """The codec table."""
    lines = [
        (
            row.message,
            f"{row.size:,}",
            f"{row.walk_ns:,.0f}",
            f"{row.kio_ns:,.0f}",
            f"{row.kio_ns / row.walk_ns:.1f}",
        )
        for row in rows
    ]
    return table(_CODEC_HEAD, lines)


def unit_of(load: str, metric: str) -> str | None:
    """The unit of a metric in the table; None if the table does not show it."""
    return _UNITS.get((load, metric), _UNITS.get(("", metric)))


def verdict(row: Row) -> str:
    """A sentence: whether the bar is reached, and by how much of it."""
    if row.bar is None or row.judged is None:
        return ""
    margin = abs(row.judged - row.bar.limit) / row.bar.limit
    return f"pass by {margin:.0%}" if row.passed else f"MISS by {margin:.0%}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns; columns of numbers are aligned to the right."""
    columns = list(zip(head, *lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(not cell or cell[0] in _NUMERIC_SIGNS for cell in col[1:]) for col in columns]
    marks = [
        "-" * (width - 1) + (":" if r else "-") for width, r in zip(widths, right, strict=True)
    ]

    def line(cells: Sequence[str]) -> str:
        placed = zip(cells, widths, right, strict=True)
        padded = [cell.rjust(width) if r else cell.ljust(width) for cell, width, r in placed]
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(head), line(marks), *map(line, lines)]) + "\n"


def as_json(
    where: Provenance,
    codec: Sequence[CodecRow],
    samples: Samples,
    rows: Sequence[Row],
    versions: Mapping[str, tuple[int, int]],
    catalog: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Everything, with every round's value; ``catalog`` is what ``catalog_json`` makes."""
    return {
        "provenance": {name: getattr(where, name) for name in where.__slots__},
        "codec": [{name: getattr(row, name) for name in row.__slots__} for row in codec],
        "catalog": list(catalog),
        "versions": {
            name: dict(zip(("produce", "fetch"), v, strict=True)) for name, v in versions.items()
        },
        "wire": [
            {
                "load": row.load,
                "target": row.target,
                "metric": row.metric,
                "unit": unit_of(row.load, row.metric),
                "rounds": list(samples.rounds(row.load, row.target, row.metric).values()),
                "median": row.value.median,
                "relation": row.relation.value if row.relation else None,
                "relative": row.relative.median if row.relative else None,
                "bar": row.bar.limit if row.bar else None,
                "passed": row.passed,
            }
            for row in rows
        ],
    }


def write_latest(result: Mapping[str, Any]) -> Path:
    """Write the JSON of the newest run; returns where."""
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_text(json.dumps(result, indent=1) + "\n")
    return LATEST


def append_record(where: Provenance, text: str) -> Path:
    """Append a run to the committed record; returns where."""
    with RECORD.open("a") as record:
        record.write(f"\n## {where.line}\n\n{text}")
    return RECORD


def _place(rows: Sequence[Row]) -> Any:
    """Loads in the order of measuring, their metrics, and then the targets."""
    loads = {row.load: place for place, row in reversed(list(enumerate(rows)))}
    metrics = {key: place for place, key in enumerate(_metric_keys(rows))}
    return lambda row: (loads[row.load], metrics[row.load, row.metric])


def _metric_keys(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    yield from dict.fromkeys((row.load, row.metric) for row in rows)


def _summary(summary: Summary) -> str:
    if summary.rounds == 1:
        return _number(summary.median)
    return f"{_number(summary.median)} ({_number(summary.low)} to {_number(summary.high)})"


def _relative(row: Row) -> str:
    if row.relative is None or row.relation is None:
        return ""
    form = "{:.2f}" if row.relation is Relation.TIMES_HAPROXY else "{:+.0f}"
    relative = row.relative
    low, high = form.format(relative.low), form.format(relative.high)
    spread = f" ({low} to {high})" if low != high else ""
    return f"{form.format(relative.median)}{spread} {row.relation.value}"


def _bar(bar: Bar | None, relation: Relation | None) -> str:
    if bar is None:
        return ""
    if not bar.relative:
        return f"<= {bar.limit:g}"
    assert relation is not None
    return f"<= {bar.limit:g} {relation.value}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
