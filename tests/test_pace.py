"""tests.pace: how a busy machine is told from an idle machine."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from devkit.waiting import wait_until
from tests import pace
from tests.pace import Pace, worked


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
    took, working = worked()
    assert took / working == pytest.approx(times, rel=0.1)


def test_a_clock_that_is_coarse_makes_no_bound_narrower(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks(monkeypatch, 1.5)
    took, working = worked()
    assert took == working


def test_others_that_work_are_noticed() -> None:
    """Threads of an interpreter share at most one processor, however many there are."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            pass

    others = [threading.Thread(target=work) for _ in range(3)]
    for other in others:
        other.start()
    try:
        took, working = worked()
        assert took > 1.5 * working
    finally:
        ended.set()
        for other in others:
            other.join()


def test_a_bound_is_stretched_by_the_average_and_the_longest_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = [(1.0, 1.0), (1.0, 1.0), (7.0, 1.0)]
    monkeypatch.setattr(pace, "worked", lambda: left.pop(0))
    looked = Pace()
    assert looked.stretched(2.0) == 2.0
    looked.look()
    looked.look()
    assert looked.stretched(2.0) == 2.0
    looked.look()
    assert looked.stretched(2.0) == 2.0 * 3.0 + 6.0


def test_it_looks_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def look() -> tuple[float, float]:
        nonlocal looks
        looks += 1
        return 2.0, 1.0

    monkeypatch.setattr(pace, "worked", look)
    monkeypatch.setattr(pace, "_PAUSE_SECONDS", 0.001)
    with Pace() as watched:
        wait_until(lambda: looks > 2, "three looks", 120)
    assert watched.stretched(3.0) == 3.0 * 2.0 + 1.0
