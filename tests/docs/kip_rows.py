"""The rows of a page that goes through a KIP: its statement, the gateway's behaviour, a test."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.docs import markdown

_BAR = re.compile(r"(?<!\\)\|")


def rows(page: str, kip: str) -> list[tuple[str, list[str]]]:
    """Every row of every table that begins with the column ``kip``, and the heading above it."""
    section, found = "", []
    for line in page.splitlines():
        if line.startswith("#"):
            section = line.lstrip("#").strip()
        elif line.startswith("| ") and not line.startswith((f"| {kip} |", "| ---")):
            cells = _BAR.split(line.strip().strip("|"))
            found.append((section, [cell.strip() for cell in cells]))
    return found


def missing(cells: list[str]) -> str:
    """The fault of a row, or empty if it has its three cells and its test exists."""
    if len(cells) != 3 or not all(cells):
        return f"three cells: {cells}"
    path, colons, name = markdown.code(cells[2]).partition("::")
    if not (markdown.ROOT / path).is_file():
        return f"there is no {path}"
    if not colons:
        return f"{path} is a file, not a test"
    return "" if name in functions(path) else f"{path} has no {name}"


@cache
def functions(path: str) -> set[str]:
    """The tests of a file."""
    nodes = ast.walk(ast.parse((markdown.ROOT / path).read_text()))
    defined = (n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name for node in defined if node.name.startswith("test_")}
