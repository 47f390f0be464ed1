"""Records that a topic has twice: a gateway whose answer was lost writes a record again.

The second one comes seconds later, under the same id. So of a batch each id is taken once, and
none that is in a file of the table from the hour before the last batch. Lines that are no records
have no id to go by, and files of the traffic log have each record once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark import records
from spark.table import REASON, SOURCE, DataFile, Snapshot, Stream, Table
from spark.writing import Written, write_rows

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
