"""Parses lines into records, or finds why a line is not a record.

No line is lost: every line becomes a row, either a record or a quarantined line with the reason.
Both are in the same DataFrame, so that a single pass over the lines serves both.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from spark import schema
from spark.table import LINE, QUARANTINE, REASON, SOURCE, Table

CORRUPT: Final = "corrupt"
"""Not exactly one JSON object whose values have the schema's types."""
UNKNOWN_VERSION: Final = "unknown_version"
"""Written by a newer gateway: its fields may have a meaning that these jobs do not know."""
MISSING_FIELD: Final = "missing_field"
"""Lacks a field that every record has."""
UNKNOWN_KIND: Final = "unknown_kind"
BAD_TIME: Final = "bad_time"
"""A time before the year 2000 or after 2199, from a broken clock."""
BAD_COUNT: Final = "bad_count"
"""A count below 0, or above 2^53: no gateway writes such a count, and sums with it may overflow."""
TORN_FILE: Final = "torn_file"
"""A compressed file that ends too early or is damaged; the file gets a row after its lines."""
MISSING_FILE: Final = "missing_file"
"""A file that was removed before it was read."""

REASONS: Final = (
    CORRUPT,
    UNKNOWN_VERSION,
    MISSING_FIELD,
    UNKNOWN_KIND,
    BAD_TIME,
    BAD_COUNT,
    TORN_FILE,
    MISSING_FILE,
)

KINDS: Final = ("flow", "denial", "policy", "acl")
REQUIRED: Final = ("kind", "schema_version", "id", "gateway_id", "worker_id", "time_ms")
"""The fields that every record has."""

OLDEST_MS: Final = 946_684_800_000
NEWEST_MS: Final = 7_258_118_400_000

ACLS_TOLD_AGAIN_MS: Final = 3_600_000
"""How often a worker records an ACL that stays in use."""

ACLS_BEFORE_MS: Final = 2 * ACLS_TOLD_AGAIN_MS
"""If an ACL is in use, it is certainly recorded within this time, because windows are an hour long
at most."""

MOST: Final = 2**53
"""The largest count: up to here a floating-point number, as in JSON, is exact."""

_NO_COUNTS: Final = ("time_ms", "value", "limit")
"""Longs that are not counts; the value that a policy checks may be a retention of -1."""

_COUNTS: Final = (
    "window_ms",
    "connections",
    *(name for name, kind in schema.COLUMNS if kind == "long" and name not in _NO_COUNTS),
)
_LISTS: Final = tuple(name for name, kind in schema.COLUMNS if kind == "array<long>")
_MAPS: Final = tuple(name for name, kind in schema.COLUMNS if kind == "map<string,long>")

# A name that cannot be in a line.
_END: Final = f"end of line {uuid.uuid4().hex}"

# Any option switches off an optimization of Spark's that would parse only the fields that a job
# uses, so that a line would be valid in one job and not in another. The last two options make JSON
# strict.
_STRICT: Final = {
    "mode": "PERMISSIVE",
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}


def parse(lines: DataFrame, *, late_before_ms: int | None = None) -> DataFrame:
    """The lines' records. ``lines`` has the columns ``line``, ``source`` and, for a line that
    only describes a defect of a file, ``problem``.

    Returns the schema's columns, ``late`` (older than ``late_before_ms``), ``date``,
    ``log_source``, ``log_reason`` (null for a record), and ``log_line`` (null for a record). With
    a reason ``kind`` is :data:`QUARANTINE`, and the fields that could be parsed have values.
    """
    # If a line held two objects, or an object with text after it, Spark would silently take the
    # first. Between these brackets a line is a single object, or it does not parse.
    wrapped = F.concat(F.lit("["), F.col("line"), F.lit(f',{{"kind":"{_END}"}}]'))
    typed = ArrayType(schema.traffic_log_schema())
    problem = F.col("problem") if "problem" in lines.columns else F.lit(None).cast("string")
    parsed = lines.select(
        "line",
        "source",
        problem.alias("problem"),
        F.from_json(wrapped, typed, _STRICT).alias("all"),
    )
    alone = (F.size("all") == 2) & (F.get("all", F.lit(1))["kind"] == _END)
    alone = alone & F.is_valid_utf8("line")
    rows = parsed.select(
        "line",
        "source",
        "problem",
        F.when(alone, F.get("all", F.lit(0))).alias("record"),
    ).withColumn(REASON, F.coalesce("problem", _reason(F.col("record"))))
    fields = {name: F.col("record")[name].alias(name) for name in _names()} | {"kind": _kind()}
    return rows.select(
        *fields.values(),
        _late(late_before_ms),
        _date(),
        F.col("source").alias(SOURCE),
        REASON,
        F.when(F.col(REASON).isNotNull(), F.col("line")).alias(LINE),
    )


def good(parsed: DataFrame) -> DataFrame:
    """The records among the rows of :func:`parse`: the schema's columns, ``late`` and ``date``."""
    return parsed.where(F.col(REASON).isNull()).select(*_names(), "late", "date")


def kept(columns: Sequence[str] | None) -> list[str]:
    """The columns of :func:`good` that a reader of ``columns`` needs (None: all): ``columns``, and
    the columns that :func:`between` uses."""
    wanted = None if columns is None else {"kind", "time_ms", *columns}
    return [*(name for name in _names() if wanted is None or name in wanted), "late", "date"]


def bad(parsed: DataFrame) -> DataFrame:
    """The quarantined lines among the rows of :func:`parse`: reason, source, line, time_ms."""
    named = {REASON: "reason", SOURCE: "source", LINE: "line"}
    columns = [F.col(column).alias(name) for column, name in named.items()]
    return parsed.where(F.col(REASON).isNotNull()).select(*columns, "time_ms")


def read_table(spark: SparkSession, path: str) -> DataFrame:
    """The records of a table's newest version: the schema's columns, ``late`` and ``date``."""
    table = Table(spark, path)
    return good(table.read(tuple(f for f in table.snapshot().files if not f.is_quarantine)))


def read_quarantine(spark: SparkSession, path: str) -> DataFrame:
    """The quarantined lines of a table: reason, source, line, time_ms."""
    table = Table(spark, path)
    return bad(table.read(tuple(f for f in table.snapshot().files if f.is_quarantine)))


def between(records: DataFrame, from_ms: int | None, to_ms: int | None) -> DataFrame:
    """Records from ``from_ms`` on and before ``to_ms``; other days' files are not read. The records
    have to be a table's, or persisted, because Spark would push these conditions down into the
    parsing, and plan for minutes.

    Records of used ACLs begin :data:`ACLS_BEFORE_MS` earlier: the record of an ACL that is in use
    throughout may have been written then.
    """
    if from_ms is not None:
        earlier = from_ms - ACLS_BEFORE_MS
        is_acl = F.col("kind") == "acl"
        # A table's directories are named after the date, so the condition on the date selects the
        # files.
        of_days = (F.col("date") >= _day(from_ms)) | (is_acl & (F.col("date") >= _day(earlier)))
        in_time = (F.col("time_ms") >= from_ms) | (is_acl & (F.col("time_ms") >= earlier))
        records = records.where(of_days).where(in_time)
    if to_ms is not None:
        records = records.where((F.col("time_ms") < to_ms) & (F.col("date") <= _day(to_ms)))
    return records


def _day(time_ms: int) -> Column:
    return F.to_date(F.timestamp_millis(F.lit(time_ms)))


def _names() -> list[str]:
    return [name for name, _ in schema.COLUMNS]


def _reason(record: Column) -> Column:
    """The reason why a line is not a record, or null if it is a record."""
    version, time_ms = record["schema_version"], record["time_ms"]
    lacks = F.lit(False)
    for name in REQUIRED:
        lacks = lacks | record[name].isNull()
    return (
        F.when(record.isNull(), CORRUPT)
        .when(version > schema.SCHEMA_VERSION, UNKNOWN_VERSION)
        .when(lacks | (version < 1), MISSING_FIELD)
        .when(~record["kind"].isin(*KINDS), UNKNOWN_KIND)
        .when((time_ms < OLDEST_MS) | (time_ms >= NEWEST_MS), BAD_TIME)
        .when(_is_out_of_bounds(record), BAD_COUNT)
    )


def _is_out_of_bounds(record: Column) -> Column:
    """Whether any of the counts is out of bounds; counts that are null are left out."""
    lists = [record[name] for name in _LISTS] + [F.map_values(record[name]) for name in _MAPS]
    counts = [record[name] for name in _COUNTS]
    smallest = F.least(*counts, *(F.array_min(one) for one in lists))
    largest = F.greatest(*counts, *(F.array_max(one) for one in lists))
    return (smallest < 0) | (largest > MOST)


def _kind() -> Column:
    of_record = F.col("record")["kind"]
    return F.when(F.col(REASON).isNull(), of_record).otherwise(QUARANTINE).alias("kind")


def _late(late_before_ms: int | None) -> Column:
    if late_before_ms is None:
        return F.lit(False).alias("late")
    time_ms = F.col("record")["time_ms"]
    late = F.col(REASON).isNull() & (time_ms < late_before_ms)
    return F.coalesce(late, F.lit(False)).alias("late")


def _date() -> Column:
    """The day of the record in UTC, or null if it has no valid time."""
    time_ms = F.col("record")["time_ms"]
    sound = (time_ms >= OLDEST_MS) & (time_ms < NEWEST_MS)
    return F.when(sound, F.to_date(F.timestamp_millis(time_ms))).alias("date")
