"""Latency: percentiles by namespace and API, for the gateway's time and the broker's time apart.

They are read off the flow records' histograms, which are added up first; :mod:`spark.histogram`
says how exact that is.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial, reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark import histogram, tiers, tree
from spark.arguments import Command, Tables, run

SIDES: Final = {
    "gateway": ("gateway_us_quarters", "gateway_us_log2"),
    "broker": ("broker_us_quarters", "broker_us_log2"),
}
"""The sides whose time is measured, each with the columns of its histograms in records of version 2
and of version 1."""

_KEYS: Final = ("cluster", "namespace", "api", "side")


def latency(records: DataFrame) -> DataFrame:
    """Percentiles of requests, by namespace and API and for everything.

    Columns: namespace (also ``(all)``, with each API and with ``(all)`` APIs), api, side
    (``gateway`` or ``broker``), p50, p95, p99, p999 (whole microseconds), requests, buckets (the
    histogram itself), cluster (null without a tree, and for ``(all)``). A request counts for the
    topic that it names first. If there are no requests, there is no row.
    """
    namespace, api = tiers.label(F.col("namespace")), F.col("api")
    every, several = F.lit(tiers.ALL), F.lit(None).cast("string")
    by_level = F.array(
        _level(F.col("cluster"), namespace, api),
        _level(several, every, api),
        _level(several, every, every),
    )
    buckets = histogram.spread(F.col("last"), F.col("width"), F.col("count"))
    merged = (
        _by_api(records)
        .select(F.explode(by_level).alias("level"), "side", "last", "width", "count")
        .select("level.*", "side", F.inline(buckets))
        # The sums, and the percentiles made of them, need all rows of a key together: one shuffle.
        .repartition(*_KEYS)
        .groupBy(*_KEYS, "bucket")
        .agg(F.sum("count").alias("count"))
    )
    found = histogram.percentiles(merged, _KEYS)
    return found.select(*(name for name in found.columns if name != "cluster"), "cluster")


def _by_api(records: DataFrame) -> DataFrame:
    """The histograms' counts by namespace and API: see :func:`histogram.counted`.

    Each task adds up its rows before it sends them, so that a namespace with most of the records
    costs no task more than the others.
    """
    timed = (F.col("kind") == "flow") & (F.col("led_requests") > 0)
    flows = tree.absolute(records.where(timed))
    sides = (
        histogram.counted(flows, ("cluster", "namespace", "api"), *columns).withColumn(
            "side", F.lit(side)
        )
        for side, columns in SIDES.items()
    )
    return reduce(DataFrame.unionByName, sides)


def _level(cluster: Column, namespace: Column, api: Column) -> Column:
    return F.struct(cluster.alias("cluster"), namespace.alias("namespace"), api.alias("api"))


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name."""
    return {"latency": latency(records)}


COLUMNS: Final = (
    *tree.COLUMNS,
    "namespace",
    "api",
    "led_requests",
    *(column for columns in SIDES.values() for column in columns),
)
"""The columns that the job reads."""

COMMAND: Final = Command("latency", "percentiles by namespace and API", tables, columns=COLUMNS)

main = partial(run, COMMAND)


if __name__ == "__main__":
    sys.exit(main())
