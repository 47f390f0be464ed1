"""Latency: percentiles by namespace and API, the gateway's time and the broker's apart.

Read off the flow records' histograms, which are added up first: :mod:`spark.histogram` says how
exact that is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark import histogram, tiers
from spark.arguments import Command, Tables, run

SIDES: Final = {"gateway": "gateway_us_log2", "broker": "broker_us_log2"}
"""Whose time it is, and the column of its histograms."""

_BUCKETS: Final = "buckets"


def latency(records: DataFrame) -> DataFrame:
    """Percentiles of requests, by namespace and API and for everything.

    Columns: namespace (``(all)`` besides, with each API and with ``(all)`` of them), api, side
    (``gateway`` or ``broker``), p50, p95, p99, p999 (whole microseconds), requests, buckets (the
    histogram itself). A request counts for the topic that it names first. Without requests there
    is no row.
    """
    merged = _by_api(records)
    by_level = F.array(
        _level(tiers.label(F.col("namespace")), F.col("api")),
        _level(F.lit(tiers.ALL), F.col("api")),
        _level(F.lit(tiers.ALL), F.lit(tiers.ALL)),
    )
    every_bucket = [one for column in SIDES.values() for one in histogram.added(column)]
    levels = merged.withColumn("level", F.explode(by_level)).groupBy("level").agg(*every_bucket)
    sides = F.array(
        *(
            F.struct(F.lit(side).alias("side"), histogram.gathered(column).alias(_BUCKETS))
            for side, column in SIDES.items()
        )
    )
    rows = levels.select("level.*", F.explode(sides).alias("one")).select(
        "namespace", "api", "one.*", histogram.total(F.col(f"one.{_BUCKETS}")).alias("requests")
    )
    return rows.where(F.col("requests") > 0).select(
        "namespace",
        "api",
        "side",
        *(
            histogram.percentile(F.col(_BUCKETS), thousandths).alias(name)
            for name, thousandths in histogram.PERCENTILES
        ),
        "requests",
        _BUCKETS,
    )


def _by_api(records: DataFrame) -> DataFrame:
    """The histograms of each namespace and API, a column a bucket."""
    return (
        records.where((F.col("kind") == "flow") & (F.col("led_requests") > 0))
        .groupBy("namespace", "api")
        .agg(*(one for column in SIDES.values() for one in histogram.bucket_sums(column)))
    )


def _level(namespace: Column, api: Column) -> Column:
    return F.struct(namespace.alias("namespace"), api.alias("api"))


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name."""
    return {"latency": latency(records)}


COMMAND: Final = Command("latency", "percentiles by namespace and API", tables)


def main(argv: Sequence[str] | None = None) -> int:
    """The job as a command; returns its exit status."""
    return run(COMMAND, argv)


if __name__ == "__main__":
    sys.exit(main())
