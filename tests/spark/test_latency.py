"""spark.latency: histograms merge, and percentiles are those of all requests together."""

from __future__ import annotations

import random
from collections import defaultdict

from pyspark.sql import SparkSession

from spark import histogram, tiers
from spark.latency import SIDES, latency
from tests.spark import samples
from tests.spark.test_histogram import exact

TIMES = dict[tuple[str, str, str], list[int]]


def traffic(seed: int) -> tuple[list[samples.Row], TIMES]:
    """Records, and the times that are counted in them, by namespace, API and side."""
    draw = random.Random(seed)
    rows: list[samples.Row] = []
    times: TIMES = defaultdict(list)
    for _ in range(200):
        topic = draw.choice([None, "orders", "org:orders", "org:apache:a"])
        api = "Metadata" if topic is None else draw.choice(["Produce", "Fetch"])
        namespace = tiers.NONE if topic is None else topic.rpartition(":")[0] or tiers.DEFAULT
        count = draw.randrange(6)
        histograms = {}
        for side, column in SIDES.items():
            slow = 30 if side == "broker" else 1
            taken = [int(draw.lognormvariate(4, 1.5) * slow) for _ in range(count)]
            histograms[column] = samples.histogram(taken)
            for key in ((namespace, api), (tiers.ALL, api), (tiers.ALL, tiers.ALL)):
                times[*key, side] += taken
        rows.append(samples.flow(topic, api, requests=6, led_requests=count, **histograms))
    return rows, {key: taken for key, taken in times.items() if taken}


def test_percentiles_of_all_requests_together(spark: SparkSession) -> None:
    rows, times = traffic(1)
    found = latency(samples.frame(spark, [*rows, samples.denial()])).collect()
    assert {(row.namespace, row.api, row.side) for row in found} == set(times)
    for row in found:
        taken = times[row.namespace, row.api, row.side]
        assert row.requests == len(taken)
        assert row.buckets == samples.histogram(taken)
        for name, thousandths in histogram.PERCENTILES:
            truth, told = exact(taken, thousandths), row[name]
            factor = histogram.ERROR_FACTOR
            assert told == truth or truth / factor < told < truth * factor, (row, truth)


def test_without_requests_there_is_no_row(spark: SparkSession) -> None:
    assert latency(samples.frame(spark, [samples.denial()])).count() == 0
    assert latency(samples.frame(spark, [samples.flow(led_requests=0)])).count() == 0


def test_a_histogram_of_fewer_buckets_counts(spark: SparkSession) -> None:
    row = samples.flow(gateway_us_log2=[0, 0, 3], broker_us_log2=[0, 0, 0, 0, 3], led_requests=3)
    found = latency(samples.frame(spark, [row])).where("namespace = 'org'").collect()
    assert {one.side: (one.p50, one.requests) for one in found} == {
        "gateway": (2, 3),
        "broker": (11, 3),
    }
