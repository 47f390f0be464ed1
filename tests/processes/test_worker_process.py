"""gateway.processes.worker_process: a process is waited for; processes that it forks end with
it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from signal import SIGKILL

import pytest

from devkit.paths import PROJECT_ROOT
from gateway.processes.worker_messages import Failed, Message
from gateway.processes.worker_process import WorkerProcess
from tests.waiting import eventually

LEFT_SECONDS = 20
"""Seconds for which a forked process holds its channel open."""


def forking(_worker_id: int, _channel_fd: int) -> Sequence[str]:
    """A child that has left the worker's group."""
    return ["sh", "-c", f"setsid sleep {LEFT_SECONDS} & kill -9 $$"]


async def test_a_dead_worker_is_seen_dead_while_its_child_lives() -> None:
    received: list[Message] = []
    process = await WorkerProcess.start(0, forking, "")
    async with asyncio.timeout(LEFT_SECONDS / 2):
        assert await process.run(received.append) == -SIGKILL
    assert not received


def with_child(told: Path, then: str) -> Callable[[int, int], Sequence[str]]:
    """A worker that forks, leaves its child's process id in a file, and goes on with ``then``."""
    script = f"sleep 1000 & echo $! > {told}.new; mv {told}.new {told}; {then}"
    return lambda _worker_id, _channel_fd: ["sh", "-c", script]


def ended(pid: int) -> bool:
    """Whether a process has ended, even if no parent has waited for it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


@pytest.mark.parametrize("then", ["exit 0", "kill -9 $$"])
async def test_the_children_of_a_worker_end_with_it(then: str, tmp_path: Path) -> None:
    told = tmp_path / "child"
    process = await WorkerProcess.start(0, with_child(told, then), "")
    await process.run(lambda _: None)
    await eventually(lambda: ended(int(told.read_text())), "the end of the child")


_TELLING = """
import socket, sys
channel = socket.socket(fileno=int(sys.argv[1]))
channel.sendall(b'{"failed":"no"}\\n' * 200)
"""


async def test_all_lines_count_of_a_worker_that_reads_nothing() -> None:
    """It ends with its configuration unread, which resets the channel."""
    received: list[Message] = []

    def telling(_worker_id: int, channel_fd: int) -> Sequence[str]:
        return [sys.executable, "-S", "-c", _TELLING, str(channel_fd)]

    process = await WorkerProcess.start(0, telling, "")
    await process.run(received.append)
    assert received == [Failed("no")] * 200


async def test_a_worker_that_is_killed_takes_its_children_along(tmp_path: Path) -> None:
    told = tmp_path / "child"
    process = await WorkerProcess.start(0, with_child(told, "wait"), "")
    await eventually(told.exists, "a child")
    process.kill()
    assert await process.run(lambda _: None) == -SIGKILL
    await eventually(lambda: ended(int(told.read_text())), "the end of the child")
    process.kill()  # whose process id may be another process's by now


_WORKER = """
import asyncio, os, socket, subprocess, sys
from pathlib import Path
from gateway.processes import worker

async def serve(*_):
    child = subprocess.Popen(["sleep", "1000"])
    Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid} ")
    while os.getppid() == parent:
        await asyncio.sleep(0.01)
    return 0

parent = os.getppid()
worker.serve, worker.receive_config = serve, lambda _: b""
worker.Config = type("Config", (), {"from_json": lambda _: None})
worker.main(["--worker-id=0", f"--channel-fd={socket.socket().detach()}"])
"""

_SUPERVISOR = """
import subprocess, sys, time
from pathlib import Path
worker = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], process_group=0)
told = Path(sys.argv[2])
while worker.poll() is None and not (told.exists() and told.read_text().endswith(" ")):
    time.sleep(0.01)
"""


def test_they_end_with_it_where_the_supervisor_is_gone(tmp_path: Path) -> None:
    told = tmp_path / "worker"
    command = [sys.executable, "-c", _SUPERVISOR, _WORKER, str(told)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    subprocess.run(command, env=environment, check=True, timeout=120)
    pids = [int(pid) for pid in told.read_text().split()]
    asyncio.run(eventually(lambda: all(map(ended, pids)), "the end of both"))
