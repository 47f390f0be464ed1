"""spark.policies: events counted by topic, rule and outcome, with the latest value."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

from pyspark.sql import SparkSession

from spark.policies import policies
from tests.spark import samples

KEYS = ("namespace", "topic", "rule", "outcome")


def test_against_a_count_of_their_own(spark: SparkSession) -> None:
    draw = random.Random(8)
    rows = [
        samples.policy(
            draw.choice(["org:orders", "org:apache:a", "bare"]),
            rule=draw.choice(["partitions.max", "max_topics"]),
            outcome=draw.choice(["refused", "warned", "near"]),
            time_ms=samples.START_MS + at,
            value=draw.randrange(100),
            limit=100,
        )
        for at in range(200)
    ]
    expected: dict[tuple[Any, ...], list[samples.Row]] = defaultdict(list)
    for row in rows:
        key = (row["namespace"] or "(default)", row["topic"], row["rule"], row["outcome"])
        expected[key].append(row)
    found = policies(samples.frame(spark, [*rows, samples.flow(), samples.denial()])).collect()
    assert {tuple(row[key] for key in KEYS) for row in found} == set(expected)
    for told in found:
        events = expected[tuple(told[key] for key in KEYS)]
        assert told["count"] == len(events)
        assert (told.value, told.limit) == (events[-1]["value"], 100)
        assert told.last_ms == events[-1]["time_ms"]


def test_a_rule_without_numbers(spark: SparkSession) -> None:
    rows = [samples.policy(rule="name_pattern", value=None, limit=None, principal="User:bob")]
    [row] = policies(samples.frame(spark, rows)).collect()
    assert (row.value, row.limit, row.principal, row["count"]) == (None, None, "User:bob", 1)
