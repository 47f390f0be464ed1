"""ARCHITECTURE.md names modules and folders that exist, and every folder of the product."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs import markdown

PAGE = markdown.read("ARCHITECTURE.md")
ROOTS = [markdown.ROOT / root for root in (".", "gateway", "tests", "spark")]


def test_files_exist() -> None:
    files = {
        span
        for span in markdown.spans(PAGE)
        if re.fullmatch(r"[a-z_]+(/[a-z_]+)*/[a-z_]+\.py", span)
    }
    assert len(files) > 20
    assert [one for one in sorted(files) if not any((root / one).is_file() for root in ROOTS)] == []


def test_the_file_map_has_every_folder() -> None:
    _, _, rest = PAGE.partition("## File map")
    spans = set(markdown.spans(rest.partition("## Spark")[0]))
    folders = [path.name for path in (markdown.ROOT / "gateway").iterdir() if _is_package(path)]
    assert len(folders) > 20
    assert [name for name in sorted(folders) if f"{name}/" not in spans] == []


def test_a_produce_request_takes_ten_files_at_most() -> None:
    rows = markdown.table(PAGE, "file")
    assert 0 < len(rows) <= 10
    assert all((markdown.ROOT / "gateway" / markdown.code(row[0])).is_file() for row in rows)


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").is_file()
