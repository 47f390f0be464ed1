"""gateway.processes.live_page: the page of a supervisor with workers that behave as they are
told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from devkit.ports import free_port
from gateway.processes.worker_messages import Abort, Observe, Order, decode_message
from tests.processes.test_supervisor import Run, running
from tests.waiting import eventually


def orders(directory: Path, worker: int) -> list[Order]:
    """The orders that a worker got, in its first run."""
    file = directory / f"orders-{worker}-1"
    lines = file.read_bytes().splitlines() if file.exists() else []
    found = [decode_message(line) for line in lines]
    assert all(isinstance(one, Observe | Abort) for one in found)
    return found  # type: ignore[return-value]


class Stream:
    """An open event stream."""

    def __init__(self, run: Run) -> None:
        self._url = f"http://127.0.0.1:{run.config.metrics.port}/page/events"
        self._session = aiohttp.ClientSession()
        self.answer: aiohttp.ClientResponse | None = None
        self.past: dict[str, Any] = {}

    async def __aenter__(self) -> Stream:
        try:
            self.answer = await self._session.get(self._url)
        except BaseException:
            await self._session.close()
            raise
        assert self.answer.status == 200
        return self

    async def state(self) -> dict[str, Any]:
        """The next state."""
        assert self.answer is not None
        async for line in self.answer.content:
            if line.startswith(b"data: "):
                made: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
                if "points" in made:
                    self.past = made
                    continue
                return made
        raise AssertionError("the stream has ended")

    async def __aexit__(self, *_: object) -> None:
        if self.answer is not None:
            self.answer.close()
        await self._session.close()


@pytest.mark.long("kills")
async def test_workers_are_asked_while_somebody_looks_and_only_then(tmp_path: Path) -> None:
    async with running(tmp_path, "obeys", workers=2) as run:
        await run.until_ready()
        for path in ("/", "/page/page.js", "/metrics", "/readyz"):
            assert (await run.get(path))[0] == 200
        await asyncio.sleep(1.5)
        assert orders(tmp_path, 0) == orders(tmp_path, 1) == []
        async with Stream(run) as stream:
            for _ in range(3):
                await stream.state()
            await eventually(lambda: len(orders(tmp_path, 1)) >= 3, "questions")
        # The first worker that is ready also reports on clusters.
        assert {one.clusters for one in orders(tmp_path, 0) if isinstance(one, Observe)} == {True}
        assert {one.clusters for one in orders(tmp_path, 1) if isinstance(one, Observe)} == {False}
        page = run.supervisor._page
        await eventually(lambda: page.feed.open == 0, "the end of the stream")
        await asyncio.sleep(0.3)
        asked = len(orders(tmp_path, 0))
        await asyncio.sleep(2.5)
        assert len(orders(tmp_path, 0)) == asked


async def test_what_workers_tell_is_on_the_page(tmp_path: Path) -> None:
    async with running(tmp_path, "obeys", workers=2) as run:
        await run.until_ready()
        async with Stream(run) as stream:
            for _ in range(100):
                state = await stream.state()
                if state["second"]["requests"] == 14:
                    break
        assert state["second"]["requests"] == 14  # 7 of each worker
        (client,) = state["clients"]["rows"]
        assert (client["principal"], client["topic"]) == ("User:a", "t")
        gateway = state["gateway"]
        assert gateway["id"] == run.config.gateway_id
        assert [one["state"] for one in gateway["workers"]] == ["serves", "serves"]
        assert [one["pid"] for one in gateway["workers"]] == [run.pid(0), run.pid(1)]
        assert [one["name"] for one in gateway["listeners"]] == ["colon"]
        assert gateway["listeners"][0]["connections"] == 2
        assert gateway["problems"] == []


async def test_problems_are_on_the_page(tmp_path: Path) -> None:
    async with running(tmp_path, "never-ready") as run:
        await eventually(lambda: run.pid(), "the worker")
        async with Stream(run) as stream:
            state = await stream.state()
            assert "worker 0 is not ready" in state["gateway"]["problems"]
            assert state["gateway"]["workers"][0]["state"] == "is starting"


async def test_a_worker_that_refuses_clients_does_not_serve(tmp_path: Path) -> None:
    async with running(tmp_path, "obeys-and-is-cut-off") as run:
        await eventually(lambda: run.supervisor.metrics.gauge("cut_off"), "the worker's state")
        async with Stream(run) as stream:
            (worker,) = (await stream.state())["gateway"]["workers"]
        assert worker["state"] == "is cut off"


async def test_open_pages_do_not_hold_up_the_end(tmp_path: Path) -> None:
    async with running(tmp_path, "obeys") as run:
        await run.until_ready()
        async with Stream(run) as stream:
            await stream.state()
            loop = asyncio.get_running_loop()
            began = loop.time()
            assert await run.stop() == 0
            assert loop.time() - began < 60
            assert stream.answer is not None
            await asyncio.wait_for(stream.answer.content.read(), 60)


async def test_on_other_addresses_there_is_a_word_on_why_not(tmp_path: Path) -> None:
    metrics = {"host": "0.0.0.0", "port": free_port()}  # noqa: S104
    async with running(tmp_path, "serves", metrics=metrics) as run:
        await run.until_ready()
        status, text = await run.get("/")
        assert status == 403
        assert "Give metrics.auth" in text
        assert (await run.get("/metrics"))[0] == 200


async def test_what_was_before_somebody_looked(tmp_path: Path) -> None:
    async with running(tmp_path, "reports") as run:
        await run.until_ready()

        async def summary() -> dict[str, Any]:
            status, text = await run.get("/summary")
            assert status == 200
            found: dict[str, Any] = json.loads(text)
            return found

        async with asyncio.timeout(60):
            while not (told := await summary())["second"]:
                await asyncio.sleep(0.05)
        assert told["id"] == run.config.gateway_id
        assert told["ready"] is True
        assert told["second"]["requests"] >= 0
        # The worker has counted one request before a browser opened the page.
        counted: list[float] = []
        async with asyncio.timeout(60):
            while not counted:
                async with Stream(run) as stream:
                    await stream.state()
                fields = stream.past["fields"]
                points = [dict(zip(fields, each, strict=True)) for each in stream.past["points"]]
                counted = [point["requests"] for point in points if point["requests"]]
        assert len(counted) == 1
        assert points[0]["time"] > 1_000_000_000_000
