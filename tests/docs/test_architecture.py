"""ARCHITECTURE.md and docs/decisions: their size, their index, and that all names in them exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import markdown, walk

PAGE = markdown.read("ARCHITECTURE.md")
RECORDS = sorted(path for path in markdown.DECISIONS.glob("*.md") if path.name != "README.md")
PAGES = [markdown.ROOT / "ARCHITECTURE.md", *RECORDS]
ROOTS = [markdown.ROOT / root for root in (".", "gateway", "tests", "spark")]

MOST_BYTES = 20_480
MOST_LINES = 40

_PATH = re.compile(r"[a-z_/]+(\.py|/)")
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*(\(\))?")
"""A name of the code, such as `ConnectionState.flow_of`, or of a package or topic."""

_SOURCES = ("gateway", "protocol", "spark", "devkit", "bench", "dashboards", "tests")


def test_it_stays_short() -> None:
    assert len(PAGE.encode()) <= MOST_BYTES


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_paths_exist(page: Path) -> None:
    paths = [span for span in markdown.spans(page.read_text()) if _PATH.fullmatch(span)]
    assert [path for path in paths if not any((root / path).exists() for root in ROOTS)] == []


def test_names_exist() -> None:
    """Each part of a dotted name is a word of the sources, so that a renamed function is found."""
    words: set[str] = set()
    for source in _SOURCES:
        for path in (markdown.ROOT / source).rglob("*.py"):
            words.update(re.findall(r"\w+", path.read_text()))
    cited = {span for page in PAGES for span in markdown.spans(page.read_text())}
    names = sorted(span for span in cited if _NAME.fullmatch(span))
    assert len(names) > 50
    assert [name for name in names if not words.issuperset(re.findall(r"\w+", name))] == []


def test_every_decision_is_in_the_index_once() -> None:
    index = markdown.links((markdown.DECISIONS / "README.md").read_text())
    assert sorted(link for link in index if "/" not in link) == [path.name for path in RECORDS]


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_decision_is_dated_and_one_page(record: Path) -> None:
    lines = record.read_text().splitlines()
    title, date = lines[0].removeprefix("# "), re.match(r"Date: (\d{4}-\d\d-\d\d)\b", lines[2])
    assert date is not None
    assert len(lines) <= MOST_LINES
    assert any(line.startswith("**Decision.**") for line in lines)
    entry = f"- [{title}]({record.name}) ({date[1]})"
    assert entry in (markdown.DECISIONS / "README.md").read_text().splitlines()


def test_the_rooms_are_those_of_the_product() -> None:
    rooms = [row[0] for row in markdown.table(PAGE, "room of `gateway/`")]
    named = [span.rstrip("/") for room in rooms for span in markdown.spans(room)]
    folders = [path.name for path in (markdown.ROOT / "gateway").iterdir() if _is_package(path)]
    assert len(folders) > 20
    assert sorted(named) == sorted(folders)


def test_what_a_produce_passes_is_what_the_page_says() -> None:
    """``make walk`` writes it."""
    assert walk.with_table(PAGE) == PAGE


def test_a_produce_passes_no_more_files_than_this() -> None:
    """It passed 22 in November 2026, and 23 since what reads a header stands with what streams:
    each one more is a file that a newcomer has to know."""
    assert len(walk.passed()) <= 23


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").is_file()
