"""Tables that a job writes: whole or not at all, in the place of those of an earlier run.

Spark's own ``overwrite`` removes what is there before it writes, so a job that fails would leave
nothing. Here all tables of a job are written beside their places first, below names that begin
with a dot, which nobody reads. Then each takes its place: in one step where the system can
exchange two directories (a local disk on Linux), else by two renames, and what was there comes
back if the second one fails, or with the next run if a crash came between them.
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
"""After this time what a killed job left behind is removed: until then it may be at work."""

# As RFC 4180 has it, which every spreadsheet reads: a quote in a value is doubled, and spaces at
# its ends belong to it.
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
    """A table that cannot be put in its place; the text is one line for the user."""


class Output:
    """A directory for tables, each a directory in it, and their format (:data:`FORMATS`)."""

    def __init__(self, spark: SparkSession, directory: str, kind: str) -> None:
        self._files = FileSystem(spark)
        self._directory = self._files.qualified(directory).rstrip("/")
        self._kind = kind

    def write(
        self, tables: Mapping[str, DataFrame], writing: Callable[[str], None] = lambda _name: None
    ) -> None:
        """Write the tables, and only when all are there put them in the place of earlier ones.

        ``writing`` is called with each name before its table is made.
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
        """A place for each table, removed again whatever happens."""
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
        """Put what was written at ``place`` where a table is, and remove what was there."""
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
        """A table whose job was killed between two renames."""
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
    """Exchange two directories of a local disk in one step; False where that cannot be done."""
    paths = [_local(place), _local(target)]
    if None in paths:
        return False
    try:
        # Of Linux, since glibc 2.28; elsewhere there is none, or the file system cannot.
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    first, second = (os.fsencode(path or "") for path in paths)
    return bool(rename(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE) == 0)


def _local(path: str) -> str | None:
    """The path on a local disk; None if it is on none."""
    scheme, colon, rest = path.partition(":")
    return f"/{rest.lstrip('/')}" if colon and scheme == "file" else None


def _flat(table: DataFrame) -> DataFrame:
    """With what CSV has no form for, such as lists, as JSON."""
    nested = (ArrayType, MapType, StructType)
    return table.select(
        *(
            F.to_json(field.name).alias(field.name)
            if isinstance(field.dataType, nested)
            else F.col(field.name)
            for field in table.schema.fields
        )
    )
