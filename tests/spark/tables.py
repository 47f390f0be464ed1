"""A table that tests of a file begin with: it is written once, which takes Spark seconds, and each
test changes a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

from spark.table import Table


def copy_of(table: Table, directory: Path) -> Table:
    """A copy of a table and of what lies beside it, with the times of its files.

    Files that the table is made of or is to take in are known by their paths: they stay those of
    the first table.
    """
    path = Path(table.path.removeprefix("file:"))
    shutil.copytree(path.parent, directory, dirs_exist_ok=True)
    return Table(table.spark, str(directory / path.name))
