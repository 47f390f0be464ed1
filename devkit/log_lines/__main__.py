"""``make log-lines``: writes the table of log lines into docs/operations.md."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.table import with_table
from devkit.paths import PROJECT_ROOT

_PAGE: Final = PROJECT_ROOT / "docs" / "operations.md"


def main() -> None:
    """Write the page, if its table has changed."""
    page = _PAGE.read_text()
    written = with_table(page)
    if written != page:
        _PAGE.write_text(written)


if __name__ == "__main__":
    main()
