"""Metrics for Prometheus: the counts of all workers since the supervisor started.

Workers send increments, so totals outlive a worker that is restarted. Each label has a limit of
values: if it is reached, further values are counted under ``(other)``, and the overflow itself is
counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from itertools import accumulate
from operator import itemgetter

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from gateway.counts import DEFAULT_NAMESPACE, METRIC_BUCKETS, OTHER, Labels, Row
from gateway.flows import NO_TOPIC
from gateway.processes.metric_families import (
    COUNTERS,
    GAUGES,
    HISTOGRAMS,
    NAMES,
    WORKER_GAUGES,
    ZEROS,
    Family,
    Gauge,
    with_cluster,
)
from gateway.processes.worker_messages import State
from protocol.pausing import paced
from protocol.schema import ERROR_NAMES, UNKNOWN, api_name

MAX_VALUES = 200
"""Values of every label except ``namespace``; Kafka has fewer APIs, versions and errors."""

_NOT_COUNTED = frozenset({OTHER, UNKNOWN, NO_TOPIC, DEFAULT_NAMESPACE})
_PREFIX = "kafka_gateway_"
_EVERY = 4  # Histograms between two pause points; a histogram has 25 samples.
_FIRST_BUCKET = 3  # All below 8 us is one bucket: the clock is no finer.


class Metrics(Collector):
    """The sums of all workers, as prometheus_client collects them.

    ``counters``: the families of counters, with their labels here.
    ``now``: the clock by which workers date their reports, in seconds.
    ``in_tree``: clusters have mounts, so families with ``namespace``, and states of a cluster, have
    the label ``cluster``.
    """

    def __init__(
        self,
        version: str,
        max_namespaces: int,
        now: Callable[[], float] = time.monotonic,
        *,
        in_tree: bool = False,
    ) -> None:
        self.counters = with_cluster(COUNTERS) if in_tree else COUNTERS
        self._version = version
        self._now = now
        self._limits = {"namespace": max_namespaces}
        self._seen: dict[str, set[str]] = {}
        self._counts: dict[str, dict[tuple[str, ...], int]] = {name: {} for name in COUNTERS}
        self._buckets: dict[str, dict[tuple[str, ...], list[int]]] = {
            name: {} for name in HISTOGRAMS
        }
        self._states: dict[int, State] = {}
        for name, family in self.counters.items():
            if not family.labels:
                self.count(name, (), 0)
        for name, starts in ZEROS.items():
            for labels in starts:
                self.count(name, labels, 0)

    def count(self, name: str, labels: Labels, count: int = 1) -> None:
        """Add to a counter of :data:`COUNTERS`."""
        values = self._values(self.counters[name], labels, count)
        sums = self._counts[name]
        sums[values] = sums.get(values, 0) + count

    def add(self, rows: Iterable[Row]) -> None:
        """Add a worker's counts. Families that are not in the tables are left out."""
        for name, labels, count in rows:
            if isinstance(count, int):
                if name in COUNTERS:
                    self.count(name, labels, count)
            elif name in HISTOGRAMS:
                values = self._values(HISTOGRAMS[name], labels, sum(count))
                sums = self._buckets[name].setdefault(values, [0] * METRIC_BUCKETS)
                for index, more in enumerate(count):
                    sums[index] += more

    def set_state(self, worker_id: int, state: State) -> None:
        """Keep the newest state of a worker."""
        self._states[worker_id] = state

    def forget_state(self, worker_id: int) -> None:
        """Forget the state of a worker that has ended; its counts stay."""
        self._states.pop(worker_id, None)

    def state_of(self, worker_id: int) -> State | None:
        """The newest state of a worker, or None if it has not reported yet."""
        return self._states.get(worker_id)

    def connections(self) -> dict[str, int]:
        """Open client connections by listener."""
        found: dict[str, int] = {}
        for state in self._states.values():
            for listener, count in state.connections.items():
                found[listener] = found.get(listener, 0) + count
        return found

    def gauge(self, name: str, cluster: str | None = None) -> float | None:
        """The merged value of a gauge of :data:`GAUGES`, in a tree for a ``cluster``; None if no
        worker has reported it."""
        states = self._states.values()
        reported = (
            state.gauges if cluster is None else state.clusters.get(cluster, {}) for state in states
        )
        values = [gauges[name] for gauges in reported if name in gauges]
        return GAUGES[name].merge(values) if values else None

    def frozen(self) -> Metrics:
        """A copy of these metrics, which later counts do not change. Copying 100,000 counters takes
        1 ms, making their text 1 s."""
        now, taken = self._now(), copy(self)
        taken._now = lambda: now
        taken._counts = {name: dict(sums) for name, sums in self._counts.items()}
        taken._buckets = {
            name: {values: list(buckets) for values, buckets in sums.items()}
            for name, sums in self._buckets.items()
        }
        taken._states = dict(self._states)
        return taken

    def collect(self) -> Iterator[Metric]:
        """Every family, for prometheus_client; only :meth:`frozen` metrics may be collected in
        slices."""
        yield InfoMetricFamily(
            f"{_PREFIX}build", "The gateway's version", value={"version": self._version}
        )
        for name, family in self.counters.items():
            metric_name = f"{_PREFIX}{NAMES.get(name, name)}"
            counter = CounterMetricFamily(metric_name, family.help, labels=family.labels)
            for values, count in paced(self._counts[name].items()):
                counter.add_metric(values, count)
            yield counter
        for name, family in HISTOGRAMS.items():
            histogram = HistogramMetricFamily(_PREFIX + name, family.help, labels=family.labels)
            for values, buckets in paced(self._buckets[name].items(), _EVERY):
                histogram.add_metric(values, cumulative(buckets), estimated_sum(buckets))
            yield histogram
        yield from self._collect_gauges()

    def _collect_gauges(self) -> Iterator[Metric]:
        clusters = dict.fromkeys(name for each in self._states.values() for name in each.clusters)
        for name, gauge in GAUGES.items():
            if clusters and gauge.of_cluster:
                yield self._by_cluster(name, gauge, clusters)
                continue
            value = self.gauge(name)
            if value is not None:
                yield GaugeMetricFamily(_PREFIX + name, gauge.help, value=value)
        open_now = GaugeMetricFamily(
            f"{_PREFIX}open_connections", "Client connections now", labels=["listener"]
        )
        for listener, count in self.connections().items():
            open_now.add_metric([listener], count)
        yield open_now
        yield self._certificates()
        yield from self._collect_workers()

    def _certificates(self) -> Metric:
        left: dict[str, float] = {}
        for state in self._states.values():
            for listener, seconds in state.certificates.items():
                left[listener] = min(seconds, left.get(listener, seconds))
        family = GaugeMetricFamily(
            f"{_PREFIX}certificate_expiry_seconds",
            "Seconds until the certificate of a listener expires, negative once it has",
            labels=["listener"],
        )
        for listener, seconds in left.items():
            family.add_metric([listener], seconds)
        return family

    def _by_cluster(self, name: str, gauge: Gauge, clusters: Iterable[str]) -> Metric:
        family = GaugeMetricFamily(_PREFIX + name, gauge.help, labels=["cluster"])
        for cluster in clusters:
            value = self.gauge(name, cluster)
            if value is not None:
                family.add_metric([cluster], value)
        return family

    def _collect_workers(self) -> Iterator[Metric]:
        age = GaugeMetricFamily(
            f"{_PREFIX}worker_report_age_seconds",
            "Age of what the worker reported last, which it does every second",
            labels=["worker"],
        )
        states = sorted(self._states.items(), key=itemgetter(0))
        for worker_id, state in states:
            age.add_metric([str(worker_id)], self._now() - state.made_at)
        yield age
        for name, text in WORKER_GAUGES.items():
            # A value that only grows is a counter: Prometheus makes rates of counters.
            kind = CounterMetricFamily if name == "cpu_seconds" else GaugeMetricFamily
            family = kind(f"{_PREFIX}worker_{name}", text, labels=["worker"])
            for worker_id, state in states:
                if name in state.gauges:
                    family.add_metric([str(worker_id)], state.gauges[name])
            yield family

    def _values(self, family: Family, labels: Labels, count: int) -> tuple[str, ...]:
        """Label values in Kafka's names, or ``(other)`` beyond a label's limit."""
        return tuple(
            self._bounded(label, _SHOWN.get(label, str)(value), count)
            for label, value in zip(family.labels, labels, strict=False)
        )

    def _bounded(self, label: str, value: str, count: int) -> str:
        seen = self._seen.setdefault(label, set())
        if value in seen or value in _NOT_COUNTED:
            return value
        if len(seen) < self._limits.get(label, MAX_VALUES):
            seen.add(value)
            return value
        overflow = self._counts["label_overflow"]
        overflow[(label,)] = overflow.get((label,), 0) + count
        return OTHER


def cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    """A log2 histogram of microseconds in Prometheus's form: cumulative, with upper bounds in
    seconds."""
    sums = list(accumulate(buckets))
    bounds = [(str(2**index / 1_000_000), float(sums[index])) for index in _shown_buckets()]
    return [*bounds, ("+Inf", float(sums[-1]))]


def estimated_sum(buckets: list[int]) -> float:
    """The sum in seconds, if every request had taken the middle of its bucket."""
    # Bucket i holds the values from 2**(i-1) up to 2**i; bucket 0 holds zeros.
    return sum(0.75 * count * (1 << index) for index, count in enumerate(buckets) if index) / 1e6


def _shown_buckets() -> range:
    return range(_FIRST_BUCKET, METRIC_BUCKETS - 1)


_SHOWN: Mapping[str, Callable[[str | int], str]] = {
    "api": lambda key: api_name(int(key)),
    # All codes that Kafka does not have share a label: brokers and vendors may send any.
    "error": lambda code: ERROR_NAMES.get(int(code), UNKNOWN),
}
