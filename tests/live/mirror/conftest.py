"""Two sites, ``a`` and ``b``, each with a cluster.

Each file has its own clusters and gateways, because MirrorMaker copies whatever topics there are.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devkit.broker import KafkaCluster


@pytest.fixture(scope="module")
def a() -> Iterator[KafkaCluster]:
    """The cluster of site A."""
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def b() -> Iterator[KafkaCluster]:
    """The cluster of site B."""
    with KafkaCluster() as cluster:
        yield cluster
