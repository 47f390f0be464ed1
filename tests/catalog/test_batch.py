"""The changes that a single transaction is to hold."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.catalog.entities import CatalogFormat, Change, Namespace, Removal
from gateway.catalog.log.batch import Batch, Waiting
from gateway.catalog.log.records import decode
from gateway.catalog.schema.table import KINDS
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide


def waiting(decide: Decide) -> Waiting:
    """A decision in the queue, without a deadline."""
    return Waiting(decide, asyncio.get_running_loop().create_future(), float("inf"))


async def test_each_decision_is_made_on_the_state_that_holds_those_before() -> None:
    batch = Batch(Snapshot.of(["a"], version=4), "before", 0)
    seen: list[set[str]] = []

    def create(path: str) -> Decide:
        def decide(state: Snapshot) -> list[Change]:
            seen.append({*state.namespaces})
            return [Namespace(path)]

        return decide

    batch.decide(waiting(create("b")))
    batch.decide(waiting(create("c")))
    assert seen == [{"a"}, {"a", "b"}]
    assert set(batch.draft.namespaces) == {"a", "b", "c"}
    assert batch.draft.version == 6


async def test_records_stand_in_a_chain() -> None:
    batch = Batch(Snapshot(version=4), "before", 0)
    batch.decide(waiting(lambda _: [Namespace("a"), Namespace("b")]))
    batch.decide(waiting(lambda _: [Removal(("namespace", "a"))]))
    places = [decode(record)[1] for record in batch.records]
    first, second = (decision for _, decision in batch.decisions)
    assert [(place.seq, place.last) for place in places] == [(5, 6), (6, 6), (7, 7)]
    assert [place.decision for place in places] == [first, first, second]
    assert [place.after for place in places] == ["before", first, first]
    assert batch.after == second
    assert first != second


async def test_rejections_and_nothing_leave_no_record() -> None:
    batch = Batch(Snapshot(version=4), "before", 0)
    rejected, empty = waiting(lambda _: [Namespace(str(1 // 0))]), waiting(lambda _: [])
    batch.decide(rejected)
    batch.decide(empty)
    assert batch.records == []
    assert not rejected.in_transaction
    batch.settle(batch.draft)
    assert isinstance(rejected.answer.exception(), ZeroDivisionError)
    assert await empty.answer is batch.draft


async def test_a_change_is_in_a_transaction_until_that_is_known_to_have_failed() -> None:
    batch = Batch(Snapshot(), "", 0)
    one = waiting(lambda _: [Namespace("a")])
    batch.decide(one)
    assert one.in_transaction
    batch.mark_unwritten()
    assert not one.in_transaction


async def test_an_answer_is_given_once() -> None:
    one = waiting(lambda _: [])
    one.settle(Snapshot(version=1))
    one.settle(ValueError("too late"))
    assert (await one.answer).version == 1


async def test_what_the_format_of_the_catalog_has_no_room_for_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("namespace", "format"):
        monkeypatch.setitem(KINDS, name, replace(KINDS[name], level=2))
    batch = Batch(Snapshot(), "", 0)
    for decide in (
        lambda _: [Namespace("a")],
        lambda _: [CatalogFormat(2)],
        lambda _: [Namespace("a")],
    ):
        batch.decide(waiting(decide))
    assert next(str(error) for _, error in batch.rejections).endswith(
        "newer format of the catalog than 1"
    )
    assert len(batch.rejections) == 1
    assert set(batch.draft.namespaces) == {"a"}
