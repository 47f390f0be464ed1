"""The table that ``spark.ingest`` writes: Parquet files, and a log that says which of them count.

    TABLE/data/commit=ID/date=2026-11-21/kind=flow/part-….parquet
    TABLE/log/000000000012.json     the whole list, one file a version, never changed
    TABLE/checkpoints/STREAM/       Structured Streaming's own

A version is made by creating its file, which either happens or does not: so a batch's files, the
number of the batch, and what it quarantined become visible together or not at all, and replacing
many small files by one large file is one step. Files that no version lists are what a killed job
left behind; readers never see them.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, DateType, StringType, StructType

from spark import schema
from spark.filesystem import FileSystem, literal
from spark.local_rows import local_rows

QUARANTINE: Final = "quarantine"
"""The partition (``kind=``) of quarantined lines, which no record has."""

SOURCE: Final = "log_source"
REASON: Final = "log_reason"
LINE: Final = "log_line"
"""Columns beside the schema's: where a line was read, why it is no record, and then the line."""

_FORMAT: Final = 1
_DIGITS: Final = 12


def row_schema() -> StructType:
    """The columns of the Parquet files, with the partitions."""
    made = schema.traffic_log_schema()
    for name in (SOURCE, REASON, LINE):
        made = made.add(name, StringType())
    return made.add("late", BooleanType()).add("date", DateType()).add("commit", StringType())


class TableError(Exception):
    """A log that cannot be read; the text is one line for the user."""


@dataclass(frozen=True, order=True, slots=True)
class DataFile:
    """A Parquet file: its path below ``data/``, and its size in bytes."""

    path: str
    size: int

    @property
    def commit(self) -> str:
        """Which write made it."""
        return self.path.partition("/")[0].removeprefix("commit=")

    @property
    def made_ms(self) -> int:
        """When that write began."""
        return int(self.commit.partition("-")[0])

    @property
    def partition(self) -> str:
        """``date=…/kind=…``."""
        return self.path.partition("/")[2].rpartition("/")[0]

    @property
    def is_quarantine(self) -> bool:
        """Whether it holds quarantined lines, and no records."""
        return self.partition.endswith(f"kind={QUARANTINE}")


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of lines: each is one of ``records``, ``quarantined`` (by reason), or
    ``repeated``: left out, since the record was there already."""

    records: int = 0
    late: int = 0
    quarantined: Mapping[str, int] = field(default_factory=dict)
    repeated: int = 0

    def __add__(self, other: Counts) -> Counts:
        reasons = {*self.quarantined, *other.quarantined}
        added = {r: self.quarantined.get(r, 0) + other.quarantined.get(r, 0) for r in reasons}
        return Counts(
            self.records + other.records,
            self.late + other.late,
            dict(sorted(added.items())),
            self.repeated + other.repeated,
        )


@dataclass(frozen=True, slots=True)
class Stream:
    """How far one stream has come, and from where.

    ``newest_ms`` is the newest record's time, none in the future; ``made_ms`` when the last write
    began that a batch needed.
    """

    batch: int = -1
    newest_ms: int | None = None
    counts: Counts = Counts()
    source: str = ""
    made_ms: int = 0


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """What there is of files that are still being written: replaced as a whole by each look.

    ``commit`` is the write that holds their lines, ``sources`` the files and their sizes then.
    """

    commit: str
    sources: Mapping[str, int]
    counts: Counts = Counts()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of the table. ``removed`` are files that no longer count, and since when (ms):
    someone may be reading an older version."""

    version: int = 0
    made_ms: int = 0
    files: tuple[DataFile, ...] = ()
    removed: tuple[tuple[str, int], ...] = ()
    streams: Mapping[str, Stream] = field(default_factory=dict)
    open: Mapping[str, OpenFiles] = field(default_factory=dict)

    def with_files(
        self, *, added: Collection[DataFile] = (), dropped: Collection[str] = ()
    ) -> Snapshot:
        """With files added, and those with the paths ``dropped`` no longer counted."""
        gone = frozenset(dropped)
        kept = (file for file in self.files if file.path not in gone)
        now_ms = int(time.time() * 1000)
        return replace(
            self,
            files=tuple(sorted((*kept, *added))),
            removed=(*self.removed, *((path, now_ms) for path in sorted(gone))),
        )

    def in_place_of(self, dropped: Collection[str], added: Collection[DataFile]) -> Snapshot | None:
        """With the rows of ``dropped`` in other files; None if some of those no longer count, since
        another compaction was faster: nobody else drops such files."""
        if not set(dropped) <= {file.path for file in self.files}:
            return None
        return self.with_files(added=added, dropped=dropped)

    def with_open(
        self, stream: str, open_files: OpenFiles | None, files: Collection[DataFile]
    ) -> Snapshot:
        """With ``open_files``, and the files that hold them, in the place of the stream's own."""
        before = self.open.get(stream)
        dropped = [f.path for f in self.files if before and f.commit == before.commit]
        others = {name: one for name, one in self.open.items() if name != stream}
        made = self.with_files(added=files, dropped=dropped)
        return replace(made, open=others | ({stream: open_files} if open_files else {}))

    def open_commits(self) -> frozenset[str]:
        """The writes that will be replaced."""
        return frozenset(one.commit for one in self.open.values())

    def to_json(self) -> str:
        """What a version's file holds."""
        held = asdict(self) | {"files": [[file.path, file.size] for file in self.files]}
        return json.dumps({"format": _FORMAT, **held}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Snapshot:
        """The reverse of :meth:`to_json`. Raises TableError."""
        made: dict[str, Any] = json.loads(text)
        if made.pop("format") != _FORMAT:
            raise TableError("the table was written by a newer version of these jobs")
        return cls(
            made["version"],
            made["made_ms"],
            tuple(DataFile(*one) for one in made["files"]),
            tuple((path, ms) for path, ms in made["removed"]),
            {name: Stream(**_counted(one)) for name, one in made["streams"].items()},
            {name: OpenFiles(**_counted(one)) for name, one in made["open"].items()},
        )


def _counted(one: dict[str, Any]) -> dict[str, Any]:
    return one | {"counts": Counts(**one["counts"])}


class Table:
    """A table at a path of any file system."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.files = FileSystem(spark)
        self.path = self.files.qualified(path).rstrip("/")
        self.data = f"{self.path}/data"
        self.log = f"{self.path}/log"

    def exists(self) -> bool:
        """Whether anything was ever committed."""
        return bool(self.versions())

    def versions(self) -> list[int]:
        """The versions that the log has, oldest first."""
        names = (entry.name for entry in self.files.files(self.log))
        return sorted(int(name[:_DIGITS]) for name in names if name[:_DIGITS].isdigit())

    def snapshot(self) -> Snapshot:
        """The newest version; an empty one if there is none. Raises TableError."""
        versions = self.versions()
        return self.at(versions[-1]) if versions else Snapshot()

    def at(self, version: int) -> Snapshot:
        """One version. Raises TableError if it cannot be read."""
        path = self.version_path(version)
        try:
            return Snapshot.from_json(self.files.read_text(path))
        except (ValueError, KeyError, TypeError, Py4JJavaError) as error:
            raise TableError(
                f"{path}: cannot be read: {type(error).__name__}. Bring it back; or, if a crash "
                "has cut it short, move it away: the version before it counts then, and "
                "spark.ingest says what is left to do"
            ) from error

    def version_path(self, version: int) -> str:
        """The file of a version."""
        return f"{self.log}/{version:0{_DIGITS}}.json"

    def commit(self, change: Callable[[Snapshot], Snapshot | None]) -> Snapshot | None:
        """Make the next version of what ``change`` makes of the newest one, or none if it gives
        None. Called again when another process was faster."""
        while True:
            now = self.snapshot()
            changed = change(now)
            if changed is None:
                return None
            made = replace(changed, version=now.version + 1, made_ms=int(time.time() * 1000))
            if self.files.create(self.version_path(made.version), made.to_json()):
                return made

    def write(self, rows: DataFrame) -> tuple[DataFile, ...]:
        """Write rows to files of a new directory, which no version lists yet."""
        commit = f"{int(time.time() * 1000):013}-{uuid.uuid4().hex[:12]}"
        directory = f"{self.data}/commit={commit}"
        rows.write.partitionBy("date", "kind").parquet(directory)
        found = self.files.files(directory, recursive=True)
        return tuple(
            DataFile(entry.path.removeprefix(f"{self.data}/"), entry.size)
            for entry in found
            if entry.name.endswith(".parquet")
        )

    def read(self, files: tuple[DataFile, ...]) -> DataFrame:
        """The rows of files, records and quarantined lines, with every column."""
        wanted = row_schema()
        if not files:
            return local_rows(self.spark, wanted)
        reader = self.spark.read.schema(wanted).option("basePath", self.data)
        return reader.parquet(*(literal(f"{self.data}/{file.path}") for file in files))
