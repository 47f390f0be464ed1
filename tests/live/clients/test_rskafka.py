"""rskafka, a client in Rust, prints the same as at the broker."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.cargo import CargoError, build_rust, find_cargo
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools

# Cargo compiles the client with its crates.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("builds")]

Names = Callable[[str], str]

PACKAGE: Final = java_tools.SOURCES.with_name("rust")

# By listener: the prefix of topics.
PREFIXES: Final = {"home-a": "", "colon": "team-a:", "legal": "team-a.."}


@pytest.fixture(scope="module")
def program() -> Path | None:
    """The program; None if the machine has no Rust, as it may have no C compiler: pip fetches
    neither, and what is missing is named then."""
    try:
        return build_rust(PACKAGE)
    except CargoError:
        with pytest.raises(CargoError, match="install Rust"):
            find_cargo()
        return None


@pytest.fixture(scope="module")
def direct(kafka: KafkaCluster, program: Path | None) -> list[str]:
    """What the program prints at the broker itself; nothing if there is no program."""
    if program is None:
        return []
    found = run(program, kafka.bootstrap_servers, "direct.rskafka")
    # So that the gateway is not compared with a failure.
    assert [line for line in found if line.startswith("streamed ")] == [
        *map(streamed, range(4, 13))
    ]
    return found


def streamed(number: int) -> str:
    """What the program prints of a record: offset, key, value, header, seconds after the first."""
    header = [*str(number).encode()]
    texts = f'Some(Ok("key-{number}")), Some(Ok("value-{number}"))'
    return f'streamed ({number}, {texts}, {{"number": {header}}}, {number * 1000})'


@pytest.mark.parametrize("listener", PREFIXES)
def test_as_direct(
    gateway: GatewayProcess,
    unique: Names,
    program: Path | None,
    direct: list[str],
    listener: str,
) -> None:
    if program is not None:
        servers = gateway.bootstrap_servers(listener)
        assert run(program, servers, f"{PREFIXES[listener]}{unique('rskafka')}") == direct


def run(program: Path, servers: str, topic: str) -> list[str]:
    """What the program prints, with ``TOPIC`` for the topic's name."""
    ended = subprocess.run(
        [program, servers, topic],
        capture_output=True,
        text=True,
        timeout=clients.SECONDS * 2,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout.replace(topic, "TOPIC").splitlines()
