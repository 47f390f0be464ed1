"""Usage: who moved how much, per hour and day, for every tier of the namespace tree.

Bytes and records are exact sums. A request counts once, for the topic that it names first. A
connection counts at least once in each period in which it was used. Each flow record has the number
of connections that took part in it: of several records of the same client in the same worker the
most is taken, and the numbers of workers and clients are added. So it is a lower bound of the
different connections.

Cost: each task adds up what it reads by the text of a few columns, and by a hash of the others that
tell clients apart (:func:`_process`). Sums do not depend on the hash. They are sent to the task of
their namespace, hour and client, which adds up what several tasks have read, and then to the task
of their day, principal and client id. That one makes the rows of the tiers, which are several times
as many, and adds them up where they are.

Skew: no task gets a tier. The largest one gets a client id of a principal for a day, in sums by
namespace, hour and process, not in records.
"""

from __future__ import annotations

import argparse
import csv
import sys
from functools import partial
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark import tiers, tree
from spark.arguments import Command, Tables, run
from spark.sources import SourceError

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS

_NAMED: Final = ("principal", "client_id")
_PROCESS: Final = (
    "gateway_id",
    "worker_id",
    "listener",
    "software_name",
    "software_version",
    "client_address",
)
"""The columns by which clients of a worker are told apart, beside their names; a connection belongs
to one worker."""

_SUMS: Final = ("bytes_in", "bytes_out", "records_in", "records_out", "requests")
_BYTES: Final = ("bytes_in", "bytes_out")
_GIB: Final = 2**30


def usage(records: DataFrame, length_ms: int = HOUR_MS) -> DataFrame:
    """The usage of every tier, principal and client id in each period, which starts in UTC.

    Columns: tier, period (timestamp), principal, client_id, bytes_in (from clients), bytes_out,
    records_in (produced), records_out (fetched), requests, connections, cluster (null without a
    tree). Tiers include each other: see :func:`spark.tiers.tiers`.
    """
    return by_tier(per_client(records), length_ms)


def by_tier(clients: DataFrame, length_ms: int) -> DataFrame:
    """The usage, from the rows of :func:`per_client`; ``length_ms`` is :data:`HOUR_MS` or
    :data:`DAY_MS`.

    All rows that are added up are in one partition. ``day_ms`` is among the keys of an hour, so
    that Spark knows it.
    """
    keys = ("day_ms",) if length_ms == DAY_MS else ("day_ms", "hour_ms")
    if length_ms == DAY_MS:
        # A day has a fraction of the rows of its hours, so there are fewer to make tiers of.
        clients = _most_used(clients, "cluster", "namespace", *keys, *_NAMED, "process")
    of_tier = clients.withColumn("tier", F.explode(tiers.tiers(F.col("namespace"))))
    return (
        _most_used(of_tier, "cluster", "tier", *keys, *_NAMED, "process")
        .groupBy("cluster", "tier", *keys, *_NAMED)
        .agg(*_added((*_SUMS, "connections")))
        .withColumn("period", F.timestamp_millis(keys[-1]))
        .select("tier", "period", *_NAMED, *_SUMS, "connections", "cluster")
    )


def _most_used(clients: DataFrame, *keys: str) -> DataFrame:
    """Rows of one process added up: its connections are the most that were used at once."""
    most = F.max("connections").alias("connections")
    return clients.groupBy(*keys).agg(*_added(_SUMS), most)


def chargeback(used: DataFrame) -> DataFrame:
    """The bill: a row for each period, tier and principal, from the rows of :func:`usage`.

    Columns: period, tier, depth (tiers of the path), principal, gib_in, gib_out, records_in,
    records_out, requests, share_percent (of all bytes of the period), own_gib_in, own_gib_out,
    own_share_percent, cluster. The columns without ``own`` are of the tier with every tier below
    it, the columns that begin with ``own`` of exactly that namespace: over all rows of a period
    these add up to everything.
    """
    moved = F.col("bytes_in") + F.col("bytes_out")
    own_moved = F.col("own_bytes_in") + F.col("own_bytes_out")
    everything = (
        used.where(F.col("tier") == tiers.ALL)
        .groupBy("period")
        .agg(F.sum(moved).alias("everything"))
    )
    return (
        _with_own(used.where(F.col("tier") != tiers.ALL))
        .join(F.broadcast(everything), "period")
        .select(
            "period",
            "tier",
            tiers.depth(F.col("tier")).alias("depth"),
            "principal",
            _gib("bytes_in").alias("gib_in"),
            _gib("bytes_out").alias("gib_out"),
            "records_in",
            "records_out",
            "requests",
            _percent(moved).alias("share_percent"),
            _gib("own_bytes_in").alias("own_gib_in"),
            _gib("own_bytes_out").alias("own_gib_out"),
            _percent(own_moved).alias("own_share_percent"),
            "cluster",
        )
    )


def _with_own(used: DataFrame) -> DataFrame:
    """Sums by period, tier and principal, with the bytes of the tier itself: its sums less the sums
    of the tiers right below it."""
    counts_for = F.array(
        _part(F.col("tier"), total=1, own=1), _part(tiers.parent(F.col("tier")), total=0, own=-1)
    )
    return (
        used.withColumn("part", F.explode(counts_for))
        .where(F.col("part.tier").isNotNull())
        .groupBy("period", "cluster", F.col("part.tier").alias("tier"), "principal")
        .agg(
            *(F.sum(F.col(name) * F.col("part.total")).alias(name) for name in _SUMS),
            *(F.sum(F.col(name) * F.col("part.own")).alias(f"own_{name}") for name in _BYTES),
        )
    )


def _part(tier: Column, *, total: int, own: int) -> Column:
    return F.struct(tier.alias("tier"), F.lit(total).alias("total"), F.lit(own).alias("own"))


def _gib(column: str) -> Column:
    return F.round(F.col(column) / _GIB, 6)


def _percent(moved: Column) -> Column:
    everything = F.col("everything")
    return F.round(F.when(everything > 0, moved * 100.0 / everything).otherwise(0.0), 4)


def per_client(records: DataFrame) -> DataFrame:
    """Sums by namespace, hour and client of a worker, from which every period is made. All rows of
    a day, principal and client id are in one partition."""
    time = F.col("time_ms")
    return (
        tree.absolute(records.where(F.col("kind") == "flow"))
        .withColumn("process", _process())
        .withColumn("hour_ms", time - F.pmod(time, F.lit(HOUR_MS)))
        .groupBy("cluster", "namespace", "hour_ms", *_NAMED, "process")
        .agg(
            _sum("bytes_in"),
            _sum("bytes_out"),
            _sum("records", "records_in"),
            _sum("records_out"),
            _sum("led_requests", "requests"),
            F.coalesce(F.max("connections"), F.lit(0)).cast("long").alias("connections"),
        )
        .withColumn("day_ms", F.col("hour_ms") - F.pmod("hour_ms", F.lit(DAY_MS)))
        .repartition("day_ms", *_NAMED)
    )


def _process() -> Column:
    """64 bits for the process of a client, in place of six columns of text. Only connections depend
    on them: if two processes with one principal and client id had the same bits, by a chance of
    one in 2^64 for each pair, the fewer connections of the two would not be added."""
    # The hash passes over nulls, so (null, a) and (a, null) need to be told apart.
    return F.xxhash64(*(one for name in _PROCESS for one in (F.isnull(name), F.col(name))))


def _sum(column: str, name: str | None = None) -> Column:
    return F.coalesce(F.sum(column), F.lit(0)).alias(name or column)


def _added(columns: tuple[str, ...]) -> list[Column]:
    return [F.sum(column).alias(column) for column in columns]


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name. Also writes the bill for ``--chargeback``."""
    clients = per_client(records).persist(StorageLevel.DISK_ONLY)
    # The bill is made of it, too, in two ways.
    by_day = by_tier(clients, DAY_MS).persist(StorageLevel.DISK_ONLY)
    bill = chargeback(by_day)
    if options.chargeback:
        write_csv(bill.orderBy("period", "tier", "principal", "cluster"), options.chargeback)
    return {"usage_hour": by_tier(clients, HOUR_MS), "usage_day": by_day, "chargeback": bill}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the job's own arguments."""
    parser.add_argument(
        "--chargeback", metavar="FILE", type=Path, help="write the bill to this file, as CSV"
    )


def write_csv(table: DataFrame, path: Path) -> None:
    """Write a single CSV file on the driver's disk, with a line of names, whole or not at all.
    Raises SourceError."""
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table.columns)
            writer.writerows(table.toLocalIterator())
        unfinished.replace(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be written: {error}") from error


COLUMNS: Final = (
    *_NAMED,
    *_PROCESS,
    *tree.COLUMNS,
    "namespace",
    "bytes_in",
    "bytes_out",
    "records",
    "records_out",
    "led_requests",
    "connections",
)
"""The columns that the job reads."""

COMMAND: Final = Command(
    "usage", "what every tier, principal and client used", tables, options, COLUMNS
)

main = partial(run, COMMAND)


if __name__ == "__main__":
    sys.exit(main())
