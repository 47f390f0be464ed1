"""A cluster of these tests' own: its catalog gets a format that older gateways cannot read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devkit.broker import KafkaCluster


@pytest.fixture(scope="module")
def own() -> Iterator[KafkaCluster]:
    """The cluster behind the gateways."""
    with KafkaCluster() as cluster:
        yield cluster
