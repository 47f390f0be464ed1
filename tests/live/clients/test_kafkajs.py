"""kafkajs, a client in JavaScript: topics, transactions, groups, configs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.npm import KAFKAJS, find_npm, node_path
from tests.live.support import clients, java_tools

Names = Callable[[str], str]

_PROGRAM = java_tools.SOURCES.with_name("javascript") / "kafkajs_round_trip.js"


@pytest.mark.parametrize(
    ("listener", "source", "target", "flat_target"),
    [
        ("home-a", "", "", "team-a.."),
        ("legal", "team-a..", "team-b..", "team-b.."),
        ("colon", "team-a:", "team-b:", "team-b.."),
    ],
    ids=["home", "legal", "colon"],
)
def test_a_round_trip(
    gateway: GatewayProcess,
    kafka: KafkaCluster,
    unique: Names,
    listener: str,
    source: str,
    target: str,
    flat_target: str,
) -> None:
    servers = gateway.bootstrap_servers(listener)
    lines, copies = f"{source}{unique('in')}", unique("out")
    group, transactional_id = unique("app"), unique("tx")
    events = _run(servers, lines, f"{target}{copies}", group, transactional_id)

    output = f"{target}{copies}"
    assert [each["value"] for each in events["read"]] == ["a", "c"]
    assert {each["topic"] for each in events["read"]} == {output}
    assert {lines, output} <= set(events["listed"][0]["topics"])
    assert [each["topic"] for each in events["offset"]] == [lines]
    assert [each["topic"] for each in events["config"]] == [output]
    assert group in events["groups"][0]["groups"]
    assert f"{group}-reader" not in events["groups"][0]["groups"]

    direct = clients.consume(
        kafka.bootstrap_servers,
        f"{flat_target}{copies}",
        2,
        unique("direct"),
        isolation_level="read_committed",
    )
    assert direct == ["a", "c"]


def _run(*args: str) -> dict[str, list[dict[str, Any]]]:
    """Run the program; the events that it printed, by event name."""
    _, node = find_npm()
    ended = subprocess.run(
        [node, str(_PROGRAM), *args],
        env={
            **os.environ,
            "NODE_PATH": str(node_path(KAFKAJS)),
            "KAFKAJS_NO_PARTITIONER_WARNING": "1",
        },
        capture_output=True,
        text=True,
        timeout=clients.SECONDS * 2,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    events: dict[str, list[dict[str, Any]]] = {}
    for line in ended.stdout.splitlines():
        event = json.loads(line)
        events.setdefault(event["event"], []).append(event)
    return events
