"""Clients' metrics in a tree (KIP-714): every node answers by the listener's volume."""

from __future__ import annotations

from uuid import UUID

import pytest

import gateway.telemetry.otlp  # noqa: F401
from gateway.catalog.entities import ClientMetrics
from gateway.telemetry.telemetry import Telemetry
from tests.telemetry.payloads import gauge, point, pushed
from tests.tree.fake_tree import PATHS, FakeTree
from tests.tree.far_site import ALICE, Site

GET, PUSH = "GetTelemetrySubscriptions", "PushTelemetry"
INSTANCE = 5
ALL = {"metrics": "*", "interval.ms": "1000"}
ALL_ID = 848016060
"""By Kafka's formula (tests/scenarios/get_telemetry_subscriptions.yaml)."""

TIMED_OUT = 7


def subscribed(tree: FakeTree, path: str) -> Telemetry:
    """Let the catalog of a volume have a subscription; returns what all volumes keep."""
    telemetry = Telemetry()
    for each in PATHS:
        tree.volumes[each].state.telemetry = telemetry
    tree.catalogs[path].log.append([ClientMetrics("all", ALL)])
    tree.views[path].update()
    return telemetry


@pytest.mark.parametrize("node", PATHS)
async def test_every_node_answers_by_the_listeners_volume(node: str) -> None:
    tree = FakeTree(node=node)
    telemetry = subscribed(tree, "la")
    tree.connect(node)
    found = await tree.ask(GET, 0, {"client_instance_id": INSTANCE})
    assert (found.error_code, found.subscription_id) == (0, ALL_ID)
    assert found.client_instance_id == UUID(int=INSTANCE)
    values = {
        "client_instance_id": INSTANCE,
        "subscription_id": ALL_ID,
        "metrics": pushed(gauge("g", point(1.0))),
    }
    answer = await tree.ask(PUSH, 0, values)
    assert answer.error_code == 0
    assert len(telemetry.store) == 1


@pytest.mark.parametrize("node", PATHS)
async def test_subscriptions_of_another_volume_are_for_its_own_clients(node: str) -> None:
    tree = FakeTree(node=node)
    telemetry = subscribed(tree, "ny")
    tree.connect(node)
    found = await tree.ask(GET, 0, {"client_instance_id": INSTANCE})
    assert (found.error_code, found.requested_metrics) == (0, ())
    assert len(telemetry.store) == 0


async def test_while_the_listeners_cluster_is_down_another_node_asks_again() -> None:
    tree = FakeTree(node="ny")
    subscribed(tree, "la")
    tree.clusters["la"].reachable = False
    for api, values in ((GET, {}), (PUSH, {"subscription_id": ALL_ID})):
        found = await tree.ask(api, 0, {"client_instance_id": INSTANCE, **values})
        assert found.error_code == TIMED_OUT


async def test_nothing_is_asked_of_clients_whose_volume_another_gateway_has() -> None:
    tree = Site(volume="sf")
    subscribed(tree, "la")
    tree.be(ALICE)
    found = await tree.ask(GET, 0, {"client_instance_id": INSTANCE})
    assert (found.error_code, found.requested_metrics) == (0, ())
    assert found.client_instance_id == UUID(int=INSTANCE)
    new = await tree.ask(GET, 0, {"client_instance_id": 0})
    assert new.client_instance_id is not None
    answer = await tree.ask(PUSH, 0, {"client_instance_id": INSTANCE, "metrics": b"x"})
    assert answer.error_code == 0
