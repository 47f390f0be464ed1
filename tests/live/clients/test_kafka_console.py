"""kafka-console, a command-line tool on @platformatic/kafka, prints the same as at the broker."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.npm import find_npm, locked_modules
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools

# The program is installed with all that it needs, and each of its commands is a process.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("builds")]

Names = Callable[[str], str]

FOLDER: Final = java_tools.SOURCES.with_name("javascript") / "kafka-console"

# By listener: the prefix of topics and groups.
PREFIXES: Final = {"home-a": "", "colon": "team-a:", "legal": "team-a.."}

RECORDS: Final = [{"key": f"key-{number}", "value": {"number": number}} for number in range(6)]
_CHANGES: Final = re.compile(r'"(timestamp|id|port|clusterId)":("[^"]*"|\d+)')


class Place:
    """A broker, or a listener of the gateway, with names of its own."""

    def __init__(self, servers: str, prefix: str, stem: str, folder: Path) -> None:
        self.servers, self.folder = servers, folder
        self.topic, self.copy = (f"{prefix}{which}-{stem}" for which in ("in", "copy"))
        self.group, self.copier = (f"{prefix}{which}-{stem}" for which in ("group", "copier"))

    def run(self, *args: str, stdin: str = "", fails: bool = False) -> list[str]:
        """The lines that a command prints, sorted, with ``TOPIC``, ``COPY``, ``GROUP`` and
        ``COPIER`` for its own names, and without times, ids and ports."""
        _, node = find_npm()
        program = locked_modules(FOLDER) / "kafka-console" / "build" / "cli.js"
        ended = subprocess.run(
            [node, str(program), "--brokers", self.servers, *args],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=clients.SECONDS,
            check=False,
        )
        assert (ended.returncode != 0) is fails, f"{args}: {ended.stdout}\n{ended.stderr}"
        text = _CHANGES.sub(r'"\1":0', ended.stdout + (ended.stderr if fails else ""))
        for what in ("topic", "copy", "group", "copier"):
            text = text.replace(getattr(self, what), what.upper())
        return sorted(text.splitlines())

    def create(self, topic: str) -> list[str]:
        """What creating a topic prints; a broker goes by a creation after its response."""
        printed = self.run("topic:create", topic, "--partitions", "2")
        clients.await_led(self.servers, topic)
        return printed

    def metadata(self) -> dict[str, Any]:
        (line,) = self.run("metadata")
        found: dict[str, Any] = json.loads(line)
        own = [each for each in found["topicMetadata"] if each["topic"] in ("TOPIC", "COPY")]
        return {**found, "topicMetadata": sorted(own, key=lambda each: str(each["topic"]))}

    def configs(self) -> list[dict[str, Any]]:
        """The topic's configs, without the gateway's own."""
        (line,) = self.run("config", "--resource", "topic", "--resourceName", self.topic)
        found: list[dict[str, Any]] = json.loads(line)["configs"]
        own = (config for config in found if not config["name"].startswith("gateway."))
        return sorted(own, key=lambda config: str(config["name"]))

    def life(self) -> dict[str, Any]:
        """What each command prints, in order, by its name."""
        found: dict[str, Any] = {"create": self.create(self.topic)}
        found["exists"] = self.run("topic:create", self.topic, fails=True)
        found["list"] = [line for line in self.run("list") if "TOPIC" in line]
        lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
        produce = ["produce", self.topic, "--compression"]
        for codec in ("none", "gzip", "snappy", "lz4"):
            found[f"produce {codec}"] = self.run(*produce, codec, stdin=lines)
        found["offsets"] = self.run("topic:offsets", self.topic)
        found["offsets by time"] = self.run("topic:offsets", self.topic, "1000")
        group = ["--group", self.group]
        found["consume"] = self.run("consume", self.topic, *group, "--from", "0", "--snapshot")
        found["committed"] = self.run("topic:offsets", self.topic, *group)
        found["config"] = self.configs()
        found["no config"] = self.run(
            "config", "--resource", "topic", "--resourceName", self.copy, fails=True
        )
        self.create(self.copy)
        found["copy"] = self.run("topic:copy", self.topic, self.copy, "--group", self.copier)
        found["metadata"] = self.metadata()
        dump = self.folder / "dump.jsonl"
        self.run("topic:dump", self.copy, "--group", self.copier, "--output", str(dump))
        found["dump"] = sorted(_CHANGES.sub(r'"\1":0', dump.read_text()).splitlines())
        for topic in (self.topic, self.copy):
            found[f"delete {topic == self.copy}"] = self.run("topic:delete", topic)
        wait_until(
            lambda: {self.topic, self.copy}.isdisjoint(clients.listed(self.servers)),
            "the end of the topics",
            clients.SECONDS,
        )
        found["gone"] = self.run("topic:delete", self.topic, fails=True)
        return found


@pytest.fixture(scope="module")
def direct(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[dict[str, Any]]]:
    """What the commands print at the broker itself."""
    folder = tmp_path_factory.mktemp("direct")
    found = Place(kafka.bootstrap_servers, "direct.", "kafka-console", folder).life()
    # So that the gateway is not compared with a failure.
    assert len(found["consume"]) == len(found["dump"]) == 24
    assert {line["value"]["number"] for line in map(json.loads, found["consume"])} == {*range(6)}
    assert [each["topic"] for each in found["metadata"]["topicMetadata"]] == ["COPY", "TOPIC"]
    return found


@pytest.mark.parametrize("listener", PREFIXES)
def test_as_direct(
    gateway: GatewayProcess,
    unique: Names,
    direct: dict[str, list[dict[str, Any]]],
    listener: str,
    tmp_path: Path,
) -> None:
    servers = gateway.bootstrap_servers(listener)
    place = Place(servers, PREFIXES[listener], unique("kafka-console"), tmp_path)
    assert place.life() == direct
