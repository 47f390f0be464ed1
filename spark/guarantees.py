"""Guarantees: which producers request less than the strongest guarantee (KIP-679).

The job shows what would break before an operator requires it: ``producer.acks: require`` rejects
batches produced with acks=0 or 1, ``producer.idempotence: require`` batches without a producer id.
It counts the guarantees that clients requested, whatever the gateway made of them.

The traffic log has the acks that producers request, but not the guarantees of the topics: if a
topic's ``min.insync.replicas`` is 1, a record with acks=all is acknowledged when its leader alone
has it, if the other replicas are behind at that time. So the job also reads the output of
``kafka-topics --describe``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark import tiers, tree
from spark.arguments import Command, Tables, run
from spark.local_rows import local_rows
from spark.sources import SourceError

_NOT_IDEMPOTENT: Final = ("not_idempotent_observed", "not_idempotent_refused")
"""Keys of ``weak_producers``."""

# A topic's line begins with its name and ends with its configs; lines of partitions are indented.
_TOPIC: Final = re.compile(r"^Topic: *(\S+)\s.*ReplicationFactor: *(\d+)\s+Configs:(.*)$")
_MINIMUM: Final = re.compile(r"(?:^|[\s,])min\.insync\.replicas=(\d+)(?:,|$)")
_DEFAULT: Final = 1
"""Kafka's default: the tool leaves out a config that is set neither at the topic nor at the
brokers."""


def guarantees(records: DataFrame, hollow: Mapping[str, bool] | None = None) -> DataFrame:
    """Every producer of every namespace.

    Columns: namespace, principal, client_id, software (name and version), acks_0, acks_1, acks_all
    (Produce requests), not_idempotent (batches without a producer id), batches, records,
    records_per_batch (null without batches), breaks_acks and breaks_idempotence (whether requiring
    it would reject some of the producer's requests), last_ms (the start of the window in which it
    produced last).

    ``hollow`` maps topics, by their logical or their stored names, to whether a single replica is
    enough for acks=all. hollow_acks_all counts the requests with acks=all to such topics; it is
    null if ``hollow`` has none of the topics that they went to.
    """
    produced = records.where((F.col("kind") == "flow") & (F.col("api") == "Produce"))
    weak_acks = F.col("acks_0") + F.col("acks_1") > 0
    return (
        tree.absolute(_with_hollow(produced, hollow))
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
            F.sum(
                F.when(F.col("hollow"), F.col("acks_all")).otherwise(F.col("hollow").cast("long"))
            ).alias("hollow_acks_all"),
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
            "hollow_acks_all",
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


def _with_hollow(produced: DataFrame, hollow: Mapping[str, bool] | None) -> DataFrame:
    """Adds the column ``hollow``: whether a single replica of the topic is enough for acks=all, or
    null if that is not known."""
    if not hollow:
        return produced.withColumn("hollow", F.lit(None).cast("boolean"))
    found = []
    for name in ("logical_topic", "flat_topic"):
        rows = [{name: topic, f"hollow_{name}": value} for topic, value in hollow.items()]
        structure = f"{name} string, hollow_{name} boolean"
        known = local_rows(produced.sparkSession, structure, rows)
        produced = produced.join(F.broadcast(known), name, "left")
        found.append(F.col(f"hollow_{name}"))
    return produced.withColumn("hollow", F.coalesce(*found))


def software() -> Column:
    """A client's software, name and version; ``unknown`` if the client does not report it
    (KIP-511)."""
    text = F.trim(F.concat_ws(" ", F.col("software_name"), F.col("software_version")))
    return F.when(text == "", "unknown").otherwise(text)


def _weak_requests() -> Column:
    """The number of requests that were not idempotent; rejected requests too: their batches count
    nowhere."""
    found = F.lit(0)
    for key in _NOT_IDEMPOTENT:
        found = found + F.coalesce(F.try_element_at("weak_producers", F.lit(key)), F.lit(0))
    return F.coalesce(F.sum(found), F.lit(0))


def _sum(column: str) -> Column:
    return F.coalesce(F.sum(column), F.lit(0)).alias(column)


def hollow_topics(path: Path) -> dict[str, bool]:
    """By topic, in the spelling of the file, whether a single replica is enough for acks=all.

    Raises SourceError for a file that cannot be read, or has no topic.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read: {error}") from None
    found = {}
    for line in text.splitlines():
        topic = _TOPIC.match(line)
        if topic:
            minimum = _MINIMUM.search(topic[3].strip())
            found[topic[1]] = (int(minimum[1]) if minimum else _DEFAULT) <= 1
    if not found:
        raise SourceError(f"{path} has no topic: it has to be what kafka-topics --describe prints")
    return found


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name. Raises SourceError."""
    path = options.described_topics
    return {"guarantees": guarantees(records, None if path is None else hollow_topics(path))}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the job's own arguments."""
    parser.add_argument(
        "--described-topics",
        metavar="FILE",
        type=Path,
        help="what kafka-topics --describe prints: whose acks=all goes to topics where one replica "
        "is enough (min.insync.replicas=1)",
    )


COLUMNS: Final = (
    *tree.COLUMNS,
    "api",
    "namespace",
    "logical_topic",
    "flat_topic",
    "principal",
    "client_id",
    "software_name",
    "software_version",
    "acks_0",
    "acks_1",
    "acks_all",
    "batches",
    "records",
    "idempotent",
    "weak_producers",
)
"""The columns that the job reads."""

COMMAND: Final = Command(
    "guarantees", "what requiring KIP-679 would break", tables, options, COLUMNS
)

main = partial(run, COMMAND)


if __name__ == "__main__":
    sys.exit(main())
