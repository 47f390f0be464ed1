"""Clients in Go: franz-go, Sarama and kafka-go print the same as at the broker."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.go import build_go
from tests.live.support import clients, java_tools

# Go compiles each client with its modules.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("builds")]

Names = Callable[[str], str]

MODULE: Final = java_tools.SOURCES.with_name("go")
PROGRAMS: Final = ("franz", "sarama", "kafkago")

# By listener: the prefix of topics, groups and transactional ids.
PREFIXES: Final = {"home-a": "", "colon": "team-a:", "legal": "team-a.."}

READ: Final = {
    "franz": [["out", 0, "a"], ["out", 4, "b"], ["out", 6, "c"]],  # "b" is copied again
    "sarama": [["out", 0, "a"], ["out", 4, "c"]],
    "kafkago": [["in", [0, "a", 1, "b", 2, "c"]], ["out", [0, "a", 1, "b", 2, "c"]]],
}
"""What each reads in the end, so that the gateway is not compared with a failure."""


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    """A program, which is built."""
    name = str(request.param)
    build_go(MODULE, name)
    return name


@pytest.fixture(scope="module")
def direct(program: str, kafka: KafkaCluster) -> list[dict[str, Any]]:
    """What the program prints at the broker itself."""
    found = run(program, kafka.bootstrap_servers, "direct.", "go-clients")
    assert [each["value"] for each in found if each["event"] == "read"] == READ[program]
    return found


@pytest.mark.parametrize("listener", PREFIXES)
def test_as_direct(
    gateway: GatewayProcess,
    unique: Names,
    program: str,
    direct: list[dict[str, Any]],
    listener: str,
) -> None:
    servers = gateway.bootstrap_servers(listener)
    assert run(program, servers, PREFIXES[listener], unique("go")) == direct


def run(program: str, servers: str, prefix: str, stem: str) -> list[dict[str, Any]]:
    """Run a program; what it prints, with ``in``, ``out`` and ``group`` for its own names."""
    names = {what: f"{prefix}{what}-{program}-{stem}" for what in ("in", "out", "group", "tx")}
    ended = subprocess.run(
        [build_go(MODULE, program), servers, *names.values()],
        capture_output=True,
        text=True,
        timeout=clients.SECONDS * 2,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    text = ended.stdout
    for what, name in names.items():
        text = text.replace(f'"{name}', f'"{what}')
    return [json.loads(line) for line in text.splitlines()]
