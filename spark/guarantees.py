"""Guarantees: which producers ask for less than the strongest guarantee (KIP-679).

What requiring it would break, before anybody requires it: ``producer.acks: require`` refuses what
is produced with acks=0 or 1, ``producer.idempotence: require`` batches without a producer id. What
counts is what clients asked for, whatever the gateway made of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark import tiers
from spark.arguments import Command, Tables, run

_NOT_IDEMPOTENT: Final = ("not_idempotent_observed", "not_idempotent_refused")
"""Keys of ``weak_producers``."""


def guarantees(records: DataFrame) -> DataFrame:
    """Every producer of every namespace.

    Columns: namespace, principal, client_id, software (name and version), acks_0, acks_1, acks_all
    (Produce requests), not_idempotent (batches without a producer id), batches, records,
    records_per_batch (null without batches), breaks_acks and breaks_idempotence (whether requiring
    it would refuse some of what it sent), last_ms (when it produced last: the start of a window).
    """
    weak_acks = F.col("acks_0") + F.col("acks_1") > 0
    return (
        records.where((F.col("kind") == "flow") & (F.col("api") == "Produce"))
        .groupBy(
            tiers.label(F.col("namespace")).alias("namespace"),
            "principal",
            "client_id",
            software().alias("software"),
        )
        .agg(
            *(_sum(name) for name in ("acks_0", "acks_1", "acks_all", "batches", "records")),
            _sum("idempotent"),
            _weak_requests().alias("weak_requests"),
            F.max("time_ms").alias("last_ms"),
        )
        .where(F.col("acks_0") + F.col("acks_1") + F.col("acks_all") + F.col("batches") > 0)
        .withColumn("not_idempotent", F.greatest(F.col("batches") - F.col("idempotent"), F.lit(0)))
        .select(
            "namespace",
            "principal",
            "client_id",
            "software",
            "acks_0",
            "acks_1",
            "acks_all",
            "not_idempotent",
            "batches",
            "records",
            F.when(F.col("batches") > 0, F.round(F.col("records") / F.col("batches"), 3)).alias(
                "records_per_batch"
            ),
            weak_acks.alias("breaks_acks"),
            ((F.col("not_idempotent") > 0) | (F.col("weak_requests") > 0)).alias(
                "breaks_idempotence"
            ),
            "last_ms",
        )
    )


def software() -> Column:
    """A client's software, name and version; ``unknown`` of clients that do not say (KIP-511)."""
    text = F.trim(F.concat_ws(" ", F.col("software_name"), F.col("software_version")))
    return F.when(text == "", "unknown").otherwise(text)


def _weak_requests() -> Column:
    """Requests that were not idempotent, the refused ones too: their batches count nowhere."""
    found = F.lit(0)
    for key in _NOT_IDEMPOTENT:
        found = found + F.coalesce(F.try_element_at("weak_producers", F.lit(key)), F.lit(0))
    return F.coalesce(F.sum(found), F.lit(0))


def _sum(column: str) -> Column:
    return F.coalesce(F.sum(column), F.lit(0)).alias(column)


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name."""
    return {"guarantees": guarantees(records)}


COMMAND: Final = Command("guarantees", "what requiring KIP-679 would break", tables)


def main(argv: Sequence[str] | None = None) -> int:
    """The job as a command; returns its exit status."""
    return run(COMMAND, argv)


if __name__ == "__main__":
    sys.exit(main())
