"""Writes rows to new files of a table, and counts them; no version lists the files yet.

A topic may have a record twice, because a gateway whose response was lost writes it again, seconds
later, under the same id. So each id is written once in a batch, and not if a file of the table from
the hour before the last batch has it. Quarantined lines have no id, and files of the traffic log
have each record once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F

from spark import records
from spark.table import REASON, SOURCE, Counts, DataFile, Snapshot, Stream, Table, TableError

_OBSERVED_SECONDS: Final = 60.0
"""Spark reports counts by an event moments after the write, unless it drops the event."""

WITHIN_MS: Final = 3_600_000
"""A record is a repetition if the same record was written up to this long before the last batch."""

_NOWHERE: Final = ""
"""The place of records in the table: sorts before every place in a topic."""


@dataclass(frozen=True, slots=True)
class Written:
    """Files, and their contents. ``newest_ms`` is the newest record's time, without times in the
    future, because a fast clock must not make other records late. ``kept`` are open files whose
    rows are included, and their sizes in bytes."""

    files: tuple[DataFile, ...]
    counts: Counts
    newest_ms: int | None
    kept: Mapping[str, int] = field(default_factory=dict)


def write_rows(table: Table, rows: DataFrame) -> Written:
    """Write rows that :func:`spark.records.parse` made, or that were read from a table."""
    is_record = F.col(REASON).isNull()
    now_ms = int(time.time() * 1000)
    past = F.when(is_record & (F.col("time_ms") <= now_ms), F.col("time_ms"))
    seen = Observation()
    observed = rows.drop("commit").observe(
        seen,
        F.count_if(is_record).alias("records"),
        F.count_if("late").alias("late"),
        F.max(past).alias("newest_ms"),
        *(F.count_if(F.col(REASON) == reason).alias(reason) for reason in records.REASONS),
    )
    files = table.write(observed)
    got = _observed(seen)
    quarantined = {reason: got[reason] for reason in records.REASONS if got[reason]}
    return Written(files, Counts(got["records"], got["late"], quarantined), got["newest_ms"])


def _observed(seen: Observation) -> dict[str, Any]:
    """The counts that Spark reports. Raises TableError if it does not report them.

    An overloaded driver drops events, so ``Observation.get`` would wait for ever. The written files
    are not committed then; the batch is repeated.
    """
    got: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: got.append(seen.get), daemon=True)
    waiting.start()
    waiting.join(_OBSERVED_SECONDS)
    if not got:
        raise TableError(
            "Spark did not report what it has written: its driver is overloaded and has dropped "
            "the event. Nothing was committed; start again"
        )
    return got[0]


def write_topic(table: Table, stream: str, lines: DataFrame, late_before_ms: int | None) -> Written:
    """Write a topic's lines, without repeated records."""
    earlier = recent(table.snapshot(), stream)
    return write_new(table, records.parse(lines, late_before_ms=late_before_ms), earlier)


def write_new(
    table: Table, rows: DataFrame, earlier: Iterable[DataFile], beside: DataFrame | None = None
) -> Written:
    """Write rows of :func:`spark.records.parse`, without a topic's repeated records and the records
    that the files ``earlier`` have, and write the rows ``beside`` unchanged."""
    parsed = rows.persist(StorageLevel.DISK_ONLY)
    again = _again(table, parsed, earlier).persist(StorageLevel.DISK_ONLY)
    try:
        repeated = again.count()
        new = parsed.join(again, SOURCE, "left_anti").select(*rows.columns) if repeated else parsed
        written = write_rows(table, new.unionByName(beside) if beside else new)
    finally:
        again.unpersist()
        parsed.unpersist()
    return replace(written, counts=replace(written.counts, repeated=repeated))


def recent(snapshot: Snapshot, stream: str) -> list[DataFile]:
    """The data files that may have a repeated record, from the hour before the last batch.

    A file that compaction has made is younger than the files that it replaces.
    """
    since_ms = snapshot.streams.get(stream, Stream()).made_ms - WITHIN_MS
    return [f for f in snapshot.files if not f.is_quarantine and f.made_ms >= since_ms]


def _again(table: Table, rows: DataFrame, earlier: Iterable[DataFile]) -> DataFrame:
    """The places of repeated records in the topic. Lines of files are left out: they have no place
    of their own."""
    is_record, is_place = F.col(REASON).isNull(), ~F.col(SOURCE).contains("/")
    here = rows.where(is_record & is_place).select("id", SOURCE)
    there = table.read(tuple(earlier)).where(is_record).select("id", F.lit(_NOWHERE).alias(SOURCE))
    of_one_id = Window.partitionBy("id").orderBy(SOURCE)
    numbered = here.unionByName(there).withColumn("nth", F.row_number().over(of_one_id))
    return numbered.where((F.col("nth") > 1) & (F.col(SOURCE) != _NOWHERE)).select(SOURCE)
