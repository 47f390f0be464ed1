"""A client that may create topics outside of namespaces can plant none in a new namespace.

It tries at the moment in which another client creates the namespace. PLANTED_TRIES: the number of
tries of each way; ``make test`` tries less often than ``make test-all``.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.suite.stages import EXAMPLES
from tests.live.support import clients, namespaces
from tests.live.support.fixtures import several_gateways
from tests.live.support.wire import Wire

Names = Callable[[str], str]
Plant = Callable[[Wire, str], None]

TRIES = int(os.environ.get("PLANTED_TRIES", "5" if EXAMPLES in os.environ else "15"))
BEHIND = {"_by_creation": (-0.02, 0.0), "_by_asking": (0.005, 0.05)}
"""Seconds by which she begins after the namespace's creator, from and to.

For a creation she has to be ahead, because it takes her longer.
"""

TIMEOUT = timedelta(seconds=30)


gateways = several_gateways("planted-one", "planted-two", workers=2)


def _create(wire: Wire, name: str) -> int:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    (answer,) = wire.ask("CreateTopics", 5, topics=[topic], timeout=TIMEOUT).topics
    return int(answer.error_code)


def _by_creation(wire: Wire, name: str) -> None:
    _create(wire, name)


def _by_asking(wire: Wire, name: str) -> None:
    """Request metadata as a producer that waits for its topic, and more often."""
    for _ in range(10):
        values = {"topics": [{"name": name}], "allow_auto_topic_creation": True}
        (found,) = wire.ask("Metadata", 12, **values).topics
        if not found.error_code:
            return


@pytest.mark.timeout(600 + 6 * TRIES)
@pytest.mark.parametrize("name", ["{}..t", "{}__t"], ids=["dots", "underscores"])
@pytest.mark.parametrize("apart", [False, True], ids=["one gateway", "two gateways"])
@pytest.mark.parametrize("plant", [_by_creation, _by_asking])
def test_no_topic_is_planted(
    plant: Plant,
    apart: bool,
    name: str,
    gateways: list[GatewayProcess],
    kafka: KafkaCluster,
    unique: Names,
) -> None:
    owners = gateways[0].bootstrap_servers("colon")
    eves = gateways[1 if apart else 0].bootstrap_servers("colon")
    together = threading.Barrier(2, timeout=clients.SECONDS)
    draw = random.Random(7)
    made: dict[str, int] = {}
    spaces = [unique("x") for _ in range(TRIES)]
    with Wire(owners) as owner, Wire(eves) as eve, ThreadPoolExecutor(2) as pool:
        for space in spaces:
            # A leading colon denotes the default namespace.
            planted, later = ":" + name.format(space), draw.uniform(*BEHIND[plant.__name__])

            def create(space: str = space, behind: float = -later) -> None:
                together.wait()
                time.sleep(max(0, behind))
                made[space] = _create(owner, f"{space}:")

            def plant_one(planted: str = planted, behind: float = later) -> None:
                together.wait()
                time.sleep(max(0, behind))
                plant(eve, planted)

            for outcome in [pool.submit(create), pool.submit(plant_one)]:
                outcome.result()
    for servers in (owners, eves):  # all earlier requests have ended by then
        marker = unique("marker")
        clients.create(servers, marker)
        clients.await_stored(kafka, marker)
    stored = kafka.topics()
    won = {space for space in spaces if made[space] == 0}
    there = {space for space in spaces if name.format(space) in stored}
    assert not won & there, "somebody has a topic in another one's namespace"
    assert won | there, "neither of the two ever came first"
    for space in sorted(won)[:3]:
        assert set(namespaces.describe(owners, f"{space}:")), "it is of use"
        clients.create(owners, f"{space}:t")
