"""Rows of files that are still being written.

A stream reads a file once, but an open file grows. So the lines of open files are a separate part
of the table, which each read replaces as a whole. The version of the table that adds the lines of a
finished file removes its lines from that part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark import records, sources
from spark.filesystem import FileSystem
from spark.table import REASON, SOURCE, DataFile, OpenFiles, Snapshot, Table
from spark.writing import write_rows

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a table that holds the rows of open files; empty without open files."""

    files: OpenFiles | None = None
    data: tuple[DataFile, ...] = ()

    @property
    def sizes(self) -> Mapping[str, int]:
        """The open files' sizes in bytes when they were read, by path."""
        return self.files.sources if self.files else {}


NOTHING: Final = Part()


def part_of(snapshot: Snapshot, stream: str) -> Part:
    """The part of one version of the table that holds a stream's open files."""
    files = snapshot.open.get(stream)
    if files is None:
        return NOTHING
    return Part(files, tuple(file for file in snapshot.files if file.commit == files.commit))


def rows_of(table: Table, part: Part, wanted: Collection[str]) -> DataFrame:
    """The rows of some of the files."""
    return table.read(part.data).where(F.col(SOURCE).isin(*wanted))


@contextmanager
def still_in_time(
    table: Table, part: Part, rows: DataFrame, late_before_ms: int | None
) -> Iterator[DataFrame]:
    """Yields rows with ``late`` false for records that the table has as not late, because the bills
    of their day include them. Records are matched by id."""
    if late_before_ms is None or not part.data:
        yield rows
        return
    counted = table.read(part.data).where(F.col(REASON).isNull() & ~F.col("late"))
    # Nearly always empty: only records that have become older than the watermark since they were
    # read.
    passed = counted.where(F.col("time_ms") < late_before_ms).select("id").distinct()
    if passed.isEmpty():
        yield rows
        return
    # Stored: Spark takes minutes to plan a join of rows that were parsed.
    stored = rows.persist(StorageLevel.DISK_ONLY)
    known = F.broadcast(passed.withColumn("known", F.lit(True)))
    late = F.col("late") & F.col("known").isNull()
    try:
        yield stored.join(known, "id", "left").withColumn("late", late).select(*rows.columns)
    finally:
        stored.unpersist()


def without(table: Table, part: Part, finished: Collection[str]) -> Part | None:
    """The part without the files in ``finished``, or None if it has no row of them."""
    gone = {sources.unfinished(path) for path in finished}
    if gone.isdisjoint(part.sizes):
        return None
    left = {path: size for path, size in part.sizes.items() if path not in gone}
    return _written(table, rows_of(table, part, left), left)


def refresh(table: Table, stream: str, source: str, late_before_ms: int | None) -> bool:
    """Read the files that are being written now, and replace their rows in the table.

    Rows of files that are no longer being written, and are not in a batch yet, stay. If a batch or
    a compression is faster, the read is repeated; if that happens every time, the table is
    unchanged and the result is False.
    """
    for _ in range(_TRIES):
        base = table.snapshot()
        # The snapshot comes first, because a file that is in a batch has its compressed form by
        # now.
        now = being_written(table.files, source)
        part = part_of(base, stream)
        if {**part.sizes, **now} == part.sizes:
            return True
        try:
            made = _read(table, part, now, late_before_ms)
        except (Py4JJavaError, PySparkException):
            if all(table.files.exists(path) for path in now):
                raise
            continue
        # Names are not reused, so a file that exists now existed while it was read.
        if not all(table.files.exists(path) for path in now):
            continue

        def change(newest: Snapshot, base: Snapshot = base, made: Part = made) -> Snapshot | None:
            same_batch = newest.streams.get(stream) == base.streams.get(stream)
            if not same_batch or newest.open.get(stream) != base.open.get(stream):
                return None
            return newest.with_open(stream, made.files, made.data)

        if table.commit(change):
            return True
    return False


def _read(table: Table, part: Part, now: Mapping[str, int], late_before_ms: int | None) -> Part:
    """The rows of the files that are being written ``now``, and the old rows of other files."""
    old = {path: size for path, size in part.sizes.items() if path not in now}
    read = _lines(table, sorted(now), late_before_ms)
    with still_in_time(table, part, read, late_before_ms) as rows:
        if old:
            rows = rows.unionByName(rows_of(table, part, old).select(*rows.columns))
        return _written(table, rows, {**old, **now})


def being_written(files: FileSystem, source: str) -> dict[str, int]:
    """The plain files at a path that are not compressed yet: sizes in bytes by path."""
    found = {entry.path: entry.size for entry in sources.entries(files, source)}
    return {
        path: size
        for path, size in found.items()
        if path.endswith(sources.PLAIN) and size and f"{path}.gz" not in found
    }


def _lines(table: Table, paths: Collection[str], late_before_ms: int | None) -> DataFrame:
    """The lines of plain files as rows, each with its file as it is spelled in the snapshot."""
    each = (
        sources.read_files(table.spark, [path], missing=True).withColumn("source", F.lit(path))
        for path in paths
    )
    empty = sources.read_files(table.spark, [])
    return records.parse(reduce(DataFrame.unionByName, each, empty), late_before_ms=late_before_ms)


def _written(table: Table, rows: DataFrame, files: Mapping[str, int]) -> Part:
    if not files:
        return Part()
    written = write_rows(table, rows)
    if not written.files:
        return Part(OpenFiles("", files, written.counts))
    return Part(OpenFiles(written.files[0].commit, files, written.counts), written.files)
