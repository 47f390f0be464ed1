"""A broker that joins, returns or moves serves as soon through the gateway as without it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support.clients import SECONDS
from tests.live.support.wire import ConnectionEnded, Wire
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

BEHIND_SECONDS = 0.3
"""Seconds for which a gateway's client may wait longer than a client of the brokers."""

NEW = 3


class Worked(NamedTuple):
    """Seconds from a broker's first listing until its port served, and the connections closed
    before."""

    seconds: float
    closed: int


class Site(NamedTuple):
    """Two brokers, and a third that joins, behind a gateway."""

    kafka: KafkaCluster
    gateway: GatewayProcess

    def listed(self) -> dict[int, str]:
        """The brokers' addresses as the first broker lists them."""
        with Wire(self.kafka.addresses[1]) as wire:
            found = wire.ask("Metadata", 12, topics=[]).brokers
        return {each.node_id: f"{each.host}:{each.port}" for each in found}

    def gateway_listed(self) -> set[int]:
        """The brokers of the gateway's last listing, by its log."""
        lines = [line for line in self.gateway.log().splitlines() if " has brokers " in line]
        return {int(node) for node in re.findall(r"(\d+) \(", lines[-1].partition("brokers")[2])}

    def port_of(self, node_id: int) -> str:
        """The gateway's address for a broker."""
        (entry,) = self.gateway.plan.config["listeners"]
        return f"127.0.0.1:{entry['broker_base_port'] + node_id - 1}"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    listeners = (Listener("colon", "all"),)
    with (
        KafkaCluster(2, missed_quickly=True) as kafka,
        GatewayProcess(kafka.bootstrap_servers, listeners, []) as gateway,
    ):
        yield Site(kafka, gateway)


def worked(address: str, named: float) -> Worked:
    """Connect again and again until the broker at an address responds."""
    closed = 0
    while True:
        try:
            with Wire(address) as wire:
                wire.ask("Metadata", 12, topics=[])
            return Worked(time.monotonic() - named, closed)
        except (OSError, ConnectionEnded):
            closed += 1
            time.sleep(0.01)


def came(site: Site, node_id: int, start: Callable[[], object]) -> tuple[Worked, Worked]:
    """Start a broker; how soon it served directly, and through the gateway.

    Both are measured from its listing by the first broker.
    """
    with ThreadPoolExecutor(1) as starting:
        started = starting.submit(start)
        wait_until(lambda: node_id in site.listed(), f"broker {node_id}", SECONDS, poll=0.002)
        named = time.monotonic()
        addresses = site.listed()[node_id], site.port_of(node_id)
        with ThreadPoolExecutor(2) as asking:
            direct, through = asking.map(partial(worked, named=named), addresses)
        started.result()
    print(f"broker {node_id}: {direct} directly, {through} through the gateway")
    return direct, through


def leave(site: Site, node_id: int) -> None:
    """Stop a broker, and wait until the gateway has listed the cluster without it."""
    site.kafka.stop_broker(node_id)
    wait_until(lambda: node_id not in site.gateway_listed(), f"no broker {node_id}", SECONDS)


def check(direct: Worked, through: Worked, pace: Pace) -> None:
    assert through.seconds <= direct.seconds + pace.stretched(BEHIND_SECONDS)
    assert through.closed <= direct.closed + 1


def test_one_that_comes_back(site: Site, pace: Pace) -> None:
    for _ in range(3):
        leave(site, 2)
        check(*came(site, 2, lambda: site.kafka.restart_broker(2)), pace)


def test_one_that_comes_back_elsewhere(site: Site, pace: Pace) -> None:
    leave(site, 2)
    check(*came(site, 2, lambda: site.kafka.restart_broker(2, elsewhere=True)), pace)


def test_one_that_is_new(site: Site, pace: Pace) -> None:
    check(*came(site, NEW, lambda: site.kafka.add_broker(NEW)), pace)
