"""Decisions whose result is waited for."""

from __future__ import annotations

from gateway.catalog.log.freshness import Expected
from gateway.catalog.log.skipped import Skipped
from gateway.catalog.snapshot import Snapshot


async def test_who_waits_is_told_with_the_snapshot_that_holds_it() -> None:
    expected, snapshot = Expected(), Snapshot.of(["a"])
    one, other = expected.add("d1"), expected.add("d2")
    expected.note_read(["d0", "d1"])
    assert not one.done()
    expected.resolve(snapshot)
    assert await one is snapshot
    assert not other.done()
    other.cancel()


async def test_what_was_skipped_never_comes() -> None:
    expected = Expected()
    one = expected.add("d1")
    expected.skip([Skipped(5, b"k", "misplaced", "", "d1"), Skipped(6, b"k", "misplaced", "", "")])
    assert await one is None


async def test_what_nobody_waits_for_any_more() -> None:
    expected = Expected()
    expected.add("d1").cancel()
    expected.note_read(["d1"])
    expected.resolve(Snapshot())
