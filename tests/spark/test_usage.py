"""spark.usage: sums by tier, period and client, against the same sums made in Python."""

from __future__ import annotations

import datetime
from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from gateway.names import parents
from spark import tiers
from spark.usage import DAY_MS, HOUR_MS, by_tier, chargeback, per_client, usage
from tests.spark import samples

SUMS = {
    "bytes_in": "bytes_in",
    "bytes_out": "bytes_out",
    "records_in": "records",
    "records_out": "records_out",
    "requests": "led_requests",
}
CLIENT = ("gateway_id", "worker_id", "listener", "client_address")


def tiers_of(namespace: str | None) -> list[str]:
    if namespace is None:
        return [tiers.ALL, tiers.NONE]
    return [tiers.ALL, *(parents(namespace) or [tiers.DEFAULT])]


def summed(rows: list[samples.Row], length_ms: int) -> dict[tuple[Any, ...], dict[str, int]]:
    """The expected usage, by tier, period, principal and client id."""
    found: dict[tuple[Any, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    connections: dict[tuple[Any, ...], dict[tuple[Any, ...], int]] = defaultdict(dict)
    for row in rows:
        if row["kind"] != "flow":
            continue
        period = row["time_ms"] // length_ms * length_ms
        for tier in tiers_of(row["namespace"]):
            key = (tier, period, row["principal"], row["client_id"])
            for name, column in SUMS.items():
                found[key][name] += row[column]
            client = tuple(row[column] for column in CLIENT)
            most = connections[key].get(client, 0)
            connections[key][client] = max(most, row["connections"])
    for key, by_client in connections.items():
        found[key]["connections"] = sum(by_client.values())
    return {key: dict(values) for key, values in found.items()}


def milliseconds(period: datetime.datetime) -> int:
    """The time of a timestamp as Spark returns it: in this machine's zone, without naming it."""
    return round(period.timestamp() * 1_000)


@pytest.mark.parametrize("length_ms", [HOUR_MS, DAY_MS])
def test_sums_are_those_made_one_by_one(spark: SparkSession, length_ms: int) -> None:
    rows = [*samples.random_flows(3, 400), samples.denial(), samples.denial()]
    found = {
        (row.tier, milliseconds(row.period), row.principal, row.client_id): {
            **{name: row[name] for name in SUMS},
            "connections": row.connections,
        }
        for row in usage(samples.frame(spark, rows), length_ms).collect()
    }
    assert found == summed(rows, length_ms)


def test_periods_begin_at_utc_hours(spark: SparkSession) -> None:
    row = samples.flow(time_ms=samples.START_MS + 2 * HOUR_MS - 1)
    [(period,)] = usage(samples.frame(spark, [row])).select("period").distinct().collect()
    assert milliseconds(period) == samples.START_MS + HOUR_MS


def test_what_a_record_lacks_is_nothing(spark: SparkSession) -> None:
    row = samples.flow(bytes_in=None, records_out=None, connections=None, bytes_out=5)
    found = usage(samples.frame(spark, [row])).where("tier = 'org'").collect()[0]
    assert (found.bytes_in, found.records_out, found.connections, found.bytes_out) == (0, 0, 0, 5)


def test_chargeback_shares_add_up_at_one_depth(spark: SparkSession) -> None:
    rows = samples.random_flows(5, 300)
    used = usage(samples.frame(spark, rows), DAY_MS)
    bill = chargeback(used).collect()
    assert tiers.ALL not in {row.tier for row in bill}
    shares: dict[Any, float] = defaultdict(float)
    for row in bill:
        assert row.depth == len(row.tier.split(":"))
        if row.depth == 1:
            shares[row.period] += row.share_percent
    assert len(shares) == 3
    assert all(abs(share - 100) < 0.01 for share in shares.values())


def test_what_is_a_namespaces_own_adds_up_to_everything(spark: SparkSession) -> None:
    rows = samples.random_flows(6, 400)
    bill = chargeback(usage(samples.frame(spark, rows), DAY_MS)).collect()
    own: dict[Any, int] = defaultdict(int)
    for one in rows:
        label = one["namespace"] or (tiers.NONE if one["namespace"] is None else tiers.DEFAULT)
        day = one["time_ms"] - one["time_ms"] % DAY_MS
        own[day, label, one["principal"]] += one["bytes_in"] + one["bytes_out"]
    everything: dict[Any, int] = defaultdict(int)
    for (day, *_), moved in own.items():
        everything[day] += moved
    shares: dict[Any, float] = defaultdict(float)
    for row in bill:
        day = milliseconds(row.period)
        moved = own.pop((day, row.tier, row.principal), 0)
        assert abs(row.own_gib_in + row.own_gib_out - moved / 2**30) < 2e-6
        assert abs(row.own_share_percent - moved * 100 / everything[day]) < 1e-4
        shares[day] += row.own_share_percent
    assert not own
    assert len(shares) == 3
    assert all(abs(share - 100) < 0.01 for share in shares.values())


def test_a_bill_in_gib(spark: SparkSession) -> None:
    rows = [
        samples.flow("org:orders", bytes_in=2**30, bytes_out=2**29, client_id=client)
        for client in ("a", "b")
    ]
    rows.append(samples.flow("team-a:orders", bytes_in=2**30, principal="User:bob"))
    bill = chargeback(usage(samples.frame(spark, rows), DAY_MS)).collect()
    assert {
        (row.tier, row.principal): (row.gib_in, row.gib_out, row.share_percent) for row in bill
    } == {
        ("org", "User:alice"): (2.0, 1.0, 75.0),
        ("team-a", "User:bob"): (1.0, 0.0, 25.0),
    }


def test_a_period_in_which_nothing_moved_has_no_share(spark: SparkSession) -> None:
    bill = chargeback(usage(samples.frame(spark, [samples.flow()]), DAY_MS)).collect()
    assert [row.share_percent for row in bill] == [0.0]


def _exchanges(table: DataFrame) -> int:
    """The shuffles that a table takes, before Spark changes its plan while it runs."""
    executed: Any = table._jdf.queryExecution().executedPlan()
    return str(executed.toString()).count("Exchange hashpartitioning")


@pytest.mark.parametrize("length_ms", [HOUR_MS, DAY_MS])
def test_the_rows_of_tiers_are_sent_nowhere(spark: SparkSession, length_ms: int) -> None:
    flows = samples.frame(spark, samples.random_flows(8, 10))
    assert _exchanges(per_client(flows)) == 2
    assert _exchanges(by_tier(per_client(flows), length_ms)) == 2


@pytest.mark.parametrize("length_ms", [HOUR_MS, DAY_MS])
def test_processes_differ_in_any_column_and_in_what_lacks(
    spark: SparkSession, length_ms: int
) -> None:
    """Connections of different processes are added, those of one process are not."""
    differing: list[samples.Row] = [
        {},
        *({name: "x"} for name in ("gateway_id", "listener", "client_address")),
        {"worker_id": 7},
        {"software_name": "x", "software_version": None},
        {"software_name": None, "software_version": "x"},
        {"software_name": None, "software_version": None},
        {"software_name": "x", "software_version": ""},
        {"software_name": "", "software_version": "x"},
        {"software_name": "xx", "software_version": ""},
    ]
    rows = [samples.flow(**values, connections=n) for values in differing for n in (3, 5, 2)]
    (found,) = usage(samples.frame(spark, rows), length_ms).where("tier = 'org'").collect()
    assert found.connections == 5 * len(differing)
