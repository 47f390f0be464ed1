"""gateway.page.feed: states for open pages, and no work if no page is open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from gateway.page.feed import RETRY, Feed
from tests.waiting import eventually


class Gateway:
    """Counts the requests for reports."""

    def __init__(self) -> None:
        self.begun = self.asked = self.states = 0
        self.fails = False

    def begin(self) -> None:
        self.begun += 1

    def ask(self) -> None:
        self.asked += 1

    def state(self) -> dict[str, Any]:
        self.states += 1
        if self.fails:
            raise RuntimeError("no state")
        return {"number": self.states, "text": "a\nb"}

    def feed(self, **options: Any) -> Feed:
        past = {"points": [1, 2]}
        return Feed(self.begin, self.ask, self.state, lambda: past, **{"every": 0.01, **options})


class Reader:
    """A stream. If ``block``, it is a reader that does not read."""

    def __init__(self, feed: Feed) -> None:
        self.events: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.block: asyncio.Event | None = None
        self.task = asyncio.create_task(feed.serve(self.write))

    async def write(self, data: bytes) -> None:
        if self.block is not None:
            await self.block.wait()
        self.raw.append(data)
        if data.startswith(b"data: "):
            assert data.startswith(b"data: ") and data.endswith(b"\n\n") and data.count(b"\n") == 2
            self.events.append(json.loads(data.removeprefix(b"data: ")))

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


async def quiet(count: Callable[[], int]) -> bool:
    """Whether a count stays unchanged."""
    before = count()
    await asyncio.sleep(0.1)
    return count() == before


async def test_nothing_is_asked_while_nobody_looks() -> None:
    gateway = Gateway()
    feed = gateway.feed()
    assert await quiet(lambda: gateway.asked)
    assert gateway.asked == gateway.states == gateway.begun == 0
    reader = Reader(feed)
    await eventually(lambda: len(reader.events) >= 3, "states")
    assert gateway.begun == 1
    assert feed.open == 1
    await reader.close()
    assert feed.open == 0
    assert await quiet(lambda: gateway.asked)
    assert await quiet(lambda: gateway.states)
    again = Reader(feed)
    await eventually(lambda: again.events, "a state")
    assert gateway.begun == 2
    await again.close()


async def test_a_state_is_made_once_for_all() -> None:
    gateway = Gateway()
    feed = gateway.feed()
    readers = [Reader(feed) for _ in range(5)]
    await eventually(lambda: all(len(one.events) >= 4 for one in readers), "states")
    for one in readers:
        await one.close()
    numbers = [event["number"] for event in readers[0].events]
    assert numbers == sorted(set(numbers))
    assert gateway.states <= max(event["number"] for one in readers for event in one.events) + 1
    assert gateway.begun == 1
    for each in readers:
        assert each.raw[:2] == [RETRY, b'event: history\ndata: {"points":[1,2]}\n\n']


async def test_a_slow_reader_gets_the_newest_and_holds_up_nobody() -> None:
    gateway = Gateway()
    feed = gateway.feed()
    slow, quick = Reader(feed), Reader(feed)
    await eventually(lambda: slow.events and quick.events, "states")
    slow.block = asyncio.Event()
    seen = len(quick.events)
    await eventually(lambda: len(quick.events) > seen + 10, "states for the other one")
    slow.block.set()
    await eventually(lambda: slow.events[-1]["number"] >= quick.events[-1]["number"] - 2, "it")
    # States that came meanwhile were not kept for it.
    assert len(slow.events) < len(quick.events) - 5
    await slow.close()
    await quick.close()


async def test_a_reader_that_does_not_read_is_dropped() -> None:
    feed = Gateway().feed(slow=0.05)
    reader = Reader(feed)
    await eventually(lambda: reader.events, "a state")
    reader.block = asyncio.Event()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.task, 5)
    assert feed.open == 0


async def test_there_is_room_for_so_many() -> None:
    feed = Gateway().feed(most=2)
    readers = [Reader(feed)]
    await eventually(lambda: feed.open == 1, "a stream")
    assert not feed.full
    readers.append(Reader(feed))
    await eventually(lambda: feed.open == 2, "another one")
    assert feed.full
    await readers.pop().close()
    assert not feed.full
    await readers.pop().close()


async def test_closing_ends_all_streams() -> None:
    gateway = Gateway()
    feed = gateway.feed()
    readers = [Reader(feed) for _ in range(3)]
    await eventually(lambda: all(one.events for one in readers), "states")
    await feed.close()
    await asyncio.wait_for(asyncio.gather(*(one.task for one in readers)), 5)
    assert await quiet(lambda: gateway.asked)
    late = Reader(feed)
    await asyncio.wait_for(late.task, 5)
    assert late.events == []


async def test_a_state_that_cannot_be_made_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = Gateway()
    gateway.fails = True
    reader = Reader(gateway.feed())
    await eventually(lambda: gateway.states >= 2, "tries")
    gateway.fails = False
    await eventually(lambda: reader.events, "a state")
    assert "the page's state cannot be made" in caplog.text
    await reader.close()
