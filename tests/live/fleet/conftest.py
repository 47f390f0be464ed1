"""A cluster of these tests' own: its catalog gets a format that older gateways cannot read.

FLEET_BROKERS=N: so many brokers it has (``make fleet``: 3).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from devkit.broker import KafkaCluster


@pytest.fixture(scope="module")
def own() -> Iterator[KafkaCluster]:
    """The cluster behind the gateways."""
    with KafkaCluster(int(os.environ.get("FLEET_BROKERS", "1"))) as cluster:
        yield cluster
