"""The observations of all workers in the last seconds, summed up for the page in the supervisor."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from gateway.page.observed import (
    Buckets,
    Item,
    Latency,
    Observed,
    Traffic,
    TrafficKey,
    add_traffic,
)
from protocol.pausing import paced

SMOOTHED: Final = 10
"""Reports of a worker, a second each, over which rates are averaged, so that they are calm enough
to read."""

_Key = TypeVar("_Key")


class Rates(NamedTuple):
    """The fields of :class:`Traffic`, per second."""

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
    """The workers' observations of the last seconds."""

    _reports: dict[int, deque[Observed]] = field(default_factory=dict)

    def begin(self) -> None:
        """Forget all observations; the page is opened again after a while."""
        self._reports.clear()

    def add(self, worker_id: int, observed: Observed) -> None:
        """Add a worker's observations."""
        reports = self._reports.get(worker_id)
        if reports is None:
            reports = self._reports[worker_id] = deque(maxlen=SMOOTHED)
        reports.append(observed)

    def copied(self) -> Window:
        """A copy of the observations so far, to which later observations are not added."""
        return Window({worker_id: reports.copy() for worker_id, reports in self._reports.items()})

    def forget(self, worker_id: int) -> None:
        """Forget a worker that has ended."""
        self._reports.pop(worker_id, None)

    def traffic(self) -> dict[TrafficKey, Rates]:
        """Rates by client and topic, over :data:`SMOOTHED` reports of each worker."""
        found: dict[TrafficKey, Rates] = {}
        for reports in self._reports.values():
            sums: dict[TrafficKey, Traffic] = {}
            for key, traffic in paced(chain.from_iterable(one.traffic for one in reports)):
                add_traffic(sums, key, traffic)
            seconds = sum(one.seconds for one in reports) or 1.0
            for key, traffic in paced(sums.items()):
                rates = _per_second(traffic, seconds)
                found[key] = found[key].plus(rates) if key in found else rates
        return found

    def last_second(self) -> Rates:
        """Rates of all traffic, over the last report of each worker."""
        total = Rates()
        for one in self._last():
            for _, traffic in paced(one.traffic):
                total = total.plus(_per_second(traffic, one.seconds or 1.0))
        return total

    def latency(self, *, last: bool = False) -> dict[int, Latency]:
        """The histograms by API, of all reports, or only of each worker's last report."""
        sums: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
        reports = self._last() if last else chain.from_iterable(self._reports.values())
        for one in reports:
            for api, latency in one.latency.items():
                gateway, broker = sums.setdefault(api, ({}, {}))
                add_buckets(gateway, latency.gateway)
                add_buckets(broker, latency.broker)
        return {api: Latency(*both) for api, both in sums.items()}

    def denials(self) -> Sequence[Item]:
        """The latest denials of all workers, the last first."""
        return _merged(chain.from_iterable(one.denials for one in self._last()))

    def logins(self) -> Sequence[Item]:
        """The latest failed logins at all workers, the last first."""
        return _merged(chain.from_iterable(one.logins for one in self._last()))

    def clusters(self) -> list[Item]:
        """The clusters in the latest report that has clusters."""
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
    """Add the histogram ``more`` to ``sums``."""
    for number, count in more.items():
        sums[number] = sums.get(number, 0) + count


def top(rows: Mapping[_Key, float], most: int) -> tuple[list[_Key], int]:
    """The keys with the largest values, largest first, and the number of further keys."""
    ordered = sorted(rows, key=lambda key: rows[key], reverse=True)
    return ordered[:most], max(0, len(ordered) - most)


def _per_second(traffic: Traffic, seconds: float) -> Rates:
    return Rates(*(count / seconds for count in traffic))


def _merged(items: Iterable[Item]) -> Sequence[Item]:
    """Items of all workers, the last first. The same item of several workers is merged, because a
    client may be connected to several."""
    found: dict[frozenset[tuple[str, Any]], dict[str, Any]] = {}
    for item in items:
        same = frozenset(part for part in item.items() if part[0] not in ("count", "time"))
        known = found.setdefault(same, {**item, "count": 0})
        known["count"] += item["count"]
        known["time"] = max(known["time"], item["time"])
    return sorted(found.values(), key=itemgetter("time"), reverse=True)
