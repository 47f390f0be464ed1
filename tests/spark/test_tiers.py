"""spark.tiers: the tiers that a namespace counts for."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gateway.counts import DEFAULT_NAMESPACE
from gateway.flows import NO_TOPIC
from gateway.names import parents
from spark import tiers

PATHS = ["org", "org:apache", "org:apache:kafka", "team-a", "v1.2:c-", "a:a:a:a:a:a"]


def of(spark: SparkSession, namespaces: list[str | None]) -> dict[str | None, list[str]]:
    values = F.array(*(F.lit(one) for one in namespaces))
    rows = spark.range(1).select(F.explode(values).alias("namespace"))
    found = rows.select("namespace", tiers.tiers(F.col("namespace")).alias("tiers")).collect()
    return {row["namespace"]: row["tiers"] for row in found}


def test_a_path_counts_for_everything_and_for_all_above_it(spark: SparkSession) -> None:
    assert of(spark, [*PATHS]) == {path: [tiers.ALL, *parents(path)] for path in PATHS}


def test_what_is_no_path_has_a_label_of_the_metrics(spark: SparkSession) -> None:
    assert of(spark, ["", None]) == {"": ["(all)", "(default)"], None: ["(all)", "(none)"]}
    assert tiers.DEFAULT == DEFAULT_NAMESPACE
    assert tiers.NONE == NO_TOPIC


def test_labels_and_depths(spark: SparkSession) -> None:
    values = F.array(F.lit("org:apache"), F.lit(""), F.lit(None))
    rows = spark.range(1).select(F.explode(values).alias("namespace"))
    labels = rows.select(tiers.label(F.col("namespace")).alias("label"))
    assert [row[0] for row in labels.collect()] == ["org:apache", "(default)", "(none)"]
    assert [row[0] for row in labels.select(tiers.depth(F.col("label"))).collect()] == [2, 1, 1]
    assert spark.range(1).select(tiers.depth(F.lit(tiers.ALL))).collect()[0][0] == 0


def test_the_tier_above(spark: SparkSession) -> None:
    values = F.array(*(F.lit(one) for one in [*PATHS, tiers.DEFAULT, tiers.NONE]))
    rows = spark.range(1).select(F.explode(values).alias("tier"))
    found = rows.select("tier", tiers.parent(F.col("tier"))).collect()
    none = {tiers.DEFAULT: None, tiers.NONE: None}
    assert dict(found) == {path: ([None, *parents(path)])[-2] for path in PATHS} | none
