"""kafkajs while the broker that coordinates its group is away, directly and through the gateway."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.npm import KAFKAJS, find_npm, node_path
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

pytestmark = pytest.mark.long("kills")

_PROGRAM = java_tools.SOURCES.with_name("javascript") / "kafkajs_steady.js"

AWAY: Final = 2
"""The broker that is killed."""

RECORDS: Final = 30
"""Records of each partition that show that a client works."""


class Client:
    """A producer and a member of a group, and what they printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.events: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.events.append(json.loads(line))

    def named(self, event: str) -> list[dict[str, Any]]:
        return [each for each in self.events if each["event"] == event]

    def reads_on(self) -> None:
        """Wait until it has read more of each partition."""
        since = len(self.events)

        def has_read() -> bool:
            read = [each["partition"] for each in self.events[since:] if each["event"] == "read"]
            return all(read.count(partition) >= RECORDS for partition in range(3))

        wait_until(has_read, "records of each partition", clients.SECONDS)

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        wait_until(lambda: self.named("ended"), "the end", clients.SECONDS)


@contextmanager
def client(servers: str, topic: str, group: str) -> Iterator[Client]:
    _, node = find_npm()
    with subprocess.Popen(
        [node, str(_PROGRAM), servers, topic, group],
        env={
            **os.environ,
            "NODE_PATH": str(node_path(KAFKAJS)),
            "KAFKAJS_NO_PARTITIONER_WARNING": "1",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Client(process)
        finally:
            process.kill()


def groups_at(address: str, node_id: int, count: int) -> list[str]:
    """Groups that a broker coordinates."""
    names = [f"group-{number}" for number in range(60)]

    def found() -> list[str]:
        with Wire(address) as wire:
            answer = wire.ask("FindCoordinator", 4, key_type=0, coordinator_keys=names)
        ours = [each.key for each in answer.coordinators if each.node_id == node_id]
        return ours[:count] if len(ours) >= count else []

    return wait_until(found, "coordinators", clients.SECONDS)


def test_its_coordinator_is_killed_and_comes_back() -> None:
    """It gives its member up at times, directly as well, and begins anew by itself."""
    with (
        KafkaCluster(3, missed_quickly=True) as kafka,
        GatewayProcess(kafka.bootstrap_servers, [Listener("colon", "all")], []) as gateway,
    ):
        create_topics(kafka.admin(), [NewTopic(each, 3, 3) for each in ("direct", "through")])
        of_direct, of_through = groups_at(kafka.addresses[1], AWAY, 2)
        with (
            client(kafka.bootstrap_servers, "direct", of_direct) as direct,
            client(gateway.bootstrap_servers("colon"), "through", of_through) as through,
        ):
            for each in (direct, through):
                each.reads_on()
            kafka.kill_broker(AWAY)
            for each in (direct, through):
                each.reads_on()
            kafka.restart_broker(AWAY)
            for each in (direct, through):
                each.reads_on()
                each.end()
            crashes = [
                [one["message"] for one in each.named("crashed")] for each in (direct, through)
            ]
            print(f"crashes: {crashes[0]} directly, {crashes[1]} through the gateway")
            assert all(one["restart"] for one in through.named("crashed"))
            assert len(crashes[1]) <= len(crashes[0]) + 1
            assert not through.named("error")
