"""bench.growth.page: the figures of docs/growth.md."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench.growth.__main__ import SWEEPS
from bench.growth.curves import Curve, Figure, Kind, Sweep
from bench.growth.page import (
    PAGE,
    PageError,
    as_json,
    begin_mark,
    end_mark,
    plot,
    record,
    section,
    worse,
)
from bench.plot import svg

START = Figure("a start", "s", Kind.TOTAL)
MEMORY = Figure("memory of each", "KiB", Kind.EACH)
RATE = Figure("served", "1/s", Kind.SHOWN)
HEADING = "2026-12-01, commit abc. One short round."


def sweep(name: str = "topics", last: float = 4_000.0) -> Sweep:
    """A start of which the last step is as bad as it is wanted, memory that is linear."""
    curves = [
        Curve(START, {10: 0.5, 100: 5.0, 1_000: last}),
        Curve(MEMORY, {10: 4.25, 100: 4.0}),
        Curve(RATE, {10: 120.0, 1_000: 90.0}),
    ]
    return Sweep(name, "topics", curves, ["The rest was left out."])


def cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_the_table_has_a_column_for_each_size_and_the_verdict() -> None:
    text = section(sweep(), HEADING)
    head, _, *rows = cells(text)
    assert head == ["topics", "unit", "10", "100", "1,000", "verdict"]
    assert rows == [
        ["a start", "s", "0.5", "5", "4,000", "worse than linear: 100 to 1,000 (2.90)"],
        ["memory of each", "KiB", "4.25", "4", "", "linear (0.97)"],
        ["served", "1/s", "120", "", "90", ""],
    ]
    assert text.startswith(HEADING)
    assert "The rest was left out." in text
    assert "(growth-topics.svg)" in text


def test_what_is_worse_is_told_by_name() -> None:
    told = "topics: a start: worse than linear: 100 to 1,000 (2.90)"
    assert worse([sweep("one", 50.0), sweep("two")]) == told
    assert worse([sweep("one", 50.0)]) == "Nothing grows worse than linear."


def test_recorded_figures_take_the_place_of_the_last(tmp_path: Path) -> None:
    page = tmp_path / "growth.md"
    names = ("topics", "acls")
    places = {name: f"{begin_mark(name)}\nold\n{end_mark(name)}" for name in names}
    page.write_text(f"before\n{places['topics']}\nbetween\n{places['acls']}\nafter\n")
    for last in (50.0, 4_000.0):
        record(sweep("topics", last), HEADING, page)
    written = f"{begin_mark('topics')}\n{section(sweep('topics'), HEADING)}{end_mark('topics')}"
    assert page.read_text() == f"before\n{written}\nbetween\n{places['acls']}\nafter\n"
    ElementTree.parse(tmp_path / "growth-topics.svg")  # noqa: S314
    assert not (tmp_path / "growth-acls.svg").exists()


def test_a_page_without_a_place_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "growth.md"
    page.write_text(f"{begin_mark('topics')}\nthe end is missing\n{end_mark('acls')}\n")
    before = page.read_text()
    with pytest.raises(PageError, match="no place for topics"):
        record(sweep(), HEADING, page)
    assert page.read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["growth.md"]


def test_the_page_has_a_place_for_every_sweep() -> None:
    text = PAGE.read_text()
    marks = [mark for name in SWEEPS for mark in (begin_mark(name), end_mark(name))]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.count("<!-- measured by make bench-growth") == len(SWEEPS)


def test_the_plot_has_the_growth_of_what_is_judged() -> None:
    lines = plot(sweep())
    assert list(lines.series) == [
        "a start: worse than linear: 100 to 1,000 (2.90)",
        "memory of each: linear (0.97)",
    ]
    root = ElementTree.fromstring(svg(lines))  # noqa: S314
    titles = [each.text or "" for each in root.iter() if each.tag.endswith("title")]
    assert [title.rpartition(", ")[2] for title in titles] == [
        "10: 10",
        "100: 100",
        "1,000: 8e+04",
        "10: 10",
        "100: 94.1",
    ]


def test_programs_get_every_exponent() -> None:
    found = json.loads(json.dumps(as_json(sweep())))
    start = found["curves"][0]
    assert start["values"] == {"10": 0.5, "100": 5.0, "1000": 4_000.0}
    assert start["exponents"] == [
        [10, 100, pytest.approx(1.0)],
        [100, 1_000, pytest.approx(2.903, abs=1e-3)],
    ]
    assert found["notes"] == ["The rest was left out."]
