"""spark.histogram: percentiles against exact percentiles of the same data, within the stated
error."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gateway.counts import METRIC_BUCKETS
from gateway.flows import LATENCY_BUCKETS, LATENCY_STEPS
from spark import histogram
from tests.spark import samples

LAST_US = histogram.LAST_US

Record = dict[str, object]
"""A record's histogram of a side: ``quarters``, or ``log2`` of an earlier gateway."""

ROUNDED = 0.5


def exact(times: Sequence[float], thousandths: int) -> float:
    """The percentile by sorting: the value at rank ceil(p * n)."""
    rank = max(1, -(-len(times) * thousandths // 1000))
    return sorted(times)[rank - 1]


def is_within(told: int, truth: float, factor: float) -> bool:
    """Whether a percentile is right within a factor, and then rounded to a whole number. Times
    below a microsecond are reported as 0."""
    if truth < 1:
        return told == 0
    return truth / factor - ROUNDED <= told <= truth * factor + ROUNDED


def times_of(draw: random.Random) -> list[float]:
    """Realistic times: around a value, and now and then much later."""
    middle = draw.choice([1, 30, 400, 5_000, 90_000, 2_000_000])
    count = draw.choice([1, 2, 3, 20, 1_000, 3_000])
    spread = draw.choice([0.1, 0.7, 2.0])
    return [min(draw.lognormvariate(0, spread) * middle, LAST_US) for _ in range(count)]


def newest(times: Iterable[float]) -> Record:
    return {"quarters": samples.histogram(times)}


def earlier(times: Iterable[float]) -> Record:
    return {"log2": samples.earlier_histogram(times)}


def percentiles(spark: SparkSession, sets: Sequence[Sequence[Record]]) -> list[list[int | None]]:
    """The PERCENTILES of each set of records, by Spark."""
    rows = [{"at": at} | record for at, records in enumerate(sets) for record in records]
    typed = "array<struct<at int, quarters map<string,bigint>, log2 array<bigint>>>"
    given = spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows)), typed)))
    one = histogram.counted(given, ["at"], "quarters", "log2")
    buckets = one.select(
        "at", F.inline(histogram.spread(F.col("last"), F.col("width"), F.col("count")))
    )
    merged = buckets.groupBy("at", "bucket").agg(F.sum("count").alias("count"))
    found = {row["at"]: row for row in histogram.percentiles(merged, ["at"]).collect()}
    return [
        [found[at][name] if at in found else None for name, _ in histogram.PERCENTILES]
        for at in range(len(sets))
    ]


def test_the_buckets_are_the_gateways() -> None:
    assert (histogram.BUCKETS, histogram.STEPS) == (LATENCY_BUCKETS, LATENCY_STEPS)
    assert histogram.EARLIER_BUCKETS == METRIC_BUCKETS


@pytest.mark.parametrize(
    ("record", "factor"),
    [(newest, 1.19), (earlier, histogram.EARLIER_ERROR_FACTOR)],
)
def test_percentiles_are_within_the_stated_error(
    spark: SparkSession, record: object, factor: float
) -> None:
    assert callable(record)
    draw = random.Random(7)
    sets = [times_of(draw) for _ in range(300)]
    found = percentiles(spark, [[record(times)] for times in sets])
    for times, told in zip(sets, found, strict=True):
        for value, (name, thousandths) in zip(told, histogram.PERCENTILES, strict=True):
            truth = exact(times, thousandths)
            assert value is not None
            assert is_within(value, truth, factor), (name, truth, value)


def test_a_log_of_both_versions_is_within_a_factor_of_two(spark: SparkSession) -> None:
    draw = random.Random(11)
    pairs = [(times_of(draw), times_of(draw)) for _ in range(100)]
    found = percentiles(spark, [[newest(one), earlier(other)] for one, other in pairs])
    for (one, other), told in zip(pairs, found, strict=True):
        for value, (name, thousandths) in zip(told, histogram.PERCENTILES, strict=True):
            truth = exact([*one, *other], thousandths)
            assert value is not None
            assert is_within(value, truth, histogram.EARLIER_ERROR_FACTOR), (name, truth, value)


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ([], None),
        ([0], 0),
        ([1], 1),
        ([1000], 939),  # the middle of 861 to 1024
        ([512] * 10_000, 558),  # of 512 to 609
        ([LAST_US], LAST_US),
        ([90_000_000], LAST_US),  # beyond the histogram: at least its last bucket's beginning
    ],
)
def test_the_median_of_one_bucket(
    spark: SparkSession, times: list[float], told: int | None
) -> None:
    assert percentiles(spark, [[newest(times)]])[0][0] == told


@pytest.mark.parametrize(
    ("times", "told"), [([0], 0), ([1000] * 10_000, 724), ([90_000_000], LAST_US)]
)
def test_the_median_of_one_bucket_of_an_earlier_gateway(
    spark: SparkSession, times: list[float], told: int
) -> None:
    assert percentiles(spark, [[earlier(times)]])[0][0] == told


def test_what_no_gateway_counts_by_is_left_out_or_in_the_last_bucket(spark: SparkSession) -> None:
    record: Record = {"quarters": {"x": 3, "-1": 4, "": 5, "1e9": 6, "500": 1}}
    assert percentiles(spark, [[record]])[0][0] == LAST_US


def test_ranks_are_counted_and_not_estimated(spark: SparkSession) -> None:
    """The 999th and the 1000th of 1,000: p99.9 is the 999th."""
    for slow, beyond in ((1, False), (2, True)):
        counts = newest([100] * (1_000 - slow) + [1_000_000] * slow)
        p999 = percentiles(spark, [[counts]])[0][3]
        assert p999 is not None
        assert (p999 > 1_000) is beyond


def test_more_requests_than_an_int_holds(spark: SparkSession) -> None:
    counts: Record = {"quarters": {"12": 3_000_000_000_000, "36": 1_000_000_000_000}}
    p50, p95, *_ = percentiles(spark, [[counts]])[0]
    assert p50 is not None and 7 <= p50 <= 8
    assert p95 is not None and 430 <= p95 <= 512
