"""The same clients while a broker ends the same way, without a gateway: the baseline.

FLEET_PLAIN=1: every client, killed and stopped (``make fleet``). Otherwise a single client, to
check that the measurement works.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import psutil
import pytest
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.fleet.test_killed_gateways import CLIENTS, longest_gap
from tests.live.support import clients

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
LEADER: Final = 2
"""The broker that ends; broker 1 is the only controller."""

REPLICAS: Final = (LEADER, 3, 1)
ROUNDS: Final = 5

Ends = Callable[[KafkaCluster], Callable[[], None]]
"""Makes the broker end, and returns a function that brings it back."""


def killed(kafka: KafkaCluster) -> Callable[[], None]:
    """End the broker as ``kill -9`` does."""
    kafka.kill_broker(LEADER)
    return partial(kafka.restart_broker, LEADER)


def stopped(kafka: KafkaCluster) -> Callable[[], None]:
    """End the broker by SIGTERM: it hands its partitions over first."""
    kafka.stop_broker(LEADER)
    return partial(kafka.restart_broker, LEADER)


def suspended(kafka: KafkaCluster) -> Callable[[], None]:
    """Suspend the broker by SIGSTOP, as on a machine that hangs: no connection is closed."""
    process = psutil.Process(kafka.process_id(LEADER))
    process.suspend()
    return process.resume


MEASURED: Final[list[tuple[str, Ends]]] = (
    [(library, ends) for ends in (killed, stopped, suspended) for library in CLIENTS]
    if os.environ.get("FLEET_PLAIN")
    else [("aiokafka", stopped)]
)


@pytest.fixture(scope="module")
def plain() -> Iterator[KafkaCluster]:
    """Three brokers, which notice each other's end after 3 s, not after 9 s as by default."""
    with KafkaCluster(3, missed_quickly=True) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize(("library", "ends"), MEASURED)
def test_a_broker_that_ends(library: str, ends: Ends, plain: KafkaCluster, tmp_path: Path) -> None:
    topic = f"{library}-{ends.__name__}"
    wanted = NewTopic(topic, 1, replica_assignment=[list(REPLICAS)])
    create_topics(clients.admin(plain.addresses[1]), [wanted])
    await_leader(plain, topic)
    gaps = []
    with ExitStack() as stack:
        servers = plain.bootstrap_servers
        running = [stack.enter_context(one) for one in CLIENTS[library](servers, topic, tmp_path)]
        for one in running:
            one.await_progress("the start", topic)
        for _ in range(2 if ends is suspended else ROUNDS):
            await_leader(plain, topic)
            with ThreadPoolExecutor(1) as pool:
                ending = pool.submit(ends, plain)
                gaps.append(longest_gap(running, topic, ending))
            ending.result()()
    print(f"longest gaps of {library}, {ends.__name__}: {[round(gap, 1) for gap in gaps]} s")
    assert all(gap < SECONDS for gap in gaps)


def await_leader(kafka: KafkaCluster, topic: str) -> None:
    """Wait until all replicas are in sync, and ``LEADER`` leads again."""
    admin = clients.admin(kafka.addresses[1])

    def leads() -> bool:
        # If a broker has not read of the topic yet, it lists no partition of it.
        found = admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions.get(0)
        if found is None or {*found.isrs} != {*REPLICAS}:
            return False
        if found.leader != LEADER:
            admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)]).result(SECONDS)
        return bool(found.leader == LEADER)

    wait_until(leads, f"broker {LEADER} to lead {topic}", SECONDS, poll=0.2)
