"""The figures of docs/growth.md: a table and a plot for each sweep, between markers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.growth.curves import Kind, Sweep
from bench.plot import Lines, svg
from bench.report import table
from devkit.paths import PROJECT_ROOT

PAGE: Final = PROJECT_ROOT / "docs" / "growth.md"
LATEST: Final = PROJECT_ROOT / "bench" / "results" / "growth.json"

_VALUES_ARE: Final = "the whole cost, as if a cost that is linear were the size (dashed)"


class PageError(Exception):
    """The page has no place for a sweep."""


def begin_mark(name: str) -> str:
    """The comment before a sweep's figures."""
    return f"<!-- measured by make bench-growth: {name} -->"


def end_mark(name: str) -> str:
    """The comment behind a sweep's figures."""
    return f"<!-- end of what was measured: {name} -->"


def plot_name(name: str) -> str:
    """The file name of a sweep's plot."""
    return f"growth-{name}.svg"


def section(sweep: Sweep, heading: str) -> str:
    """A sweep's table and notes, and the link to its plot; ``heading`` says where and how it was
    measured."""
    sizes = sweep.sizes
    lines = [
        (
            curve.figure.title,
            curve.figure.unit,
            *(_number(curve.values.get(size)) for size in sizes),
            curve.verdict,
        )
        for curve in sweep.curves
    ]
    head = (sweep.counted, "unit", *(f"{size:,}" for size in sizes), "verdict")
    parts = [f"{heading}\n", table(head, lines)]
    parts += [f"{note}\n" for note in sweep.notes]
    parts.append(f"![{_title(sweep)}]({plot_name(sweep.name)})\n")
    return "\n".join(parts)


def plot(sweep: Sweep) -> Lines:
    """The growth of every figure that has a verdict."""
    series = {
        f"{curve.figure.title}: {curve.verdict}": curve.growth
        for curve in sweep.curves
        if curve.figure.kind is not Kind.SHOWN and curve.growth
    }
    return Lines(_title(sweep), sweep.counted, _VALUES_ARE, series)


def worse(sweeps: Sequence[Sweep]) -> str:
    """What grows worse than linear, a line each; or that nothing does."""
    lines = [
        f"{sweep.counted}: {curve.figure.title}: {curve.verdict}"
        for sweep in sweeps
        for curve in sweep.curves
        if curve.worse
    ]
    return "\n".join(lines) or "Nothing grows worse than linear."


def record(sweep: Sweep, heading: str, page: Path | None = None) -> None:
    """Replace a sweep's section in the page (docs/growth.md), and its plot beside the page. Raises
    PageError if the page has no markers for it."""
    page = page or PAGE
    begin, end = begin_mark(sweep.name), end_mark(sweep.name)
    text = page.read_text()
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise PageError(f"{page} has no place for {sweep.name}: {begin} and, behind it, {end}")
    page.with_name(plot_name(sweep.name)).write_text(svg(plot(sweep)))
    page.write_text(f"{before}{begin}\n{section(sweep, heading)}{end}{after}")


def as_json(sweep: Sweep) -> dict[str, Any]:
    """A sweep for programs."""
    return {
        "name": sweep.name,
        "counted": sweep.counted,
        "notes": list(sweep.notes),
        "curves": [
            {
                "figure": curve.figure.title,
                "unit": curve.figure.unit,
                "kind": curve.figure.kind.value,
                "values": dict(curve.values),
                "exponents": [[step.low, step.high, step.exponent] for step in curve.steps],
                "verdict": curve.verdict,
            }
            for curve in sweep.curves
        ],
    }


def _title(sweep: Sweep) -> str:
    return f"How cost grows with {sweep.counted}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
