"""Lines and rows into files of a table, counted on the way. No version lists the files yet.

A topic has records twice: a gateway whose response was lost writes a record again. The second one
comes seconds later, under the same id. So of a batch each id is taken once, and none that is in a
file of the table from the hour before the last batch. Lines that are no records have no id to go
by, and files of the traffic log have each record once.
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
"""What was counted comes within moments of the write's end, by an event, unless Spark drops it."""


@dataclass(frozen=True, slots=True)
class Written:
    """Files, and what is in them. ``newest_ms`` is the newest record's time, of those that are
    not in the future: a clock that is ahead makes nobody else late. ``kept`` are open files whose
    rows are in there, too, and their sizes."""

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
    """What Spark has counted. Raises TableError if it does not come.

    A driver with too much to do drops events, and ``Observation.get`` would wait for ever. The
    files that were written count nowhere then: the batch is made again.
    """
    got: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: got.append(seen.get), daemon=True)
    asking.start()
    asking.join(_OBSERVED_SECONDS)
    if not got:
        raise TableError(
            "Spark did not say what it has written: its driver is overloaded and has dropped the "
            "event. Nothing was committed; start again"
        )
    return got[0]


WITHIN_MS: Final = 3_600_000
"""How long before the last batch a record may have come that is left out now."""

_NOWHERE: Final = ""
"""The place of records that the table has: before every place in a topic."""


def write_topic(table: Table, stream: str, lines: DataFrame, late_before_ms: int | None) -> Written:
    """Write a topic's lines, without records that are repeated."""
    earlier = recent(table.snapshot(), stream)
    return write_new(table, records.parse(lines, late_before_ms=late_before_ms), earlier)


def write_new(
    table: Table, rows: DataFrame, earlier: Iterable[DataFile], beside: DataFrame | None = None
) -> Written:
    """Write what :func:`spark.records.parse` made, without records of topics that come again, or
    that are in the files ``earlier``; and the rows ``beside`` as they are."""
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
    """The files that may have what comes again: of the hour before the last batch.

    A file into which compaction has joined others is younger than all of them.
    """
    since_ms = snapshot.streams.get(stream, Stream()).made_ms - WITHIN_MS
    return [f for f in snapshot.files if not f.is_quarantine and f.made_ms >= since_ms]


def _again(table: Table, rows: DataFrame, earlier: Iterable[DataFile]) -> DataFrame:
    """Where the records are that come again: their places in the topic, each of which is one's
    own. A file's path stands for all of its lines, and is left alone."""
    is_record, is_place = F.col(REASON).isNull(), ~F.col(SOURCE).contains("/")
    here = rows.where(is_record & is_place).select("id", SOURCE)
    there = table.read(tuple(earlier)).where(is_record).select("id", F.lit(_NOWHERE).alias(SOURCE))
    of_one_id = Window.partitionBy("id").orderBy(SOURCE)
    numbered = here.unionByName(there).withColumn("nth", F.row_number().over(of_one_id))
    return numbered.where((F.col("nth") > 1) & (F.col(SOURCE) != _NOWHERE)).select(SOURCE)
