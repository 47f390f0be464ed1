"""spark.latency: histograms merge, and percentiles are of all requests together."""

from __future__ import annotations

import random
from collections import defaultdict

from pyspark.sql import SparkSession

from spark import histogram, tiers
from spark.latency import SIDES, latency
from tests.spark import samples
from tests.spark.test_histogram import exact, is_within

TIMES = dict[tuple[str, str, str], list[float]]


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
        for side, (quarters, _) in SIDES.items():
            slow = 30 if side == "broker" else 1
            taken = [draw.lognormvariate(4, 1.5) * slow for _ in range(count)]
            histograms[quarters] = samples.histogram(taken)
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
        counted = samples.histogram(taken)
        assert row.buckets == [counted.get(str(bucket), 0) for bucket in range(histogram.BUCKETS)]
        for name, thousandths in histogram.PERCENTILES:
            truth = exact(taken, thousandths)
            assert is_within(row[name], truth, histogram.ERROR_FACTOR), (row, truth)


def test_without_requests_there_is_no_row(spark: SparkSession) -> None:
    assert latency(samples.frame(spark, [samples.denial()])).count() == 0
    assert latency(samples.frame(spark, [samples.flow(led_requests=0)])).count() == 0


def test_records_of_both_versions_count_together(spark: SparkSession) -> None:
    earlier = samples.flow(
        schema_version=1,
        gateway_us_quarters=None,
        broker_us_quarters=None,
        gateway_us_log2=[0, 0, 3],
        broker_us_log2=[0, 0, 0, 0, 3],
        led_requests=3,
    )
    newer = samples.flow(gateway_us_quarters={"40": 4}, broker_us_quarters={"8": 4}, led_requests=4)
    found = latency(samples.frame(spark, [earlier, newer])).where("namespace = 'org'").collect()
    assert {one.side: (one.p50, one.requests) for one in found} == {
        "gateway": (880, 7),
        "broker": (4, 7),
    }
