"""tests.pace: how a busy machine is told from an idle one."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from devkit.waiting import wait_until
from tests import pace
from tests.pace import Pace, slowness


def clocks(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Each look at a clock takes a tenth of a millisecond, of which the thread gets this share."""
    now = 0.0

    def passed(part: float) -> float:
        nonlocal now
        now += 0.0001
        return now * part

    clock = SimpleNamespace(perf_counter=lambda: passed(1.0), thread_time=lambda: passed(share))
    monkeypatch.setattr(pace, "time", clock)


@pytest.mark.parametrize(("share", "times"), [(1.0, 1.0), (0.5, 2.0), (0.1, 10.0)])
def test_work_takes_longer_the_smaller_its_share_is(
    monkeypatch: pytest.MonkeyPatch, share: float, times: float
) -> None:
    clocks(monkeypatch, share)
    assert slowness() == pytest.approx(times, rel=0.1)


def test_a_clock_that_is_coarse_makes_no_bound_narrower(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks(monkeypatch, 1.5)
    assert slowness() == 1.0


def test_others_that_work_are_noticed() -> None:
    """Threads of one interpreter share a processor at most, however many there are."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            pass

    others = [threading.Thread(target=work) for _ in range(3)]
    for other in others:
        other.start()
    try:
        assert slowness() > 1.5
    finally:
        ended.set()
        for other in others:
            other.join()


def test_the_slowest_moment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [1.5, 4.0, 2.0]

    def found() -> float:
        return left.pop(0) if left else 1.0

    monkeypatch.setattr(pace, "slowness", found)
    monkeypatch.setattr(pace, "_PAUSE_SECONDS", 0.001)
    with Pace() as watched:
        wait_until(lambda: not left, "all samples", 120)
    assert watched.stretched(3.0) == 12.0
    assert Pace().stretched(3.0) == 3.0
