"""gateway.processes.worker: start, reports, drain, and the reasons for which a worker ends."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
import pytest_asyncio

from gateway import exit_codes
from gateway.auth.exchange import CredentialsError
from gateway.cluster.link import ClusterUnreachable
from gateway.config.models import TrafficLogSettings
from gateway.policies.instance import PolicyError
from gateway.processes import worker as worker_module
from gateway.processes.observing import PIECE
from gateway.processes.server import Server
from gateway.processes.worker import Worker, process_gauges, raise_file_limit
from gateway.processes.worker_channel import WorkerChannel
from gateway.processes.worker_messages import (
    Failed,
    Increments,
    Message,
    Ready,
    State,
    WorkerReport,
    decode_message,
)
from gateway.sinks.record_writer import SinkError
from gateway.tls.contexts import TlsError
from gateway.tls.principal_mapping import InvalidRules
from gateway.traffic.log import TrafficLog
from gateway.traffic.record import Origin
from tests.config import config_samples
from tests.gateway.flow_samples import denial, flow
from tests.waiting import eventually


class FakeServer:
    """Counts one request at each collection; starts and drains only when a test lets it."""

    def __init__(self) -> None:
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.drained = asyncio.Event()
        self.drained.set()
        self.error: Exception | None = None
        self.did: list[str] = []
        self.collected = 0
        self.flows = 1

    async def start(self) -> None:
        self.did.append("start")
        await self.may_start.wait()
        if self.error is not None:
            raise self.error

    async def start_topic(self, start: Callable[[], Awaitable[None]]) -> None:
        await start()

    async def stop(self) -> None:
        self.did.append("stop")

    async def drain(self, seconds: float) -> None:
        self.did.append(f"drain {seconds:g}")
        await self.drained.wait()
        self.did.append("drained")

    def collect(self) -> WorkerReport:
        self.collected += 1
        return WorkerReport(
            [flow(led=1) for _ in range(self.flows)], [denial()], {"colon": 1}, {"topics": 4}
        )


class Bench:
    """A worker with a fake server, and its messages to its supervisor."""

    def __init__(self, end: socket.socket, channel: WorkerChannel, stopping: asyncio.Event) -> None:
        self.server = FakeServer()
        self.stopping = stopping
        self.channel = channel
        self.end = end
        self.messages: list[Message] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=self.end)
        try:
            while line := await reader.readline():
                self.messages.append(decode_message(line))
        finally:
            writer.close()

    def start(
        self, traffic_log: TrafficLog | None = None, report_seconds: float = 1000.0
    ) -> asyncio.Task[int]:
        worker = Worker(cast(Server, self.server), traffic_log, self.channel, self.stopping)
        return asyncio.create_task(worker.run(7, report_seconds))

    async def end_of(self, task: asyncio.Task[int]) -> int:
        """The exit status, after all its messages have been read."""
        status = await asyncio.wait_for(task, 120)
        await self.channel.close()
        await self._reading
        return status

    def requests(self) -> int:
        return sum(
            count
            for message in self.messages
            if isinstance(message, Increments)
            for family, _, count in message.rows
            if family == "requests" and isinstance(count, int)
        )


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    ours, theirs = socket.socketpair()
    stopping = asyncio.Event()
    made = Bench(ours, await WorkerChannel.open(theirs, stopping.set), stopping)
    yield made
    await made.channel.close()
    await asyncio.wait([made._reading])


def log_in(directory: Path) -> TrafficLog:
    return TrafficLog(TrafficLogSettings(directory=directory), Origin("gw", 0))


async def test_from_start_to_drain(bench: Bench, tmp_path: Path) -> None:
    task = bench.start(log_in(tmp_path))
    await eventually(lambda: bench.messages, "the first message")
    assert bench.messages[0] == Ready()
    bench.stopping.set()
    assert await bench.end_of(task) == exit_codes.OK
    assert bench.server.did == ["start", "drain 7", "drained"]
    assert bench.requests() == bench.server.collected
    (path,) = tmp_path.iterdir()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert sum(r["led_requests"] for r in records if r["kind"] == "flow") == bench.server.collected
    assert sum(r["kind"] == "denial" for r in records) == bench.server.collected
    rows = [
        row for message in bench.messages if isinstance(message, Increments) for row in message.rows
    ]
    written = sum(row[2] for row in rows if row[0] == "traffic_log_records")  # type: ignore[misc]
    assert written == len(records)


async def test_reports_come_again_and_again_also_while_draining(bench: Bench) -> None:
    bench.server.drained.clear()
    task = bench.start(report_seconds=0.001)
    await eventually(lambda: bench.requests() >= 3, "three reports")
    states = [message for message in bench.messages if isinstance(message, State)]
    assert states[0].connections == {"colon": 1}
    assert states[0].gauges["topics"] == 4
    assert states[0].gauges["cpu_seconds"] > 0
    bench.stopping.set()
    await eventually(lambda: "drain 7" in bench.server.did, "the drain")
    before = bench.requests()
    await eventually(lambda: bench.requests() >= before + 3, "three more reports")
    bench.server.drained.set()
    assert await bench.end_of(task) == exit_codes.OK
    assert bench.requests() == bench.server.collected


async def test_clients_are_served_while_many_flows_are_added_up(
    bench: Bench, tmp_path: Path
) -> None:
    bench.server.flows = 100 * PIECE
    rounds: list[int] = []

    def turn() -> None:
        """Note each round of the event loop."""
        if bench.server.collected and not reported():
            rounds.append(1)
        asyncio.get_running_loop().call_soon(turn)

    def reported() -> bool:
        return any(isinstance(message, State) for message in bench.messages)

    task = bench.start(log_in(tmp_path))
    turn()
    await eventually(reported, "the first report")
    assert len(rounds) >= 100
    bench.stopping.set()
    assert await bench.end_of(task) == exit_codes.OK
    assert bench.requests() == bench.server.collected * 100 * PIECE
    (path,) = tmp_path.iterdir()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert sum(r["led_requests"] for r in records if r["kind"] == "flow") == bench.requests()


async def test_the_supervisor_hears_of_counts_while_they_are_added_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If ten thousand clients come at once, each round of the event loop is long, and a worker that
    said nothing for all of these rounds was killed."""
    monkeypatch.setattr(worker_module, "_HEARD_SECONDS", 0.0)
    bench.server.flows = 100 * PIECE
    task = bench.start(None)
    await eventually(lambda: State in map(type, bench.messages), "the first report")
    before = bench.messages[: [*map(type, bench.messages)].index(State)]
    assert sum(isinstance(message, Increments) for message in before) >= 100
    bench.stopping.set()
    assert await bench.end_of(task) == exit_codes.OK
    assert bench.requests() == bench.server.collected * 100 * PIECE


async def test_told_to_stop_while_starting(bench: Bench, tmp_path: Path) -> None:
    bench.server.may_start.clear()
    task = bench.start(log_in(tmp_path))
    await eventually(lambda: bench.server.did, "the start")
    bench.stopping.set()
    assert await bench.end_of(task) == exit_codes.OK
    assert bench.server.did == ["start", "stop"]
    assert bench.messages == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "told", "status"),
    [
        (
            ClusterUnreachable("main", "b:1: refused"),
            "cluster 'main' is not reachable: b:1: refused",
            exit_codes.UNAVAILABLE,
        ),
        (
            SinkError("the audit log cannot be written: it is no directory"),
            "the audit log cannot be written: it is no directory",
            exit_codes.CONFIG,
        ),
        (
            CredentialsError("listeners[0].sasl.users.alice: 'secrets/alice' is empty"),
            "listeners[0].sasl.users.alice: 'secrets/alice' is empty",
            exit_codes.CONFIG,
        ),
        (
            TlsError("listener a: key", "'k.pem' is encrypted; give key_password"),
            "listener a: key: 'k.pem' is encrypted; give key_password",
            exit_codes.CONFIG,
        ),
        (
            InvalidRules("there is no rule, so nobody could connect; write DEFAULT"),
            "there is no rule, so nobody could connect; write DEFAULT",
            exit_codes.CONFIG,
        ),
        (
            PolicyError("policies.everywhere.create.topic.policy.class.name: no such class"),
            "policies.everywhere.create.topic.policy.class.name: no such class",
            exit_codes.CONFIG,
        ),
        (
            OSError(errno.EADDRINUSE, "error while binding on ('127.0.0.1', 1): in use"),
            "cannot listen: error while binding on ('127.0.0.1', 1): in use",
            exit_codes.CONFIG,
        ),
    ],
)
async def test_a_server_that_cannot_start(
    bench: Bench, tmp_path: Path, error: Exception, told: str, status: int
) -> None:
    bench.server.error = error
    assert await bench.end_of(bench.start(log_in(tmp_path))) == status
    assert bench.messages == [Failed(told)]
    assert list(tmp_path.iterdir()) == []


async def test_a_traffic_log_that_cannot_be_written(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    status = await bench.end_of(bench.start(log_in(tmp_path / "file")))
    assert status == exit_codes.CONFIG
    (message,) = bench.messages
    assert isinstance(message, Failed)
    assert message.reason.startswith("the traffic log cannot be written: ")
    assert bench.server.did == []


async def test_the_end_of_the_supervisor_ends_the_worker(bench: Bench) -> None:
    task = bench.start()
    await eventually(lambda: bench.messages, "the first message")
    bench.end.shutdown(socket.SHUT_RDWR)
    assert await asyncio.wait_for(task, 120) == exit_codes.OK
    assert bench.server.did[-1] == "drained"


def test_gauges_of_the_process() -> None:
    gauges = process_gauges()
    assert gauges["cpu_seconds"] > 0
    assert gauges["resident_bytes"] > 1_000_000


def test_as_many_files_as_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
        raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Process:
    """``python -m gateway.processes.worker`` in its own process, as the supervisor starts it."""

    def __init__(self) -> None:
        self.end, theirs = socket.socketpair()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        descriptor = f"--channel-fd={theirs.fileno()}"
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gateway.processes.worker", "--worker-id=0", descriptor],
                pass_fds=[theirs.fileno()],
                stderr=subprocess.PIPE,
                cwd=Path(__file__).parents[2],
            )
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def finish(self) -> tuple[int, str]:
        """Exit status and log."""
        try:
            _, log = self.process.communicate(timeout=120)
        finally:
            self.process.kill()
            with suppress(OSError):
                self.end.close()
        return self.process.returncode, log.decode()


def test_a_real_worker_without_a_configuration() -> None:
    worker = Process()
    worker.end.close()
    status, log = worker.finish()
    assert status == exit_codes.FAILED
    assert "worker=0 gateway.processes.worker the supervisor gave no configuration" in log


@pytest.mark.parametrize("how", ["SIGTERM", "the supervisor's end"])
def test_a_real_worker_is_told_to_stop_as_early_as_can_be(tmp_path: Path, how: str) -> None:
    worker = Process()
    worker.end.sendall(config_samples.config(tmp_path).to_json().encode() + b"\n")
    if how == "SIGTERM":
        os.kill(worker.process.pid, signal.SIGINT)  # a Ctrl-C is not the worker's to handle
        worker.process.terminate()
    else:
        worker.end.shutdown(socket.SHUT_WR)
    status, log = worker.finish()
    assert status == exit_codes.OK
    assert "Traceback" not in log
