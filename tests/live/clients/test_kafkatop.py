"""kafkatop, a monitor of lag, prints the same as at the broker."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.locked_python import TOOLS, environment, python_with
from tests.live.support import clients

# The program is installed with all that it needs.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("builds")]

Names = Callable[[str], str]

# By listener: the prefix of topics and groups.
PREFIXES: Final = {"home-a": "", "colon": "team-a:", "legal": "team-a.."}

PARTITION: Final = {"leader": 1, "replicas": [1], "nisrs": 1}


def run(servers: str, *options: str) -> str:
    """What the program prints."""
    ended = subprocess.run(
        [python_with(TOOLS), "-m", "kafkatop", "--kafka-broker", servers, *options],
        env={**environment(), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        timeout=clients.SECONDS * 2,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout


class Place:
    """A topic of which two groups have read, and what kafkatop prints of them."""

    def __init__(self, servers: str, prefix: str, stem: str) -> None:
        self.servers = servers
        self.topic = f"{prefix}in-{stem}"
        self.groups = [f"{prefix}{which}-{stem}" for which in ("slow", "fast")]
        clients.create(servers, self.topic, partitions=2)
        clients.await_led(servers, self.topic)
        clients.produce(servers, self.topic, [*"abc"])
        for count, group in zip((1, 3), self.groups, strict=True):
            with clients.consumer(servers, group) as reader:
                reader.subscribe([self.topic])
                last = clients.take(reader, count)[-1]
                reader.commit(message=last, asynchronous=False)

    def shown(self) -> dict[str, Any]:
        """What each kind of output says, with names of the same kind in each place."""
        own = "^(" + "|".join(map(re.escape, self.groups)) + ")$"
        groups = ["--all", "--group-filter-pattern", own]
        text = run(self.servers, *groups, "--text", "--poll-iterations", "1", "--poll-period", "1")
        described = json.loads(run(self.servers, "--topicinfo-parts"))
        found = {
            "summary": json.loads(run(self.servers, *groups, "--summary-json")),
            "status": json.loads(run(self.servers, *groups, "--status", "--poll-period", "1")),
            "text": [line.split() for line in text.splitlines() if line.strip("= ")],
            "topic": described["topics"][self.topic],
            "brokers": [*described["brokers"]],
        }
        named = json.dumps(found).replace(self.topic, "TOPIC")
        for which, group in zip(("SLOW", "FAST"), self.groups, strict=True):
            named = named.replace(group, which)
        shown: dict[str, Any] = json.loads(re.sub(r'"\d+\.\d+", "s"', '"TIME", "s"', named))
        return shown


@pytest.fixture(scope="module")
def direct(kafka: KafkaCluster) -> dict[str, Any]:
    """What it prints at the broker itself."""
    found = Place(kafka.bootstrap_servers, "direct.", "kafkatop").shown()
    # So that the gateway is not compared with a failure.
    lags = {group: each["topics"]["TOPIC"]["lag_max"] for group, each in found["summary"].items()}
    assert lags == {"SLOW": 2, "FAST": 0}
    assert found["topic"]["partinfo"] == [{"id": number, **PARTITION} for number in range(2)]
    return found


@pytest.mark.parametrize("listener", PREFIXES)
def test_as_direct(
    gateway: GatewayProcess, unique: Names, direct: dict[str, Any], listener: str
) -> None:
    servers = gateway.bootstrap_servers(listener)
    assert Place(servers, PREFIXES[listener], unique("kafkatop")).shown() == direct
