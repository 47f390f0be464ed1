"""spark.access: denials, idle topics, and who produces to whom."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

from pyspark.sql import SparkSession

from spark import access
from spark.local_rows import local_rows
from tests.spark import samples


def test_denials_are_counted_with_their_first_example(spark: SparkSession) -> None:
    rows = [
        samples.denial(time_ms=samples.START_MS + 5, resource="org:b", message="No."),
        samples.denial(time_ms=samples.START_MS + 2, resource="org:a", message="Not this."),
        samples.denial(
            principal="User:bob", rule="policies", namespace="", message="Too many.", because=None
        ),
        samples.flow(),
    ]
    found = access.denials(samples.frame(spark, rows)).collect()
    assert {tuple(row) for row in found} == {
        ("acl", "org", "User:alice", "Produce", 2, "org:a: Not this.", "no ACL allows it", None),
        ("policies", "(default)", "User:bob", "Produce", 1, "org:orders: Too many.", None, None),
    }


def test_denials_against_a_count_of_their_own(spark: SparkSession) -> None:
    draw = random.Random(2)
    rows = [
        samples.denial(
            rule=draw.choice(["acl", "policies"]),
            namespace=draw.choice(["org", "team-a"]),
            principal=draw.choice(["User:alice", "User:bob"]),
            api=draw.choice(["Produce", "Fetch"]),
        )
        for _ in range(300)
    ]
    keys = ("rule", "namespace", "principal", "api")
    found = access.denials(samples.frame(spark, rows)).collect()
    counted = Counter(tuple(row[key] for key in keys) for row in rows)
    assert {tuple(row[key] for key in keys): row["count"] for row in found} == counted


def test_idle_topics_and_why(spark: SparkSession) -> None:
    refused = {"TOPIC_AUTHORIZATION_FAILED": 3}
    rows = [
        samples.flow("org:busy", records=1),
        samples.flow("org:busy", "Fetch"),
        samples.flow("org:shared", records=1),
        samples.flow("org:shared", "ShareFetch"),
        samples.flow("org:written", records=1),
        samples.flow("org:read", "Fetch"),
        samples.flow("org:refused", records=0),
        samples.flow("asked", "Metadata"),
        samples.flow("org:denied", records=1),
        samples.flow("org:denied", "Fetch", requests=3, errors=refused, bytes_out=60),
        samples.flow("org:denied", "Fetch", requests=2, errors=dict(refused, UNKNOWN=1)),
        samples.flow("org:none", "Metadata", errors={"UNKNOWN_TOPIC_OR_PARTITION": 1}),
        samples.flow(
            "org:none", requests=2, errors={"UNKNOWN_TOPIC_ID": 1, "INVALID_TOPIC_EXCEPTION": 1}
        ),
        samples.flow("org:made", "Metadata", errors={"UNKNOWN_TOPIC_OR_PARTITION": 1}),
        samples.flow("org:made", "Metadata"),
        # One of several topics of a request was rejected: the error is recorded with the first
        # topic.
        samples.flow("org:first", records=1),
        samples.flow("org:first", "Fetch", records_out=4, errors={"UNKNOWN_TOPIC_ID": 1}),
        samples.flow(None, "Metadata"),
        samples.flow(access.OTHER, records=5, namespace="org"),
    ]
    frame = samples.frame(spark, rows)
    expected = {
        "org:written": access.NOT_READ,
        "org:read": access.NOT_WRITTEN,
        "org:refused": access.NEITHER,
        "asked": access.NEITHER,
        "org:denied": access.NOT_READ,
        "org:made": access.NEITHER,
    }
    assert {row.topic: row.reason for row in access.idle_topics(frame).collect()} == expected
    topics = [{"topic": "org:busy"}, {"topic": "org:never-named"}]
    known = local_rows(spark, "topic string", topics)
    expected["org:never-named"] = access.NEITHER
    assert {row.topic: row.reason for row in access.idle_topics(frame, known).collect()} == expected


def test_the_graph_has_what_was_read_by_the_producers_shares(spark: SparkSession) -> None:
    draw = random.Random(4)
    written: dict[str, Counter[str]] = defaultdict(Counter)
    got: dict[str, Counter[str]] = defaultdict(Counter)
    rows = []
    for _ in range(300):
        topic, who = draw.choice(["org:a", "org:b", "c"]), draw.choice(["User:alice", "User:bob"])
        size = draw.randrange(0, 10_000)
        if draw.random() < 0.5:
            written[topic][who] += size
            rows.append(samples.flow(topic, principal=who, bytes_in=size, bytes_out=50, batches=1))
        else:
            got[topic][who] += size
            moved = {"bytes_out": size, "bytes_in": 50, "records_out": 1}
            rows.append(samples.flow(topic, "Fetch", principal=who, **moved))
    found = access.flows_graph(samples.frame(spark, rows)).collect()
    expected = {
        (producer, topic, consumer): got[topic][consumer] * size / written[topic].total()
        for topic in written
        for producer, size in written[topic].items()
        for consumer in got[topic]
    }
    told = {(row.producer, row.topic, row.consumer): row.bytes for row in found}
    assert told.keys() == expected.keys()
    assert all(abs(told[edge] - expected[edge]) <= 0.5 for edge in expected)


def test_of_many_producers_and_consumers_the_largest_are_told_apart(spark: SparkSession) -> None:
    many = access.MOST + 3
    rows = [
        samples.flow("t", principal=f"User:{at:02}", bytes_in=1_000 - at, records=1)
        for at in range(many)
    ]
    rows += [
        samples.flow("t", "Fetch", principal=f"User:{at:02}", bytes_out=10**6 + at, batches_out=1)
        for at in range(many)
    ]
    found = access.flows_graph(samples.frame(spark, rows)).collect()
    assert len(found) == (access.MOST + 1) ** 2
    others = {f"User:{at:02}" for at in range(access.MOST, many)}
    assert not others & {row.producer for row in found}
    assert not {"User:00", "User:01", "User:02"} & {row.consumer for row in found}
    read = sum(row["bytes_out"] for row in rows)
    assert abs(sum(row.bytes for row in found) - read) < len(found)


def test_who_does_not_log_in_goes_by_its_client_id(spark: SparkSession) -> None:
    anybody = {"principal": access.ANONYMOUS}
    rows = [
        samples.flow("t", client_id="shop", bytes_in=10, records=1, **anybody),
        samples.flow("t", "Fetch", client_id="bill", bytes_out=7, records_out=1, **anybody),
        # Responses without records have bytes all the same.
        samples.flow("t", "Fetch", client_id="waits", bytes_out=60, **anybody),
        samples.flow("t", "Fetch", client_id="denied", bytes_out=60, errors={"X": 1}, **anybody),
        samples.flow("t", client_id="refused", bytes_in=900, errors={"X": 1}, **anybody),
        samples.flow("alone", bytes_in=10, records=1),
    ]
    found = access.flows_graph(samples.frame(spark, rows)).collect()
    assert [tuple(row) for row in found] == [("shop", "t", "bill", 7)]
