"""A gateway of a fleet that drains leads its clients to another gateway."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

import pytest

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.error_codes import NOT_LEADER_OR_FOLLOWER
from tests.live.fleet.conftest import Gateways, created
from tests.live.fleet.test_nodes import gateway_nodes
from tests.live.support import by_hand, clients
from tests.live.support.wire import Wire, request_frame
from tests.live.tree.test_producer_ids import batch

pytestmark = pytest.mark.alone
"""Clients are redirected for 1.5 s, and a redirected client is closed after 0.3 s."""

SECONDS = clients.SECONDS
FETCH = 1
GROUP = 0

PRODUCED: Final = {
    "acks": -1,
    "timeout": timedelta(seconds=SECONDS),
    "topic_data": [
        {"name": "drained", "partition_data": [{"index": 0, "records": batch(-1, "x", -1)}]}
    ],
}
FETCHED: Final = {
    "replica_id": -1,
    "max_wait": timedelta(0),
    "max_bytes": 1_000,
    "topics": [
        {"topic": "drained", "partitions": [{"partition": 0, "partition_max_bytes": 1_000}]}
    ],
}


def brokers(wire: Wire, api: str) -> dict[int, str]:
    """The brokers that a response lists, without gateways."""
    if api == "Metadata":
        answer = wire.ask(api, 9, topics=(), allow_auto_topic_creation=False)
        found = {one.node_id: f"{one.host}:{one.port}" for one in answer.brokers}
    else:
        found = {one.broker_id: f"{one.host}:{one.port}" for one in wire.ask(api, 0).brokers}
    return {node: address for node, address in found.items() if node < 2**30}


def coordinator(wire: Wire) -> str:
    """The address of a group's coordinator, once there is one."""
    found: list[Any] = []

    def is_there() -> bool:
        found[:] = [wire.ask("FindCoordinator", 1, key="app", key_type=GROUP)]
        return int(found[0].error_code) == 0

    wait_until(is_there, "a coordinator", SECONDS)
    return f"{found[0].host}:{found[0].port}"


def leader_of(wire: Wire, topic: str) -> int:
    """The node that leads the only partition of a topic."""
    asked = [{"name": topic}]
    (found,) = wire.ask("Metadata", 9, topics=asked, allow_auto_topic_creation=False).topics
    return int(found.partitions[0].leader_id)


def partition_error(wire: Wire, api: str, version: int, **values: object) -> int:
    """The error code of the only partition of a response."""
    (topic,) = wire.ask(api, version, **values).responses
    (partition,) = topic.partition_responses if api == "Produce" else topic.partitions
    return int(partition.error_code)


def test_clients_are_sent_on_to_the_other_one(gateways: Gateways) -> None:
    """Brokers are listed at the other gateway's addresses, and Produce and Fetch return an error.

    The error makes clients refresh their metadata. If a broker holds a response back, the gateway
    waits a while for it.
    """
    ending, staying = gateways
    wait_until(
        lambda: all(len(gateway_nodes(one.bootstrap_servers("all"))) == 2 for one in gateways),
        "both",
        SECONDS,
    )
    with Wire(staying.bootstrap_servers("all")) as wire:
        elsewhere, far = brokers(wire, "Metadata"), coordinator(wire)
    servers = ending.bootstrap_servers("all")
    for topic in ("drained", "held"):
        created(gateways, topic)
    with Wire(servers) as asking:
        here = brokers(asking, "Metadata")
        assert here.keys() == elsewhere.keys()
        assert not {*here.values()} & {*elsewhere.values()}
        leader = here[leader_of(asking, "held")]
        at = here[leader_of(asking, "drained")]
        with Wire(leader) as held, Wire(at) as leaving, Wire(leader) as idle:
            assert partition_error(leaving, "Produce", 3, **PRODUCED) == 0
            held.send(request_frame(FETCH, 4, by_hand.long_poll("held", 600.0), 5, 1))
            assert brokers(idle, "Metadata") == here, "by now the long poll is at the broker"
            os.kill(ending.process.command_pid, signal.SIGTERM)
            wait_until(lambda: brokers(asking, "Metadata") == elsewhere, "the other one", SECONDS)
            assert brokers(asking, "DescribeCluster") == elsewhere
            assert coordinator(asking) == far
            assert partition_error(leaving, "Produce", 3, **PRODUCED) == NOT_LEADER_OR_FOLLOWER
            assert partition_error(leaving, "Fetch", 4, **FETCHED) == NOT_LEADER_OR_FOLLOWER
            with Wire(servers) as late:
                assert brokers(late, "Metadata") == elsewhere
            assert leaving.wait_for_end() == b""
            assert brokers(idle, "Metadata") == elsewhere, "it has not been sent on"
            assert held.wait_for_end() == b""
            assert idle.wait_for_end() == b""
        assert asking.wait_for_end() == b""
    assert not clients.accepts(servers)
    wait_until(lambda: not ending.process.running, "the end", SECONDS)
    assert ending.process.returncode == 0
    assert "clients are led to gateway gw-b" in ending.log()
    _started_again(ending, here)


def _started_again(gateway: GatewayProcess, here: dict[int, str]) -> None:
    gateway.kill()
    gateway.start_again()
    with Wire(gateway.bootstrap_servers("all")) as wire:
        assert brokers(wire, "Metadata") == here


def test_two_that_end_at_once_do_not_wait_for_each_other(gateways: Gateways) -> None:
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda one: one.process.terminate(SECONDS), gateways))
    assert ended == [0, 0]
    for one in gateways:
        one.kill()
        one.start_again()
