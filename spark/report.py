"""The report: what all jobs find, as one HTML page that needs nothing else.

``python -m spark.report --input DIR --page report.html``. The jobs are asked for their tables, the
most telling rows of each are collected, and :mod:`spark.page` makes the page of them.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F

from spark import access, guarantees, latency, page, policies, replication, tiers, usage
from spark.arguments import Command, Tables, finish, parse, positive, read_records, session
from spark.failures import FAILURES, failed
from spark.page import About, Row, Table
from spark.sections import SECTIONS
from spark.sources import SourceError

OUTERMOST: Final = 6
"""Namespaces that the chart over time tells apart; as many as there are colours, less one."""

OTHERS: Final = "(others)"
HOURLY_MS: Final = 3 * usage.DAY_MS
"""A time that is no longer than this is shown by the hour, a longer one by the day."""

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
"""Which rows of a table come first; to the last key, so that a page comes out the same again."""


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the page's sections, by name; those of the jobs are as the jobs give them."""
    clients = usage.per_client(records).persist(StorageLevel.DISK_ONLY)
    by_jobs = {
        **access.tables(records, options),
        **latency.tables(records, options),
        **guarantees.tables(records, options),
        **policies.tables(records, options),
        **replication.tables(records, options),
    }
    shown = {section.table for section in SECTIONS}
    return {
        "namespaces": namespaces(clients),
        "over_time": over_time(clients, _period_ms(records)),
        "clients": client_totals(clients),
        **{name: table for name, table in by_jobs.items() if name in shown},
    }


def namespaces(clients: DataFrame) -> DataFrame:
    """What every tier used, of what :func:`spark.usage.per_client` gave."""
    return _summed(usage.by_tier(clients, usage.DAY_MS), "tier")


def over_time(clients: DataFrame, length_ms: int) -> DataFrame:
    """What the outermost tiers used in each period; all but the largest ones are ``(others)``."""
    outermost = usage.by_tier(clients, length_ms).where(tiers.depth(F.col("tier")) == 1)
    largest = _summed(outermost, "tier").orderBy(_moved().desc(), "tier").limit(OUTERMOST)
    kept = [row["tier"] for row in largest.collect()]
    tier = F.when(F.col("tier").isin(kept), F.col("tier")).otherwise(OTHERS)
    return _summed(outermost.withColumn("tier", tier), "period", "tier")


def client_totals(clients: DataFrame) -> DataFrame:
    """What every principal and client id used over all namespaces."""
    everything = usage.by_tier(clients, usage.DAY_MS).where(F.col("tier") == tiers.ALL)
    return _summed(everything, "principal", "client_id")


def totals(records: DataFrame) -> Row:
    """The figures that the page begins with."""
    flows = records.where(F.col("kind") == "flow")
    topic = F.when(F.col("logical_topic") != access.OTHER, F.col("logical_topic"))
    found = flows.agg(
        *(_sum(name) for name in ("bytes_in", "bytes_out", "records_out")),
        _sum("records").alias("records_in"),
        _sum("led_requests").alias("requests"),
        F.count_distinct("namespace").alias("namespaces"),
        F.count_distinct(topic).alias("topics"),
        F.count_distinct("client_id").alias("clients"),
    )
    denials = records.where(F.col("kind") == "denial").count()
    return {**_first_row(found).asDict(), "denials": denials}


def collected(found: Tables, limit: int = page.DEFAULT_LIMIT) -> dict[str, Table]:
    """The rows that the page shows, and how many there are in all."""
    columns = {section.table: [one.key for one in section.columns] for section in SECTIONS}
    return {
        name: _collect(table.orderBy(*_FIRST[name]()).select(*columns[name]), limit)
        for name, table in found.items()
    }


def make(records: DataFrame, options: argparse.Namespace, now: dt.datetime) -> str:
    """The page. ``now`` is what it says when it was made. Raises SourceError."""
    found = tables(records, options)
    if options.output:
        # They are printed by their own jobs: here only their files are wanted.
        for name, table in found.items():
            finish(name, table, argparse.Namespace(**{**vars(options), "quiet": True}))
    first, last = _span(records)
    about = About(", ".join(options.input), now, first, last, options.title)
    return page.page(collected(found, options.rows), totals(records), about)


def options(parser: argparse.ArgumentParser) -> None:
    """Arguments of its own, and those of the jobs that it asks."""
    access.options(parser)
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


COMMAND: Final = Command("report", "all of it as one HTML page", tables, options)


def main(argv: Sequence[str] | None = None) -> int:
    """The job as a command; returns its exit status. What a user can mend is one line."""
    arguments = parse(COMMAND, argv)
    try:
        spark = session("kafka-gateway report", arguments)
        text = make(read_records(spark, arguments), arguments, dt.datetime.now(dt.UTC))
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
    # Counting costs a second pass, so only what is too long is counted.
    total = table.count() if len(rows) > limit else len(rows)
    return Table(rows[:limit], total)


def _period_ms(records: DataFrame) -> int:
    first, last = _span(records)
    if first is None or last is None:
        return usage.HOUR_MS
    is_short = last - first <= dt.timedelta(milliseconds=HOURLY_MS)
    return usage.HOUR_MS if is_short else usage.DAY_MS


def _span(records: DataFrame) -> tuple[dt.datetime | None, dt.datetime | None]:
    """From when to when the records are; None and None if there are none. Those of used ACLs are
    from before, too: see :func:`spark.records.between`."""
    end = F.col("time_ms") + F.coalesce(F.col("window_ms"), F.lit(0))
    asked = records.where(F.col("kind") != "acl")
    row = _first_row(asked.agg(F.min("time_ms").alias("first"), F.max(end).alias("last")))
    return _time(row["first"]), _time(row["last"])


def _time(ms: int | None) -> dt.datetime | None:
    return None if ms is None else dt.datetime.fromtimestamp(ms / 1000, dt.UTC)


def _first_row(table: DataFrame) -> SparkRow:
    row = table.first()
    assert row is not None  # an aggregate over everything has exactly one row
    return row


def _summed(table: DataFrame, *keys: str) -> DataFrame:
    return table.groupBy(*keys).agg(*(_sum(name) for name in _VOLUME))


def _sum(column: str) -> Column:
    return F.coalesce(F.sum(column), F.lit(0)).alias(column)


def _moved() -> Column:
    return F.col("bytes_in") + F.col("bytes_out")


def _by(*names: str) -> list[Column]:
    return [F.col(name) for name in names]


if __name__ == "__main__":
    sys.exit(main())
