"""The series that /metrics can have, by name, with their labels."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import Metric

from gateway.counts import METRIC_BUCKETS
from gateway.processes.metric_families import COUNTERS, GAUGES, HISTOGRAMS, WORKER_GAUGES
from gateway.processes.metrics import Metrics
from gateway.processes.worker_messages import State
from gateway.telemetry.series import OF_CLIENT, OWN_LABELS

OF_TARGET = frozenset({"job", "instance"})
"""Labels that Prometheus adds."""


def _collected() -> list[Metric]:
    """The metrics of a gateway with a tree, which has every label."""
    metrics = Metrics("1", max_namespaces=10, in_tree=True)
    for name, family in metrics.counters.items():
        metrics.count(name, tuple("1" for _ in family.labels))
    metrics.add((name, ("1",), [1] * METRIC_BUCKETS) for name in HISTOGRAMS)
    own = {name: 1.0 for name, gauge in GAUGES.items() if not gauge.of_cluster}
    of_cluster = {name: 1.0 for name, gauge in GAUGES.items() if gauge.of_cluster}
    gauges = {**own, **dict.fromkeys(WORKER_GAUGES, 1.0)}
    metrics.set_state(0, State({"a": 1}, gauges, 1.0, {"la": of_cluster}, {"a": 1.0}))
    return list(metrics.collect())


PUSHED: Mapping[str, frozenset[str]] = dict.fromkeys(
    (
        "kafka_client_consumer_fetch_manager_records_lag_max",
        "kafka_client_producer_request_latency_avg",
    ),
    OWN_LABELS | OF_CLIENT | OF_TARGET,
)
"""What clients push, as far as a panel shows it, with its labels
(tests/live/operations/test_pushed_metrics.py has it from Java's clients)."""


def series() -> Mapping[str, frozenset[str]]:
    """The labels of each series."""
    found: dict[str, set[str]] = {}
    for metric in _collected():
        for sample in metric.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    assert len(found) >= len(COUNTERS) + len(GAUGES) + 3 * len(HISTOGRAMS)
    return {name: frozenset(labels) | OF_TARGET for name, labels in found.items()}


def types() -> Mapping[str, str]:
    """``counter`` or ``gauge``, by the name of the series; parts of histograms are counters."""
    found: dict[str, str] = {}
    for metric in _collected():
        for sample in metric.samples:
            found[sample.name] = "counter" if metric.type == "histogram" else metric.type
    return found
