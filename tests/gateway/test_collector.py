"""gateway.slices.Collector: when the oldest generation is looked through for garbage."""

from __future__ import annotations

import gc

import pytest

from gateway import slices
from gateway.slices import NEVER, Collector


def test_it_waits_for_all_that_is_under_way() -> None:
    usual, collector = gc.get_threshold(), Collector()
    collector.hold()
    collector.hold()
    collector.release()
    assert gc.get_threshold() == (*usual[:2], NEVER)
    collector.release()
    assert gc.get_threshold() == usual


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """If large requests follow each other without a pause."""
    usual, collector, now = gc.get_threshold(), Collector(), [0.0]
    monkeypatch.setattr(slices, "monotonic", lambda: now[0])
    collector.hold()
    now[0] = slices.MAX_SECONDS + 1
    collector.hold()
    assert gc.get_threshold() == usual
    collector.release()
    collector.release()
    assert gc.get_threshold() == usual
