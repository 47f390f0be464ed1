"""Scripted brokers of a cluster."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from uuid import UUID

import pytest
import pytest_asyncio

from tests.cluster.scripted_broker import (
    HOST,
    ClusterState,
    ScriptedBroker,
)

ORDERS = UUID(int=1)


@pytest.fixture
def state() -> ClusterState:
    return ClusterState(topics={"orders": ORDERS})


@pytest_asyncio.fixture
async def brokers(state: ClusterState) -> AsyncIterator[list[ScriptedBroker]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(ScriptedBroker(state, node_id)) for node_id in (1, 2, 3)
        ]


@pytest.fixture
def broker(brokers: list[ScriptedBroker]) -> ScriptedBroker:
    """The bootstrap server, where the gateway stays as long as it works."""
    return brokers[0]


@pytest.fixture
def unused_port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        port: int = bound.getsockname()[1]
        yield port
