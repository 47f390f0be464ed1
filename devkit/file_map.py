"""``make map``: prints every module of the product with the first sentence of its docstring.

python -m devkit.file_map [FOLDER ...]   (gateway, protocol and spark, if no folder is given)
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT

FOLDERS: Final = ("gateway", "protocol", "spark")


def main(folders: list[str]) -> int:
    """Print the map of the folders, by their paths from the project's root."""
    for folder in folders or FOLDERS:
        if not (PROJECT_ROOT / folder).is_dir():
            print(f"file_map: no folder {folder}; give one such as gateway/rules", file=sys.stderr)
            return 2
        for line in lines_of(PROJECT_ROOT / folder):
            print(line)
    return 0


def lines_of(folder: Path) -> Iterator[str]:
    """A line for each module below ``folder``, with each package before its modules."""
    for path in sorted(folder.rglob("*.py"), key=_order):
        shown = path.parent if path.name == "__init__.py" else path
        name = shown.relative_to(PROJECT_ROOT).as_posix() + ("/" if shown.is_dir() else "")
        yield f"{name:<48} {purpose_of(path)}"


def purpose_of(path: Path) -> str:
    """The first sentence of a module's docstring on a single line; empty if there is no
    docstring."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
    return text.split(". ")[0].removesuffix(".")


def _order(path: Path) -> tuple[str, bool, str]:
    return path.parent.as_posix(), path.name != "__init__.py", path.name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
