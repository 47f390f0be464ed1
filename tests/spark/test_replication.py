"""spark.replication: KIP-1074's two rules, as gateway.mirror_maker has them."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from gateway.mirror_maker import EXCLUDE, EXCLUDE_BEFORE, ReplicationPolicy
from spark import replication as job
from tests.spark import samples

BEGINNINGS = ("", "__", ".", "mm2", "mm2-", "mm2.", "a.mm2", "_", "orders", "a..b")
ENDINGS = (
    "",
    ".internal",
    "-internal",
    "internal",
    "_internal",
    ".checkpoints.internal",
    "-checkpoints-internal",
    "checkpoints.internal",
    ".replica",
    ".internal.x",
    ".INTERNAL",
    "-offset-syncs.b.internal",
)
NAMES = sorted({a + b for a, b in itertools.product(BEGINNINGS, ENDINGS)} - {""})


@pytest.mark.parametrize("separator", [".", "-", "_", ".."])
def test_the_rules_are_the_gateways(spark: SparkSession, separator: str) -> None:
    """The gateway's rules are Kafka's: tests/live/oracle/test_replication_oracle.py."""
    choice = random.Random(separator)
    pieces = (*BEGINNINGS, *ENDINGS, separator, f"{separator}internal", f"{separator}checkpoints")
    made = {"".join(choice.choices(pieces, k=choice.randint(1, 4))) for _ in range(3_000)}
    names = sorted({*NAMES, *made} - {""})
    rows = spark.range(1).select(F.explode(F.split(F.lit("\n".join(names)), "\n")).alias("topic"))
    topic = F.col("topic")
    found = rows.select(
        topic, job.old_internal(topic, separator), job.new_internal(topic, separator)
    ).collect()
    policy = ReplicationPolicy(separator)
    assert {name: (old, new) for name, old, new in found} == {
        name: (policy.is_internal_topic_before(name), policy.is_internal_topic(name))
        for name in names
    }


def test_the_exclude_lists_are_the_gateways() -> None:
    assert ", ".join(EXCLUDE_BEFORE) == job.OLD_EXCLUDE
    assert ", ".join(EXCLUDE) == job.NEW_EXCLUDE


@pytest.mark.parametrize("patterns", [job.OLD_EXCLUDE, job.NEW_EXCLUDE, "", "orders"])
def test_exclude_lists_are_for_whole_names(spark: SparkSession, patterns: str) -> None:
    rows = spark.range(1).select(F.explode(F.array(*map(F.lit, NAMES))).alias("topic"))
    found = rows.where(job.excluded(F.col("topic"), patterns)).collect()
    listed = [re.compile(one.strip()) for one in patterns.split(",") if one]
    assert {row.topic for row in found} == {
        name for name in NAMES if any(one.fullmatch(name) for one in listed)
    }


def of(spark: SparkSession, *rows: samples.Row, **options: str) -> dict[str, Row]:
    found = job.replication(samples.frame(spark, rows), **options).collect()
    return {row.topic: row for row in found}


def test_a_topic_of_users_begins_to_be_replicated(spark: SparkSession) -> None:
    found = of(
        spark,
        samples.flow("org:orders.internal", bytes_in=700, records=7),
        samples.flow("org:orders.internal", bytes_in=300, records=3, client_id="b"),
        samples.flow("org:orders.internal", "Fetch", bytes_in=50, bytes_out=5_000),
        samples.flow("org:orders", bytes_in=9, records=1),
        samples.flow(None, "Metadata"),
        samples.denial(),
    )
    assert list(found) == ["org:orders.internal"]
    row = found["org:orders.internal"]
    assert row.flat_topic == "org..orders.internal"
    assert (row.old_rule, row.new_rule) == (True, False)
    assert (row.replicated_before, row.replicated_after) == (False, True)
    assert (row.change, row.bytes, row.records) == ("replicated now", 1_000, 10)


def test_one_topic_has_several_names(spark: SparkSession) -> None:
    """In a home namespace MirrorMaker's own topics have their own names; at the brokers they do
    not."""
    rules = ("old_rule", "new_rule")
    ends = ("", "_named", "_bare")
    found = of(
        spark,
        samples.flow("team-a:mm2-offset-syncs.b.internal"),
        samples.flow("mm2:orders.internal"),
        samples.flow("team-a:__own"),
        samples.flow("b.checkpoints.internal"),
        samples.flow("moved:orders", flat_topic="old-internal"),
    )
    told = {
        topic: {end: tuple(row[f"{rule}{end}"] for rule in rules) for end in ends}
        for topic, row in found.items()
    }
    assert told == {
        "team-a:mm2-offset-syncs.b.internal": {
            "": (True, False),
            "_named": (True, False),
            "_bare": (True, True),
        },
        "mm2:orders.internal": {"": (True, True), "_named": (True, True), "_bare": (True, False)},
        "team-a:__own": {"": (False, False), "_named": (False, False), "_bare": (True, True)},
        "b.checkpoints.internal": dict.fromkeys(ends, (True, True)),
        "moved:orders": {"": (True, False), "_named": (False, False), "_bare": (False, False)},
    }


def test_the_new_exclude_list_is_that_of_kafka(spark: SparkSession) -> None:
    """KIP-1074's text has no dot in it, so it excludes topics that Kafka replicates."""
    of_the_kip = r"mm2.*internal, .*\.replica, __.*"
    name, dash = samples.flow("mm2foointernal"), samples.flow("mm2-foo-internal")
    assert of(spark, name) == {}
    assert of(spark, name, exclude=of_the_kip)["mm2foointernal"].change == "no longer replicated"
    assert of(spark, dash)["mm2-foo-internal"].change == "replicated now"
    assert of(spark, dash, exclude=of_the_kip)["mm2-foo-internal"].change == "none"


def test_the_exclude_list_before_may_be_ones_own(spark: SparkSession) -> None:
    name = samples.flow("orders.replica")
    assert of(spark, name) == {}
    given = {"exclude_before": "", "exclude": "orders.*"}
    assert of(spark, name, **given)["orders.replica"].change == "no longer replicated"


def test_own_topics_stay_left_out(spark: SparkSession) -> None:
    row = of(spark, samples.flow("mm2-offset-syncs.b.internal"))["mm2-offset-syncs.b.internal"]
    assert (row.replicated_before, row.replicated_after, row.change) == (False, False, "none")
