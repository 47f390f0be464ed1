"""The table that ``spark.ingest`` writes: Parquet files, and a log that lists the valid ones.

    TABLE/data/commit=ID/date=2026-11-21/kind=flow/part-….parquet
    TABLE/log/000000000012.json     the whole list, one file a version, never changed
    TABLE/checkpoints/STREAM/       Structured Streaming's own

Creating a version's file is atomic. So a batch's files, its number and its quarantined lines become
visible together or not at all, and a large file replaces many small files in a single step. If no
version lists a file, a killed job left it behind; readers never see it.
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
"""Columns beside the schema's: where a line was read, why it is not a record, and such a line."""

_FORMAT: Final = 1
_DIGITS: Final = 12


def row_schema() -> StructType:
    """The columns of the Parquet files, with the partitions."""
    made = schema.traffic_log_schema()
    for name in (SOURCE, REASON, LINE):
        made = made.add(name, StringType())
    return made.add("late", BooleanType()).add("date", DateType()).add("commit", StringType())


class TableError(Exception):
    """A log that cannot be read; the text is a line for the user."""


@dataclass(frozen=True, order=True, slots=True)
class DataFile:
    """A Parquet file: its path below ``data/``, and its size in bytes."""

    path: str
    size: int

    @property
    def commit(self) -> str:
        """The id of the write that made the file."""
        return self.path.partition("/")[0].removeprefix("commit=")

    @property
    def made_ms(self) -> int:
        """When that write began, in ms since 1970."""
        return int(self.commit.partition("-")[0])

    @property
    def partition(self) -> str:
        """The partition's directory, ``date=…/kind=…``."""
        return self.path.partition("/")[2].rpartition("/")[0]

    @property
    def is_quarantine(self) -> bool:
        """Whether the file holds quarantined lines, and no records."""
        return self.partition.endswith(f"kind={QUARANTINE}")


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of lines: each is one of ``records``, ``quarantined`` (by reason), or ``repeated``:
    left out, as the table has the record already."""

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
    """The progress of one stream, and its source.

    ``newest_ms`` is the newest record's time, without times in the future; ``made_ms`` is when the
    last write of a batch began.
    """

    batch: int = -1
    newest_ms: int | None = None
    counts: Counts = Counts()
    source: str = ""
    made_ms: int = 0


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The lines of files that are still being written: each read replaces them as a whole.

    ``commit`` is the write that holds their lines, ``sources`` the files' sizes at that time.
    """

    commit: str
    sources: Mapping[str, int]
    counts: Counts = Counts()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of the table. ``removed`` are the files that are no longer listed, and since when
    (ms): readers of an older version may still use them."""

    version: int = 0
    made_ms: int = 0
    files: tuple[DataFile, ...] = ()
    removed: tuple[tuple[str, int], ...] = ()
    streams: Mapping[str, Stream] = field(default_factory=dict)
    open: Mapping[str, OpenFiles] = field(default_factory=dict)

    def with_files(
        self, *, added: Collection[DataFile] = (), dropped: Collection[str] = ()
    ) -> Snapshot:
        """This version with files added, and without the files whose paths are in ``dropped``."""
        gone = frozenset(dropped)
        kept = (file for file in self.files if file.path not in gone)
        now_ms = int(time.time() * 1000)
        return replace(
            self,
            files=tuple(sorted((*kept, *added))),
            removed=(*self.removed, *((path, now_ms) for path in sorted(gone))),
        )

    def in_place_of(self, dropped: Collection[str], added: Collection[DataFile]) -> Snapshot | None:
        """This version with the files ``dropped`` replaced, or None if it no longer lists all of
        them: another compaction was faster, as only compactions drop such files."""
        if not set(dropped) <= {file.path for file in self.files}:
            return None
        return self.with_files(added=added, dropped=dropped)

    def with_open(
        self, stream: str, open_files: OpenFiles | None, files: Collection[DataFile]
    ) -> Snapshot:
        """This version with the stream's open files, and the files that hold them, replaced."""
        before = self.open.get(stream)
        dropped = [f.path for f in self.files if before and f.commit == before.commit]
        others = {name: one for name, one in self.open.items() if name != stream}
        made = self.with_files(added=files, dropped=dropped)
        return replace(made, open=others | ({stream: open_files} if open_files else {}))

    def open_commits(self) -> frozenset[str]:
        """The ids of writes that the next read of open files will replace."""
        return frozenset(one.commit for one in self.open.values())

    def to_json(self) -> str:
        """The content of a version's file."""
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
        """Whether the table has a version."""
        return bool(self.versions())

    def versions(self) -> list[int]:
        """The numbers of the versions in the log, oldest first."""
        names = (entry.name for entry in self.files.files(self.log))
        return sorted(int(name[:_DIGITS]) for name in names if name[:_DIGITS].isdigit())

    def snapshot(self) -> Snapshot:
        """The newest version, or an empty version if the log has none. Raises TableError."""
        versions = self.versions()
        return self.at(versions[-1]) if versions else Snapshot()

    def at(self, version: int) -> Snapshot:
        """The version ``version``. Raises TableError if it cannot be read."""
        path = self.version_path(version)
        try:
            return Snapshot.from_json(self.files.read_text(path))
        except (ValueError, KeyError, TypeError, Py4JJavaError) as error:
            raise TableError(
                f"{path}: cannot be read: {type(error).__name__}. Restore it; or, if a crash "
                "has truncated it, move it away: then the version before it is used, and "
                "spark.ingest reports what is left to do"
            ) from error

    def version_path(self, version: int) -> str:
        """The path of a version's file."""
        return f"{self.log}/{version:0{_DIGITS}}.json"

    def commit(self, change: Callable[[Snapshot], Snapshot | None]) -> Snapshot | None:
        """Write the next version, which ``change`` makes of the newest version, and return it; if
        ``change`` returns None, nothing is written. If another process is faster, ``change`` is
        called again."""
        while True:
            now = self.snapshot()
            changed = change(now)
            if changed is None:
                return None
            made = replace(changed, version=now.version + 1, made_ms=int(time.time() * 1000))
            if self.files.create(self.version_path(made.version), made.to_json()):
                return made

    def write(self, rows: DataFrame) -> tuple[DataFile, ...]:
        """Write rows to files in a new directory, which no version lists yet."""
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
        """All rows of the files, records and quarantined lines, with every column."""
        wanted = row_schema()
        if not files:
            return local_rows(self.spark, wanted)
        reader = self.spark.read.schema(wanted).option("basePath", self.data)
        return reader.parquet(*(literal(f"{self.data}/{file.path}") for file in files))
