"""bench.spark_records: the same records from the same seed, as skewed as stated, and sound."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from bench.spark_records import HOT, HOT_SHARE, spark_records
from spark import schema

COUNT = 20_000


def test_records_have_the_schema_and_60_percent_are_of_one_namespace(spark: SparkSession) -> None:
    made = spark_records(spark, COUNT).persist()
    wanted = schema.traffic_log_schema()
    assert made.schema.simpleString() == wanted.simpleString()
    kinds = {row.kind: row["count"] for row in made.groupBy("kind").count().collect()}
    assert kinds == {"flow": COUNT - 140, "denial": 100, "policy": 20, "acl": 20}
    assert made.select("id").distinct().count() == COUNT
    hot = made.where(F.col("namespace") == HOT).count()
    assert abs(hot / COUNT - HOT_SHARE) < 0.02
    made.unpersist()


def test_what_a_flow_counts_fits_together(spark: SparkSession) -> None:
    flows = spark_records(spark, COUNT).where("kind = 'flow'")
    gateway, broker = (_total(f"{side}_us_quarters") for side in ("gateway", "broker"))
    assert flows.where((gateway != F.col("led_requests")) | (broker != gateway)).count() == 0
    assert flows.where("idempotent > batches or led_requests > requests").count() == 0
    assert flows.where("api != 'Produce' and records > 0").count() == 0
    assert flows.where("flat_topic is null or logical_topic is null").count() == 0


def test_the_seed_decides(spark: SparkSession) -> None:
    columns = ["principal", "namespace", "logical_topic", "bytes_in", "time_ms"]
    first = spark_records(spark, 500, seed=1).select(columns).collect()
    assert spark_records(spark, 500, seed=1).repartition(3).orderBy("id").count() == 500
    assert spark_records(spark, 500, seed=1).select(columns).collect() == first
    assert spark_records(spark, 500, seed=2).select(columns).collect() != first


def _total(column: str) -> Column:
    counts = F.map_values(F.col(column))
    return F.aggregate(counts, F.lit(0).cast("long"), lambda before, count: before + count)
