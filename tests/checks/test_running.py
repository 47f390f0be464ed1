"""gateway.checks.running: the gateway that runs from the file that is checked."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from devkit.ports import free_port
from devkit.waiting import wait_until
from gateway import cli, exit_codes
from gateway.checks import running
from gateway.checks.running import RunningGateway, instance, running_gateway
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.processes.http_endpoints import Health, HttpEndpoints
from gateway.processes.metrics import Metrics
from tests.config import config_samples


@asynccontextmanager
async def instance_site(told: Mapping[str, object]) -> AsyncIterator[int]:
    """The port of a supervisor with this description of itself."""
    endpoints = HttpEndpoints(Metrics("1", 10), Health, instance=told)
    yield await endpoints.start("127.0.0.1", 0)
    await endpoints.stop()


def listening(config: Config) -> socket.socket:
    """A listener's port in use, as by a worker."""
    return socket.create_server(("127.0.0.1", config.listeners[0].port))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    """A file that a gateway runs from. Its cluster does not exist, so a listener is bound here."""
    path = config_samples.write(tmp_path, drain_seconds=0.1)
    config = load_config(path)
    line = [sys.executable, "-m", "gateway", "serve", "--config", str(path)]
    with subprocess.Popen(line, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: running_gateway(config, path), "the gateway", 240)
            with listening(config):
                yield path
        finally:
            process.terminate()


def test_its_own_ports_are_no_problem(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", str(served)]) == exit_codes.OK
    assert "runs from this file" in capsys.readouterr().out
    assert cli.main(["check", "--json", str(served)]) == exit_codes.OK
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["running"]["gateway_id"]) == (True, "gw")
    assert told["running"]["pid"] != os.getpid()
    _by_a_link(served)
    _with_changes(served)
    _by_another_file(served, capsys)
    # Starting is another matter: it cannot start.
    assert cli.main(["serve", "--dry-run", "--config", str(served)]) == exit_codes.CONFIG


def _by_a_link(served: Path) -> None:
    link = served.with_name("link.yaml")
    link.symlink_to(served)
    assert cli.main(["check", str(link)]) == exit_codes.OK


def _with_changes(served: Path) -> None:
    """The file is edited before the gateway is restarted; ports that it adds have to be free."""
    values = yaml.safe_load(served.read_text())
    more = free_port()
    values["listeners"][0]["gateway_port"] = more
    served.write_text(yaml.safe_dump(values))
    assert cli.main(["check", str(served)]) == exit_codes.OK
    with socket.create_server(("127.0.0.1", more)):
        assert cli.main(["check", str(served)]) == exit_codes.FAILED


def _by_another_file(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy is another gateway's file, which could not start beside this one."""
    copy = served.with_name("copy.yaml")
    copy.write_bytes(served.read_bytes())
    capsys.readouterr()
    assert cli.main(["check", str(copy)]) == exit_codes.FAILED
    assert "address already in use" in capsys.readouterr().err
    assert cli.main(["check", "--no-bind", str(copy)]) == exit_codes.OK


def test_a_port_of_somebody_else_stays_a_problem(tmp_path: Path) -> None:
    path = config_samples.write(tmp_path)
    config = load_config(path)
    with listening(config):
        assert cli.main(["check", str(path)]) == exit_codes.FAILED
        assert cli.main(["check", "--no-bind", str(path)]) == exit_codes.OK


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"files": "*"},
        {"files": None},
        {"gateway_id": "gw", "pid": "x", "files": [], "bound": []},
        {"gateway_id": "gw", "pid": 1, "files": [], "bound": [["127.0.0.1", 1]]},
    ],
)
async def test_what_says_nothing_useful_is_no_gateway(told: dict[str, Any], tmp_path: Path) -> None:
    path = config_samples.write(tmp_path)
    async with instance_site(told) as port:
        found = await asyncio.to_thread(running_gateway, at(path, port), path)
    assert found is None


HOSTILE = {
    "a number beyond all": b'{"gateway_id": "gw", "pid": 1e999, "files": [], "bound": []}',
    "a port beyond all": b'{"gateway_id": "gw", "pid": 1, "files": [], "bound": [["", 1, 1e999]]}',
    "nested too deep": b"[" * 100_000,
    "no text": b"\xff\xfe",
}


@asynccontextmanager
async def raw_site(start: bytes, again: bytes = b"") -> AsyncIterator[int]:
    """The port of a server that responds with these bytes, and then with ``again`` over and
    over."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not await reader.read(1):
            return writer.close()  # the client only looked whether a server listens
        with suppress(ConnectionError):
            writer.write(start)
            while again:
                writer.write(again)
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as site:
        yield site.sockets[0].getsockname()[1]
        await ended.wait()


OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
async def test_whatever_listens_is_no_gateway(body: bytes, tmp_path: Path) -> None:
    path = config_samples.write(tmp_path)
    async with raw_site(OK + b"\r\n" + body) as port:
        assert await asyncio.to_thread(running_gateway, at(path, port), path) is None


@pytest.mark.parametrize("start", [OK + b"\r\n", OK + b"X: "], ids=["body", "head"])
async def test_what_answers_byte_by_byte_is_not_waited_for(
    start: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_SECONDS", 0.5)
    path = config_samples.write(tmp_path)
    async with asyncio.timeout(20), raw_site(start, again=b" ") as port:
        assert await asyncio.to_thread(running_gateway, at(path, port), path) is None


async def test_a_supervisor_says_which_file_it_runs_from(tmp_path: Path) -> None:
    path = config_samples.write(tmp_path)
    config = load_config(path)
    async with instance_site(instance(config, path)) as port:
        asked = at(path, port)
        found = await asyncio.to_thread(running_gateway, asked, path)
        assert isinstance(found, RunningGateway)
        assert found.pid == os.getpid()
        assert found.holds("127.0.0.1", config.listeners[0].port)
        assert found.holds("0.0.0.0", config.metrics.port)  # noqa: S104 - only compared
        assert not found.holds("127.0.0.1", 1)
        assert not found.holds("192.0.2.1", config.listeners[0].port)
        assert await asyncio.to_thread(running_gateway, asked, tmp_path / "other.yaml") is None


async def test_a_pipe_is_nobodys_file(tmp_path: Path) -> None:
    """/dev/stdin is another file in each process."""
    path = config_samples.write(tmp_path)
    stdin = Path("/dev/stdin")
    async with instance_site(instance(load_config(path), stdin)) as port:
        assert await asyncio.to_thread(running_gateway, at(path, port), stdin) is None


def at(path: Path, port: int) -> Config:
    """The configuration of a file whose HTTP port is this port now."""
    values = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**values, "metrics": {"port": port}}))
    return load_config(path)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 64, "[::1]", "192.0.2.1.", "::"])
def test_hosts_where_nothing_can_be_asked(host: str, tmp_path: Path) -> None:
    path = config_samples.write(tmp_path)
    config = load_config(path)
    metrics = config.metrics.model_copy(update={"host": host})
    assert running_gateway(config.model_copy(update={"metrics": metrics}), path) is None
