"""gateway.processes.supervisor, worker_process, with workers that behave as they are told."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from devkit.ports import free_port
from gateway import exit_codes
from gateway.config.models import Config
from gateway.processes.silence import LOOKS
from gateway.processes.supervisor import StartError, Supervisor, Timing
from gateway.processes.worker_messages import MakeRoom, decode_message
from gateway.processes.worker_process import WorkerCommand, WorkerProcess, worker_command
from tests.config import config_samples
from tests.processes import fake_worker
from tests.tls.pki import Pki
from tests.waiting import eventually

FAST = Timing(first_delay=0.01, last_delay=0.02, settled=1000.0, silent=1000.0, margin=0.1)


def command(behaviour: str, directory: Path) -> WorkerCommand:
    """The command line of a worker with this behaviour."""

    def line(worker_id: int, channel_fd: int) -> Sequence[str]:
        arguments = [behaviour, str(directory), str(worker_id), str(channel_fd)]
        return [sys.executable, fake_worker.__file__, *arguments]

    return line


class Run:
    """A supervisor at work."""

    def __init__(
        self, directory: Path, behaviour: str, timing: Timing = FAST, **overrides: Any
    ) -> None:
        self.directory = directory
        in_tree = len(overrides.get("clusters", ())) > 1
        made_by = config_samples.tree if in_tree else config_samples.config
        self.config = made_by(directory, **overrides)
        made = command(behaviour, directory)
        self.supervisor = Supervisor(self.config, command=made, timing=timing)
        self.task = asyncio.create_task(self.supervisor.run())

    def pid(self, worker_id: int = 0, run: int = 1) -> int | None:
        """The process of the n-th run of a worker, or None before it has started."""
        path = self.directory / f"run-{worker_id}-{run}"
        return int(path.read_text()) if path.exists() else None

    def requests(self) -> float:
        """The number of requests that the workers have counted."""
        return self.sample("requests") or 0

    def sample(self, name: str) -> float | None:
        """The first sample of a counter."""
        for family in self.supervisor.metrics.collect():
            if family.name == f"kafka_gateway_{name}":
                for sample in family.samples:
                    return float(sample.value)
        return None

    @property
    def ready(self) -> bool:
        return not self.supervisor.health().not_ready

    async def until_ready(self) -> None:
        await eventually(lambda: self.ready or self.task.done(), "ready workers")
        assert self.ready

    async def until(self, condition: Callable[[], object], what: str) -> None:
        await eventually(lambda: condition() or self.task.done(), what)
        assert condition()

    async def stop(self) -> int:
        self.supervisor.stop()
        return await asyncio.wait_for(self.task, 120)

    async def get(self, path: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.config.metrics.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def running(directory: Path, behaviour: str, **named: Any) -> AsyncIterator[Run]:
    """A supervisor that is stopped at the end, if it still runs."""
    run = Run(directory, behaviour, **named)
    try:
        yield run
    finally:
        if not run.task.done():
            run.supervisor.stop()
            await asyncio.wait([run.task], timeout=120)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_serving_and_a_clean_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with running(tmp_path, "serves", workers=2) as run:
        await run.until_ready()
        await run.until(lambda: run.requests() == 2, "both counts")
        pids = [run.pid(0), run.pid(1)]
        assert await run.get("/readyz") == (200, '{"status": "ok", "problems": []}\n')
        assert (await run.get("/livez"))[0] == 200
        assert "kafka_gateway_requests_total{" in (await run.get("/metrics"))[1]
        assert await run.stop() == exit_codes.OK
    assert run.requests() == 4  # the counts of a worker that drains are not lost
    assert not any(pid and lives(pid) for pid in pids)
    port = run.config.listeners[0].port
    assert caplog.text.count(f"ready: colon at 127.0.0.1:{port} (brokers on {port + 1}-") == 1
    with pytest.raises(aiohttp.ClientConnectionError):
        await run.get("/livez")


async def test_what_is_told_of_listeners_at_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pki = Pki(tmp_path)
    made = pki.server
    listeners = [
        {
            "name": "names",
            "bind": "0.0.0.0",  # noqa: S104
            "port": free_port(),
            "advertised_host": "gw.example",
            "broker_names": "b{node_id}.gw.example",
            "security_protocol": "SSL",
            "tls": {"certificate": str(made.certificate), "key": str(made.key)},
        }
    ]
    async with running(tmp_path, "serves", listeners=listeners) as run:
        await run.until_ready()
        assert await run.stop() == exit_codes.OK
    port = listeners[0]["port"]
    ready = f"ready: names at gw.example:{port} (brokers as b{{node_id}}.gw.example)"
    assert caplog.messages.count(ready) == 1
    exposed = "listener names is open to other machines: clients need not authenticate"
    assert caplog.messages.count(exposed) == 1


async def test_what_is_told_of_a_tree_at_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    values = config_samples.tree_values()
    first, second = (one["port"] for one in values["listeners"])
    values["listeners"][1]["reach"] = ["ny:tracking"]
    async with running(tmp_path, "serves", **values) as run:
        await run.until_ready()
        run.supervisor.metrics.forget_state(0)
        not_ready = run.supervisor.health().not_ready
        for name in ("la", "ny"):
            assert f"cluster '{name}' is not known to be reachable" in not_ready
        assert await run.stop() == exit_codes.OK
    (start,) = (line for line in caplog.messages if line.startswith("kafka-gateway "))
    la, ny = (one["bootstrap_servers"][0] for one in values["clusters"])
    assert f"cluster 'la' at {la} (mounted at ':la:tracking', number 1), cluster 'ny' at " in start
    assert f"cluster 'ny' at {ny} (mounted at ':ny:tracking', number 2), metrics at " in start
    assert (
        f"ready: la at 127.0.0.1:{first} (brokers on {first + 1}-{first + 3} for 'la', "
        f"{first + 4}-{first + 6} for 'ny'); ny at 127.0.0.1:{second} (brokers on "
        f"{second + 1}-{second + 3} for 'ny')"
    ) in caplog.messages


async def test_workers_get_the_configuration_as_it_was_read(tmp_path: Path) -> None:
    async with running(tmp_path, "serves") as run:
        (tmp_path / "gateway.yaml").write_text("broken: [")
        await run.until_ready()
        assert Config.from_json((tmp_path / "config.json").read_bytes()) == run.config


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("dies-first", "worker 0 ended (exit status 3); starting it again in 0.0 s"),
        ("dies-in-a-line-first", "worker 0 ended (killed by SIGKILL); starting it again"),
        ("finds-no-broker-first", "(exit status 69): cluster 'main' is not reachable; starting"),
        ("talks-without-end", "sent a line without end"),
    ],
)
async def test_a_worker_that_dies_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, behaviour: str, told: str
) -> None:
    async with running(tmp_path, behaviour) as run:
        await run.until(lambda: run.pid(run=2) and run.ready, "the second run")
        assert run.sample("worker_restarts") == 1
        assert told in caplog.text
        assert await run.stop() == exit_codes.OK


async def test_what_a_dead_worker_has_counted_stays(tmp_path: Path) -> None:
    async with running(tmp_path, "dies-in-a-line-first") as run:
        # Two whole lines of the first run, another of the second; the line cut off is left out.
        await run.until(lambda: run.requests() == 3, "all that was counted")


async def test_one_dead_worker_of_two(tmp_path: Path) -> None:
    slow = Timing(first_delay=1000.0, last_delay=1000.0, margin=0.1, silent=1000.0)
    async with running(tmp_path, "serves", timing=slow, workers=2) as run:
        await run.until_ready()
        os.kill(run.pid(1) or 0, signal.SIGKILL)
        await run.until(lambda: run.supervisor.health().not_live, "the death")
        assert list(run.supervisor.health().not_live) == ["worker 1 is not running"]
        assert (await run.get("/livez"))[0] == 503
        status, body = await run.get("/readyz")
        assert status == 503
        assert "worker 1 is not ready" in body
        assert "cluster" not in body
        assert await run.stop() == exit_codes.OK


@pytest.mark.long("kills")
async def test_a_worker_that_hangs_is_killed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    timing = replace(FAST, silent=3.0)
    async with running(tmp_path, "reports", timing=timing, workers=2) as run:
        await run.until_ready()
        os.kill(run.pid(1) or 0, signal.SIGSTOP)
        await run.until(lambda: run.pid(1, run=2) and run.ready, "another process in its place")
        assert run.sample("worker_restarts") == 1
        assert run.pid(0, run=2) is None, "the other one has reported"
        assert await run.stop() == exit_codes.OK
    assert "worker 1 has not reported for 3 s and is killed" in caplog.messages
    assert any(line.startswith("worker 1 ended (killed by SIGKILL)") for line in caplog.messages)


async def test_a_worker_that_is_not_ready_yet_may_be_silent(tmp_path: Path) -> None:
    async with running(tmp_path, "never-ready", timing=replace(FAST, silent=0.06)) as run:
        await run.until(run.pid, "the process")
        await run.until(lambda: run.supervisor._slots[0].unheard > 3 * LOOKS, "many looks")
        assert run.pid(run=2) is None


@pytest.mark.long("kills")
async def test_delays_double_and_start_afresh_once_a_worker_has_settled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    timing = Timing(first_delay=0.04, last_delay=0.1, settled=1000.0, silent=1000.0)
    async with running(tmp_path, "serves", timing=timing) as run:
        for number in range(1, 5):
            await run.until(lambda number=number: run.pid(run=number), f"run {number}")  # type: ignore[misc]
            await run.until_ready()
            os.kill(run.pid(run=number) or 0, signal.SIGKILL)
        await run.until(lambda: run.pid(run=5), "the last run")
    delays = [line.rpartition(" in ")[2] for line in caplog.messages if "starting it again" in line]
    assert delays == ["0.0 s", "0.1 s", "0.1 s", "0.1 s"]
    caplog.clear()
    settled = tmp_path / "settled"
    settled.mkdir()
    timing = Timing(first_delay=0.04, last_delay=1000.0, settled=0.0, silent=1000.0)
    async with running(settled, "serves", timing=timing) as run:
        for number in range(1, 4):
            await run.until(lambda number=number: run.pid(run=number), f"run {number}")  # type: ignore[misc]
            os.kill(run.pid(run=number) or 0, signal.SIGKILL)
        await run.until(lambda: run.pid(run=4), "the last run")
    delays = [line.rpartition(" in ")[2] for line in caplog.messages if "starting it again" in line]
    assert delays == ["0.0 s"] * 3


async def test_a_configuration_that_no_worker_can_start_with(tmp_path: Path) -> None:
    async with running(tmp_path, "refuses", workers=2) as run:
        with pytest.raises(StartError, match=r"^cannot listen: address already in use$"):
            await asyncio.wait_for(run.task, 120)
    assert run.pid(run=2) is None


async def test_a_command_that_cannot_be_started_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = config_samples.config(tmp_path)
    supervisor = Supervisor(config, command=lambda *_: ["/no/such/program"], timing=FAST)
    task = asyncio.create_task(supervisor.run())
    await eventually(lambda: caplog.text.count("it cannot be started: ") >= 2, "two tries")
    supervisor.stop()
    assert await asyncio.wait_for(task, 120) == exit_codes.OK


async def test_stopping_while_workers_start(tmp_path: Path) -> None:
    async with running(tmp_path, "never-ready", workers=2) as run:
        await run.until(lambda: run.pid(0), "a process")
        health = run.supervisor.health()
        assert "worker 0 is not ready" in health.not_ready
        assert "cluster 'main' is not known to be reachable" in health.not_ready
        assert await run.stop() == exit_codes.OK
    assert "the gateway is stopping" in run.supervisor.health().not_ready


async def test_a_worker_that_starts_for_too_long_has_nothing_to_drain(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, "never-ready-and-deaf", drain_seconds=0) as run:
        await run.until(lambda: run.pid(0), "a process")
        assert await run.stop() == exit_codes.OK
    assert "did not end in 0.1 s and are killed" in caplog.text


async def test_stopping_before_any_worker_was_started(tmp_path: Path) -> None:
    async with running(tmp_path, "serves") as run:
        assert await run.stop() == exit_codes.OK


async def test_a_worker_that_does_not_end_is_killed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, "deaf", drain_seconds=0) as run:
        await run.until_ready()
        pid = run.pid() or 0
        assert await run.stop() == exit_codes.FAILED
    assert not lives(pid)
    assert "1 workers did not end in 0.1 s and are killed" in caplog.text


async def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "deaf", drain_seconds=1000) as run:
        await run.until_ready()
        run.supervisor.stop("SIGTERM")
        run.supervisor.stop("SIGTERM")
        assert await asyncio.wait_for(run.task, 120) == exit_codes.FAILED


async def test_a_second_signal_ends_a_worker_that_is_being_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started, go_on = WorkerProcess.start, asyncio.Event(), asyncio.Event()

    async def slow(*arguments: Any) -> WorkerProcess:
        process = await start(*arguments)
        started.set()
        await go_on.wait()
        return process

    monkeypatch.setattr(WorkerProcess, "start", slow)
    async with running(tmp_path, "never-ready-and-deaf", drain_seconds=1000) as run:
        await started.wait()
        run.supervisor.stop("SIGTERM")
        run.supervisor.stop("SIGTERM")
        go_on.set()
        assert await asyncio.wait_for(run.task, 60) == exit_codes.OK


async def test_a_worker_that_fails_to_drain_is_told_of(tmp_path: Path) -> None:
    async with running(tmp_path, "drains-badly") as run:
        await run.until_ready()
        assert await run.stop() == exit_codes.FAILED


async def test_signals(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        directory = tmp_path / number.name
        directory.mkdir()
        async with running(directory, "serves", workers=2) as run:
            await run.until_ready()
            signal.raise_signal(number)
            assert await asyncio.wait_for(run.task, 120) == exit_codes.OK


async def test_what_is_no_message_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, "talks-nonsense") as run:
        await run.until(lambda: run.requests() == 2, "both counts")
        assert "a line that is no message" in caplog.text
        assert await run.stop() == exit_codes.OK


async def test_ports_in_use_are_found_before_any_worker_starts(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    port = config.listeners[0].port
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as another gateway's
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(StartError, match=f"port {port}: address already in use"):
            await Supervisor(config).run()


async def test_a_metrics_port_in_use(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    port = config.metrics.port
    with socket.create_server(("127.0.0.1", port)):
        match = f"^the metrics port 127.0.0.1:{port} cannot be bound: .*address already in use"
        with pytest.raises(StartError, match=match):
            await Supervisor(config).run()


async def test_only_the_first_workers_may_begin_a_catalog_anew(tmp_path: Path) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    first.mkdir()
    later.mkdir()
    supervisor = Supervisor(
        config_samples.config(tmp_path),
        command=command("serves", later),
        first_command=command("dies-first", first),
        timing=FAST,
    )
    task = asyncio.create_task(supervisor.run())
    await eventually(lambda: (later / "run-0-1").exists(), "the second worker")
    assert not (first / "run-0-2").exists()
    supervisor.stop()
    await asyncio.wait_for(task, 120)


def test_the_command_line_of_such_a_worker() -> None:
    line = worker_command(1, 7, ["la", "ny"])
    assert [word for word in line if "catalog" in word] == ["--new-catalog=la", "--new-catalog=ny"]
    assert not [word for word in worker_command(1, 7) if "catalog" in word]


async def test_a_worker_that_wants_room_at_a_broker_is_heard_by_the_others(tmp_path: Path) -> None:
    wants = MakeRoom("main", 3, "User:alice", "", 2)
    async with running(tmp_path, "obeys", workers=3) as run:
        await run.until_ready()
        run.supervisor._received(run.supervisor._slots[1], wants)
        orders = [tmp_path / f"orders-{worker_id}-1" for worker_id in range(3)]
        await run.until(lambda: orders[0].exists() and orders[2].exists(), "the order")
        assert [decode_message(orders[n].read_bytes()) for n in (0, 2)] == [wants, wants]
        assert not orders[1].exists()
