"""gateway.page.history: the last quarter of an hour, at a fixed cost."""

from __future__ import annotations

import json
import sys
from typing import Any

from gateway.counts import METRIC_BUCKETS, Row
from gateway.page.history import (
    HISTORY_SECONDS,
    MAX_ERRORS,
    RECENT_SECONDS,
    SLICE_SECONDS,
    ErrorKey,
    History,
    Point,
)

PRODUCE, FETCH = 0, 1


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def wall(self) -> int:
        return int(1_000 * self.now)


class Kept:
    """A history, and a second of all workers."""

    def __init__(self, workers: int = 1) -> None:
        self.clock = Clock()
        self.history = History(self.clock, self.clock.wall)
        self.workers = workers
        # The first point is made before all have reported once.
        self.second()

    def second(self, *rows: Row, seconds: float = 1.0) -> None:
        self.clock.now += seconds
        for worker in range(self.workers):
            self.history.count(worker, rows)
            self.history.reported(worker, self.clock.now)

    @property
    def points(self) -> list[Point]:
        return list(self.history.to_json()["points"])


def buckets(**counts: int) -> list[int]:
    made = [0] * METRIC_BUCKETS
    for name, count in counts.items():
        made[int(name[1:])] = count
    return made


def test_a_point_has_what_all_workers_counted() -> None:
    kept = Kept(workers=2)
    for _ in range(2):
        kept.second(
            ("requests", ("org", PRODUCE, 9), 10),
            ("requests", ("(none)", 18, 4), 1),
            ("bytes", ("org", "in"), 500),
            ("bytes", ("org", "out"), 70),
            ("records", ("org", PRODUCE), 30),
            ("records", ("org", FETCH), 20),
            ("errors", ("org", PRODUCE, 7), 3),
            ("denials", ("acl",), 2),
            ("closes", ("client gone",), 9),
        )
    point = kept.points[-1]
    assert point[:8] == (1_003_000, 22, 1_000, 140, 60, 40, 6, 4)
    assert point.gateway == [None, None]


def test_rates_are_per_second_however_late_a_report_is() -> None:
    kept = Kept()
    kept.second(("requests", ("org", PRODUCE, 9), 10))
    kept.second(("requests", ("org", PRODUCE, 9), 10), seconds=2.0)
    assert [point.requests for point in kept.points] == [0, 10, 5]


def test_latency_lies_in_its_bucket_and_brokers_without_what_waits_there() -> None:
    kept = Kept()
    # Bucket i of the metrics holds 2**(i-1) to 2**i us (gateway/counts.py).
    kept.second(
        ("gateway_seconds", (PRODUCE,), buckets(b7=99, b14=1)),
        ("broker_seconds", (PRODUCE,), buckets(b12=100)),
        ("broker_seconds", (FETCH,), buckets(b20=100)),
    )
    point = kept.points[-1]
    median, slowest = point.gateway
    assert median is not None and 2**6 <= median <= 2**7
    assert slowest is not None and 2**6 <= slowest <= 2**7
    assert all(each is not None and 2**11 <= each <= 2**12 for each in point.broker)


def test_a_point_waits_for_all_workers_but_not_for_one_that_hangs() -> None:
    kept = Kept(workers=2)
    kept.clock.now += 0.9
    kept.history.reported(0, kept.clock.now)
    before = len(kept.points)
    for _ in range(3):
        kept.clock.now += 0.9
        kept.history.count(0, [("requests", ("org", PRODUCE, 9), 9)])
        kept.history.reported(0, kept.clock.now)
        assert len(kept.points) == before
    kept.clock.now += 0.9
    kept.history.reported(0, kept.clock.now)
    assert kept.points[-1].requests == 7.5  # 27 in 3.6 s
    kept.history.ended(1)
    kept.workers = 1
    kept.second()
    assert len(kept.points) == before + 2


def test_it_is_bounded() -> None:
    kept = Kept()
    for number in range(HISTORY_SECONDS + 50):
        rows: list[Row] = [("errors", (f"n{number}-{n}", PRODUCE, 7), 1) for n in range(200)]
        kept.second(*rows)
    points = kept.points
    assert len(points) == HISTORY_SECONDS
    assert points[-1].time - points[0].time == 1_000 * (HISTORY_SECONDS - 1)
    errors, recent, seconds = kept.history.errors()
    assert len(errors) <= (HISTORY_SECONDS // SLICE_SECONDS) * (MAX_ERRORS + 1)
    assert seconds == HISTORY_SECONDS
    # Entries beyond the bound are summed up, and no error is lost.
    assert errors[ErrorKey("(other)", "(other)", PRODUCE, 7)] > 100_000
    assert 200 * (RECENT_SECONDS - SLICE_SECONDS) < sum(recent.values()) <= 200 * RECENT_SECONDS
    assert _size(kept.history.to_json()) < 1_000_000
    assert len(json.dumps(kept.history.to_json())) < 150_000


def test_errors_of_before_stay_for_a_quarter_of_an_hour() -> None:
    kept = Kept()
    kept.second(("errors", ("(default)", PRODUCE, 7), 3), ("errors", ("(none)", 3, 5, "la"), 2))
    old, far = ErrorKey("", "", PRODUCE, 7), ErrorKey("la", None, 3, 5)
    assert kept.history.errors()[:2] == ({old: 3, far: 2}, {old: 3, far: 2})
    kept.clock.now += RECENT_SECONDS
    kept.second(("errors", ("(default)", PRODUCE, 7), 1))
    assert kept.history.errors()[:2] == ({old: 4, far: 2}, {old: 1})
    kept.clock.now += HISTORY_SECONDS
    assert kept.history.errors()[:2] == ({}, {})


def _size(value: Any) -> int:
    size = sys.getsizeof(value)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return size
    return size + sum(map(_size, value))
