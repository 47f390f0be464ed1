"""rskafka, a client in Rust, prints the same as at the broker."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.cargo import build_rust
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools

# Cargo compiles the client with its crates.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("builds")]

Names = Callable[[str], str]

PACKAGE: Final = java_tools.SOURCES.with_name("rust")

# By listener: the prefix of topics.
PREFIXES: Final = {"home-a": "", "colon": "team-a:", "legal": "team-a.."}


@pytest.fixture(scope="module")
def direct(kafka: KafkaCluster) -> list[str]:
    """What the program prints at the broker itself."""
    found = run(kafka.bootstrap_servers, "direct.rskafka")
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
    gateway: GatewayProcess, unique: Names, direct: list[str], listener: str
) -> None:
    servers = gateway.bootstrap_servers(listener)
    assert run(servers, f"{PREFIXES[listener]}{unique('rskafka')}") == direct


def run(servers: str, topic: str) -> list[str]:
    """What the program prints, with ``TOPIC`` for the topic's name."""
    ended = subprocess.run(
        [build_rust(PACKAGE), servers, topic],
        capture_output=True,
        text=True,
        timeout=clients.SECONDS * 2,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout.replace(topic, "TOPIC").splitlines()
