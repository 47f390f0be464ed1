"""A table with which the tests of a file begin: it is written once, which takes Spark seconds, and
each test changes a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

from spark.table import Table


def copy_of(table: Table, directory: Path) -> Table:
    """A copy of a table and of the files beside it, with their times.

    The table's files, and files it is to take in, are known by their paths, which stay the first
    table's.
    """
    path = Path(table.path.removeprefix("file:"))
    shutil.copytree(path.parent, directory, dirs_exist_ok=True)
    return Table(table.spark, str(directory / path.name))
