"""What all workers have told of the last seconds: sums for the page, in the supervisor."""

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
"""Reports of a worker, a second each, over which rates are means: calm enough to read."""

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
    """Reports of the last seconds."""

    _reports: dict[int, deque[Observed]] = field(default_factory=dict)

    def begin(self) -> None:
        """Forget all: somebody looks again after a while."""
        self._reports.clear()

    def add(self, worker_id: int, observed: Observed) -> None:
        """Add what a worker tells."""
        reports = self._reports.get(worker_id)
        if reports is None:
            reports = self._reports[worker_id] = deque(maxlen=SMOOTHED)
        reports.append(observed)

    def copied(self) -> Window:
        """The reports so far; what is added later is not among them."""
        return Window({worker_id: reports.copy() for worker_id, reports in self._reports.items()})

    def forget(self, worker_id: int) -> None:
        """A worker has ended."""
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
        """Rates of everything, over the last report of each worker."""
        total = Rates()
        for one in self._last():
            for _, traffic in paced(one.traffic):
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

    def denials(self) -> Sequence[Item]:
        """The latest denials of all workers, the last first."""
        return _merged(chain.from_iterable(one.denials for one in self._last()))

    def logins(self) -> Sequence[Item]:
        """The latest failed logins at all workers, the last first."""
        return _merged(chain.from_iterable(one.logins for one in self._last()))

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


def _merged(items: Iterable[Item]) -> Sequence[Item]:
    """Items of all workers, the last first. One client may be at several workers, so the same item
    of several is one."""
    found: dict[frozenset[tuple[str, Any]], dict[str, Any]] = {}
    for item in items:
        same = frozenset(part for part in item.items() if part[0] not in ("count", "time"))
        known = found.setdefault(same, {**item, "count": 0})
        known["count"] += item["count"]
        known["time"] = max(known["time"], item["time"])
    return sorted(found.values(), key=itemgetter("time"), reverse=True)
