"""Brokers that are asked whether they know of a change: some are silent, and some are late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from gateway.changes.base import told_everywhere
from gateway.changes.base.told_everywhere import late_somewhere
from gateway.cluster.link import ClusterUnreachable
from protocol.messages import Request
from tests.changes.fakes import FakeGateway, World

Address = tuple[str, int]
ANSWER = 0.2
SHARE = 0.02


class Brokers:
    """Brokers that respond with the names for which they still return the former state. By the
    number of the broker: the number of looks for which it is late (None if it never responds). Each
    response takes ``seconds``."""

    def __init__(self, looks: Mapping[int, float | None], seconds: float = 0.0) -> None:
        self.left = dict(looks)
        self._seconds = seconds
        self.asked: list[int] = []

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        return await self.ask_at(("10.0.0.1", 1), request)

    async def ask_at(
        self, address: Address, request: Request, *, within: float | None = None
    ) -> Any:
        _, number = address
        self.asked.append(number)
        left = self.left[number]
        if left is None:
            await asyncio.sleep(within if within is not None else 3600)
            raise ClusterUnreachable("main", "no answer")
        await asyncio.sleep(self._seconds)
        self.left[number] = left - 1
        return left > 0


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_everywhere, "PATIENCE", 1.0)
    monkeypatch.setattr(told_everywhere, "_ANSWER_SECONDS", ANSWER)
    monkeypatch.setattr(told_everywhere, "_SHARE", SHARE)


def gateway_of(brokers: Brokers) -> FakeGateway:
    gateway = World([]).gateway()
    gateway.cluster.brokers = {number: ("10.0.0.1", number) for number in brokers.left}
    gateway.context = replace(gateway.context, admin=brokers)
    return gateway


async def ask(
    gateway: FakeGateway,
    names: Collection[str] = ("x",),
    *,
    patience: float | None = None,
    late: Callable[[Any], Collection[str]] = lambda is_late: ["x"] if is_late else [],
) -> frozenset[str]:
    def requests(left: Collection[str]) -> list[Request]:
        return [Request("MetadataRequest", 9, {}) for _ in left]

    return await late_somewhere(gateway.context, names, requests, late, patience)


@pytest.mark.parametrize("looks", [(0, 0, 0), (0, 3, 1), (2, 2, 2), (0, 1, None)])
async def test_all_that_answer_tell_in_the_end(looks: tuple[float | None, ...]) -> None:
    brokers = Brokers(dict(enumerate(looks, 1)))
    assert await ask(gateway_of(brokers)) == frozenset()
    for number, late in enumerate(looks, 1):
        assert brokers.asked.count(number) == (1 if late is None else late + 1)


async def test_one_never_tells() -> None:
    brokers = Brokers({1: 0, 2: float("inf"), 3: 0})
    assert await ask(gateway_of(brokers), patience=0.1) == {"x"}


async def test_silent_brokers_do_not_take_more_than_the_patience() -> None:
    """However many they are; and brokers for which no time was left do not count as knowing the
    change."""
    brokers = Brokers({**dict.fromkeys(range(1, 41)), 41: 0})
    gateway = gateway_of(brokers)
    async with asyncio.timeout(5):
        assert await ask(gateway) == {"x"}
    assert 41 not in brokers.asked
    gateway.cluster.failed = set(gateway.cluster.brokers.values()) - {("10.0.0.1", 41)}
    assert await ask(gateway) == frozenset()
    assert brokers.asked.count(41) == 1


async def test_many_brokers_that_take_a_while() -> None:
    """Each broker has its share of the time, whatever the patience with brokers that are late."""
    brokers = Brokers(dict.fromkeys(range(100), 0), seconds=SHARE)
    assert await ask(gateway_of(brokers), patience=0.1) == frozenset()


async def test_a_silent_broker_takes_the_time_of_one_answer_whatever_there_is_to_ask() -> None:
    brokers = Brokers({1: None, 2: 0})
    names = [str(number) for number in range(100)]
    assert await ask(gateway_of(brokers), names) == frozenset()
    assert brokers.asked.count(1) == 1


async def test_the_only_broker_is_not_taken_to_know_what_it_never_told() -> None:
    brokers = Brokers({1: None})
    gateway = gateway_of(brokers)
    gateway.cluster.failed = {("10.0.0.1", 1)}
    async with asyncio.timeout(5):
        assert await ask(gateway) == {"x"}


async def test_it_ends_with_its_caller() -> None:
    gateway = gateway_of(Brokers({1: None, 2: None, 3: 0}))
    task = asyncio.create_task(ask(gateway))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1


async def test_there_is_no_broker_to_ask() -> None:
    gateway = gateway_of(Brokers({}))
    assert await ask(gateway) == frozenset()
