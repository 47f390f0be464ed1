"""Joins small files, and removes files that no reader uses any more.

    python -m spark.compaction --table /data/traffic

``spark.ingest`` does both itself from time to time. Readers see the small files or the large file,
never both, because a version of the table lists the small files and the next version the large
file (spark/table.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from spark.arguments import duration, positive
from spark.failures import FAILURES, failed
from spark.filesystem import Entry
from spark.session import make_session
from spark.table import DataFile, Snapshot, Table, TableError

TARGET_BYTES: Final = 128 * 1024 * 1024
LEAST_FILES: Final = 8
"""If a partition has fewer small files, they are left alone."""

KEEP_SECONDS: Final = 86_400.0
"""How long a reader may use a version that is no longer the newest."""

Group = tuple[DataFile, ...]


def compact(
    table: Table, *, target_bytes: int = TARGET_BYTES, least_files: int = LEAST_FILES
) -> int:
    """Join the small files of each partition; returns by how many files the table shrinks.

    Raises TableError if a new file does not have as many rows as the files it replaces.
    """
    less = 0
    for group in groups(table.snapshot(), target_bytes, least_files):
        made = table.write(table.read(group).coalesce(1).drop("commit"))
        _compare(table, group, made)
        old = {file.path for file in group}

        def change(
            now: Snapshot, old: set[str] = old, made: tuple[DataFile, ...] = made
        ) -> Snapshot | None:
            return now.in_place_of(old, made)

        if table.commit(change):
            less += len(group) - len(made)
    return less


def groups(snapshot: Snapshot, target_bytes: int, least_files: int) -> list[Group]:
    """Groups of files of the same partition to join, together up to the target's size.

    Files over half of that size stay, and so do the files that the next read of open files
    replaces.
    """
    by_partition: dict[str, list[DataFile]] = defaultdict(list)
    replaced = snapshot.open_commits()
    for file in snapshot.files:
        if file.size <= target_bytes // 2 and file.commit not in replaced:
            by_partition[file.partition].append(file)
    found: list[Group] = []
    for _, files in sorted(by_partition.items()):
        if len(files) >= least_files:
            found += _cut(files, target_bytes)
    return [group for group in found if len(group) > 1]


def _cut(files: Sequence[DataFile], target_bytes: int) -> list[Group]:
    """Groups of files, oldest first, each no larger than the target."""
    found: list[list[DataFile]] = [[]]
    size = 0
    for file in files:
        if size + file.size > target_bytes:
            found.append([])
            size = 0
        found[-1].append(file)
        size += file.size
    return [tuple(group) for group in found]


def _compare(table: Table, group: Group, made: Group) -> None:
    before, after = table.read(group).count(), table.read(made).count()
    if before != after:
        raise TableError(f"{table.path}: {before} rows became {after} when files were joined")


def clean(table: Table, *, keep_seconds: float = KEEP_SECONDS) -> int:
    """Remove files that no version has listed for ``keep_seconds``, old versions, and files that
    killed jobs left behind. The latter two are kept for at least a day, because an unlisted file
    may belong to a write that is about to be committed. Returns the number of removed data
    files."""
    now_ms = int(time.time() * 1000)
    removed_before = now_ms - int(keep_seconds * 1000)
    unlisted_before = now_ms - int(max(keep_seconds, KEEP_SECONDS) * 1000)
    _forget_versions(table, unlisted_before)
    snapshot = table.snapshot()
    due = {path for path, since_ms in snapshot.removed if since_ms < removed_before}
    kept = {file.path for file in snapshot.files} | ({path for path, _ in snapshot.removed} - due)
    less = 0
    for directory in table.files.directories(table.data):
        gone = _removed(table, directory, due, kept, unlisted_before)
        less += sum(path.endswith(".parquet") for path in gone)
    if due:
        table.commit(lambda now: _without(now, due))
    return less


def _removed(
    table: Table, directory: Entry, due: set[str], kept: set[str], unlisted_before: int
) -> list[str]:
    """Remove the files of one write's directory that are due or were never listed, and the
    directory with the last file. Returns the removed files."""
    found = {
        entry.path.removeprefix(f"{table.data}/"): entry.modified_ms
        for entry in table.files.files(directory.path, recursive=True)
    }
    if not kept.isdisjoint(found):
        gone = [
            p for p, ms in found.items() if p in due or (p not in kept and ms < unlisted_before)
        ]
        for path in gone:
            table.files.delete(f"{table.data}/{path}")
        return gone
    youngest = max(found.values(), default=directory.modified_ms)
    if due.isdisjoint(found) and youngest >= unlisted_before:
        return []
    table.files.delete(directory.path)
    return list(found)


def _without(snapshot: Snapshot, forgotten: set[str]) -> Snapshot:
    kept = tuple(one for one in snapshot.removed if one[0] not in forgotten)
    return replace(snapshot, removed=kept)


def _forget_versions(table: Table, before_ms: int) -> None:
    """Remove versions whose successor was written before ``before_ms``."""
    entries = [e for e in table.files.files(table.log) if e.name.endswith(".json")]
    for entry, successor in pairwise(entries):
        if successor.modified_ms < before_ms:
            table.files.delete(entry.path)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser("spark.compaction", description="Join a table's small files.")
    parser.add_argument("--table", metavar="DIR", required=True, help="what spark.ingest wrote")
    parser.add_argument("--master", help="Spark's master; by default all cores of this machine")
    parser.add_argument(
        "--target-bytes", type=positive, default=TARGET_BYTES, help="size of a file, about"
    )
    parser.add_argument(
        "--keep-hours", type=duration, default=KEEP_SECONDS / 3600, help="for running readers"
    )
    options = parser.parse_args(argv)
    try:
        spark = make_session("kafka-gateway compaction", master=options.master)
        table = Table(spark, options.table)
        if not table.exists():
            raise TableError(f"{options.table}: no table of spark.ingest")
        less = compact(table, target_bytes=options.target_bytes, least_files=2)
        removed = clean(table, keep_seconds=options.keep_hours * 3600)
    except FAILURES as error:
        return failed("compaction", error)
    print(f"{less} files fewer to read, {removed} removed from the disk")
    return 0


if __name__ == "__main__":
    sys.exit(main())
