"""A cluster of these tests' own: its catalog gets a format that older gateways cannot read.

FLEET_BROKERS=N: so many brokers it has (``make fleet``: 3).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess

Gateways = tuple[GatewayProcess, GatewayProcess]

LISTENERS = (Listener("all", "all", in_fleet=True), Listener("tools", "no gateways"))


@pytest.fixture(scope="module")
def own() -> Iterator[KafkaCluster]:
    """The cluster behind the gateways."""
    with KafkaCluster(int(os.environ.get("FLEET_BROKERS", "1"))) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def gateways(own: KafkaCluster) -> Iterator[Gateways]:
    """Two, of which each lists both, but for listener ``tools``."""
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(
                GatewayProcess(
                    own.bootstrap_servers, LISTENERS, ["team-a"], overrides={"gateway_id": name}
                )
            )
            for name in ("gw-a", "gw-b")
        )
        yield first, second
