"""The report: the results of all jobs, as a single HTML page that needs no other file.

``python -m spark.report --input DIR --page report.html``. The jobs make their tables, the most
telling rows of each are collected, and :mod:`spark.page` makes the page of them.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F

from spark import access, guarantees, latency, page, policies, replication, tiers, tree, usage
from spark.arguments import Command, Progress, Tables, parse, positive, read_records, session
from spark.arguments import write as write_tables
from spark.failures import FAILURES, failed
from spark.page import About, Row, Table
from spark.sections import SECTIONS
from spark.sources import SourceError

OUTERMOST: Final = 6
"""Namespaces that the chart over time shows separately; the colours, less the colour of the
others."""

OTHERS: Final = "(others)"
_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
PERIODS_MS: Final = (
    *(seconds * _SECOND for seconds in (1, 5, 10, 30)),
    *(minutes * _MINUTE for minutes in (1, 5, 15, 30)),
    *(hours * usage.HOUR_MS for hours in (1, 3, 6, 12)),
    *(days * usage.DAY_MS for days in (1, 7, 28)),
)
"""The possible lengths of a bar of the chart over time."""

MOST_PERIODS: Final = 92
"""Bars of the chart over time at most: so an hour is shown by minutes, a quarter of a year by
days."""

_VOLUME: Final = ("bytes_in", "bytes_out", "records_in", "records_out", "requests")

_FIRST: Final[Mapping[str, Callable[[], list[Column]]]] = {
    "namespaces": lambda: [_moved().desc(), F.col("tier")],
    "over_time": lambda: [F.col("period"), F.col("tier")],
    "clients": lambda: [_moved().desc(), F.col("principal"), F.col("client_id")],
    "latency": lambda: [F.desc("requests"), *_by("namespace", "api", "side")],
    "denials": lambda: [F.desc("count"), *_by("principal", "rule", "namespace", "api")],
    "unused_acls": lambda: _by("principal", "type", "name", "operation", "host"),
    "idle_topics": lambda: _by("topic"),
    "flows_graph": lambda: [F.desc("bytes"), *_by("producer", "topic", "consumer")],
    "guarantees": lambda: [
        (F.col("breaks_acks") | F.col("breaks_idempotence")).desc(),
        (F.col("acks_0") + F.col("acks_1") + F.col("acks_all")).desc(),
        *_by("client_id", "principal", "namespace", "software"),
    ],
    "policies": lambda: [F.desc("count"), *_by("namespace", "topic", "rule", "outcome")],
    "replication": lambda: [F.desc("bytes"), *_by("topic", "flat_topic")],
}
"""The order of each table's rows, down to the last key, so that a page of the same rows is the
same."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about all records, read in a single pass.

    ``totals`` are the figures that the page begins with; ``first`` and ``last`` are the times of
    the records, or None if there are no records; ``window_ms`` is the longest window (ms).
    """

    totals: Row
    first: dt.datetime | None
    last: dt.datetime | None
    window_ms: int

    @property
    def period_ms(self) -> int:
        """The length of a bar over time: the shortest length that gives few enough bars and is not
        less than a window, because all records of a window have the time of its start."""
        span = dt.timedelta(0)
        if self.first is not None and self.last is not None:
            span = self.last - self.first
        for length in PERIODS_MS:
            if length >= self.window_ms and span / MOST_PERIODS <= dt.timedelta(
                milliseconds=length
            ):
                return length
        return PERIODS_MS[-1]


def facts(records: DataFrame) -> Facts:
    """The facts of the records, read once. Records of used ACLs do not count for the times, as some
    are from before: see :func:`spark.records.between`."""
    is_flow, is_acl = F.col("kind") == "flow", F.col("kind") == "acl"
    topic = F.when(F.col("logical_topic") != access.OTHER, F.col("logical_topic"))
    end = F.col("time_ms") + F.coalesce(F.col("window_ms"), F.lit(0))
    named = {"namespaces": F.col("namespace"), "topics": topic, "clients": F.col("client_id")}
    found = _first_row(
        tree.absolute(records).agg(
            *(_sum(name) for name in ("bytes_in", "bytes_out", "records_out")),
            _sum("records").alias("records_in"),
            _sum("led_requests").alias("requests"),
            *(F.count_distinct(F.when(is_flow, one)).alias(name) for name, one in named.items()),
            F.count_if(F.col("kind") == "denial").alias("denials"),
            F.min(F.when(~is_acl, F.col("time_ms"))).alias("first_ms"),
            F.max(F.when(~is_acl, end)).alias("last_ms"),
            F.coalesce(F.max("window_ms"), F.lit(0)).alias("window_ms"),
        )
    ).asDict()
    first, last, window = (found.pop(name) for name in ("first_ms", "last_ms", "window_ms"))
    return Facts(found, _time(first), _time(last), window)


def tables(records: DataFrame, options: argparse.Namespace, period_ms: int) -> Tables:
    """The tables of the page's sections, by name; the jobs' tables are as the jobs make them."""
    by_client = volumes(records).persist(StorageLevel.DISK_ONLY)
    by_jobs = {
        **access.tables(records, options),
        **latency.tables(records, options),
        **guarantees.tables(records, options),
        **policies.tables(records, options),
        **replication.tables(records, options),
    }
    made = {
        "namespaces": namespaces(by_client),
        "over_time": over_time(records, period_ms),
        "clients": client_totals(by_client),
        **by_jobs,
    }
    return {one.table: made[one.table] for one in SECTIONS if one.table in made}


def volumes(records: DataFrame) -> DataFrame:
    """Sums by namespace, principal and client id, from which two tables are made. They need neither
    hours nor the clients of a worker, which :func:`spark.usage.per_client` has."""
    return _flows(records).groupBy("namespace", "principal", "client_id").agg(*_of_flows())


def namespaces(by_client: DataFrame) -> DataFrame:
    """The usage of every tier, from the rows of :func:`volumes`."""
    of_tier = by_client.withColumn("tier", F.explode(tiers.tiers(F.col("namespace"))))
    return _summed(of_tier, "tier")


def over_time(records: DataFrame, length_ms: int) -> DataFrame:
    """The usage of the outermost tiers in each period; all but the largest tiers are
    ``(others)``."""
    time = F.col("time_ms")
    outermost = (
        _flows(records)
        .groupBy(
            F.timestamp_millis(time - F.pmod(time, F.lit(length_ms))).alias("period"),
            F.substring_index(tiers.label(F.col("namespace")), tiers.DELIMITER, 1).alias("tier"),
        )
        .agg(*_of_flows())
    )
    # The ranked rows are sums, so they are few, and the largest tiers need no query of their own.
    moved = F.sum(_moved()).over(Window.partitionBy("tier"))
    place = F.dense_rank().over(Window.orderBy(F.desc("moved"), "tier"))
    shown = F.when(place <= OUTERMOST, F.col("tier")).otherwise(OTHERS)
    ranked = outermost.withColumn("moved", moved).withColumn("shown", shown)
    return _summed(ranked.drop("tier").withColumnRenamed("shown", "tier"), "period", "tier")


def client_totals(by_client: DataFrame) -> DataFrame:
    """The usage of every principal and client id over all namespaces, from the rows of
    :func:`volumes`."""
    return _summed(by_client, "principal", "client_id")


def collected(
    found: Tables,
    limit: int = page.DEFAULT_LIMIT,
    collecting: Callable[[str], None] = lambda _name: None,
) -> dict[str, Table]:
    """The rows that the page shows, and the number of rows in all. ``collecting`` is called with
    each table's name first."""
    columns = {section.table: [one.key for one in section.columns] for section in SECTIONS}
    rows = {}
    for name, table in found.items():
        collecting(name)
        rows[name] = _collect(table.orderBy(*_FIRST[name]()).select(*columns[name]), limit)
    return rows


def make(
    records: DataFrame, options: argparse.Namespace, now: dt.datetime, progress: Progress
) -> str:
    """The page. ``now`` is the time of making that it shows. Raises SourceError and OutputError."""
    progress.step("the figures of all records")
    known = facts(records)
    found = tables(records, options, known.period_ms)
    if options.output:
        # Each table is computed twice: for its files and for the page.
        found = {name: table.persist(StorageLevel.DISK_ONLY) for name, table in found.items()}
    write_tables(records.sparkSession, found, options, progress)
    titles = {section.table: section.title for section in SECTIONS}
    numbers = {name: number for number, name in enumerate(found, 1)}
    rows = collected(
        found,
        options.rows,
        lambda name: progress.step(f"{titles[name]} ({numbers[name]} of {len(found)})"),
    )
    about = About(", ".join(options.input), now, known.first, known.last, options.title)
    return page.page(rows, known.totals, about)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the job's own arguments, and the arguments of the jobs whose tables it shows."""
    access.options(parser)
    guarantees.options(parser)
    replication.options(parser)
    parser.add_argument(
        "--page",
        metavar="FILE",
        type=Path,
        default=Path("report.html"),
        help="the page to write (default: %(default)s)",
    )
    parser.add_argument("--title", default=page.DEFAULT_TITLE, help="the page's title")
    parser.add_argument(
        "--rows",
        metavar="N",
        type=positive,
        default=page.DEFAULT_LIMIT,
        help="rows of a table at most (default: %(default)s)",
    )


_JOBS: Final = (usage, access, latency, guarantees, policies, replication)
COLUMNS: Final = tuple(column for job in _JOBS for column in job.COLUMNS)
"""The columns of the records that these jobs read; the page's own tables need no others."""

COMMAND: Final = Command(
    "report", "all of it as one HTML page", lambda _r, _o: {}, options, COLUMNS
)


def main(argv: Sequence[str] | None = None) -> int:
    """The job as a command; returns its exit status. An error that a user can correct is a single
    line."""
    arguments = parse(COMMAND, argv)
    progress = Progress("report", quiet=arguments.quiet)
    try:
        progress.step("starting Spark")
        spark = session("kafka-gateway report", arguments)
        progress.step(f"reading {', '.join(arguments.input)}")
        records = read_records(spark, arguments, COLUMNS)
        text = make(records, arguments, dt.datetime.now(dt.UTC), progress)
        write(arguments.page, text)
    except FAILURES as error:
        return failed("report", error)
    if not arguments.quiet:
        print(f"{arguments.page}: {len(text.encode()) / 1e6:.1f} MB")
    return 0


def write(path: Path, text: str) -> None:
    """Write the page, whole or not at all. Raises SourceError."""
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be written: {error}") from error


def _collect(table: DataFrame, limit: int) -> Table:
    rows = [row.asDict() for row in table.limit(limit + 1).collect()]
    # Counting costs a second pass, so rows are counted only if there are more than ``limit``.
    total = table.count() if len(rows) > limit else len(rows)
    return Table(rows[:limit], total)


def _time(ms: int | None) -> dt.datetime | None:
    return None if ms is None else dt.datetime.fromtimestamp(ms / 1000, dt.UTC)


def _first_row(table: DataFrame) -> SparkRow:
    row = table.first()
    assert row is not None  # an aggregate over everything has exactly one row
    return row


def _summed(table: DataFrame, *keys: str) -> DataFrame:
    return table.groupBy(*keys).agg(*(_sum(name) for name in _VOLUME))


def _flows(records: DataFrame) -> DataFrame:
    return tree.absolute(records.where(F.col("kind") == "flow"))


def _of_flows() -> list[Column]:
    named = {"records_in": "records", "requests": "led_requests"}
    return [_sum(named.get(name, name)).alias(name) for name in _VOLUME]


def _sum(column: str) -> Column:
    return F.coalesce(F.sum(column), F.lit(0)).alias(column)


def _moved() -> Column:
    return F.col("bytes_in") + F.col("bytes_out")


def _by(*names: str) -> list[Column]:
    return [F.col(name) for name in names]


if __name__ == "__main__":
    sys.exit(main())
