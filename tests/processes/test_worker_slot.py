"""Worker slots: orders go to the right process, and responses come from it."""

from __future__ import annotations

import asyncio
from typing import cast

from gateway.config.policies import PolicySettings
from gateway.processes.worker_messages import (
    Abort,
    Commit,
    Order,
    Prepare,
    Prepared,
)
from gateway.processes.worker_process import WorkerProcess, WorkerSlot

LATE = 20.0
BEFORE = PolicySettings.model_validate({})
ORDER = Prepare(1, PolicySettings.model_validate({"everywhere": {"max_topics": 3}}))


class FakeProcess:
    """Notes the orders that it is sent."""

    def __init__(self) -> None:
        self.orders: list[Order] = []

    def send(self, order: Order) -> None:
        self.orders.append(order)


def occupy(slot: WorkerSlot) -> FakeProcess:
    """Another process in this place, with the policies that it was started with."""
    process = FakeProcess()
    slot.process, slot.ready, slot.policies = cast(WorkerProcess, process), True, BEFORE
    return process


async def test_an_answer() -> None:
    slot = WorkerSlot(0)
    process = occupy(slot)
    asking = asyncio.create_task(slot.prepare(ORDER, LATE))
    await asyncio.sleep(0)
    slot.prepared(Prepared(7, "of another order"))
    assert not asking.done()
    slot.prepared(Prepared(1, "no"))
    slot.prepared(Prepared(1))
    assert await asking == "no"
    slot.prepared(Prepared(1, "too late"))
    other = Prepare(2, ORDER.policies)
    assert (slot.was_ordered(ORDER), slot.was_ordered(other)) == (True, False)
    slot.commit(other)
    slot.commit(ORDER)
    assert process.orders == [ORDER, Commit(1)]
    assert slot.policies is ORDER.policies


async def test_no_answer() -> None:
    slot = WorkerSlot(0)
    assert await slot.prepare(ORDER, LATE) == "it has ended"
    process = occupy(slot)
    assert await slot.prepare(ORDER, 0.01) == "it did not answer within 0.01 s"
    slot.abort(ORDER)
    assert process.orders == [ORDER, Abort()]


async def test_a_process_that_ends_and_the_one_after_it() -> None:
    slot = WorkerSlot(0)
    first = occupy(slot)
    asking = asyncio.create_task(slot.prepare(ORDER, LATE))
    await asyncio.sleep(0)
    slot.ended()
    assert await asking == "it ended meanwhile"
    assert (slot.process, slot.ready) == (None, False)
    slot.commit(ORDER)
    slot.abort(ORDER)
    second = occupy(slot)
    slot.commit(ORDER)
    slot.abort(ORDER)
    assert (first.orders, second.orders) == ([ORDER], [])
    assert not slot.was_ordered(ORDER)
    assert slot.policies is BEFORE
