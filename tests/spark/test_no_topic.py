"""Flow records of a namespace without a topic: requests that the gateway denied or carried out
itself."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark import access, guarantees, latency, usage
from tests.spark import samples


def test_jobs_bear_a_namespace_without_a_topic(spark: SparkSession) -> None:
    denied = {"POLICY_VIOLATION": 1}
    rows = [
        samples.flow("org:orders", records=2, batches=1, bytes_in=70, acks_all=1, idempotent=1),
        samples.flow(
            None,
            namespace="org",
            bytes_in=30,
            errors=denied,
            denials={"producer_guarantee": 1},
            gateway_us_quarters={"20": 1},
        ),
        samples.flow(None, "CreateTopics", namespace="org", broker_us_quarters={"60": 1}),
    ]
    records = samples.frame(spark, rows)

    used = usage.usage(records).where("tier = 'org'").collect()
    assert [(row["bytes_in"], row["requests"]) for row in used] == [(100, 3)]

    timed = latency.latency(records).where("namespace = 'org'").collect()
    assert {(row["api"], row["side"], row["requests"]) for row in timed} == {
        ("Produce", "gateway", 1),
        ("CreateTopics", "broker", 1),
    }

    assert [row["topic"] for row in access.idle_topics(records).collect()] == ["org:orders"]
    (producer,) = guarantees.guarantees(records).collect()
    assert (producer["namespace"], producer["acks_all"]) == ("org", 1)
