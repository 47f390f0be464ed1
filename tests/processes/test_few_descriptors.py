"""A supervisor whose HTTP port takes as many connections as it can: its work goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp

from devkit.paths import PROJECT_ROOT
from devkit.ports import free_port
from tests.waiting import eventually

LIMIT = 96
CONNECTIONS = 300

_SUPERVISOR = f"""
import asyncio, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, ({LIMIT}, {LIMIT}))
from gateway.processes.logs import set_up_logging
from gateway.processes.supervisor import Supervisor
from tests.config import config_samples
from tests.processes.test_supervisor import FAST, command
set_up_logging()
directory = Path(sys.argv[1])
config = config_samples.config(directory, metrics={{"port": int(sys.argv[2])}})
asyncio.run(Supervisor(config, command=command("serves", directory), timing=FAST).run())
"""


async def test_connections_leave_the_supervisor_its_descriptors(tmp_path: Path) -> None:
    """However many half-sent requests come, ``/livez`` responds and a worker is started again."""
    port = free_port()
    log = tmp_path / "log"
    with log.open("wb") as lines:
        supervisor = subprocess.Popen(
            [sys.executable, "-c", _SUPERVISOR, str(tmp_path), str(port)],
            stderr=lines,
            cwd=PROJECT_ROOT,
        )
    try:
        await eventually(lambda: "ready: " in log.read_text(), "a supervisor")
        opened = await asyncio.gather(*(half_sent(port) for _ in range(CONNECTIONS)))
        await until_live(port)
        os.kill(int((tmp_path / "run-0-1").read_text()), signal.SIGKILL)
        await eventually((tmp_path / "run-0-2").exists, "another run of the worker")
        await until_live(port)
        for writer in opened:
            writer.close()
    finally:
        supervisor.terminate()
        await asyncio.to_thread(supervisor.wait)
    text = log.read_text()
    assert "Traceback" not in text
    assert len(text.splitlines()) < CONNECTIONS / 10


async def half_sent(port: int) -> asyncio.StreamWriter:
    """A connection that has sent a part of a request."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: loc")
    return writer


async def until_live(port: int) -> None:
    """Wait until ``/livez`` reports that every worker runs."""
    url = f"http://127.0.0.1:{port}/livez"
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        while True:
            async with session.get(url) as response:
                if response.status == 200:
                    return
