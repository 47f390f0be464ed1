"""gateway.processes.metrics: sums of all workers, as Prometheus sees them."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from gateway.counts import OTHER, Counts, Row
from gateway.flows import Flow
from gateway.places import Place
from gateway.processes.metric_families import COUNTERS, GAUGES, HISTOGRAMS, WORKER_GAUGES
from gateway.processes.metrics import MAX_VALUES, Metrics, cumulative, estimated_sum
from gateway.processes.readiness import Readiness, readiness
from gateway.processes.server import Server
from gateway.processes.worker_messages import State
from tests.config import config_samples
from tests.gateway.flow_samples import flow, metric_buckets, of_metric, source


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("1.2.3", max_namespaces=3)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(metrics)
    return registry.get_sample_value(f"kafka_gateway_{name}", labels)


def rows(*flows: Flow) -> list[Row]:
    counts = Counts()
    counts.add_flows(flows)
    return list(counts.take())


def test_increments_of_all_workers_are_summed_in_kafkas_names(metrics: Metrics) -> None:
    one = flow(led=2, bytes_in=10, bytes_out=4, records=5, errors={6: 1}, denials={"namespace": 2})
    for _ in range(2):
        metrics.add(rows(one))
    topic = {"namespace": "team-a", "api": "Produce"}
    assert value(metrics, "requests_total", **topic, version="9") == 4
    assert value(metrics, "records_total", **topic) == 10
    assert value(metrics, "errors_total", **topic, error="NOT_LEADER_OR_FOLLOWER") == 2
    assert value(metrics, "bytes_total", namespace="team-a", direction="in") == 20
    assert value(metrics, "bytes_total", namespace="team-a", direction="out") == 8
    assert value(metrics, "denials_total", rule="namespace") == 4


def test_codes_that_kafka_does_not_have_are_one(metrics: Metrics) -> None:
    for code in (300, 12_345, -7):
        metrics.add(rows(flow(led=2, errors={code: 1})))
    topic = {"namespace": "team-a", "api": "Produce"}
    assert value(metrics, "errors_total", **topic, error="(unknown)") == 3


def test_totals_outlive_a_worker_and_gauges_do_not(metrics: Metrics) -> None:
    metrics.add(rows(flow(led=2)))
    metrics.set_state(0, State({"colon": 5}, {"topics": 7, "cpu_seconds": 1.5}, 1.0))
    assert value(metrics, "open_connections", listener="colon") == 5
    metrics.forget_state(0)
    metrics.forget_state(0)
    assert value(metrics, "open_connections", listener="colon") is None
    assert value(metrics, "topics") is None
    assert value(metrics, "worker_cpu_seconds", worker="0") is None
    assert value(metrics, "requests_total", namespace="team-a", api="Produce", version="9") == 2


def test_gauges_of_several_workers() -> None:
    metrics = Metrics("1", 3, now=lambda: 103.0)
    gauges = {"cluster_reachable": 1, "topics": 5, "resident_bytes": 9}
    metrics.set_state(0, State({"a": 1, "b": 2}, gauges, 100.0))
    # It has waited for two seconds, so it is that old.
    metrics.set_state(1, State({"a": 3}, {"cluster_reachable": 0, "topics": 6}, 101.0))
    assert value(metrics, "open_connections", listener="a") == 4
    assert value(metrics, "open_connections", listener="b") == 2
    assert value(metrics, "cluster_reachable") == metrics.gauge("cluster_reachable") == 0
    assert value(metrics, "topics") == 6
    assert value(metrics, "worker_report_age_seconds", worker="0") == 3
    assert value(metrics, "worker_report_age_seconds", worker="1") == 2
    assert value(metrics, "worker_resident_bytes", worker="0") == 9


def test_the_worker_with_the_oldest_certificate_counts(metrics: Metrics) -> None:
    metrics.set_state(0, State({}, {}, 1.0, {}, {"a": 90.0, "b": 5.0}))
    metrics.set_state(1, State({}, {}, 1.0, {}, {"a": -3.5}))
    assert value(metrics, "certificate_expiry_seconds", listener="a") == -3.5
    assert value(metrics, "certificate_expiry_seconds", listener="b") == 5
    metrics.forget_state(1)
    assert value(metrics, "certificate_expiry_seconds", listener="a") == 90


def test_namespaces_are_bounded_and_say_so(metrics: Metrics) -> None:
    for _ in range(2):
        metrics.add(rows(*(flow(topic=f"n{n}:t", led=1, bytes_in=3) for n in range(5))))
        metrics.add(rows(flow(topic="", led=1), flow(topic="t", led=1)))
    known = {"api": "Produce", "version": "9"}
    for namespace in ("n0", "n1", "n2", "(none)", "(default)"):
        assert value(metrics, "requests_total", namespace=namespace, **known) == 2
    assert value(metrics, "requests_total", namespace="n3", **known) is None
    assert value(metrics, "requests_total", namespace=OTHER, **known) == 4
    assert value(metrics, "bytes_total", namespace=OTHER, direction="in") == 12
    assert value(metrics, "label_overflow_total", label="namespace") == 4 + 12


def test_every_other_label_is_bounded(metrics: Metrics) -> None:
    metrics.add(("denials", (f"rule {number}",), 1) for number in range(MAX_VALUES + 50))
    assert value(metrics, "denials_total", rule=OTHER) == 50
    assert value(metrics, "label_overflow_total", label="rule") == 50
    metrics.add(rows(flow(api_key=12345, led=1, errors={999: 1})))
    labels = {"namespace": "team-a", "api": "(unknown)"}
    assert value(metrics, "requests_total", **labels, version="9") == 1
    assert value(metrics, "errors_total", **labels, error="(unknown)") == 1


def test_latency_in_seconds(metrics: Metrics) -> None:
    metrics.add(
        rows(flow(led=4, gateway_us=of_metric(b0=1, b6=2, b25=1), broker_us=of_metric(b10=4)))
    )
    labels = {"api": "Produce"}

    def below(seconds: float | str) -> float | None:
        return value(metrics, "gateway_seconds_bucket", **labels, le=str(seconds))

    assert below(2**3 / 1e6) == 1
    assert below(2**5 / 1e6) == 1
    assert below(2**6 / 1e6) == 3
    assert below(2**24 / 1e6) == 3
    assert below("+Inf") == 4
    assert value(metrics, "gateway_seconds_count", **labels) == 4
    assert value(metrics, "broker_seconds_sum", **labels) == pytest.approx(4 * 768 / 1e6)


def test_the_estimated_sum_is_within_a_half_of_the_true_one() -> None:
    for microseconds in (1, 2, 3, 100, 127, 128, 5_000, 1_000_000):
        made = metric_buckets(**{f"b{microseconds.bit_length()}": 10})
        assert 0.5 <= estimated_sum(made) / (10 * microseconds / 1e6) <= 1.5


def test_cumulative_counts_everything_once() -> None:
    counts = cumulative([1] * 26)
    assert [count for _, count in counts] == [*range(4, 26), 26]
    assert float(counts[0][0]) == 8e-6


def test_an_idle_gateway_shows_zeros(metrics: Metrics) -> None:
    assert value(metrics, "worker_restarts_total") == 0
    assert value(metrics, "policy_events_dropped_total") == 0
    assert value(metrics, "label_overflow_total", label="namespace") == 0
    for log in ("traffic_log_dropped_total", "audit_events_dropped_total"):
        for reason in ("queue full", "write failed", "too large", "stopped"):
            assert value(metrics, log, sink="file", reason=reason) == 0
            assert value(metrics, log, sink="topic", reason=reason) == 0
    for outcome in ("done", "failed"):
        assert value(metrics, "policy_reloads_total", outcome=outcome) == 0
    assert value(metrics, "build_info", version="1.2.3") == 1


def test_both_formats_can_be_read(metrics: Metrics) -> None:
    metrics.add(rows(flow(led=1, gateway_us=of_metric(b4=1), broker_us=of_metric(b4=1))))
    metrics.add([("connections", ("colon",), 1)])
    metrics.set_state(0, State({"colon": 1}, dict.fromkeys(GAUGES, 1), 1.0))
    registry = CollectorRegistry()
    registry.register(metrics)
    text = generate_openmetrics(registry).decode()  # type: ignore[no-untyped-call]
    families = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    names = [family.name for family in families]
    assert len(names) == len(set(names)) >= len(COUNTERS) + len(HISTOGRAMS) + len(GAUGES)
    assert all(family.documentation for family in families)
    assert b"kafka_gateway_connections_total" in generate_latest(registry)


def test_families_that_are_not_known_are_left_out(metrics: Metrics) -> None:
    metrics.add([("no such", ("a",), 1), ("no such", ("a",), metric_buckets())])
    metrics.set_state(0, State({}, {"no such": 1}, 1.0))
    assert "no such" not in generate_latest(_registry(metrics)).decode()


def _registry(metrics: Metrics) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(metrics)
    return registry


def test_everything_that_a_server_reports_is_known(tmp_path: Path) -> None:
    report = Server(config_samples.config(tmp_path)).collect()
    assert {family for family, *_ in report.rows} <= set(COUNTERS)
    assert set(report.gauges) <= set(GAUGES)


def test_the_documentation_has_every_metric(metrics: Metrics) -> None:
    gauges = dict.fromkeys([*GAUGES, *WORKER_GAUGES], 1)
    metrics.set_state(0, State({"colon": 1}, gauges, 1.0, {}, {"colon": 1.0}))
    metrics.add(
        [
            (name, ("x",) * len(family.labels), 1)
            for name, family in COUNTERS.items()
            if "api" not in family.labels
        ]
    )
    metrics.add(rows(flow(led=1, records=1, errors={3: 1}, gateway_us=of_metric(b4=1))))
    text = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    documented = {}
    for line in text.splitlines():
        if line.startswith("| `kafka_gateway_"):
            name, kind, labels, _ = (cell.strip() for cell in line.strip("|").split("|"))
            documented[name.strip("`")] = (kind, set(labels.replace("`", "").split(", ")) - {""})
    suffixes = {"counter": "_total", "info": "_info"}
    told = {}
    for family in metrics.collect():
        found = {label for sample in family.samples for label in sample.labels}
        told[family.name + suffixes.get(family.type, "")] = (family.type, found - {"le"})
    assert documented == told


def test_weak_producers_by_client_and_what_was_done(metrics: Metrics) -> None:
    metrics.add(rows(flow(weak={"acks0_upgraded": 2, "not_idempotent_observed": 1})))
    client = {"namespace": "team-a", "client_id": "app", "software_name": "librdkafka"}
    name = "weak_producer_requests_total"
    assert value(metrics, name, **client, weakness="acks0", decision="upgraded") == 2
    assert value(metrics, name, **client, weakness="not_idempotent", decision="observed") == 1


def test_client_ids_are_bounded(metrics: Metrics) -> None:
    clients = [source(client_id=f"app-{number}") for number in range(MAX_VALUES + 50)]
    metrics.add(rows(*(flow(client, weak={"acks1_observed": 1}) for client in clients)))
    many = {"namespace": "team-a", "software_name": "librdkafka"}
    what = {"weakness": "acks1", "decision": "observed"}
    name = "weak_producer_requests_total"
    assert value(metrics, name, **many, **what, client_id="app-0") == 1
    assert value(metrics, name, **many, **what, client_id=OTHER) == 50
    assert value(metrics, "label_overflow_total", label="client_id") == 50


LA, NY = Place("la", "la:tracking"), Place("ny", "ny:tracking")


def tree() -> Metrics:
    """Two clusters in a tree, two workers: one of these does not reach ny."""
    metrics = Metrics("1", max_namespaces=9, in_tree=True)
    la = {"cluster_reachable": 1, "catalog_fresh": 1, "topics": 5, "catalog_version": 7}
    ny = {**la, "topics": 6}
    metrics.set_state(0, State({"a": 1}, {"accepting": 1}, 1.0, {"la": la, "ny": ny}))
    down = {**ny, "cluster_reachable": 0}
    metrics.set_state(1, State({"a": 1}, {"accepting": 1}, 1.0, {"la": la, "ny": down}))
    return metrics


def test_clusters_of_a_tree_have_a_sample_each() -> None:
    metrics = tree()
    assert value(metrics, "cluster_reachable", cluster="la") == 1
    assert value(metrics, "cluster_reachable", cluster="ny") == 0
    assert value(metrics, "topics", cluster="ny") == metrics.gauge("topics", "ny") == 6
    assert value(metrics, "catalog_version", cluster="la") == 7
    assert value(metrics, "topics") is None
    assert value(metrics, "accepting") == 1


def test_namespaces_of_a_tree_are_paths_from_the_root() -> None:
    metrics = tree()
    for place in (LA, NY):
        metrics.add(rows(flow(source(place=place), led=2, records=1, errors={3: 1})))
    metrics.add(
        rows(flow(source(place=NY), led=4, topic=""), flow(source(place=NY), topic="t", led=8))
    )
    labels = {"api": "Produce", "version": "9"}
    for cluster in ("la", "ny"):
        at = {"namespace": f"{cluster}:tracking:team-a", "cluster": cluster}
        assert value(metrics, "requests_total", **labels, **at) == 2
        assert value(
            metrics, "errors_total", api="Produce", error="UNKNOWN_TOPIC_OR_PARTITION", **at
        )
    none = {"namespace": "(none)", "cluster": "ny"}
    assert value(metrics, "requests_total", **labels, **none) == 4
    default = {"namespace": "ny:tracking", "cluster": "ny"}
    assert value(metrics, "requests_total", **labels, **default) == 8


def test_one_usable_cluster_of_a_tree_is_enough(tmp_path: Path) -> None:
    clusters = config_samples.tree(tmp_path).clusters
    metrics = tree()
    down = "cluster 'ny' is not known to be reachable"
    assert readiness(clusters, metrics) == Readiness((), [down])
    good = {"cluster_reachable": 1, "catalog_fresh": 1}
    for worker in (0, 1):
        metrics.set_state(worker, State({}, {}, 1.0, {"la": good, "ny": good}))
    assert not any(readiness(clusters, metrics))
    stale = {**good, "catalog_fresh": 0}
    metrics.set_state(0, State({}, {}, 1.0, {"la": stale, "ny": {**good, "cluster_reachable": 0}}))
    why = "cluster 'la': the catalog could not be read within catalog.max_staleness"
    assert readiness(clusters, metrics) == Readiness([why, down])


def test_without_a_tree_the_cluster_decides(tmp_path: Path) -> None:
    clusters = config_samples.config(tmp_path).clusters
    metrics = Metrics("1", 9)
    metrics.set_state(0, State({}, {"cluster_reachable": 0, "catalog_fresh": 0}, 1.0))
    down = "cluster 'main' is not known to be reachable"
    stale = "the catalog could not be read within catalog.max_staleness"
    assert readiness(clusters, metrics) == Readiness([down, stale])
    lost = {"cluster_reachable": 1, "catalog_fresh": 0, "catalog_lost": 1}
    metrics.set_state(0, State({}, lost, 1.0))
    (why,) = readiness(clusters, metrics).not_ready
    assert "--from-memory" in why


def test_brokers_that_let_no_new_client_in(tmp_path: Path) -> None:
    clusters = config_samples.config(tmp_path).clusters
    metrics = Metrics("1", 9)
    good = {"cluster_reachable": 1, "catalog_fresh": 1, "refusing_brokers": 0, "locked_out": 0}
    some = {**good, "refusing_brokers": 2}
    metrics.set_state(0, State({}, good, 1.0))
    metrics.set_state(1, State({}, some, 1.0))
    not_ready, (degraded,) = readiness(clusters, metrics)
    assert not not_ready
    assert degraded.startswith("cluster 'main': 2 of its brokers let in no new connections")
    metrics.set_state(1, State({}, {**some, "locked_out": 1}, 1.0))
    (why,), degraded_ones = readiness(clusters, metrics)
    assert why.startswith("cluster 'main': new clients cannot get through")
    assert "older ones work" in why and "max.connections.per.ip" in why
    assert not degraded_ones


def test_one_cluster_of_a_tree_that_lets_no_new_client_in(tmp_path: Path) -> None:
    clusters = config_samples.tree(tmp_path).clusters
    metrics = tree()
    good = {"cluster_reachable": 1, "catalog_fresh": 1}
    locked = {**good, "refusing_brokers": 1, "locked_out": 1}
    some = {**good, "refusing_brokers": 1}
    metrics.set_state(0, State({}, {}, 1.0, {"la": locked, "ny": good}))
    metrics.set_state(1, State({}, {}, 1.0, {"la": good, "ny": some}))
    not_ready, (la, ny) = readiness(clusters, metrics)
    assert not not_ready
    assert la.startswith("cluster 'la': new clients cannot get through")
    assert ny.startswith("cluster 'ny': 1 of its brokers")


def test_everything_that_a_server_reports_of_a_tree_is_known(tmp_path: Path) -> None:
    report = Server(config_samples.tree(tmp_path)).collect()
    own = {"accepting", "audit_queued_events", "client_telemetry_clients", "cut_off"}
    own |= {"other_gateways_down"}
    assert set(report.gauges) == own
    assert set(report.clusters) == {"la", "ny"}
    for gauges in report.clusters.values():
        assert set(gauges) == {name for name, gauge in GAUGES.items() if gauge.of_cluster}
