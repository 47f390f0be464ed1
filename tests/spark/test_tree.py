"""spark.tree: names of several clusters from the root, and records from before there was a tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark import inputs, records, schema, tree
from spark.access import denials, flows_graph, idle_topics
from spark.latency import latency
from spark.policies import policies
from spark.usage import DAY_MS, chargeback, usage
from tests.spark import samples

LA = {"cluster": "la", "mount": "la:tracking"}
NY = {"cluster": "ny", "mount": "ny:tracking"}
ALONE = {"cluster": "main", "mount": None}

EARLIER = {"cluster", "mount", "path"}
"""The fields that gateways before the tree do not write."""


@pytest.mark.parametrize(
    ("values", "topic", "shown"),
    [
        (LA, "search:clicks", ("la", "la:tracking:search", "la:tracking:search:clicks")),
        (LA, "clicks", ("la", "la:tracking", "la:tracking:clicks")),
        (LA, None, (None, None, None)),
        ({"cluster": "root", "mount": ""}, "org:x", ("root", "org", "org:x")),
        ({"cluster": "root", "mount": ""}, "x", ("root", "", "x")),
        (ALONE, "org:x", (None, "org", "org:x")),
        ({}, "org:x", (None, "org", "org:x")),
        ({}, None, (None, None, None)),
    ],
)
def test_names_from_the_root(
    spark: SparkSession, values: samples.Row, topic: str | None, shown: tuple[str | None, ...]
) -> None:
    row = tree.absolute(samples.frame(spark, [samples.flow(topic, **values)])).collect()[0]
    assert (row.cluster, row.namespace, row.logical_topic) == shown


def test_topics_that_were_summed_up_stay_so(spark: SparkSession) -> None:
    made = samples.flow(namespace="org", logical_topic="(other)", **LA)
    row = tree.absolute(samples.frame(spark, [made])).collect()[0]
    assert (row.namespace, row.logical_topic) == ("la:tracking:org", "(other)")


def test_two_clusters_with_one_name_are_two_rows(spark: SparkSession) -> None:
    rows = [
        samples.flow("search:clicks", bytes_in=10, gateway_us_quarters={"8": 1}, **LA),
        samples.flow("search:clicks", bytes_in=30, gateway_us_quarters={"9": 1}, **NY),
        samples.denial(namespace="search", **LA),
        samples.denial(namespace="search", **NY),
        samples.policy("search:clicks", **LA),
        samples.policy("search:clicks", **NY),
    ]
    frame = samples.frame(spark, rows)
    both = {("la", "la:tracking:search"), ("ny", "ny:tracking:search")}
    used = usage(frame, DAY_MS)
    deep = used.where("tier like '%search'").collect()
    assert {(one.cluster, one.tier, one.bytes_in) for one in deep} == {
        ("la", "la:tracking:search", 10),
        ("ny", "ny:tracking:search", 30),
    }
    bill = chargeback(used).where("tier like '%search'").collect()
    assert {(one.cluster, one.own_share_percent) for one in bill} == {("la", 25), ("ny", 75)}
    for table in (denials(frame), policies(frame), latency(frame).where("namespace != '(all)'")):
        assert {(one.cluster, one.namespace) for one in table.collect()} == both
    assert {(one.cluster, one.topic) for one in idle_topics(frame).collect()} == {
        (cluster, f"{name}:clicks") for cluster, name in both
    }


def test_flows_of_two_clusters_are_not_joined(spark: SparkSession) -> None:
    """A producer to search:clicks in one place does not produce to its consumers in the other."""
    rows = [
        samples.flow("search:clicks", principal="User:w", bytes_in=9, batches=1, **LA),
        samples.flow(
            "search:clicks", "Fetch", principal="User:r", bytes_out=9, records_out=1, **NY
        ),
    ]
    assert flows_graph(samples.frame(spark, rows)).count() == 0


def test_lines_from_before_the_tree_are_records_as_they_were(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Old lines lack the fields; new lines of a gateway without a tree go with them."""
    old = samples.flow("org:orders", bytes_in=5)
    new = samples.flow("org:orders", bytes_in=7, path=None, **ALONE)
    assert not EARLIER & set(old)
    log = tmp_path / "traffic-g-w0-1.jsonl"
    lines = [json.dumps(row | {"id": str(number)}) for number, row in enumerate([old, new])]
    log.write_text("".join(f"{line}\n" for line in lines))
    found = inputs.read(spark, [str(tmp_path)], {})
    assert found.count() == 2
    (row,) = usage(found, DAY_MS).where("tier = 'org'").collect()
    assert (row.cluster, row.bytes_in) == (None, 12)


def test_jobs_of_before_read_lines_of_a_tree(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields may be added: if a job does not know them, it reads the others."""
    before = tuple(one for one in schema.COLUMNS if one[0] not in EARLIER)
    line = json.dumps(
        samples.flow("search:clicks", id="1", path=":la:tracking:search:clicks", **LA)
    )
    monkeypatch.setattr(schema, "COLUMNS", before)
    rows = spark.range(1).select(F.lit(line).alias("line"), F.lit("file").alias("source"))
    (row,) = records.good(records.parse(rows)).collect()
    assert (row.kind, row.namespace, row.logical_topic) == ("flow", "search", "search:clicks")
