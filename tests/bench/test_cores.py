"""bench.cores."""

from __future__ import annotations

import os
import threading

import pytest

from bench.cores import Cores, place, running_on


def _machine(monkeypatch: pytest.MonkeyPatch, cores: set[int]) -> Cores:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)
    return Cores.of_this_machine()


def test_the_last_core_is_the_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = _machine(monkeypatch, {0, 1, 5})
    assert (sorted(cores.proxies), sorted(cores.others), sorted(cores.all)) == (
        [5],
        [0, 1],
        [0, 1, 5],
    )


def test_one_core_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = _machine(monkeypatch, {3})
    assert cores.proxies == cores.others == cores.all == {3}


def test_a_place_is_left_again() -> None:
    before = os.sched_getaffinity(0)
    one = frozenset({min(before)})
    with running_on(one):
        assert os.sched_getaffinity(0) == one
    assert os.sched_getaffinity(0) == before


def test_every_thread_is_placed() -> None:
    before = os.sched_getaffinity(0)
    one = frozenset({max(before)})
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        place([os.getpid()], one)
        assert thread.native_id is not None
        assert os.sched_getaffinity(thread.native_id) == one
        assert os.sched_getaffinity(0) == one
    finally:
        place([os.getpid()], frozenset(before))
        done.set()
        thread.join()
