"""Records of the traffic log for tests: rows with defaults, and DataFrames of them.

A DataFrame is made from JSON inside Spark, so that no Python process has to be started for it.
"""

from __future__ import annotations

import json
import random
from bisect import bisect
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from spark import schema
from spark.histogram import BUCKETS, EARLIER_BUCKETS, STEPS

START_MS = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC."""

MINUTE_MS = 60_000

BOUNDS_US = [2 ** (number / STEPS) for number in range(BUCKETS - 1)]
"""The ends of a histogram's buckets, except the last bucket's."""

Row = dict[str, Any]

API_KEYS = {"Produce": 0, "Fetch": 1, "Metadata": 3, "ShareFetch": 78}

_COMMON: Row = {
    "schema_version": schema.SCHEMA_VERSION,
    "gateway_id": "gateway-1",
    "worker_id": 0,
    "time_ms": START_MS,
    "listener": "main",
    "principal": "User:alice",
    "client_id": "app",
    "software_name": "apache-kafka-java",
    "software_version": "4.3.1",
    "client_address": "192.0.2.7",
}

_COUNTS = (
    "partitions",
    "bytes_in",
    "bytes_out",
    "records",
    "records_out",
    "batches",
    "batches_out",
    "acks_0",
    "acks_1",
    "acks_all",
    "idempotent",
    "transactional",
)


def flow(topic: str | None = "org:orders", api: str = "Produce", /, **values: Any) -> Row:
    """A flow record of a topic's logical name, or without a topic: a request that moved no
    records."""
    row = {
        **_COMMON,
        "kind": "flow",
        "window_ms": MINUTE_MS,
        "connections": 1,
        "api": api,
        "api_key": API_KEYS.get(api, 3),
        "api_version": 9,
        "namespace": None if topic is None else topic.rpartition(":")[0],
        "logical_topic": topic,
        "flat_topic": None if topic is None else flat(topic),
        "requests": 1,
        "led_requests": 1,
        **dict.fromkeys(_COUNTS, 0),
        "weak_producers": {},
        "errors": {},
        "denials": {},
        "gateway_us_quarters": {},
        "broker_us_quarters": {},
    }
    return _known(row | values)


def denial(**values: Any) -> Row:
    """A denial record: alice may not write to a topic."""
    row = {
        **_COMMON,
        "kind": "denial",
        "client_address": "192.0.2.7:41000",
        "api": "Produce",
        "api_key": 0,
        "api_version": 9,
        "namespace": "org",
        "rule": "acl",
        "error_code": 29,
        "error": "TOPIC_AUTHORIZATION_FAILED",
        "resource": "org:orders",
        "message": "User:alice is not allowed to WRITE topic 'org:orders'.",
        "operation": "WRITE",
        "named": "TOPIC org:orders",
        "because": "no ACL allows it",
    }
    return _known(row | values)


def policy(topic: str = "org:orders", /, **values: Any) -> Row:
    """A policy record: a topic came near a limit."""
    row = {
        **_COMMON,
        "kind": "policy",
        "namespace": topic.rpartition(":")[0],
        "topic": topic,
        "rule": "partitions.max",
        "source": "policies.namespaces.org",
        "mode": "enforce",
        "outcome": "near",
        "value": 90,
        "limit": 100,
    }
    return _known(row | values)


def used_acl(acl: str, **values: Any) -> Row:
    """An acl record: this ACL (as text) allowed an operation of a principal."""
    return _known({**_COMMON, "kind": "acl", "acl": acl} | values)


def histogram(times_us: Iterable[float]) -> dict[str, int]:
    """The gateway's histogram of these times, in a record of version 2."""
    counts: dict[int, int] = {}
    for time in times_us:
        bucket = bisect(BOUNDS_US, time)
        counts[bucket] = counts.get(bucket, 0) + 1
    return {str(bucket): counts[bucket] for bucket in sorted(counts)}


def earlier_histogram(times_us: Iterable[float]) -> list[int]:
    """The gateway's histogram of these times, in a record of version 1."""
    counts = [0] * EARLIER_BUCKETS
    for time in times_us:
        counts[min(int(time).bit_length(), EARLIER_BUCKETS - 1)] += 1
    return counts


def flat(topic: str) -> str:
    """The stored name of a topic whose tiers have letters and digits only."""
    namespace, _, name = topic.rpartition(":")
    return f"{namespace.replace(':', '.')}..{name}" if namespace else name


def frame(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """The rows as a DataFrame that the jobs get."""
    structure = schema.traffic_log_schema()
    parsed = F.from_json(F.lit(json.dumps(list(rows))), ArrayType(structure))
    return spark.range(1).select(F.inline(parsed))


def random_flows(seed: int, count: int) -> list[Row]:
    """Flow records of few namespaces, clients and hours, so that sums have several terms."""
    draw = random.Random(seed)
    topics = [None, "orders", "org:orders", "org:apache:a", "org:apache:b", "team-a:orders"]
    return [_random_flow(draw, draw.choice(topics)) for _ in range(count)]


def _random_flow(draw: random.Random, topic: str | None) -> Row:
    api = "Metadata" if topic is None else draw.choice(["Produce", "Fetch"])
    produced = draw.randrange(9) if api == "Produce" else 0
    return flow(
        topic,
        api,
        time_ms=START_MS + MINUTE_MS * draw.randrange(3 * 24 * 60),
        worker_id=draw.randrange(2),
        principal=draw.choice(["User:alice", "User:bob"]),
        client_id=draw.choice(["app", "batch"]),
        client_address=draw.choice(["192.0.2.7", "192.0.2.8"]),
        connections=draw.randrange(1, 5),
        led_requests=draw.randrange(3),
        bytes_in=draw.randrange(10_000),
        bytes_out=draw.randrange(10_000),
        records=produced * draw.randrange(5),
        records_out=draw.randrange(9) if api == "Fetch" else 0,
        batches=produced,
        idempotent=draw.randrange(produced + 1),
        acks_0=draw.choice([0, 0, 1]) if produced else 0,
        acks_1=draw.choice([0, 0, 2]) if produced else 0,
        acks_all=draw.randrange(4) if produced else 0,
    )


def _known(row: Row) -> Row:
    """The row, after a check that the schema has its fields, because others would be silently left
    out."""
    known = {name for name, _ in schema.COLUMNS}
    assert set(row) <= known, f"the schema has no {sorted(set(row) - known)}"
    return row
