"""Records of the traffic log by the million, for the jobs to be measured with.

Spark makes them itself, out of hashes of their numbers and a seed: no Python runs for a record, and
the same seed gives the same records however many tasks make them. They are as skewed as traffic is:
one namespace has 60 % of all, a few topics and clients have most of the rest.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark import schema
from spark.histogram import STEPS

HOT: Final = "org:apache:kafka"
"""The namespace that has most of the records."""

HOT_SHARE: Final = 0.6

START_MS: Final = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC."""

DAY_MS: Final = 86_400_000
WINDOW_MS: Final = 10_000
PER_DAY: Final = 1_000_000
"""Records of a day: more records are more days, and no more clients."""

_NAMESPACES: Final = 300
_TOPICS: Final = 200
_PRINCIPALS: Final = 400
_AT_HOME: Final = 8
"""Principals that work in one namespace; one in ten records is of any other."""
_AT_HOT: Final = 120
"""Those of the largest one."""
_DENIED: Final = 200
"""One in so many records is a denial; policy and acl records are five times as rare."""

_DRAWN: Final = ("namespace", "place", "topic", "who", "guest", "client", "api", "size", "slow")
_BITS: Final = 2**30


def spark_records(spark: SparkSession, count: int, seed: int = 1) -> DataFrame:
    """``count`` records, in the order of their times: the schema's columns."""
    slices = max(2, count // 500_000)
    numbered = spark.range(0, count, 1, slices)
    number = F.col("id")
    drawn = numbered.select(
        (START_MS + F.floor(number * DAY_MS / PER_DAY)).alias("at_ms"),
        _kind(number).alias("kind"),
        *(_uniform(number, seed, name).alias(f"u_{name}") for name in _DRAWN),
        number.cast("string").alias("number"),
    )
    named = drawn.withColumns(_names()).withColumns(_counts())
    values = {**_common(), **_flow(), **_events()}
    return named.select(
        *(
            values.get(name, F.lit(None)).cast(_type(kind)).alias(name)
            for name, kind in schema.COLUMNS
        )
    )


def _uniform(number: Column, seed: int, name: str) -> Column:
    """A number from 0 to 1, drawn by hashing."""
    return F.pmod(F.xxhash64(number, F.lit(seed), F.lit(name)), F.lit(_BITS)) / _BITS


def _kind(number: Column) -> Column:
    return (
        F.when(number % _DENIED == 7, "denial")
        .when(number % (5 * _DENIED) == 11, "policy")
        .when(number % (5 * _DENIED) == 13, "acl")
        .otherwise("flow")
    )


def _names() -> dict[str, Column]:
    """Names of clients and topics; low numbers come often."""
    place = F.floor(_NAMESPACES * F.pow("u_place", 3)).cast("int")
    team = F.concat(F.lit("org:team-"), place.cast("string"))
    elsewhere = (
        F.when(place % 20 == 3, F.lit(""))
        .when(place % 3 == 0, F.concat(team, F.lit(":eu")))
        .otherwise(team)
    )
    topic = F.floor(_TOPICS * F.pow("u_topic", 2)).cast("string")
    internal = F.when(F.col("u_topic") < 0.01, ".internal").otherwise("")
    in_hot = F.col("u_namespace") < HOT_SHARE
    known = F.when(in_hot, _AT_HOT).otherwise(_AT_HOME)
    first = F.when(in_hot, 0).otherwise(place * 7)
    at_home = F.pmod(first + F.floor(known * F.pow("u_who", 2)), F.lit(_PRINCIPALS))
    anyone = F.floor(_PRINCIPALS * F.col("u_who"))
    who = F.when(F.col("u_guest") < 0.1, anyone).otherwise(at_home).cast("int")
    return {
        "place": F.when(in_hot, HOT).otherwise(elsewhere),
        "name": F.concat(F.lit("topic-"), topic, internal),
        "who": who,
        "called": F.when(F.col("u_api") < 0.45, "Fetch")
        .when(F.col("u_api") < 0.9, "Produce")
        .otherwise("Metadata"),
    }


def _counts() -> dict[str, Column]:
    """The counts of one flow record: from one request to a hundred."""
    return {
        "n": (1 + F.floor(100 * F.pow("u_size", 3))).cast("long"),
        "bits": (7 + F.floor(9 * F.pow("u_slow", 2))).cast("int"),
    }


def _common() -> dict[str, Column]:
    who, client = F.col("who"), F.floor(F.col("u_client") * 4).cast("int")
    window = F.col("at_ms") - F.pmod(F.col("at_ms"), F.lit(WINDOW_MS))
    return {
        "id": F.concat(F.lit("bench-"), F.col("number")),
        "kind": F.col("kind"),
        "schema_version": F.lit(schema.SCHEMA_VERSION),
        "gateway_id": F.concat(F.lit("gateway-"), (client % 2).cast("string")),
        "worker_id": F.pmod(who + client, F.lit(4)),
        "time_ms": F.when(F.col("kind") == "flow", window).otherwise(F.col("at_ms")),
        "listener": F.lit("main"),
        "principal": F.concat(F.lit("User:p"), who.cast("string")),
        "client_id": F.concat_ws("-", F.lit("app"), who % 50, client),
        "software_name": F.when(who % 7 == 0, "librdkafka").otherwise("apache-kafka-java"),
        "software_version": F.when(who % 7 == 0, "2.16.0").otherwise("4.3.1"),
        "client_address": F.concat_ws(".", F.lit("10.0"), who % 200, client),
        "api": F.col("called"),
        "api_key": F.when(F.col("called") == "Produce", 0)
        .when(F.col("called") == "Fetch", 1)
        .otherwise(3),
        "api_version": F.lit(12),
        "namespace": F.col("place"),
    }


def _flow() -> dict[str, Column]:
    """The columns of flow records, null elsewhere."""
    n, who = F.col("n"), F.col("who")
    produced = F.when(F.col("called") == "Produce", n).otherwise(0)
    fetched = F.when(F.col("called") == "Fetch", n).otherwise(0)
    weak = who % 11 == 0
    flat = F.concat(F.translate("place", ":", "."), F.lit(".."), F.col("name"))
    nobody = F.map_from_arrays(F.array().cast("array<string>"), F.array().cast("array<bigint>"))
    columns = {
        "window_ms": F.lit(WINDOW_MS),
        "connections": 1 + who % 3,
        "logical_topic": _logical(),
        "flat_topic": F.when(F.col("place") == "", F.col("name")).otherwise(flat),
        "requests": n,
        "led_requests": n,
        "partitions": n * 3,
        "bytes_in": produced * 16_384 + n * 90,
        "bytes_out": fetched * 32_768 + n * 60,
        "records": produced * 40,
        "records_out": fetched * 80,
        "batches": produced * 3,
        "batches_out": fetched * 3,
        "acks_0": F.lit(0),
        "acks_1": F.when(weak, produced).otherwise(0),
        "acks_all": F.when(weak, 0).otherwise(produced),
        "idempotent": F.when(who % 5 == 0, 0).otherwise(produced * 3),
        "transactional": F.lit(0),
        "weak_producers": nobody,
        "errors": nobody,
        "denials": nobody,
        "gateway_us_quarters": _histogram(F.col("bits")),
        "broker_us_quarters": _histogram(F.col("bits") + 4),
    }
    return {name: F.when(F.col("kind") == "flow", value) for name, value in columns.items()}


def _events() -> dict[str, Column]:
    """The columns of records that are no flows."""
    denied, judged = F.col("kind") == "denial", F.col("kind") == "policy"
    allowing = F.concat_ws(
        "", F.lit("ALLOW READ for User:p"), "who", F.lit(" on TOPIC:LITERAL:"), _logical()
    )
    return {
        "rule": F.when(denied, "acl").when(judged, "partitions.max"),
        "error_code": F.when(denied, 29),
        "error": F.when(denied, "TOPIC_AUTHORIZATION_FAILED"),
        "resource": F.when(denied, _logical()),
        "message": F.when(denied, F.concat(F.lit("No READ of "), _logical())),
        "topic": F.when(judged, _logical()),
        "source": F.when(judged, "policies.everywhere"),
        "mode": F.when(judged, "enforce"),
        "outcome": F.when(judged, F.when(F.col("n") > 80, "refused").otherwise("near")),
        "value": F.when(judged, F.col("n")),
        "limit": F.when(judged, F.lit(80)),
        "acl": F.when(F.col("kind") == "acl", allowing),
    }


def _logical() -> Column:
    named = F.concat(F.col("place"), F.lit(":"), F.col("name"))
    return F.when(F.col("place") == "", F.col("name")).otherwise(named)


def _histogram(bits: Column) -> Column:
    """``n`` requests around 2^bits us: most of them in one bucket, the rest one and two later."""
    n, first = F.col("n"), bits * STEPS
    later, latest = F.floor(n * 3 / 10), F.floor(n / 20)
    buckets = F.array(*(first + more for more in range(3)))
    return F.map_from_arrays(
        buckets.cast("array<string>"), F.array(n - later - latest, later, latest)
    )


def _type(kind: str) -> str:
    return {"integer": "int", "long": "bigint"}.get(kind, kind.replace("long", "bigint"))
