"""Counts: what a worker's flows add to the metrics, summed up before they leave the process.

A counter is a family name with label values, raw as the flows have them (API keys, error codes);
``metrics`` gives them their names. Rows are plain lists, so that they pass through JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from gateway.flows import LATENCY_BUCKETS, Flow

Labels: TypeAlias = tuple[str | int, ...]
Row: TypeAlias = tuple[str, Labels, int | list[int]]
"""(family, label values, how many). A histogram's row has a count for each of its buckets."""

DEFAULT_NAMESPACE = "(default)"
"""The label of the default namespace: an empty label would be none at all."""


class Counts:
    """Sums by family and label values, until they are taken."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, Labels], int] = {}
        self._histograms: dict[tuple[str, Labels], list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._sums or self._histograms)

    def add(self, family: str, labels: Labels, count: int) -> None:
        """Add to one counter; nothing for a count of 0."""
        if count:
            key = (family, labels)
            self._sums[key] = self._sums.get(key, 0) + count

    def add_flows(self, flows: Sequence[Flow]) -> None:
        """Add what flows have counted. A request counts once, however many topics it names."""
        for flow in flows:
            namespace = flow.namespace or DEFAULT_NAMESPACE
            api = flow.api_key
            self.add("requests", (namespace, api, flow.version), flow.led)
            self.add("bytes", (namespace, "in"), flow.bytes_in)
            self.add("bytes", (namespace, "out"), flow.bytes_out)
            self.add("records", (namespace, api), flow.records)
            for code, count in flow.errors.items():
                self.add("errors", (namespace, api, code), count)
            for rule, count in flow.denials.items():
                self.add("denials", (rule,), count)
            if flow.led:
                self._add_latency("gateway_seconds", api, flow.gateway_us)
                self._add_latency("broker_seconds", api, flow.broker_us)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add counters of any number of labels."""
        for family, labels, count in rows:
            assert isinstance(count, int), f"{family} is no counter"
            self.add(family, labels, count)

    def add_counters(self, counters: Mapping[str, Mapping[str, int]]) -> None:
        """Add counters of one label: family to label value to count."""
        for family, counts in counters.items():
            for label, count in counts.items():
                self.add(family, (label,), count)

    def take(self) -> Iterator[Row]:
        """All rows; the sums start afresh."""
        sums, self._sums = self._sums, {}
        histograms, self._histograms = self._histograms, {}
        for (family, labels), count in sums.items():
            yield family, labels, count
        for (family, labels), buckets in histograms.items():
            yield family, labels, buckets

    def _add_latency(self, family: str, api: int, counts: list[int]) -> None:
        key: tuple[str, Labels] = (family, (api,))
        sums = self._histograms.get(key)
        if sums is None:
            sums = self._histograms[key] = [0] * LATENCY_BUCKETS
        for index, count in enumerate(counts):
            if count:
                sums[index] += count
