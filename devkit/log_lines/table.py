"""Every line that the gateway logs, and the table of them in docs/operations.md."""

from __future__ import annotations

from itertools import chain
from typing import Final

from devkit.log_lines import (
    catalog,
    changes,
    clients,
    clusters,
    logins,
    policies,
    processes,
    sinks,
)

ALL: Final = tuple(
    chain(
        processes.LINES,
        clients.LINES,
        logins.LINES,
        clusters.LINES,
        catalog.LINES,
        changes.LINES,
        policies.LINES,
        sinks.LINES,
    )
)

_HEAD: Final = "| line | level | what to do |\n| --- | --- | --- |\n"


def table() -> str:
    """The table as Markdown, with a newline at its end."""
    rows = (f"| `{one.line}` | {one.level} | {one.meaning} |\n" for one in ALL)
    return _HEAD + "".join(rows)


def with_table(page: str) -> str:
    """``page`` with its table replaced by the present table."""
    before, head, rest = page.partition(_HEAD)
    if not head:
        raise ValueError("The page has no table of log lines.")
    return before + table() + rest[rest.index("\n\n") + 1 :]
