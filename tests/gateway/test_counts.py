"""gateway.counts: from flows to rows."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.counts import Counts, Labels
from tests.gateway.flow_samples import buckets, flow


def taken(counts: Counts) -> dict[tuple[str, Labels], Any]:
    rows = list(counts.take())
    made = {(family, labels): count for family, labels, count in rows}
    assert len(made) == len(rows)
    return made


def test_flows_are_summed_up() -> None:
    counts = Counts()
    one = flow(
        requests=3,
        led=2,
        bytes_in=100,
        bytes_out=50,
        records=7,
        errors={3: 1, 6: 2},
        denials={"namespace": 4},
        gateway_us=buckets(b4=2),
        broker_us=buckets(b9=1, b10=1),
    )
    other = flow(
        led=1, bytes_in=1, errors={3: 1}, gateway_us=buckets(b4=1), broker_us=buckets(b9=1)
    )
    counts.add_flows([one, other])
    assert taken(counts) == {
        ("requests", ("team-a", 0, 9)): 3,
        ("bytes", ("team-a", "in")): 101,
        ("bytes", ("team-a", "out")): 50,
        ("records", ("team-a", 0)): 7,
        ("errors", ("team-a", 0, 3)): 2,
        ("errors", ("team-a", 0, 6)): 2,
        ("denials", ("namespace",)): 4,
        ("gateway_seconds", (0,)): buckets(b4=3),
        ("broker_seconds", (0,)): buckets(b9=2, b10=1),
    }


def test_taking_starts_afresh_and_leaves_the_flows_alone() -> None:
    counts = Counts()
    made = flow(led=1, gateway_us=buckets(b4=1))
    counts.add_flows([made, made])
    assert counts
    assert taken(counts)["gateway_seconds", (0,)] == buckets(b4=2)
    assert not counts
    assert taken(counts) == {}
    assert made.gateway_us == buckets(b4=1)


def test_namespaces_apis_and_versions_stay_apart() -> None:
    counts = Counts()
    counts.add_flows(
        [
            flow(led=1),
            flow(topic="orders", led=1),
            flow(topic="", led=1),
            flow(version=10, led=1),
            flow(api_key=1, led=1),
        ]
    )
    requests = {labels for family, labels in taken(counts) if family == "requests"}
    assert requests == {
        ("team-a", 0, 9),
        ("(default)", 0, 9),
        ("(none)", 0, 9),
        ("team-a", 0, 10),
        ("team-a", 1, 9),
    }


def test_a_flow_that_led_no_request_has_no_latency_and_no_requests() -> None:
    counts = Counts()
    counts.add_flows([flow(requests=5, records=1)])
    assert taken(counts) == {("records", ("team-a", 0)): 1}


def test_counters_with_one_label() -> None:
    counts = Counts()
    counts.add_counters({"closes": {"client closed": 2, "drained": 0}})
    counts.add_counters({"closes": {"client closed": 1}})
    assert taken(counts) == {("closes", ("client closed",)): 3}


def test_counters_with_any_number_of_labels() -> None:
    counts = Counts()
    counts.add_rows([("denied", ("colon", "READ"), 2), ("denied", (), 1), ("denied", ("x",), 0)])
    counts.add_rows([("denied", ("colon", "READ"), 3)])
    assert taken(counts) == {("denied", ("colon", "READ")): 5, ("denied", ()): 1}


def test_a_histogram_is_no_counter() -> None:
    with pytest.raises(AssertionError, match="latency is no counter"):
        Counts().add_rows([("latency", (), [1, 2])])
