"""Two data centres behind a gateway: ``la:tracking`` and ``ny:tracking``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener, MountedCluster
from devkit.gateway_process import GatewayProcess
from tests.live.tree.authorized_tree import authorized_tree
from tests.live.tree.volumes import LA, NY

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
    """Both clusters at their mounts in the tree."""
    return [
        MountedCluster(LA, 1, la.bootstrap_servers, {"namespaces": ["search"]}),
        MountedCluster(NY, 2, ny.bootstrap_servers, {"namespaces": ["search"]}),
    ]


@pytest.fixture(scope="package")
def tree(la: KafkaCluster, ny: KafkaCluster) -> Iterator[GatewayProcess]:
    """A gateway in front of both clusters."""
    with GatewayProcess(mounted(la, ny), LISTENERS, []) as gateway:
        yield gateway


@pytest.fixture(scope="package")
def authorized_pair() -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    """Los Angeles and New York, for the gateways with ACLs."""
    with KafkaCluster() as la, KafkaCluster(heap="256m") as ny:
        yield la, ny


@pytest.fixture(scope="package")
def acls_alone(
    authorized_pair: tuple[KafkaCluster, KafkaCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway in front of that pair, which denies every operation that no ACL allows."""
    with authorized_tree(*authorized_pair, tmp_path_factory.mktemp("secrets")) as gateway:
        yield gateway
