"""What the table has of files that are still being written.

A stream reads a file once, and a file that grows is another one a minute later. So the lines of
open files are a part of the table that each look replaces as a whole, and a file's lines leave it
in the very version in which the finished file's lines come in.
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
    """The part of a table that holds open files, and its data; nothing if there are none."""

    files: OpenFiles | None = None
    data: tuple[DataFile, ...] = ()

    @property
    def sizes(self) -> Mapping[str, int]:
        """The files, and how large they were when they were read."""
        return self.files.sources if self.files else {}


NOTHING: Final = Part()


def part_of(snapshot: Snapshot, stream: str) -> Part:
    """What a version of the table has of a stream's open files."""
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
    """Rows with those not late that the table has as not late: who has billed their day has
    counted them. An id is one record's own."""
    if late_before_ms is None or not part.data:
        yield rows
        return
    counted = table.read(part.data).where(F.col(REASON).isNull() & ~F.col("late"))
    # Nearly always there are none: those that the watermark has passed since.
    passed = counted.where(F.col("time_ms") < late_before_ms).select("id").distinct()
    if passed.isEmpty():
        yield rows
        return
    # Stored, since Spark takes minutes to plan a join of what was parsed.
    stored = rows.persist(StorageLevel.DISK_ONLY)
    known = F.broadcast(passed.withColumn("known", F.lit(True)))
    late = F.col("late") & F.col("known").isNull()
    try:
        yield stored.join(known, "id", "left").withColumn("late", late).select(*rows.columns)
    finally:
        stored.unpersist()


def without(table: Table, part: Part, finished: Collection[str]) -> Part | None:
    """What stays of the open files once those in ``finished`` are; None if nothing changes."""
    gone = {sources.unfinished(path) for path in finished}
    if gone.isdisjoint(part.sizes):
        return None
    left = {path: size for path, size in part.sizes.items() if path not in gone}
    return _written(table, rows_of(table, part, left), left)


def refresh(table: Table, stream: str, source: str, late_before_ms: int | None) -> bool:
    """Look at the files that are being written now, and replace what the table has of them.

    What is no longer being written and has not come with a batch stays as it was. A look that a
    batch or a compressed file overtakes is thrown away and made again; False if that was in vain
    every time, and the table stays as it was until the next look.
    """
    for _ in range(_TRIES):
        base = table.snapshot()
        # The snapshot comes first: a file that a batch has taken has its compressed form by now.
        now = being_written(table.files, source)
        part = part_of(base, stream)
        if {**part.sizes, **now} == part.sizes:
            return True
        try:
            made = _look(table, part, now, late_before_ms)
        except (Py4JJavaError, PySparkException):
            if all(table.files.exists(path) for path in now):
                raise
            continue
        # What is there now was there while it was read: names do not come again.
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


def _look(table: Table, part: Part, now: Mapping[str, int], late_before_ms: int | None) -> Part:
    """The lines of the files that are being written ``now``, and of others what there was."""
    old = {path: size for path, size in part.sizes.items() if path not in now}
    read = _lines(table, sorted(now), late_before_ms)
    with still_in_time(table, part, read, late_before_ms) as rows:
        if old:
            rows = rows.unionByName(rows_of(table, part, old).select(*rows.columns))
        return _written(table, rows, {**old, **now})


def being_written(files: FileSystem, source: str) -> dict[str, int]:
    """The plain files at a path that are not compressed yet, and their sizes in bytes."""
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
