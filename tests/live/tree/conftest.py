"""Two data centres behind one gateway: ``la:tracking`` and ``ny:tracking``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess

LA, NY = "la:tracking", "ny:tracking"

LISTENERS = (
    Listener("la", "names are relative to la:tracking", security={"volume": LA}),
    Listener("ny", "names are relative to ny:tracking", security={"volume": NY}),
    Listener("slash", "names as directories", spelling="slash", security={"volume": LA}),
    Listener("legal", "names that every tool takes", spelling="legal", security={"volume": LA}),
)


@pytest.fixture(scope="package")
def la() -> Iterator[KafkaCluster]:
    """The cluster in Los Angeles."""
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture(scope="package")
def ny() -> Iterator[KafkaCluster]:
    """The cluster in New York."""
    with KafkaCluster() as cluster:
        yield cluster


def mounted(la: KafkaCluster, ny: KafkaCluster) -> list[MountedCluster]:
    """Both clusters where they stand in the tree."""
    return [
        MountedCluster(LA, 1, la.bootstrap_servers, {"namespaces": ["search"]}),
        MountedCluster(NY, 2, ny.bootstrap_servers, {"namespaces": ["search"]}),
    ]


@pytest.fixture(scope="package")
def tree(la: KafkaCluster, ny: KafkaCluster) -> Iterator[GatewayProcess]:
    """A gateway in front of both."""
    with GatewayProcess(mounted(la, ny), LISTENERS, []) as gateway:
        yield gateway
