"""A world with topics in namespaces, for the requests about their configs."""

from __future__ import annotations

import pytest

from tests.changes.fakes import FakeGateway, World


@pytest.fixture
def world() -> World:
    world = World(["org:apache", "team-a:sub", "team-b"])
    world.broker.make("orders", "org..x", "org.apache..y", "team-a..x")
    return world


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()
