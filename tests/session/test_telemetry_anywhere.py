"""GetTelemetrySubscriptions and PushTelemetry where a client may be besides a broker's address: at
a gateway's own node, and at a gateway that drains (KIP-714)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.apis.table import put_around
from gateway.catalog.entities import ClientMetrics, Member
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.fleet.node_handlers import AROUND
from gateway.telemetry.telemetry import Telemetry
from protocol import messages
from tests.scenarios.entities import entity
from tests.session.pair import Pair
from tests.telemetry.payloads import gauge, point, pushed

GET, PUSH = "GetTelemetrySubscriptions", "PushTelemetry"
INSTANCE = UUID(int=5)
ALL_ID = 848016060
"""By Kafka's formula (tests/scenarios/get_telemetry_subscriptions.yaml)."""


def at_own_node() -> Pair:
    pair = Pair()
    pair.log.append([Member("gw-a", 1, {"test": "a.example:9201"})])
    put_around(AROUND)
    pair.worker.listed_gateways = GatewayNodes("gw-a", ["test"]).at
    pair.session.state.on_gateway_node = True
    return pair


def draining() -> Pair:
    pair = Pair()
    pair.session.leave()
    return pair


@pytest.fixture(params=[Pair, at_own_node, draining], ids=["a broker", "own node", "draining"])
def pair(request: pytest.FixtureRequest) -> Pair:
    made: Pair = request.param()
    made.worker.telemetry = Telemetry()
    return made


def answer(pair: Pair, api: str, **values: object) -> Any:
    """The response, which no broker has a part in."""
    values = {"client_instance_id": INSTANCE.int, **values}
    asked = entity(messages.message_class(f"{api}Request", 0), values)
    assert pair.ask(api, 0, asked) is None
    return pair.answer(api, 0)


def test_nothing_is_subscribed(pair: Pair) -> None:
    found = answer(pair, GET)
    assert (found.error_code, found.client_instance_id) == (0, INSTANCE)
    assert (found.requested_metrics, found.push_interval.total_seconds()) == ((), 300)


def test_what_is_subscribed_is_pushed_and_kept(pair: Pair) -> None:
    pair.log.append([ClientMetrics("all", {"metrics": "*", "interval.ms": "1000"})])
    pair.catalog_changed()
    found = answer(pair, GET)
    assert (found.error_code, found.subscription_id) == (0, ALL_ID)
    assert found.requested_metrics == ("*",)
    metrics = pushed(gauge("g", point(1.0)))
    kept = answer(pair, PUSH, subscription_id=ALL_ID, metrics=metrics)
    assert kept.error_code == 0
    assert [list(one.families) for one in pair.worker.telemetry.store.tell()] == [
        ["g:kafka_client_g"]
    ]
    last = answer(pair, PUSH, subscription_id=ALL_ID, metrics=metrics, terminating=True)
    assert last.error_code == 0
