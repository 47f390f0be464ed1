"""spark.histogram: percentiles against the exact ones of the same data, within the stated error."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gateway.flows import LATENCY_BUCKETS
from spark import histogram
from tests.spark import samples

LAST_US = histogram.LAST_US


def exact(times: list[int], thousandths: int) -> int:
    """The percentile by sorting: the value at rank ceil(p * n)."""
    rank = max(1, -(-len(times) * thousandths // 1000))
    return sorted(times)[rank - 1]


def times_of(draw: random.Random) -> list[int]:
    """Times as they come: around a value, and now and then much later."""
    middle = draw.choice([1, 30, 400, 5_000, 90_000, 2_000_000])
    count = draw.choice([1, 2, 3, 20, 1_000, 3_000])
    spread = draw.choice([0.1, 0.7, 2.0])
    return [min(int(draw.lognormvariate(0, spread) * middle), LAST_US) for _ in range(count)]


def percentiles(spark: SparkSession, histograms: list[list[int]]) -> list[list[int | None]]:
    """Of each histogram those of PERCENTILES, by Spark."""
    values = F.from_json(F.lit(str(histograms)), "array<array<bigint>>")
    rows = spark.range(1).select(F.posexplode(values).alias("at", "buckets"))
    wanted = [
        histogram.percentile(F.col("buckets"), thousandths)
        for _, thousandths in histogram.PERCENTILES
    ]
    return [list(row)[1:] for row in sorted(rows.select("at", *wanted).collect())]


def test_the_buckets_are_the_gateways() -> None:
    assert histogram.BUCKETS == LATENCY_BUCKETS


def test_percentiles_are_within_the_stated_error(spark: SparkSession) -> None:
    draw = random.Random(7)
    sets = [times_of(draw) for _ in range(300)]
    found = percentiles(spark, [samples.histogram(times) for times in sets])
    for times, told in zip(sets, found, strict=True):
        for value, (name, thousandths) in zip(told, histogram.PERCENTILES, strict=True):
            truth = exact(times, thousandths)
            assert value is not None
            if truth == 0:
                assert value == 0
                continue
            error = value / truth
            assert 1 / histogram.ERROR_FACTOR < error < histogram.ERROR_FACTOR, (name, truth, value)


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ([], None),
        ([0], 0),
        ([1], 1),
        ([1000], 724),  # the middle of 512 to 1024
        ([512] * 10_000, 724),
        ([LAST_US], LAST_US),
        ([90_000_000], LAST_US),  # beyond the histogram: at least its last bucket's beginning
    ],
)
def test_the_median_of_one_bucket(spark: SparkSession, times: list[int], told: int | None) -> None:
    assert percentiles(spark, [samples.histogram(times)])[0][0] == told


def test_ranks_are_counted_and_not_estimated(spark: SparkSession) -> None:
    """The 999th and the 1000th of 1,000: p99.9 is the one, and not yet the other."""
    for slow, beyond in ((1, False), (2, True)):
        counts = samples.histogram([100] * (1_000 - slow) + [1_000_000] * slow)
        p999 = percentiles(spark, [counts])[0][3]
        assert p999 is not None
        assert (p999 > 1_000) is beyond


def test_more_requests_than_an_int_holds(spark: SparkSession) -> None:
    counts = [0] * histogram.BUCKETS
    counts[3], counts[9] = 3_000_000_000_000, 1_000_000_000_000
    p50, p95, *_ = percentiles(spark, [counts])[0]
    assert p50 is not None and 4 <= p50 < 8
    assert p95 is not None and 256 <= p95 < 512
