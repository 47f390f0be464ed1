"""The cost of starting: the modules that commands and processes load, and the CPU of commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.usage import cpu_seconds_of
from devkit.ports import free_ports
from gateway import exit_codes
from tests.config import config_samples
from tests.pace import Pace

ROOT = Path(__file__).parents[2]

HEAVY = frozenset(
    {
        "aiohttp",
        "aiokafka",
        "asyncio",
        "cryptography",
        "greenlet",
        "hypothesis",
        "jwt",
        "kio",
        "prometheus_client",
        "pydantic",
        "re2",
        "scramp",
        "uvloop",
        "yaml",
    }
)
"""Modules that take 5 ms or more to import, up to 150."""

CPU_SECONDS = 0.6
"""The bench's bar is 0.4, on an idle machine; a busy machine stretches this. With everything
imported at once each of the commands took 0.8 there."""

COMMANDS = {
    "--help": (exit_codes.OK, set[str]()),
    "check": (exit_codes.OK, {"asyncio", "pydantic", "re2", "yaml"}),
    "topics --list": (exit_codes.UNAVAILABLE, {"asyncio", "kio"}),
}
"""Each command with its exit status and the modules of HEAVY that it loads; no server listens at
the address of ``topics``."""

_PROBE = """
import json, sys
from gateway import cli
try:
    status = cli.main(sys.argv[2:])
except SystemExit as ended:
    status = ended.code
with open(sys.argv[1], "w") as file:
    json.dump([status, list(sys.modules)], file)
"""

_IMPORT = """
import json, sys
import {}
with open(sys.argv[1], "w") as file:
    json.dump([0, list(sys.modules)], file)
"""


class Loaded(NamedTuple):
    """How a process ended, and the modules that it had loaded."""

    status: int
    modules: set[str]

    @property
    def heavy(self) -> set[str]:
        return set(HEAVY & self.modules)


def words(command: str, directory: Path) -> list[str]:
    """The command line."""
    if command == "check":
        return ["check", str(config_samples.write(directory))]
    if command == "topics --list":
        return ["topics", "--bootstrap-server", f"127.0.0.1:{free_ports(1)[0]}", "--list"]
    return [command]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def loaded(directory: Path, code: str, *arguments: str) -> Loaded:
    """Run Python code, whose first argument is the file that it writes its findings to."""
    file = directory / "found.json"
    command = [sys.executable, "-c", code, str(file), *arguments]
    subprocess.run(command, env=environment(), capture_output=True, check=True)
    status, modules = json.loads(file.read_text())
    return Loaded(status, set(modules))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_what_it_uses(command: str, tmp_path: Path) -> None:
    found = loaded(tmp_path, _PROBE, *words(command, tmp_path))
    assert (found.status, found.heavy) == COMMANDS[command]


@pytest.mark.alone
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_starts_quickly(command: str, tmp_path: Path, pace: Pace) -> None:
    """The least of three, because the first may compile modules."""
    # A command that cannot connect ends with a status of its own, which does not matter here.
    code = "from gateway import cli; import sys\ntry: cli.main(sys.argv[1:])\nfinally: sys.exit(0)"
    line = [sys.executable, "-c", code, *words(command, tmp_path)]
    assert min(cpu_seconds_of(line, environment()) for _ in range(3)) < pace.stretched(CPU_SECONDS)


def test_a_supervisor_loads_no_client_of_brokers(tmp_path: Path) -> None:
    """It reads the configuration and serves HTTP, in slices; workers have the connections."""
    found = loaded(tmp_path, _IMPORT.format("gateway.processes.supervisor"))
    assert found.heavy == {
        *("aiohttp", "asyncio", "greenlet", "kio", "prometheus_client", "pydantic", "re2", "yaml")
    }


def test_a_worker_loads_messages_when_they_are_requested(tmp_path: Path) -> None:
    """kio has a module for each version of each message, which takes a millisecond or more; modules
    for certificates, tokens and HTTP are loaded if a configuration needs them."""
    found = loaded(tmp_path, _IMPORT.format("gateway.processes.worker"))
    assert found.heavy == {
        *("aiokafka", "asyncio", "greenlet", "kio", "pydantic", "re2", "uvloop", "yaml")
    }
    assert "gateway.apis.groups.offsets" in found.modules
    parts = (name.split(".") for name in found.modules if name.startswith("kio.schema."))
    versioned = {part[2] for part in parts if len(part) > 3}
    assert versioned == {"api_versions", "request_header", "response_header"}
