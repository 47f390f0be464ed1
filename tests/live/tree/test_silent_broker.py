"""If a broker of a cluster hangs, requests to its volume go to the cluster's other brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, steady
from tests.live.support.wire import Wire
from tests.live.tree.conftest import LISTENERS, mounted
from tests.pace import Pace

pytestmark = pytest.mark.alone

NY_ONLY = ":ny:tracking:search:silent-live"
LOOKUPS = 40
LA_NUMBER = 1
"""The number of the volume at ``la:tracking``."""
BOUNDED = 1.5
"""Seconds for a response, 0.5 of them for the wait; the rest is for a busy machine."""


@pytest.fixture(scope="module")
def pair() -> Iterator[KafkaCluster]:
    """Two brokers at ``la:tracking``."""
    with KafkaCluster(2, missed_quickly=True) as cluster:
        yield cluster


def test_the_other_brokers_are_asked(pair: KafkaCluster, ny: KafkaCluster, pace: Pace) -> None:
    with GatewayProcess(mounted(pair, ny), LISTENERS, []) as gateway:
        servers = gateway.bootstrap_servers("ny")
        other = ":la:tracking:search:silent"
        clients.create(servers, other, partitions=4, replicas=1)
        clients.create(servers, NY_ONLY)
        clients.await_led(servers, other, NY_ONLY)
        process = psutil.Process(pair.process_id(2))
        producer = steady.producer("p", servers, NY_ONLY)
        producer.lost_volume = LA_NUMBER
        with producer:
            producer.await_progress("the start")
            process.suspend()
            try:
                took, led = zip(*(_lookup(servers, other) for _ in range(LOOKUPS)), strict=True)
                producer.await_progress("the loss")
                wait_until(lambda: _lookup(servers, other)[1], "an answer", clients.SECONDS)
            finally:
                process.resume()
        producer.check()
        assert max(took) < pace.stretched(BOUNDED)
        # Only the first requests have no leaders, at most one for each pooled connection.
        assert sum(led) >= LOOKUPS // 2


def _lookup(address: str, topic: str) -> tuple[float, bool]:
    """The seconds that Metadata takes, and whether it returns a leader."""
    began = time.monotonic()
    with Wire(address) as wire:
        wanted = [{"topic_id": None, "name": topic}]
        answer: Any = wire.ask("Metadata", 12, topics=wanted, allow_auto_topic_creation=False)
    (found,) = answer.topics
    leaders = [part.leader_id for part in found.partitions]
    return time.monotonic() - began, any(leader >= 0 for leader in leaders)
