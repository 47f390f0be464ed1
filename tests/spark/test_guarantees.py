"""spark.guarantees: producers that would be rejected, by the records of each producer."""

from __future__ import annotations

from collections import Counter, defaultdict

from pyspark.sql import Row, SparkSession

from spark.guarantees import guarantees
from tests.spark import samples

COUNTS = ("acks_0", "acks_1", "acks_all", "batches", "records", "idempotent")


def of(spark: SparkSession, *rows: samples.Row) -> list[Row]:
    found: list[Row] = guarantees(samples.frame(spark, rows)).collect()
    return found


def test_against_sums_made_one_by_one(spark: SparkSession) -> None:
    rows = samples.random_flows(11, 400)
    sums: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["api"] == "Produce":
            key = (row["namespace"] or "(default)", row["principal"], row["client_id"])
            sums[key].update({name: row[name] for name in COUNTS})
    for told in of(spark, *rows):
        total = sums.pop((told.namespace, told.principal, told.client_id))
        for name in ("acks_0", "acks_1", "acks_all", "batches", "records"):
            assert told[name] == total[name]
        assert told.not_idempotent == total["batches"] - total["idempotent"]
        assert told.breaks_acks is (total["acks_0"] + total["acks_1"] > 0)
        assert told.breaks_idempotence is (total["batches"] > total["idempotent"])
        assert abs(told.records_per_batch - total["records"] / total["batches"]) <= 0.0005
    assert not sums


def test_each_way_to_break(spark: SparkSession) -> None:
    strong = {"batches": 4, "idempotent": 4, "acks_all": 2}
    rows = of(
        spark,
        samples.flow(client_id="strong", **strong),
        samples.flow(client_id="acks-0", **strong | {"acks_0": 1}),
        samples.flow(client_id="acks-1", **strong | {"acks_1": 1}),
        samples.flow(client_id="no-id", **strong | {"idempotent": 3}),
        samples.flow(client_id="refused", acks_all=1, weak_producers={"not_idempotent_refused": 1}),
        samples.flow(client_id="upgraded", acks_1=1, weak_producers={"acks1_upgraded": 1}),
    )
    assert {row.client_id: (row.breaks_acks, row.breaks_idempotence) for row in rows} == {
        "strong": (False, False),
        "acks-0": (True, False),
        "acks-1": (True, False),
        "no-id": (False, True),
        "refused": (False, True),
        "upgraded": (True, False),
    }


def test_software_is_told_and_versions_are_apart(spark: SparkSession) -> None:
    rows = of(
        spark,
        samples.flow(acks_1=1, software_version="3.0.0"),
        samples.flow(acks_all=1, software_version="4.3.1"),
        samples.flow(acks_all=1, software_name="", software_version=""),
        samples.flow(acks_all=1, software_name="librdkafka", software_version=""),
    )
    assert {row.software: row.breaks_acks for row in rows} == {
        "apache-kafka-java 3.0.0": True,
        "apache-kafka-java 4.3.1": False,
        "unknown": False,
        "librdkafka": False,
    }
    assert all(row.records_per_batch is None for row in rows)


def test_only_producers_are_told_of(spark: SparkSession) -> None:
    assert of(spark, samples.flow("t", "Fetch"), samples.denial(), samples.flow("t")) == []


def test_acks_all_that_one_replica_is_enough_for(spark: SparkSession) -> None:
    """Topics by either of their names; null if neither is known."""
    rows = [
        samples.flow("org:one", client_id="hollow", acks_all=3),
        samples.flow("org:two", client_id="hollow", acks_all=5),
        samples.flow("org:two", client_id="sound", acks_all=7),
        samples.flow("org:flat", client_id="by its stored name", acks_all=11),
        samples.flow("org:unknown", client_id="unknown", acks_all=13),
    ]
    hollow = {"org:one": True, "org:two": False, "org..flat": True}
    found = guarantees(samples.frame(spark, rows), hollow).collect()
    assert {row.client_id: row.hollow_acks_all for row in found} == {
        "hollow": 3,
        "sound": 0,
        "by its stored name": 11,
        "unknown": None,
    }
    assert {row.hollow_acks_all for row in of(spark, *rows)} == {None}
    assert sum(row.acks_all for row in found) == 39
