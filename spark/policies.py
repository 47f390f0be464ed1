"""Policies: requests that were rejected, requests that only got a warning, and near misses.

A near miss is a value that was allowed, within 20 % of the limit; the next value may be rejected.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark import tiers, tree
from spark.arguments import Command, Tables, run


def policies(records: DataFrame) -> DataFrame:
    """Violations and near misses, by topic and rule.

    Columns: namespace, topic, rule, outcome (``refused``, ``warned`` or ``near``), count, value and
    limit (of the latest event; null if they are not numbers), principal (of the latest event),
    source (the place of the rule in the configuration), last_ms, cluster (null without a tree).
    """
    latest = F.max(F.struct("time_ms", "value", "limit", "principal", "source"))
    return (
        tree.absolute(records.where(F.col("kind") == "policy"))
        .groupBy(
            "cluster",
            tiers.label(F.col("namespace")).alias("namespace"),
            F.col("topic"),
            "rule",
            "outcome",
        )
        .agg(F.count(F.lit(1)).alias("count"), latest.alias("latest"))
        .select(
            "namespace",
            "topic",
            "rule",
            "outcome",
            "count",
            "latest.value",
            "latest.limit",
            "latest.principal",
            "latest.source",
            F.col("latest.time_ms").alias("last_ms"),
            "cluster",
        )
    )


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name."""
    return {"policies": policies(records)}


COLUMNS: Final = (
    *tree.COLUMNS,
    "namespace",
    "topic",
    "rule",
    "outcome",
    "value",
    "limit",
    "principal",
    "source",
)
"""The columns that the job reads."""

COMMAND: Final = Command("policies", "policy violations and near misses", tables, columns=COLUMNS)

main = partial(run, COMMAND)


if __name__ == "__main__":
    sys.exit(main())
