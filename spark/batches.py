"""Writes one batch of a stream and commits it together with its number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark import open_files, records, sources
from spark.local_rows import local_rows
from spark.open_files import Part
from spark.records import MISSING_FILE, TORN_FILE
from spark.table import Counts, Snapshot, Stream, Table
from spark.writing import Written, write_rows

_TRIES: Final = 5
_NOTE: Final = "line string, source string, problem string"
_REMOVED: Final = "removed before it was read"


class OvertakenError(Exception):
    """Files of a batch have changed since they were read: the batch has to be written again."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be read to its end, which gets a quarantined row of its own."""

    source: str
    reason: str
    text: str


def is_done(snapshot: Snapshot, stream: str, number: int) -> bool:
    """Whether the table has this batch already."""
    known = snapshot.streams.get(stream)
    return known is not None and known.batch >= number


def take_files(
    table: Table, stream: str, number: int, paths: Sequence[str], late_before_ms: int | None
) -> Counts | None:
    """Write a batch of finished files, and commit it. Returns its counts, or None if the table
    has the batch already."""
    while True:
        base = table.snapshot()
        if is_done(base, stream, number):
            return None
        part = open_files.part_of(base, stream)
        written = write_files(table, paths, late_before_ms, part)
        try:
            return written.counts if commit(table, stream, number, written, paths) else None
        except OvertakenError:
            continue


def write_files(
    table: Table, paths: Sequence[str], late_before_ms: int | None, part: Part = open_files.NOTHING
) -> Written:
    """Write the lines of finished files. A torn or missing file gets a quarantined row. If ``part``
    has more lines of it, read while it was open, the table keeps them.

    Raises Spark's error unless a file's content caused it.
    """
    torn: dict[str, str] = {}
    for left in reversed(range(_TRIES)):
        sizes = {path: table.files.size(path) for path in paths}
        there = [path for path, size in sizes.items() if size is not None]
        # Spark silently ignores empty files.
        torn |= sources.torn_files(table.files, (path for path in there if not sizes[path]))
        problems = [
            *(Problem(p, MISSING_FILE, _REMOVED) for p in paths if sizes[p] is None),
            *(Problem(p, TORN_FILE, torn[p]) for p in there if p in torn),
        ]
        try:
            return _write(table, there, problems, late_before_ms, part)
        except (Py4JJavaError, PySparkException):
            # Spark's error messages differ between versions, so they cannot tell which file it was.
            found = sources.torn_files(table.files, there)
            known = found.keys() <= torn.keys()
            if not left or (known and not sources.missing_files(table.files, there)):
                raise
            torn |= found
    raise AssertionError("the last try returns or raises")


def _write(
    table: Table,
    there: Sequence[str],
    problems: Sequence[Problem],
    late_before_ms: int | None,
    part: Part,
) -> Written:
    torn = [one.source for one in problems if one.reason == TORN_FILE]
    kept = _kept(table, part, problems)
    rest = [path for path in torn if sources.unfinished(path) not in kept]
    lines = _lines(table, [path for path in there if path not in torn], rest, problems)
    parsed = records.parse(lines, late_before_ms=late_before_ms)
    with open_files.still_in_time(table, part, parsed, late_before_ms) as rows:
        if kept:
            rows = rows.unionByName(open_files.rows_of(table, part, kept).select(*rows.columns))
        return replace(write_rows(table, rows), kept=kept)


def _kept(table: Table, part: Part, problems: Sequence[Problem]) -> dict[str, int]:
    """The open files of which the table has more lines than can be read now, and their sizes."""
    found = {}
    for one in problems:
        name = sources.unfinished(one.source)
        if name in part.sizes:
            torn = [one.source] if one.reason == TORN_FILE else []
            now = sources.read_files(table.spark, torn, torn=True).count()
            if open_files.rows_of(table, part, [name]).count() > now:
                found[name] = part.sizes[name]
    return found


def _lines(
    table: Table, sound: Sequence[str], torn: Sequence[str], problems: Sequence[Problem]
) -> DataFrame:
    nothing = F.lit(None).cast("string").alias("problem")
    lines = sources.read_files(table.spark, sound).select("*", nothing)
    if torn:
        cut = sources.read_files(table.spark, torn, torn=True)
        lines = lines.unionByName(cut.select("*", nothing))
    if problems:
        notes = [
            {"line": one.text, "source": one.source, "problem": one.reason} for one in problems
        ]
        lines = lines.unionByName(local_rows(table.spark, _NOTE, notes))
    return lines


def commit(
    table: Table, stream: str, number: int, written: Written, finished: Collection[str] = ()
) -> bool:
    """Add a batch's files to the table, and remove the rows that the files ``finished`` had while
    they were open. Returns False if the table has the batch already.

    Raises OvertakenError if the rows of open files that the batch keeps have changed.
    """
    while True:
        base = table.snapshot()
        if is_done(base, stream, number):
            return False
        part = open_files.part_of(base, stream)
        if any(part.sizes.get(name) != size for name, size in written.kept.items()):
            raise OvertakenError
        rest = open_files.without(table, part, finished)

        def change(
            now: Snapshot, base: Snapshot = base, rest: Part | None = rest
        ) -> Snapshot | None:
            if is_done(now, stream, number) or now.open.get(stream) != base.open.get(stream):
                return None
            made = now.with_files(added=written.files)
            if rest is not None:
                made = made.with_open(stream, rest.files, rest.data)
            after = _after(now.streams.get(stream, Stream()), number, written)
            return replace(made, streams={**now.streams, stream: after})

        if table.commit(change):
            return True


def _after(before: Stream, number: int, written: Written) -> Stream:
    times = [ms for ms in (before.newest_ms, written.newest_ms) if ms is not None]
    return replace(
        before,
        batch=number,
        newest_ms=max(times, default=None),
        counts=before.counts + written.counts,
        made_ms=max((file.made_ms for file in written.files), default=before.made_ms),
    )
