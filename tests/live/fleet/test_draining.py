"""A gateway of a fleet that ends in order leads its clients to another one."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways
from tests.live.fleet.test_nodes import gateway_nodes
from tests.live.support import by_hand, clients
from tests.live.support.wire import Wire, request_frame

SECONDS = clients.SECONDS
FETCH = 1
GROUP = 0


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


def test_clients_are_led_to_the_other_one(gateways: Gateways) -> None:
    """Whoever asks while it drains is told of brokers at the other gateway's addresses; what a
    broker holds back is not waited for, and what stands for brokers is closed first."""
    ending, staying = gateways
    wait_until(
        lambda: all(len(gateway_nodes(one.bootstrap_servers("all"))) == 2 for one in gateways),
        "both",
        SECONDS,
    )
    with Wire(staying.bootstrap_servers("all")) as wire:
        elsewhere, far = brokers(wire, "Metadata"), coordinator(wire)
    servers = ending.bootstrap_servers("all")
    clients.create(servers, "drained")
    clients.await_led(servers, "drained")
    with Wire(servers) as asking:
        here = brokers(asking, "Metadata")
        assert here.keys() == elsewhere.keys()
        assert not {*here.values()} & {*elsewhere.values()}
        with Wire(here[1]) as waiting, Wire(here[1]) as idle:
            assert brokers(idle, "Metadata") == here
            waiting.send(request_frame(FETCH, 4, by_hand.long_poll("drained", 600.0), 5, 1))
            assert brokers(idle, "Metadata") == here, "by now the long poll is at the broker"
            began = time.monotonic()
            os.kill(ending.process.command_pid, signal.SIGTERM)
            assert waiting.wait_for_end() == b""
            assert idle.wait_for_end() == b""
            assert brokers(asking, "Metadata") == elsewhere
            assert brokers(asking, "DescribeCluster") == elsewhere
            assert coordinator(asking) == far
            assert not clients.accepts(here[1])
            with Wire(servers) as late:
                assert brokers(late, "Metadata") == elsewhere
            print(f"told after {time.monotonic() - began:.2f} s")
        assert asking.wait_for_end() == b""
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
