"""Groups are described for all members that wait at once, and never by an earlier description."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.brokers.errors import BrokerError
from gateway.exchanges.descriptions import DESCRIBE, Descriptions
from protocol import messages
from protocol.messages import element_class


class Broker:
    """Describes a group by how often it was asked, when the test lets it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.open = asyncio.Event()
        self.fails = False
        self.described: tuple[str, ...] | None = None

    async def ask(self, name: str, version: int, request: Any) -> Any:
        assert name == DESCRIBE
        (group,) = request.group_ids
        self.asked.append(group)
        told = f"{group} {len(self.asked)}"
        await self.open.wait()
        await settled()  # no network responds at once
        if self.fails:
            raise BrokerError("gone")
        cls = messages.message_class("ConsumerGroupDescribeResponse", version)
        one = element_class(cls, "groups")
        ids = (group,) if self.described is None else self.described
        described: Any = tuple(messages.build(one, group_id=each, group_state=told) for each in ids)
        return messages.build(cls, groups=described)


async def settled() -> None:
    """Let every task run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def started(descriptions: Descriptions, broker: Broker, count: int) -> list[Any]:
    tasks = [asyncio.create_task(descriptions.of("g", broker.ask)) for _ in range(count)]
    await settled()
    return tasks


async def test_members_that_come_meanwhile_share_the_next_one() -> None:
    descriptions, broker = Descriptions(), Broker()
    first = await started(descriptions, broker, 1)
    later = await started(descriptions, broker, 3)
    assert broker.asked == ["g"]
    broker.open.set()
    told = [(await one).group_state for one in (*first, *later)]
    assert told == ["g 1", "g 2", "g 2", "g 2"]
    (alone,) = await started(descriptions, broker, 1)
    assert (await alone).group_state == "g 3"


async def test_groups_are_asked_for_apart() -> None:
    descriptions, broker = Descriptions(), Broker()
    broker.open.set()
    told = await asyncio.gather(*(descriptions.of(group, broker.ask) for group in "ab"))
    assert [one.group_id for one in told] == ["a", "b"]


async def test_an_asker_that_is_gone_leaves_nobody_waiting() -> None:
    descriptions, broker = Descriptions(), Broker()
    (first,) = await started(descriptions, broker, 1)
    later = await started(descriptions, broker, 2)
    first.cancel()
    await settled()
    later[0].cancel()
    broker.open.set()
    assert (await later[1]).group_state.startswith("g ")
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_an_error_is_each_askers_own() -> None:
    descriptions, broker = Descriptions(), Broker()
    broker.fails = True
    tasks = await started(descriptions, broker, 3)
    broker.open.set()
    for task in tasks:
        with pytest.raises(BrokerError):
            await task
    broker.fails = False
    assert (await descriptions.of("g", broker.ask)).group_id == "g"


@pytest.mark.parametrize("described", [(), ("other",), ("g", "g")])
async def test_a_description_that_does_not_fit_is_an_error(described: tuple[str, ...]) -> None:
    """A member is never told from another group's description."""
    descriptions, broker = Descriptions(), Broker()
    broker.open.set()
    broker.described = described
    with pytest.raises(BrokerError, match="no single result for 'g'"):
        await descriptions.of("g", broker.ask)
