"""Runs commands that read files in processes of their own, forked from a process with all modules.

``python -m tests.checks.fuzz.runner`` reads a job a line and answers each with its outcome. If a
job hangs, eats memory or ends its process, only its fork ends. Names are resolved here without a
name server, and ports are bound as port 0, so that other programs of the machine do not matter.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import yarl

from gateway import cli
from gateway.auth.jwks_url import UrlKeys
from gateway.checks import listeners as port_probe
from gateway.commands import backend
from gateway.config.models import Config
from gateway.config_file.binding import try_to_bind
from gateway.config_file.loading import load_config
from gateway.connections import listeners
from gateway.connections.acceptor import listening_sockets
from gateway.files import input_path
from gateway.processes.server import Server
from gateway.processes.supervisor import Supervisor
from gateway.traffic.log import open_traffic_log

HANGS_SECONDS = 120
"""Seconds after which a job hangs, however busy the machine is."""

MOST_BYTES = 2 << 30
"""Bytes of address space, to spare the machine."""

CASE = "case.yaml"
"""The file that a job is about."""

STARTS = "starts"
"""Instead of a command: make the objects that a worker makes of a configuration before it meets a
broker."""


def run_job(argv: Sequence[str]) -> int:
    """Run a command line, or :data:`STARTS` and a file; returns the exit status. If ``-`` is in it,
    standard input is a pipe with the content of :data:`CASE`."""
    if "-" in argv:
        _pipe(Path(CASE))
    if argv[0] != STARTS:
        try:
            return cli.main(argv)
        except SystemExit as ended:
            return int(ended.code or 0)
    asyncio.run(_start(input_path(argv[1])))
    return 0


def _pipe(path: Path) -> None:
    """Make standard input a pipe, whose writer is a process of its own: it holds 64 KiB."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe:
            pipe.write(path.read_bytes())
        os._exit(0)
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)


async def _start(path: Path) -> None:
    whole = load_config(path)
    Supervisor(whole, path)
    config = Config.from_json(whole.to_json())
    server = Server(config)
    server.clients.logins.start()
    await server.clients.listeners.start()
    if config.tree is not None:
        server._peers.start()  # type: ignore[union-attr]
    if _writes_here(config):
        traffic_log = open_traffic_log(config, 0, server.own_admin)
        if traffic_log is not None:
            traffic_log.start()
            await traffic_log.stop()
        if config.audit.topic is None:
            await server.audit.start()
    await server.stop()


def _writes_here(config: Config) -> bool:
    """Whether all directories are below this one, because mutated paths lead anywhere."""
    found = [config.traffic_log.directory, config.audit.directory]
    if config.tree is not None:
        found.append(config.tree.directory)
    here = Path.cwd()
    return all(one is None or one.resolve().is_relative_to(here) for one in found)


def _patch() -> None:
    resolve = socket.getaddrinfo

    def without_name_server(host: Any, *others: Any, **options: Any) -> Any:
        if isinstance(host, str) and host not in ("localhost", ""):
            if host.rstrip(".").endswith(".example"):
                host = "127.0.0.1"
            host.encode("idna")  # raises the resolver's error
            # asyncio gives all arguments by position, and the flags come last.
            given = others[4] if len(others) == 5 else options.get("flags", 0)
            others, options = others[:4], {**options, "flags": given | socket.AI_NUMERICHOST}
        return resolve(host, *others, **options)

    def bind_any(host: str, port: int, bound: ExitStack) -> str | None:
        if not 1 <= port <= 65_535:
            raise OverflowError("a port that is none")
        return try_to_bind(host, 0, bound)

    async def listen_anywhere(host: str, port: int) -> list[socket.socket]:
        return await listening_sockets(host, 0)

    def load(keys: UrlKeys) -> None:
        if not yarl.URL(keys._url).host:
            raise ValueError(keys._url)

    replaced: Any = socket, port_probe, listeners, UrlKeys, backend
    for owner, name, by in zip(
        replaced,
        ("getaddrinfo", "try_to_bind", "listening_sockets", "load", "START_SECONDS"),
        (without_name_server, bind_any, listen_anywhere, load, 0.05),
        strict=True,
    ):
        setattr(owner, name, by)


def _in_child(job: dict[str, Any]) -> None:
    """Run the commands of a job until one of them is not accepted; report the outcome of each."""
    os.chdir(job["directory"])
    os.environ.update(job["environment"])
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(HANGS_SECONDS)
    outcomes = []
    for number, argv in enumerate(job["commands"]):
        with (
            Path(job["output"], f"{number}.out").open("w") as out,
            Path(job["output"], f"{number}.err").open("w") as err,
        ):
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
        began = time.process_time()
        status = run_job(argv)
        sys.stdout.flush()
        sys.stderr.flush()
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        outcomes.append([status, time.process_time() - began, used])
        Path(job["output"], "outcomes").write_text(json.dumps(outcomes))
        if status != 0:
            break


def _fork(run: Callable[[], None]) -> int:
    """Run in a fork; returns its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            run()
            status = 0
        except BaseException:  # noqa: BLE001 - as the interpreter would end
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended)


def main() -> None:
    """Serve jobs until the end of standard input."""
    _patch()
    gc.collect()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    null = os.open(os.devnull, os.O_RDONLY)
    jobs = os.fdopen(os.dup(0))
    os.dup2(null, 0)
    print("ready", file=answers)
    for line in jobs:
        job = json.loads(line)
        print(_fork(lambda job=job: _in_child(job)), file=answers)  # type: ignore[misc]


if __name__ == "__main__":
    main()
