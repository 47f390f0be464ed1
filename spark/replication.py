"""Replication: which topics MirrorMaker leaves out, before and after KIP-1074.

Before KIP-1074 a topic whose name ends in ``.internal`` or ``-internal`` is *internal*, and never
replicated; since then only MirrorMaker's own topics are. So if MirrorMaker is upgraded, it begins
to replicate users' topics with such names. The job lists them, and how much is written to them.

Both rules look at a name, and a topic has several: MirrorMaker at the brokers sees the stored name,
at the gateway the logical name, and in a home namespace the bare name. For example,
``mm2-x.internal`` of ``team-a`` is MirrorMaker's own by both rules there, but at the brokers it is
``team-a..mm2-x.internal``, which only the old rule counts as internal.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any, Final

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark import tree
from spark.arguments import Command, Tables, run
from spark.sources import SourceError

OLD_EXCLUDE: Final = r".*[\-\.]internal, .*\.replica, __.*"
"""``topics.exclude`` of MirrorMaker's DefaultTopicFilter before KIP-1074."""

NEW_EXCLUDE: Final = r"mm2.*\.internal, .*\.replica, __.*"
"""The default since Kafka 4.0, which has KIP-1074. The KIP's text lacks the first backslash and
dot."""

SEPARATOR: Final = "."
"""The default of ``replication.policy.separator``."""

OTHER: Final = "(other)"
"""The name under which topics beyond a window's bound are summed up; it is not a topic."""


def old_internal(topic: Column, separator: str = SEPARATOR) -> Column:
    """ReplicationPolicy.isInternalTopic before KIP-1074."""
    return (
        topic.endswith(f"{separator}internal")
        | _kafka_internal(topic)
        | topic.endswith("-internal")
        | topic.endswith(".internal")
    )


def new_internal(topic: Column, separator: str = SEPARATOR) -> Column:
    """ReplicationPolicy.isInternalTopic since KIP-1074."""
    suffix = f"{separator}internal"
    checkpoints = topic.endswith(f"{separator}checkpoints{suffix}")
    return (topic.startswith("mm2") & topic.endswith(suffix)) | checkpoints | _kafka_internal(topic)


def excluded(topic: Column, patterns: str) -> Column:
    """Whether a list for ``topics.exclude``, comma separated, has a pattern that matches the whole
    name."""
    listed = _listed(patterns)
    return topic.rlike(rf"\A(?:{'|'.join(listed)})\z") if listed else F.lit(False)


def _listed(patterns: str) -> list[str]:
    return [one.strip() for one in patterns.split(",") if one.strip()]


def replication(
    records: DataFrame,
    *,
    separator: str = SEPARATOR,
    exclude: str = NEW_EXCLUDE,
    exclude_before: str = OLD_EXCLUDE,
) -> DataFrame:
    """Every topic that a rule leaves out under any of its names, or whose replication changes.

    Columns: topic (the logical name), flat_topic (the stored name), old_rule and new_rule (whether
    the stored name is internal by that rule), old_rule_named and new_rule_named (the logical name),
    old_rule_bare and new_rule_bare (the name in its namespace), replicated_before and
    replicated_after (whether the stored name is replicated if ``topics.exclude`` is
    ``exclude_before``, or ``exclude``), change (``replicated now``, ``no longer replicated`` or
    ``none``), bytes and records (written by producers).
    """
    names = {"": "flat_topic", "_named": "topic", "_bare": "bare"}
    judged = _topics(records).select(
        "*",
        *(
            old_internal(F.col(name), separator).alias(f"old_rule{end}")
            for end, name in names.items()
        ),
        *(
            new_internal(F.col(name), separator).alias(f"new_rule{end}")
            for end, name in names.items()
        ),
    )
    flat = F.col("flat_topic")
    before = ~(F.col("old_rule") | excluded(flat, exclude_before))
    after = ~(F.col("new_rule") | excluded(flat, exclude))
    concerned = F.lit(False)
    for end in names:
        concerned = concerned | F.col(f"old_rule{end}") | F.col(f"new_rule{end}")
    return (
        judged.withColumn("replicated_before", before)
        .withColumn("replicated_after", after)
        .where(concerned | (F.col("replicated_before") != F.col("replicated_after")))
        .select(
            "topic",
            "flat_topic",
            *(f"{rule}{end}" for end in names for rule in ("old_rule", "new_rule")),
            "replicated_before",
            "replicated_after",
            _change().alias("change"),
            "bytes",
            "records",
        )
    )


def _topics(records: DataFrame) -> DataFrame:
    """Every topic by its names, with the bytes and records that producers wrote to it."""
    produced = F.col("api") == "Produce"
    logical = F.col("logical_topic")
    return (
        tree.absolute(
            records.where(
                (F.col("kind") == "flow") & F.col("flat_topic").isNotNull() & (logical != OTHER)
            )
        )
        .groupBy(logical.alias("topic"), "flat_topic")
        .agg(
            F.coalesce(F.sum(F.when(produced, F.col("bytes_in"))), F.lit(0)).alias("bytes"),
            F.coalesce(F.sum(F.when(produced, F.col("records"))), F.lit(0)).alias("records"),
        )
        .withColumn("bare", F.substring_index(F.col("topic"), ":", -1))
    )


def _kafka_internal(topic: Column) -> Column:
    return topic.startswith("__") | topic.startswith(".")


def _change() -> Column:
    before, after = F.col("replicated_before"), F.col("replicated_after")
    return (
        F.when(~before & after, "replicated now")
        .when(before & ~after, "no longer replicated")
        .otherwise("none")
    )


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name. Raises SourceError if a pattern cannot be compiled."""
    lists = {"exclude": options.topics_exclude, "exclude_before": options.topics_exclude_before}
    for patterns in lists.values():
        _check(records.sparkSession, patterns)
    return {"replication": replication(records, separator=options.separator, **lists)}


def _check(spark: SparkSession, patterns: str) -> None:
    """Raise SourceError unless Java accepts the patterns. Java checks them, because Python's
    patterns have another syntax."""
    context: Any = spark.sparkContext
    try:
        context._jvm.java.util.regex.Pattern.compile("|".join(_listed(patterns)))
    except IllegalArgumentException as error:
        said = str(error).splitlines()[0]
        raise SourceError(f"{patterns}: no list of patterns: {said}") from None


def options(parser: argparse.ArgumentParser) -> None:
    """Add the job's own arguments: the settings of MirrorMaker's configuration."""
    parser.add_argument(
        "--separator",
        default=SEPARATOR,
        help="replication.policy.separator, if internal topics have it (default: %(default)s)",
    )
    parser.add_argument(
        "--topics-exclude",
        default=NEW_EXCLUDE,
        metavar="PATTERNS",
        help="topics.exclude after the upgrade (default: that of Kafka 4.0)",
    )
    parser.add_argument(
        "--topics-exclude-before",
        default=OLD_EXCLUDE,
        metavar="PATTERNS",
        help="the same before it (default: that of Kafka 3)",
    )


COLUMNS: Final = (
    *tree.COLUMNS,
    "api",
    "logical_topic",
    "flat_topic",
    "bytes_in",
    "records",
)
"""The columns that the job reads."""

COMMAND: Final = Command(
    "replication", "what KIP-1074 lets MirrorMaker copy", tables, options, COLUMNS
)

main = partial(run, COMMAND)


if __name__ == "__main__":
    sys.exit(main())
