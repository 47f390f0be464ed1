"""Three clusters behind three gateways: the root, ``la`` below it, ``la:tracking`` below that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from devkit.broker import KafkaCluster
from devkit.certificates import Authority
from tests.live.tree_of_gateways.sites import (
    VOLUMES,
    Tree,
    await_acquainted,
    places,
    sites,
    start_clusters,
)


@pytest.fixture(scope="package")
def clusters() -> Iterator[Mapping[str, KafkaCluster]]:
    """A Kafka for each volume, by its mount."""
    with ExitStack() as stack:
        yield dict(zip(VOLUMES, start_clusters(stack, len(VOLUMES)), strict=True))


@pytest.fixture(scope="package")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority that all gateways of the tree trust."""
    return Authority(tmp_path_factory.mktemp("peers"))


@pytest.fixture(scope="package")
def tree(clusters: Mapping[str, KafkaCluster], authority: Authority) -> Iterator[Tree]:
    """The three gateways, which know each other, and let each other speak for all principals."""
    with sites(clusters, places(authority)) as started:
        await_acquainted(started)
        yield started
