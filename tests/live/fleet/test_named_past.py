"""A gateway of three stops as a whole: clients of the others are led past it until it responds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import created, fleet
from tests.live.fleet.test_killed_gateways import longest_gap, written
from tests.live.fleet.test_nodes import FIRST, nodes
from tests.live.support import clients, processes, steady
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
TOPIC: Final = "named-past"
IMPATIENT: Final = {"socket_timeout_ms": 4_000, "socket_connection_setup_timeout_ms": 2_000}
LONGEST_GAP: Final = 20.0

DONE: Final[Future[None]] = Future()
DONE.set_result(None)


def ports(gateway: GatewayProcess) -> list[str]:
    """The ports at which a gateway lists the three gateways."""
    named = nodes(gateway.bootstrap_servers("all"))
    return [named[FIRST + one].rpartition(":")[2] for one in range(3) if FIRST + one in named]


def test_its_node_is_at_one_that_lives_until_it_answers(own: KafkaCluster, pace: Pace) -> None:
    with fleet(own.bootstrap_servers, "gw-a", "gw-b", "gw-c") as gateways, ExitStack() as stack:
        first, second, third = gateways
        a, b, c = (str(one.plan.config["listeners"][0]["gateway_port"]) for one in gateways)
        wait_until(lambda: ports(first) == [b, b, c], "all are named", SECONDS)
        wait_until(lambda: ports(third) == [a, b, a], "all are named", SECONDS)
        running = _clients(stack, created(gateways, TOPIC))
        with processes.stopped_as_a_whole(second):
            gap = longest_gap(running, TOPIC, DONE)
            wait_until(lambda: ports(first) == [c, c, c], "it is not named", SECONDS)
            wait_until(lambda: ports(third) == [a, a, a], "it is not named", SECONDS)
        wait_until(lambda: ports(first) == [b, b, c], "it is named again", SECONDS)
        wait_until(lambda: ports(third) == [a, b, a], "it is named again", SECONDS)
        longest_gap(running, TOPIC, DONE)
        stack.close()
        acked = [value for one in running for value in one.acked[TOPIC]]
        tools = first.bootstrap_servers("tools")
        found = clients.consume(tools, TOPIC, written(tools, TOPIC), "check")
    assert {*acked} <= {*found}, "acknowledged, and lost"
    steady.once_each(found)
    print(f"longest gap: {gap:.1f} s")
    assert gap < pace.stretched(LONGEST_GAP)


def _clients(stack: ExitStack, servers: str) -> Sequence[steady.Steady]:
    """A producer and a consumer that do not wait long, and have progressed."""
    started = [
        steady.producer(TOPIC, servers, TOPIC, ignoring=True, **IMPATIENT),
        steady.member(TOPIC, servers, f"group-{TOPIC}", TOPIC, ignoring=True, **IMPATIENT),
    ]
    running = [stack.enter_context(one) for one in started]
    for one in running:
        one.await_progress("the start", TOPIC)
    return running
