"""Starts: the CPU that commands take until they are done, and a worker until it is ready.

``python -m bench starts`` prints the table, with a real gateway on a real broker. CPU seconds are
user and system time of the process; it has the packages that users install, and bytecode is
cached, as pip leaves it.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from typing import Final

import psutil

from bench.catalog_rows import CatalogRow
from bench.usage import cpu_seconds, cpu_seconds_of
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.runtime_environment import runtime_python

COMMAND_SECONDS: Final = 0.4
WORKER_SECONDS: Final = 1.5

_ROUNDS: Final = 5
_LISTENER: Final = Listener("bench", "every namespace")
_CACHES_BYTECODE: Final = {"PYTHONDONTWRITEBYTECODE": ""}


def measure_starts(say: Callable[[str], None]) -> Iterator[CatalogRow]:
    """Every row, in the order of the table; ``say`` is told what goes on.

    Raises BrokerError, GatewayError and CommandFailed.
    """
    say("starts: commands and a worker")
    workers = []
    with KafkaCluster() as kafka:
        for _ in range(_ROUNDS):
            with _gateway(kafka.bootstrap_servers) as gateway:
                (worker,) = psutil.Process(gateway.process.command_pid).children()
                workers.append(cpu_seconds([worker.pid]))
        with _gateway(kafka.bootstrap_servers) as gateway:
            server = gateway.bootstrap_servers(_LISTENER.name)
            listing = _command("topics", "--bootstrap-server", server, "--list")
            gateway.kill()  # check binds the ports itself
            checking = _command("check", str(gateway.config_path))
    for title, seconds in (
        ("kafka-gateway --help", _command("--help")),
        ("kafka-gateway check FILE", checking),
        ("kafka-gateway topics --list", listing),
    ):
        yield CatalogRow(title, "CPU s", seconds, COMMAND_SECONDS)
    yield CatalogRow("a worker, until it is ready", "CPU s", _median(workers), WORKER_SECONDS)


def _gateway(brokers: str) -> GatewayProcess:
    return GatewayProcess(
        brokers,
        [_LISTENER],
        [],
        python_path=PROJECT_ROOT,
        interpreter=runtime_python(),
        environment=_CACHES_BYTECODE,
    )


def _command(*words: str) -> float:
    """The CPU seconds of ``kafka-gateway`` with these words; a first run, which may write bytecode,
    is not counted."""
    command = [str(runtime_python()), "-P", "-m", "gateway", *words]
    environment = {**os.environ, **_CACHES_BYTECODE, "PYTHONPATH": str(PROJECT_ROOT)}
    _, *rounds = (cpu_seconds_of(command, environment) for _ in range(_ROUNDS + 1))
    return _median(rounds)


def _median(values: list[float]) -> float:
    return statistics.median(values)
