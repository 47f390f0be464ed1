"""``kafka-gateway trace`` and the sockets of two workers: what one prints of what passes them."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from gateway.commands import trace
from gateway.commands.errors import Unavailable, UsageError
from gateway.commands.output import Output, Progress
from gateway.config.models import Config
from gateway.operators import address
from gateway.processes import operator_socket
from gateway.processes.held_catalogs import HeldCatalogs
from gateway.processes.operator_socket import OperatorSocket
from gateway.session.tracing import MOST_TRACES, Tracing
from gateway.traced import Wanted
from tests.config import config_samples
from tests.session.pair import Pair
from tests.session.test_tracing import ORDERS, written
from tests.waiting import eventually


class Bench:
    """The sockets of two workers, for the tool."""

    def __init__(self, config: Config) -> None:
        self.config = config
        # Two workers are two processes; here they are one, so they have one.
        self.tracing = Tracing(5)
        held = HeldCatalogs(config.gateway_id, {})
        self.workers = [
            OperatorSocket(config.metrics.port, number, held, self.tracing) for number in range(2)
        ]

    def trace(self, **options: Any) -> asyncio.Task[Output]:
        """The command, started."""
        given = {"listener": None, "principal": None, "client_id": None, "api": None}
        given |= {"count": 2, "seconds": None, "json": True} | options
        return asyncio.create_task(trace.trace(self.config, argparse.Namespace(**given)))

    @property
    def running(self) -> int:
        """The number of traces that run."""
        return len(self.tracing._traces)


async def until(condition: Callable[[], bool]) -> None:
    await eventually(condition, "the traces")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(config_samples.config(tmp_path, workers=2))
    yield made
    for worker in made.workers:
        await worker.stop()


async def test_requests_of_all_workers_until_there_are_enough(bench: Bench) -> None:
    for worker in bench.workers:
        await worker.start()
    command = bench.trace(count=3)
    await until(lambda: bench.running == 2)
    written(Pair())
    await asyncio.sleep(0)
    written(Pair())
    output = await command
    requests = output.content["requests"]
    assert isinstance(requests, list)
    assert len(requests) == 3  # of four: each worker has told of two
    assert {one["worker"] for one in requests} == {5}
    assert requests[0]["api"] == "Produce"
    assert requests[0]["items"][0]["at_broker"] == "team-a..orders"
    assert not output.notes
    await until(lambda: bench.running == 0)


async def test_a_tool_that_leaves_ends_its_trace(bench: Bench) -> None:
    await bench.workers[0].start()
    command = bench.trace()
    await until(lambda: bench.running == 1)
    command.cancel()
    await until(lambda: bench.running == 0)


async def test_the_time_that_was_given(bench: Bench) -> None:
    for worker in bench.workers:
        await worker.start()
    output = await bench.trace(seconds=1)
    assert output.content == {"requests": []}
    assert output.notes
    await until(lambda: bench.running == 0)


async def test_workers_that_are_not_there(bench: Bench) -> None:
    with pytest.raises(Unavailable):
        await bench.trace()
    await bench.workers[1].start()
    command = bench.trace(count=1)
    await until(lambda: bench.running == 1)
    written(Pair())
    requests = (await command).content["requests"]
    assert isinstance(requests, list)
    assert len(requests) == 1


async def test_another_user_gets_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(operator_socket, "_ROOT", -1)
    for worker in bench.workers:
        await worker.start()
    with pytest.raises(Unavailable):
        await bench.trace()
    assert bench.running == 0


async def test_a_worker_that_ends(bench: Bench) -> None:
    for worker in bench.workers:
        await worker.start()
    command = bench.trace()
    await until(lambda: bench.running == 2)
    for worker in bench.workers:
        await worker.stop()
    with pytest.raises(Unavailable):
        await command
    assert bench.running == 0


async def test_a_pipe_that_is_closed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """``trace | head`` ends the command; it is no fault of the worker."""

    def closed(_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(trace, "_print", closed)
    await bench.workers[0].start()
    command = bench.trace(json=False)
    await until(lambda: bench.running == 1)
    written(Pair())
    with pytest.raises(BrokenPipeError):
        await command
    await until(lambda: bench.running == 0)


async def test_a_worker_that_sends_something_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in (b"[]\n", b"{\n", b"1\n", b"x" * trace.LINE_LIMIT):
        monkeypatch.setattr(operator_socket, "refusal_line", lambda _, line=line: line)
        monkeypatch.setattr("gateway.session.tracing.MOST_TRACES", 0)
        await bench.workers[0].start()
        with pytest.raises(Unavailable, match="makes no sense"):
            await bench.trace()
        await bench.workers[0].stop()


async def test_a_worker_that_ends_logs_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever its tools are at: half a line, a trace, or the rest of one that they do not read."""
    await bench.workers[0].start()
    tools = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    counts = (100_000, operator_socket.MOST_WAITING)
    lines = (b'{"trace', *(Wanted(count=count).line() for count in counts))
    for tool, line in zip(tools, lines, strict=True):
        tool.connect(address(bench.config.metrics.port, 0))
        tool.sendall(line)
    await until(lambda: bench.running == 2)
    pair = Pair()
    for number in range(operator_socket.MOST_WAITING):
        written(pair, (ORDERS, *(f"team-a:{n}" for n in range(10))), number)
    await until(lambda: bench.running == 1)
    await bench.workers[0].stop()
    await asyncio.sleep(0.01)
    assert not caplog.records
    for tool in tools:
        tool.close()


async def test_more_traces_than_a_worker_runs(bench: Bench) -> None:
    for worker in bench.workers:
        await worker.start()
    commands = [bench.trace() for _ in range(MOST_TRACES // 2)]
    await until(lambda: bench.running == MOST_TRACES)
    with pytest.raises(Unavailable):
        await bench.trace()
    for command in commands:
        command.cancel()
    await until(lambda: bench.running == 0)


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"{",
        b'{"trace": []}',
        b'{"trace": {"count": 0}}',
        b'{"trace": {"count": true, "api": 3}}',
        b'{"trace": {"count": 1, "api": ["Produce"]}}',
        b'{"trace": {"count": 1, "more": null}}',
        b'{"trace": {"api": "Produce"}}',
        b"[" * 50_000,
        b'{"trace": ' + b"[" * 50_000,
        b"\xff\xfe",
    ],
)
async def test_lines_that_ask_for_nothing(
    bench: Bench, line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.workers[0].start()
    reader, writer = await asyncio.open_unix_connection(address(bench.config.metrics.port, 0))
    writer.write(line + b"\n")
    answer = await reader.read()
    assert not answer or "refused" in json.loads(answer)
    writer.close()
    assert bench.running == 0
    assert not caplog.records  # such as a traceback


async def test_a_tool_that_does_not_read_costs_no_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator_socket, "MOST_UNREAD", 10_000)
    await bench.workers[0].start()
    reader, writer = await asyncio.open_unix_connection(address(bench.config.metrics.port, 0))
    writer.write(Wanted(count=100_000).line())
    await until(lambda: bench.running == 1)
    pair = Pair()
    for _ in range(2_000):
        written(pair)
    writer.close()
    await until(lambda: bench.running == 0)
    assert len(await reader.read()) < 400_000


@pytest.mark.parametrize("at_once", [False, True])
def test_clients_do_not_notice_a_tool_that_leaves(at_once: bool, tmp_path: Path) -> None:
    """On the event loop of workers, whose transports raise an error once they are closed."""

    async def run() -> None:
        bench = Bench(config_samples.config(tmp_path))
        await bench.workers[0].start()
        for _ in range(3):
            tool = socket.socket(socket.AF_UNIX)
            tool.connect(address(bench.config.metrics.port, 0))
            tool.sendall(Wanted(count=100_000).line())
            await until(lambda: bench.running == 1)
            tool.close()
            while bench.running:
                if at_once:
                    written(Pair())
                written(Pair())
                await asyncio.sleep(0)
        await bench.workers[0].stop()

    uvloop.run(run())


async def test_many_requests_at_once(bench: Bench) -> None:
    """All are written, though it takes some rounds of the event loop."""
    await bench.workers[0].start()
    reader, writer = await asyncio.open_unix_connection(address(bench.config.metrics.port, 0))
    writer.write(Wanted(count=operator_socket.MOST_WAITING).line())
    await until(lambda: bench.running == 1)
    pair = Pair()
    for _ in range(operator_socket.MOST_WAITING):
        written(pair)
    lines = (await reader.read()).splitlines()
    assert len(lines) == operator_socket.MOST_WAITING
    writer.close()


@pytest.mark.parametrize(
    "options", [{"listener": "nowhere"}, {"api": "Prodcue"}, {"api": "produce"}]
)
async def test_what_the_configuration_does_not_have(bench: Bench, options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        await bench.trace(**options)


async def test_ctrl_c_prints_what_has_come(
    bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Progress] = []

    class Seen(Progress):
        """Progress that the test can look at."""

        def __init__(self, work: str) -> None:
            super().__init__(work)
            seen.append(self)

    monkeypatch.setattr(trace, "Progress", Seen)
    await bench.workers[0].start()
    command = bench.trace(count=5)
    await until(lambda: bench.running == 1)
    written(Pair())
    await until(lambda: seen[0].text.startswith("1 of"))
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert len(json.loads(capsys.readouterr().out)["requests"]) == 1
