"""gateway.counts: from flows to rows."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.counts import MAX_CLIENT_LABEL, Counts, Labels
from tests.gateway.flow_samples import buckets, flow, metric_buckets, of_metric, source


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
        gateway_us=of_metric(b4=2),
        broker_us=of_metric(b9=1, b10=1),
    )
    other = flow(
        led=1, bytes_in=1, errors={3: 1}, gateway_us=of_metric(b4=1), broker_us=of_metric(b9=1)
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
        ("gateway_seconds", (0,)): metric_buckets(b4=3),
        ("broker_seconds", (0,)): metric_buckets(b9=2, b10=1),
    }


def test_taking_starts_afresh_and_leaves_the_flows_alone() -> None:
    counts = Counts()
    made = flow(led=1, gateway_us=of_metric(b4=1))
    counts.add_flows([made, made])
    assert counts
    assert taken(counts)["gateway_seconds", (0,)] == metric_buckets(b4=2)
    assert not counts
    assert taken(counts) == {}
    assert made.gateway_us == of_metric(b4=1)


def test_four_buckets_of_a_flow_are_one_of_the_metrics() -> None:
    counts = Counts()
    counts.add_flows([flow(led=7, gateway_us=buckets(b0=1, b4=1, b5=1, b8=1, b9=1, b96=1, b97=1))])
    assert taken(counts)["gateway_seconds", (0,)] == metric_buckets(
        b0=1, b1=1, b2=2, b3=1, b24=1, b25=1
    )


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


def test_counters_that_are_added_one_by_one() -> None:
    counts = Counts()
    assert counts.add("closes", ("drained",), 0) == 0
    assert counts.add("closes", ("client closed",), 2) == 2
    assert counts.add("closes", ("client closed",), 1) == 3
    assert taken(counts) == {("closes", ("client closed",)): 3}


def test_counters_with_any_number_of_labels() -> None:
    counts = Counts()
    counts.add_rows([("denied", ("colon", "READ"), 2), ("denied", (), 1), ("denied", ("x",), 0)])
    counts.add_rows([("denied", ("colon", "READ"), 3)])
    assert taken(counts) == {("denied", ("colon", "READ")): 5, ("denied", ()): 1}


def test_a_histogram_is_no_counter() -> None:
    with pytest.raises(AssertionError, match="latency is no counter"):
        Counts().add_rows([("latency", (), [1, 2])])


def test_weak_producers_go_by_client_and_software() -> None:
    counts = Counts()
    seen = {"acks1_upgraded": 2, "not_idempotent_observed": 1}
    counts.add_flows([flow(weak=seen), flow(weak={"acks1_upgraded": 3})])
    nobody = source(client_id="", software_name="")
    counts.add_flows([flow(nobody, topic="orders", weak={"acks0_observed": 1})])
    assert taken(counts) == {
        ("weak_producer_requests", ("team-a", "app", "librdkafka", "acks1", "upgraded")): 5,
        (
            "weak_producer_requests",
            ("team-a", "app", "librdkafka", "not_idempotent", "observed"),
        ): 1,
        ("weak_producer_requests", ("(default)", "(none)", "(none)", "acks0", "observed")): 1,
    }


def test_client_ids_are_cut() -> None:
    counts = Counts()
    counts.add_flows([flow(source(client_id="x" * 1000), weak={"acks1_refused": 1})])
    ((_, labels),) = taken(counts)
    assert labels[1] == "x" * MAX_CLIENT_LABEL


def test_of_many_clients_the_rest_is_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.counts.MAX_CLIENTS", 2)
    counts = Counts()
    clients = [source(client_id=name) for name in ("a", "b", "c", "d", "a")]
    counts.add_flows([flow(client, weak={"acks1_observed": 1}) for client in clients])
    found = {labels[1:3]: count for (_, labels), count in taken(counts).items()}
    assert found == {("a", "librdkafka"): 2, ("b", "librdkafka"): 1, ("(other)", "(other)"): 2}
    counts.add_flows([flow(clients[2], weak={"acks1_observed": 1})])
    assert {labels[1] for _, labels in taken(counts)} == {"c"}
