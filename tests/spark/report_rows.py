"""A cluster's week for tests of the report, seeded: the tables as the jobs make them.

Names are realistic; ``hostile()`` has names that nobody should give.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from spark.page import About, Row, Table

MADE = dt.datetime(2026, 3, 9, 6, 0, tzinfo=dt.UTC)
FIRST = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
LAST = dt.datetime(2026, 3, 9, tzinfo=dt.UTC)
ABOUT = About("s3a://platform/traffic/", MADE, FIRST, LAST)

VOLUME = ("bytes_in", "bytes_out", "records_in", "records_out", "requests")

# Namespace, its share of all traffic, its producers, its topics, its consumers.
_TEAMS: tuple[tuple[str, float, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    ("shop:orders", 30, ("checkout", "returns"), ("placed", "paid"), ("billing", "warehouse")),
    ("shop:search", 14, ("indexer",), ("queries", "clicks"), ("ranking", "analytics")),
    ("shop:payments", 9, ("psp-bridge",), ("captures",), ("billing", "fraud")),
    ("data:lake", 16, ("warehouse-sink",), ("facts",), ("analytics",)),
    ("data:features", 7, ("feature-job",), ("user-vectors",), ("ranking", "fraud")),
    ("iot", 11, ("edge-eu", "edge-us"), ("telemetry", "alarms.internal"), ("twin", "alerts")),
    ("media", 5, ("transcoder",), ("jobs",), ("thumbnails",)),
    ("(default)", 3, ("legacy-cron",), ("events",), ("legacy-report",)),
    ("hr", 1.4, ("payroll",), ("runs",), ("audit-reader",)),
    ("sandbox:anna", 0.8, ("notebook",), ("scratch",), ("notebook",)),
    ("sandbox:li", 0.5, ("quickstart",), ("hello",), ("quickstart",)),
)
_GIB = 2**30


def sample(seed: int = 7) -> tuple[dict[str, Table], Row]:
    """The tables by name, and the totals."""
    rng = random.Random(seed)
    leaves = {name: _volume(rng, weight) for name, weight, *_ in _TEAMS}
    tables: dict[str, list[dict[str, Any]]] = {
        "namespaces": _namespaces(leaves),
        "over_time": _over_time(rng, leaves),
        "clients": _clients(rng, leaves),
        "latency": _latency(rng),
        "denials": _denials(),
        "unused_acls": _unused_acls(),
        "idle_topics": [
            {"topic": "hr:runs-2024", "reason": "nobody wrote to it or read it"},
            {"topic": "media:jobs-dead-letters", "reason": "nobody read it"},
            {"topic": "sandbox:li:hello2", "reason": "nobody wrote to it"},
        ],
        "flows_graph": _flows(rng),
        "guarantees": _guarantees(rng),
        "policies": _policies(),
        "replication": _replication(rng),
    }
    whole = next(row for row in tables["namespaces"] if row["tier"] == "(all)")
    everything = {key: whole[key] for key in VOLUME}
    counts = {"namespaces": 10, "topics": 17, "clients": 13, "denials": 0}
    counts["denials"] = sum(row["count"] for row in tables["denials"])
    return {name: Table.of(rows) for name, rows in tables.items()}, {**everything, **counts}


def hostile(name: str) -> dict[str, Table]:
    """Every table with a row in which every text is ``name``; latencies have a row for each
    side."""
    numbers = {**dict.fromkeys(VOLUME, 1000), "requests": 10}
    rows: dict[str, dict[str, Any]] = {
        "namespaces": {"tier": name, **numbers},
        "over_time": {"period": FIRST, "tier": name, **numbers},
        "clients": {"principal": name, "client_id": name, **numbers},
        "latency": {
            **{"namespace": name, "api": name, "side": "gateway", "requests": 10},
            **{"p50": 10, "p95": 20, "p99": 30, "p999": 40},
        },
        "denials": {
            **{"principal": name, "rule": name, "namespace": name, "api": name},
            **{"count": 3, "example": name},
        },
        "unused_acls": {"principal": name, "name": name, "command": name},
        "idle_topics": {"topic": name, "reason": name},
        "flows_graph": {"producer": name, "topic": name, "consumer": name, "bytes": 1000},
        "guarantees": {
            **{"client_id": name, "principal": name, "namespace": name, "software": name},
            **{"breaks_acks": True, "breaks_idempotence": True, "records_per_batch": 1.5},
            **{"acks_0": 1, "acks_1": 2, "acks_all": 3, "not_idempotent": 4},
        },
        "policies": {
            **{"namespace": name, "topic": name, "rule": name, "outcome": name, "count": 1},
        },
        "replication": {
            **{"topic": name, "flat_topic": name, "bytes": 1000, "records": 10},
            **{"replicated_before": False, "replicated_after": True},
        },
    }
    tables = {table: [row] for table, row in rows.items()}
    tables["latency"].append({**rows["latency"], "side": "broker"})
    return {table: Table.of(several) for table, several in tables.items()}


def _volume(rng: random.Random, weight: float) -> dict[str, int]:
    written = int(weight * _GIB * rng.uniform(0.9, 1.1))
    read = int(written * rng.uniform(1.2, 2.6))
    size = rng.randrange(180, 1400)
    records = {"records_in": written // size, "records_out": read // size}
    return {"bytes_in": written, "bytes_out": read, **records, "requests": written // 16_000}


def _added(volumes: Iterable[Row]) -> dict[str, int]:
    total = dict.fromkeys(VOLUME, 0)
    for volume in volumes:
        for key in VOLUME:
            total[key] += volume[key]
    return total


def _moved(row: Row) -> int:
    return int(row["bytes_in"]) + int(row["bytes_out"])


def _namespaces(leaves: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    tiers: dict[str, list[Row]] = defaultdict(list)
    for name, volume in leaves.items():
        parts = name.split(":")
        for count in range(1, len(parts) + 1):
            tiers[":".join(parts[:count])].append(volume)
    tiers["(all)"] = list(leaves.values())
    # Some of shop's usage is its own and no child's.
    tiers["shop"].append(_volume(random.Random(1), 4))
    tiers["(all)"].append(tiers["shop"][-1])
    rows = [{"tier": tier, **_added(volumes)} for tier, volumes in tiers.items()]
    return sorted(rows, key=_moved, reverse=True)


def _over_time(rng: random.Random, leaves: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    outer: dict[str, list[Row]] = defaultdict(list)
    for name, volume in leaves.items():
        top = name.partition(":")[0]
        outer[top if top not in {"hr", "sandbox"} else "(others)"].append(volume)
    rows = []
    for tier, volumes in outer.items():
        whole = _added(volumes)
        for hour in range(0, 7 * 24, 6):
            period = FIRST + dt.timedelta(hours=hour)
            shape = (0.4 + 0.9 * (hour % 24 in {6, 12})) * (1 if period.weekday() < 5 else 0.6)
            share = shape * rng.uniform(0.8, 1.2) / 28
            used = {key: int(value * share) for key, value in whole.items()}
            rows.append({"period": period, "tier": tier, **used})
    return sorted(rows, key=lambda row: (row["period"], row["tier"]))


def _clients(rng: random.Random, leaves: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    rows = []
    for name, _, producers, _, consumers in _TEAMS:
        for who, keys in ((producers, ("bytes_in", "records_in")), (consumers, ("bytes_out",))):
            for client in who:
                row: dict[str, Any] = dict.fromkeys(VOLUME, 0)
                row |= {key: leaves[name][key] // len(who) for key in keys}
                row["requests"] = rng.randrange(10_000, 4_000_000)
                user = f"User:{name.partition(':')[0].strip('()')}"
                rows.append({"principal": user, "client_id": f"{client}-{rng.randrange(9)}", **row})
    return sorted(rows, key=_moved, reverse=True)


def _latency(rng: random.Random) -> list[dict[str, Any]]:
    rows = []
    for name, weight, *_ in _TEAMS[:6]:
        for api in ("Produce", "Fetch"):
            for side, base in (("gateway", 64), ("broker", 2048 if api == "Produce" else 65_536)):
                steps = [1, rng.choice([2, 4]), rng.choice([8, 16]), rng.choice([32, 64, 128])]
                names = ("p50", "p95", "p99", "p999")
                slow = base * rng.choice([1, 2])
                times = {key: slow * step for key, step in zip(names, steps, strict=True)}
                requests = int(weight * (90_000 if api == "Fetch" else 60_000))
                where = {"namespace": name, "api": api, "side": side}
                rows.append({**where, **times, "requests": requests})
    return sorted(rows, key=lambda row: -row["requests"])


def _denials() -> list[dict[str, Any]]:
    rows = [
        ("User:media", "acl", "shop:orders", "Fetch", 1_204, "no READ on topic shop:orders:paid"),
        ("User:data", "acl", "hr", "Metadata", 318, "no DESCRIBE on topic hr:runs"),
        ("User:data", "isolation", "iot", "Produce", 44, "iot:telemetry is outside of data"),
        ("User:sandbox", "policy", "sandbox:li", "CreateTopics", 27, "12 partitions, 6 allowed"),
        ("User:sandbox", "acl", "shop:search", "Fetch", 9, "no READ on topic shop:search:clicks"),
        ("User:ANONYMOUS", "acl", "(default)", "DeleteTopics", 3, "no DELETE on topic events"),
    ]
    keys = ("principal", "rule", "namespace", "api", "count", "example")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _unused_acls() -> list[dict[str, Any]]:
    rows = []
    for user, operation, name in (
        ("User:data", "WRITE", "shop:orders:"),
        ("User:media", "ALTER", "media:jobs"),
        ("User:former-employee", "ALL", "hr:"),
    ):
        command = (
            "kafka-acls --bootstrap-server gateway:9192 --remove --force --allow-principal "
            f"{user} --operation {operation.capitalize()} --topic {name} "
            "--resource-pattern-type prefixed"
        )
        where = {"principal": user, "operation": operation, "type": "TOPIC", "name": name}
        rows.append({**where, "command": command, "caution": None})
    rows[-1] |= {"command": None, "caution": "the last ACL of this namespace"}
    return rows


def _flows(rng: random.Random) -> list[dict[str, Any]]:
    rows = []
    for name, weight, producers, topics, consumers in _TEAMS:
        prefix = "" if name == "(default)" else f"{name}:"
        for topic in topics:
            for producer in producers:
                for consumer in consumers:
                    size = int(weight * _GIB * rng.uniform(0.1, 0.5))
                    row = {"producer": f"User:{producer}", "topic": prefix + topic}
                    rows.append({**row, "consumer": f"User:{consumer}", "bytes": size})
    return sorted(rows, key=lambda row: -row["bytes"])


def _guarantees(rng: random.Random) -> list[dict[str, Any]]:
    rows = []
    for name, weight, producers, *_ in _TEAMS:
        for place, producer in enumerate(producers):
            weak = producer in {"edge-us", "legacy-cron", "transcoder", "quickstart"}
            count = int(weight * 21_000)
            acks_0 = count if producer == "edge-us" else 0
            acks_1 = count - acks_0 if weak else 0
            row: dict[str, Any] = {"client_id": f"{producer}-{place}", "namespace": name}
            row |= {"principal": f"User:{name.partition(':')[0].strip('()')}"}
            row |= {"software": rng.choice(["apache-kafka-java 4.3.1", "librdkafka 2.11.0"])}
            row |= {"breaks_acks": weak, "breaks_idempotence": weak or producer == "psp-bridge"}
            row |= {"acks_0": acks_0, "acks_1": acks_1, "acks_all": count - acks_0 - acks_1}
            row |= {"not_idempotent": count if row["breaks_idempotence"] else 0}
            rows.append({**row, "records_per_batch": round(rng.uniform(1, 80), 1)})
    return sorted(rows, key=lambda row: (not row["breaks_idempotence"], -row["acks_all"]))


def _policies() -> list[dict[str, Any]]:
    rows = [
        ("sandbox:li", "sandbox:li:hello3", "partitions.max", "refused", 27, 12, 6),
        ("iot", "iot:telemetry", "retention.ms.max", "near", 14, 561_600_000, 604_800_000),
        ("data:lake", "data:lake:facts", "topics.max", "near", 11, 92, 100),
        ("media", "media:Jobs", "name.pattern", "warned", 8, None, None),
        ("media", "media:jobs2", "partitions.max", "near", 2, 5, 6),
        ("hr", "hr:runs", "replication.min", "warned", 1, 1, 3),
    ]
    keys = ("namespace", "topic", "rule", "outcome", "count", "value", "limit")
    more = {"principal": "User:platform", "source": "policies.namespaces"}
    return [{**dict(zip(keys, row, strict=True)), **more} for row in rows]


def _replication(rng: random.Random) -> list[dict[str, Any]]:
    rows = [
        ("iot:alarms.internal", False, True, 11),
        ("shop:orders:saga-internal", False, True, 6.5),
        ("mm2-offsets.eu.internal", True, False, 2.2),
        ("data:mm2-status.internal", False, True, 0.3),
        ("__stats", False, False, 0.2),
    ]
    return [
        {
            **{"topic": topic, "flat_topic": "..".join(topic.rsplit(":", 1)).replace(":", ".", 0)},
            **{"replicated_before": before, "replicated_after": after},
            **{"bytes": int(size * _GIB), "records": int(size * rng.randrange(900_000, 2_000_000))},
        }
        for topic, before, after, size in rows
    ]
