"""Writes a job's tables completely or not at all, and replaces those of an earlier run.

Spark's own ``overwrite`` removes the old table before it writes, so nothing would be left if the
job fails. Here a job first writes all tables to directories whose names begin with a dot, which
readers ignore. Then each is moved: in a single step if the system can exchange two directories (a
local disk on Linux), else by two renames; the old table is restored if the second rename fails, or
by the next run after a crash between the two.
"""

from __future__ import annotations

import ctypes
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from spark.filesystem import FileSystem

FORMATS: Final = ("parquet", "json", "csv")

LEFT_BEHIND_MS: Final = 86_400_000
"""Temporary directories of killed jobs are removed after this time: younger directories may be in
use."""

# RFC 4180, which every spreadsheet reads: a quote in a value is doubled, and spaces at its ends
# belong to it.
_CSV: Final = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}

_BEFORE: Final = "before"
_RENAME_EXCHANGE: Final = 2
_AT_FDCWD: Final = -100


class OutputError(Exception):
    """A table cannot be moved to its place; the text is one line for the user."""


class Output:
    """A directory for tables, with a directory for each, and the tables' format
    (:data:`FORMATS`)."""

    def __init__(self, spark: SparkSession, directory: str, kind: str) -> None:
        self._files = FileSystem(spark)
        self._directory = self._files.qualified(directory).rstrip("/")
        self._kind = kind

    def write(
        self, tables: Mapping[str, DataFrame], writing: Callable[[str], None] = lambda _name: None
    ) -> None:
        """Write the tables, and replace the earlier ones when all are complete.

        ``writing`` is called with each name before its table is written.
        """

        with self._beside(tables) as places:
            for name, table in tables.items():
                writing(name)
                flat = _flat(table) if self._kind == "csv" else table
                options = _CSV if self._kind == "csv" else {}
                flat.write.format(self._kind).options(**options).save(places[name])
            for name, place in places.items():
                self._switch(name, place)

    @contextmanager
    def _beside(self, tables: Mapping[str, DataFrame]) -> Iterator[Mapping[str, str]]:
        """A temporary directory for each table, removed in any case."""

        places = {name: f"{self._directory}/.{name}.{uuid.uuid4().hex}" for name in tables}
        for name in tables:
            self._bring_back(name)
        self._remove_left_behind(tables)
        try:
            yield places
        finally:
            for place in places.values():
                self._files.delete(place)

    def _switch(self, name: str, place: str) -> None:
        """Move the table written at ``place`` to its name, and remove the earlier one."""

        target, before = f"{self._directory}/{name}", self._before(name)
        if not self._files.exists(target):
            self._move(place, target)
        elif not _exchanged(place, target):
            self._move(target, before)
            try:
                self._move(place, target)
            except BaseException:
                self._move(before, target)
                raise
            self._files.delete(before)

    def _move(self, source: str, target: str) -> None:
        if not self._files.rename(source, target):
            raise OutputError(f"{target}: cannot be written: {source} cannot be moved there")

    def _bring_back(self, name: str) -> None:
        """Restore a table whose job was killed between two renames."""

        before, target = self._before(name), f"{self._directory}/{name}"
        if not self._files.exists(before):
            return
        if self._files.exists(target):
            self._files.delete(before)
        else:
            self._move(before, target)

    def _remove_left_behind(self, tables: Mapping[str, DataFrame]) -> None:
        oldest = time.time() * 1000 - LEFT_BEHIND_MS
        starts = tuple(f".{name}." for name in tables)
        for entry in self._files.directories(self._directory):
            if entry.name.startswith(starts) and entry.modified_ms < oldest:
                self._files.delete(entry.path)

    def _before(self, name: str) -> str:
        return f"{self._directory}/.{name}.{_BEFORE}"


def _exchanged(place: str, target: str) -> bool:
    """Exchange two directories of a local disk in one step; returns False if that is not
    possible."""
    paths = [_local(place), _local(target)]
    if None in paths:
        return False
    try:
        # Linux has renameat2 since glibc 2.28; other systems, and some file systems, do not.
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    first, second = (os.fsencode(path or "") for path in paths)
    return bool(rename(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE) == 0)


def _local(path: str) -> str | None:
    """The path on a local disk, or None if it is on another file system."""
    scheme, colon, rest = path.partition(":")
    return f"/{rest.lstrip('/')}" if colon and scheme == "file" else None


def _flat(table: DataFrame) -> DataFrame:
    """The table with columns that CSV cannot represent, such as lists, as JSON."""
    nested = (ArrayType, MapType, StructType)
    return table.select(
        *(
            F.to_json(field.name).alias(field.name)
            if isinstance(field.dataType, nested)
            else F.col(field.name)
            for field in table.schema.fields
        )
    )
