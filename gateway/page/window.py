"""What all workers have told of the last seconds: sums for the page, in the supervisor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from gateway.page.observed import (
    Buckets,
    ErrorKey,
    Item,
    Latency,
    Observed,
    Traffic,
    TrafficKey,
    add_traffic,
)

SMOOTHED: Final = 10
"""Reports of a worker, a second each, over which rates are means: calm enough to read."""

ERROR_SECONDS: Final = 60.0
"""For which errors are summed up."""

_MAX_ERROR_REPORTS: Final = 2_000

_Key = TypeVar("_Key")


class Rates(NamedTuple):
    """Per second: the fields of :class:`Traffic`."""

    requests: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    records_in: float = 0.0
    records_out: float = 0.0
    errors: float = 0.0
    denials: float = 0.0

    def plus(self, more: Rates) -> Rates:
        """The sums of both."""
        return Rates(*map(float.__add__, self, more))


@dataclass(slots=True)
class Window:
    """Reports of the last seconds. ``now`` is a monotonic clock in seconds."""

    now: Callable[[], float]
    _reports: dict[int, deque[Observed]] = field(default_factory=dict)
    _errors: deque[tuple[float, ErrorKey, int]] = field(
        default_factory=lambda: deque(maxlen=_MAX_ERROR_REPORTS)
    )
    _began: float = 0.0

    def begin(self) -> None:
        """Forget all: somebody looks again after a while."""
        self._reports.clear()
        self._errors.clear()
        self._began = self.now()

    def add(self, worker_id: int, observed: Observed) -> None:
        """Add what a worker tells."""
        reports = self._reports.get(worker_id)
        if reports is None:
            reports = self._reports[worker_id] = deque(maxlen=SMOOTHED)
        reports.append(observed)
        now = self.now()
        self._errors.extend((now, key, count) for key, count in observed.errors)

    def forget(self, worker_id: int) -> None:
        """A worker has ended."""
        self._reports.pop(worker_id, None)

    def traffic(self) -> dict[TrafficKey, Rates]:
        """Rates by client and topic, over :data:`SMOOTHED` reports of each worker."""
        found: dict[TrafficKey, Rates] = {}
        for reports in self._reports.values():
            sums: dict[TrafficKey, Traffic] = {}
            for key, traffic in chain.from_iterable(one.traffic for one in reports):
                add_traffic(sums, key, traffic)
            seconds = sum(one.seconds for one in reports) or 1.0
            for key, traffic in sums.items():
                rates = _per_second(traffic, seconds)
                found[key] = found[key].plus(rates) if key in found else rates
        return found

    def last_second(self) -> Rates:
        """Rates of everything, over the last report of each worker."""
        total = Rates()
        for one in self._last():
            for _, traffic in one.traffic:
                total = total.plus(_per_second(traffic, one.seconds or 1.0))
        return total

    def latency(self, *, last: bool = False) -> dict[int, Latency]:
        """The histograms by API, of all reports or only of the last ones."""
        sums: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
        reports = self._last() if last else chain.from_iterable(self._reports.values())
        for one in reports:
            for api, latency in one.latency.items():
                gateway, broker = sums.setdefault(api, ({}, {}))
                add_buckets(gateway, latency.gateway)
                add_buckets(broker, latency.broker)
        return {api: Latency(*both) for api, both in sums.items()}

    def errors(self) -> tuple[dict[ErrorKey, int], float]:
        """Errors of the last :data:`ERROR_SECONDS`, and for how many of them it was looked."""
        since = self.now() - ERROR_SECONDS
        while self._errors and self._errors[0][0] < since:
            self._errors.popleft()
        sums: dict[ErrorKey, int] = {}
        for _, key, count in self._errors:
            sums[key] = sums.get(key, 0) + count
        return sums, min(ERROR_SECONDS, self.now() - self._began)

    def denials(self) -> Sequence[Item]:
        """The latest denials of all workers, the last first. One client may be at several workers,
        so the same denial by several is one."""
        found: dict[frozenset[tuple[str, Any]], dict[str, Any]] = {}
        for item in (item for one in self._last() for item in one.denials):
            same = frozenset(part for part in item.items() if part[0] not in ("count", "time"))
            known = found.setdefault(same, {**item, "count": 0})
            known["count"] += item["count"]
            known["time"] = max(known["time"], item["time"])
        return sorted(found.values(), key=itemgetter("time"), reverse=True)

    def clusters(self) -> list[Item]:
        """The clusters, as the worker that was asked told last."""
        for reports in self._reports.values():
            for one in reversed(reports):
                if one.clusters is not None:
                    return list(one.clusters)
        return []

    def forms(self) -> dict[int, str]:
        """The form of each worker: compiled or pure."""
        return {worker_id: reports[-1].form for worker_id, reports in self._reports.items()}

    def _last(self) -> Iterator[Observed]:
        return (reports[-1] for reports in self._reports.values())


def add_buckets(sums: dict[int, int], more: Buckets) -> None:
    """Add a histogram to another one."""
    for number, count in more.items():
        sums[number] = sums.get(number, 0) + count


def top(rows: Mapping[_Key, float], most: int) -> tuple[list[_Key], int]:
    """The keys with the largest values, largest first, and how many there are besides."""
    ordered = sorted(rows, key=lambda key: rows[key], reverse=True)
    return ordered[:most], max(0, len(ordered) - most)


def _per_second(traffic: Traffic, seconds: float) -> Rates:
    return Rates(*(count / seconds for count in traffic))
