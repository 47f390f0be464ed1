"""Counts of a worker for the metrics, summed up before they leave the process.

A counter is a family name with label values, in the flows' raw form (API keys, error codes);
``metrics`` gives them Kafka's names. Rows are plain lists, so that they pass through JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import TypeAlias

from gateway.flows import LATENCY_BUCKETS, LATENCY_STEPS, NO_TOPIC, Flow, FlowSource, weak_labels
from gateway.places import Place

Labels: TypeAlias = tuple[str | int, ...]
Row: TypeAlias = tuple[str, Labels, int | list[int]]
"""(family, label values, count). A histogram's row has a count for each of its buckets."""

DEFAULT_NAMESPACE = "(default)"
"""The label of the default namespace, because Prometheus treats an empty label as missing."""


METRIC_BUCKETS = 26
"""Buckets of a histogram in the metrics, one for each power of two: index i counts the requests
that took less than 2**i us, and no less than 2**(i-1); the last bucket counts all from 2**24 us
up."""

_METRIC_BUCKET = tuple(-(-index // LATENCY_STEPS) for index in range(LATENCY_BUCKETS))
"""Index of a flow's bucket -> index of the metrics' bucket that contains it."""

NONE = NO_TOPIC
"""The label of a client that sends no client id, or no software name."""

OTHER = "(other)"
"""The label of all values beyond a limit."""

MAX_CLIENT_LABEL = 64
"""Characters of a label that are kept of a client id, or of its software's name. Escaped in JSON,
both take at most some 1,500 bytes, for which a line of ``worker_channel`` has room."""

MAX_CLIENTS = 1_000
"""Clients with labels of their own in a report, which covers a second."""


def namespace_label(place: Place, namespace: str) -> str:
    """The label of a cluster's namespace; in a tree, its path from the root."""
    return NONE if namespace == NONE else place.namespace_of(namespace) or DEFAULT_NAMESPACE


def cluster_label(place: Place) -> tuple[str, ...]:
    """The last label of a family with a namespace: the cluster's name if there is a tree, else no
    label."""
    return () if place.mount is None else (place.cluster,)


class Counts:
    """Sums by family and label values, until they are taken."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, Labels], int] = {}
        self._histograms: dict[tuple[str, Labels], list[int]] = {}
        self._clients: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        return bool(self._sums or self._histograms)

    def add(self, family: str, labels: Labels, count: int) -> int:
        """Add to a counter, unless the count is 0; returns its sum."""
        key = (family, labels)
        total = self._sums.get(key, 0) + count
        if count:
            self._sums[key] = total
        return total

    def add_flows(self, flows: Sequence[Flow]) -> None:
        """Add the counts of flows. A request counts once, however many topics it names."""
        for flow in flows:
            namespace = namespace_label(flow.source.place, flow.namespace)
            at = cluster_label(flow.source.place)
            api = flow.api_key
            self.add("requests", (namespace, api, flow.version, *at), flow.led)
            self.add("bytes", (namespace, "in", *at), flow.bytes_in)
            self.add("bytes", (namespace, "out", *at), flow.bytes_out)
            self.add("records", (namespace, api, *at), flow.records + flow.records_out)
            for code, count in flow.errors.items():
                self.add("errors", (namespace, api, code, *at), count)
            for rule, count in flow.denials.items():
                self.add("denials", (rule,), count)
            for key, count in flow.weak.items():
                labels = (namespace, *self._client(flow.source), *weak_labels(key), *at)
                self.add("weak_producer_requests", labels, count)
            if flow.led:
                self._add_latency("gateway_seconds", api, flow.gateway_us)
                self._add_latency("broker_seconds", api, flow.broker_us)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows of counters."""
        for family, labels, count in rows:
            assert isinstance(count, int), f"{family} is no counter"
            self.add(family, labels, count)

    def take(self) -> Iterator[Row]:
        """Return all rows; the sums start afresh."""
        sums, self._sums = self._sums, {}
        histograms, self._histograms = self._histograms, {}
        self._clients.clear()
        for (family, labels), count in sums.items():
            yield family, labels, count
        for (family, labels), buckets in histograms.items():
            yield family, labels, buckets

    def _client(self, source: FlowSource) -> tuple[str, str]:
        """Client id and software as labels: cut, and ``(other)`` beyond ``MAX_CLIENTS``."""
        shown = (
            source.client_id[:MAX_CLIENT_LABEL] or NONE,
            source.software_name[:MAX_CLIENT_LABEL] or NONE,
        )
        if shown not in self._clients:
            if len(self._clients) >= MAX_CLIENTS:
                return OTHER, OTHER
            self._clients.add(shown)
        return shown

    def _add_latency(self, family: str, api: int, counts: list[int]) -> None:
        key: tuple[str, Labels] = (family, (api,))
        sums = self._histograms.get(key)
        if sums is None:
            sums = self._histograms[key] = [0] * METRIC_BUCKETS
        for index in compress(range(len(counts)), counts):  # buckets that are not 0
            sums[_METRIC_BUCKET[index]] += counts[index]
