"""Two sites: ``a`` and ``b``, a cluster each. They, and the gateways in front of them, are each
file's own: MirrorMaker takes in whatever topics there are."""

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
