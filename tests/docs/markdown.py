"""Reading the project's own Markdown: tables, code blocks, code spans, links and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DECISIONS = DOCS / "decisions"

_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^()\s]+)\)")
_FENCE = "```"
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Block:
    """A code block: its language (empty if it is indented, or gives no language), its text."""

    language: str
    text: str


def read(page: str) -> str:
    """The text of a page, by its path from the project's root."""
    return (ROOT / page).read_text()


def table(text: str, first_column: str) -> list[list[str]]:
    """The rows of the only table whose first column has this head, with unchanged cells."""
    lines = iter(text.splitlines())
    found = [list(_rows(lines)) for line in lines if line.startswith(f"| {first_column} |")]
    assert len(found) == 1, f"{len(found)} tables begin with the column {first_column!r}"
    return found[0]


def code(cell: str) -> str:
    """The text in backticks of a cell that is a single code span."""
    match = _SPAN.fullmatch(cell)
    assert match is not None, f"{cell!r} is not one code span"
    return match[1]


def spans(text: str) -> list[str]:
    """Every code span outside of code blocks."""
    return _SPAN.findall(_prose(text))


def links(text: str) -> list[str]:
    """The target of every link outside of code."""
    return _LINK.findall(_SPAN.sub("", _prose(text)))


def anchors(text: str) -> set[str]:
    """The anchors of all headings, as GitHub makes them."""
    heads = (line.lstrip("#").strip() for line in _prose(text).splitlines() if line[:1] == "#")
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def blocks(text: str) -> list[Block]:
    """The code blocks, fenced or indented, in order."""
    return [block for block in _parts(text) if isinstance(block, Block)]


def _prose(text: str) -> str:
    return "\n".join(part for part in _parts(text) if isinstance(part, str))


def _rows(lines: Iterator[str]) -> Iterator[list[str]]:
    next(lines)  # the line of dashes
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def _parts(text: str) -> Iterator[Block | str]:
    """Code blocks, and the lines between them."""
    lines = iter(text.splitlines())
    held: list[str] = []
    before = ""
    for line in lines:
        if line.startswith(_FENCE):
            inside = iter(lambda: next(lines), _FENCE)
            yield Block(line.removeprefix(_FENCE), "\n".join(inside))
        elif line.startswith(_INDENT) and (held or not before):
            held.append(line.removeprefix(_INDENT))
            continue
        else:
            if held:
                yield Block("", "\n".join(held))
                held = []
            yield line
        before = line
    if held:
        yield Block("", "\n".join(held))
