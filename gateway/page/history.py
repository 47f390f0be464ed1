"""The last quarter of an hour, kept even if no page is open, so that an operator who opens the page
in an incident sees how it began.

It is made of the counts that workers report for the metrics anyway, so it costs workers nothing,
and the supervisor a few additions a second and at most 2 MiB: points and slices are limited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gateway.counts import DEFAULT_NAMESPACE, OTHER, Row
from gateway.flows import NO_TOPIC
from gateway.page.quantiles import quantiles

HISTORY_SECONDS: Final = 900
SLICE_SECONDS: Final = 10
"""Errors are summed up in slices of so many seconds."""

RECENT_SECONDS: Final = 60
"""Errors of the last so many seconds are shown apart."""

MAX_ERRORS: Final = 50
"""Different errors of a slice; further errors are summed up by API and code."""

PRODUCE: Final = 0
WAITING_APIS: Final = frozenset({1, 11, 14})
"""Fetch, JoinGroup and SyncGroup, whose time at the broker is mostly a wait that clients intend:
for records, or for other members."""

_LATE_SECONDS: Final = 3.0
"""A point is made after so many seconds even if a worker has not reported."""

_METRIC_STEPS: Final = 1
"""Buckets of the metrics' histograms for each power of two."""


class Point(NamedTuple):
    """A second of all workers: ``time`` in ms since 1970, counts per second, and the median and
    99th percentile of the microseconds in the gateway and at brokers (None if there was no
    request)."""

    time: int
    requests: float
    bytes_in: float
    bytes_out: float
    records_in: float
    records_out: float
    errors: float
    denials: float
    gateway: list[float | None]
    broker: list[float | None]


COUNTS: Final = Point._fields[1:8]


class ErrorKey(NamedTuple):
    """An error code in responses of an API. ``namespace`` is absolute in a tree, or None if no
    topic is named. ``cluster`` is empty without a tree. Keys beyond a limit are ``(other)``."""

    cluster: str
    namespace: str | None
    api_key: int
    code: int


@dataclass(slots=True)
class _Counted:
    """A worker's counts since the last point, in ``seconds``; 0 if it has not reported."""

    seconds: float = 0.0
    sums: dict[str, int] = field(default_factory=dict)
    gateway: dict[int, int] = field(default_factory=dict)
    broker: dict[int, int] = field(default_factory=dict)

    def add(self, family: str, labels: tuple[str | int, ...], count: int | list[int]) -> None:
        """Add a row of the metrics."""
        if isinstance(count, list):
            if family == "gateway_seconds":
                _add(self.gateway, count)
            elif family == "broker_seconds" and labels[0] not in WAITING_APIS:
                _add(self.broker, count)
        elif family in ("requests", "errors", "denials"):
            self.sums[family] = self.sums.get(family, 0) + count
        elif family == "bytes":
            name = f"bytes_{labels[1]}"
            self.sums[name] = self.sums.get(name, 0) + count
        elif family == "records":
            name = "records_in" if labels[1] == PRODUCE else "records_out"
            self.sums[name] = self.sums.get(name, 0) + count


class History:
    """Points of a second and errors of the last :data:`HISTORY_SECONDS`. ``now`` is a monotonic
    clock in seconds, ``wall`` returns ms since 1970."""

    def __init__(self, now: Callable[[], float], wall: Callable[[], int]) -> None:
        self._now = now
        self._wall = wall
        self._began = self._closed = now()
        self._open: dict[int, _Counted] = {}
        self._made_at: dict[int, float] = {}
        self._points: deque[Point] = deque(maxlen=HISTORY_SECONDS)
        slices = HISTORY_SECONDS // SLICE_SECONDS
        self._errors: deque[tuple[int, dict[ErrorKey, int]]] = deque(maxlen=slices)

    @property
    def last(self) -> Point | None:
        """The newest point."""
        return self._points[-1] if self._points else None

    def count(self, worker_id: int, rows: Iterable[Row]) -> None:
        """Add a worker's counts for the metrics since its last report."""
        counted = self._open.setdefault(worker_id, _Counted())
        for family, labels, count in rows:
            counted.add(family, labels, count)
            if family == "errors" and isinstance(count, int):
                self._count_error(labels, count)

    def reported(self, worker_id: int, made_at: float) -> None:
        """A report of a worker is complete; ``made_at`` is in seconds of a monotonic clock. A point
        is made once all workers have reported."""
        before = self._made_at.get(worker_id, made_at - 1.0)
        self._made_at[worker_id] = made_at
        self._open.setdefault(worker_id, _Counted()).seconds += max(made_at - before, 0.001)
        late = self._now() - self._closed > _LATE_SECONDS
        if late or all(each.seconds for each in self._open.values()):
            self._close()

    def ended(self, worker_id: int) -> None:
        """Forget a worker that has ended; its counts since the last point are lost to the
        curves."""
        self._open.pop(worker_id, None)
        self._made_at.pop(worker_id, None)

    def to_json(self) -> Mapping[str, Any]:
        """All points, oldest first, in the form that the page reads."""
        return {"fields": Point._fields, "points": list(self._points)}

    def errors(self) -> tuple[Mapping[ErrorKey, int], Mapping[ErrorKey, int], float]:
        """Errors of the whole history, errors of its last :data:`RECENT_SECONDS`, and the length of
        the history in seconds."""
        newest = int(self._now()) // SLICE_SECONDS
        all_of: dict[ErrorKey, int] = {}
        recent: dict[ErrorKey, int] = {}
        for number, sums in self._errors:
            age = (newest - number) * SLICE_SECONDS
            for key, count in sums.items() if age < HISTORY_SECONDS else ():
                all_of[key] = all_of.get(key, 0) + count
                if age < RECENT_SECONDS:
                    recent[key] = recent.get(key, 0) + count
        return all_of, recent, min(self._now() - self._began, float(HISTORY_SECONDS))

    def _count_error(self, labels: tuple[str | int, ...], count: int) -> None:
        number = int(self._now()) // SLICE_SECONDS
        if not self._errors or self._errors[-1][0] != number:
            self._errors.append((number, {}))
        sums = self._errors[-1][1]
        namespace, api, code = str(labels[0]), int(labels[1]), int(labels[2])
        cluster = str(labels[3]) if len(labels) > 3 else ""
        key = ErrorKey(cluster, _namespace_of(namespace), api, code)
        if key not in sums and len(sums) >= MAX_ERRORS:
            key = ErrorKey(OTHER, OTHER, api, code)
        if key not in sums and len(sums) >= 2 * MAX_ERRORS:
            return  # more codes of more APIs than Kafka's clients meet in ten seconds
        sums[key] = sums.get(key, 0) + count

    def _close(self) -> None:
        rates: dict[str, float] = {}
        gateway: dict[int, int] = {}
        broker: dict[int, int] = {}
        for each in self._open.values():
            for name, count in each.sums.items():
                rates[name] = rates.get(name, 0.0) + count / (each.seconds or 1.0)
            for number, count in each.gateway.items():
                gateway[number] = gateway.get(number, 0) + count
            for number, count in each.broker.items():
                broker[number] = broker.get(number, 0) + count
        shown = {name: round(rates.get(name, 0.0), 1) for name in COUNTS}
        latency = quantiles(gateway, _METRIC_STEPS), quantiles(broker, _METRIC_STEPS)
        self._points.append(Point._make([self._wall(), *shown.values(), *latency]))
        self._open = {worker_id: _Counted() for worker_id in self._open}
        self._closed = self._now()


def _add(sums: dict[int, int], buckets: list[int]) -> None:
    for number, count in enumerate(buckets):
        if count:
            sums[number] = sums.get(number, 0) + count


def _namespace_of(label: str) -> str | None:
    """The namespace of a metric's label, or None if the label stands for no topic."""
    if label == NO_TOPIC:
        return None
    return "" if label == DEFAULT_NAMESPACE else label
