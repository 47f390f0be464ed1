"""A cluster of these tests' own: its catalog gets a format that older gateways cannot read.

FLEET_BROKERS=N: the number of its brokers (``make fleet``: 3).
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients

Gateways = tuple[GatewayProcess, GatewayProcess]

LISTENERS = (Listener("all", "all", in_fleet=True), Listener("tools", "no gateways"))


@pytest.fixture(scope="module")
def own() -> Iterator[KafkaCluster]:
    """The cluster behind the gateways."""
    with KafkaCluster(int(os.environ.get("FLEET_BROKERS", "1"))) as cluster:
        yield cluster


def created(gateways: Sequence[GatewayProcess], topic: str, partitions: int = 1) -> str:
    """Create a topic, and wait until its leader knows of it; the gateways' addresses.

    It uses the listener for tools, because librdkafka's admin client fails a pending request when
    it moves to another gateway.
    """
    tools = gateways[0].bootstrap_servers("tools")
    clients.create(tools, topic, partitions=partitions)
    clients.await_led(tools, topic)
    return ",".join(one.bootstrap_servers("all") for one in gateways)


@contextmanager
def fleet(servers: str, *gateway_ids: str) -> Iterator[tuple[GatewayProcess, ...]]:
    """Gateways, each of which lists all gateways, except at listener ``tools``."""
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(
                GatewayProcess(servers, LISTENERS, ["team-a"], overrides={"gateway_id": one})
            )
            for one in gateway_ids
        )


@pytest.fixture(scope="module")
def gateways(own: KafkaCluster) -> Iterator[Gateways]:
    """Two gateways."""
    with fleet(own.bootstrap_servers, "gw-a", "gw-b") as (first, second):
        yield first, second


@pytest.fixture
def leaving_no_sockets(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Drop the sockets of kafka-python before a test ends.

    It leaves sockets that did not connect to Python's collector, and to the records of its log,
    which hold the errors with their frames.
    """
    caplog.set_level(logging.CRITICAL, "kafka")
    yield
    gc.collect()
