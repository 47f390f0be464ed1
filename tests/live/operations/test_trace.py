"""``kafka-gateway trace`` beside real clients: the requests that they send, and the decisions."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from devkit.gateway_process import GatewayProcess, gateway_command
from devkit.waiting import wait_until
from tests.live.support import clients

SECONDS = 120
TOPIC, FLAT = "team-a:traced", "team-a..traced"


def traced(gateway: GatewayProcess, client_id: str, api: str, work: Any) -> dict[str, Any]:
    """The one request that a trace shows of a client that works until then."""
    command = [gateway_command(), "trace", str(gateway.config_path), "--json", "--count", "1"]
    with subprocess.Popen(
        [*command, "--client-id", client_id, "--api", api], stdout=subprocess.PIPE, text=True
    ) as process:

        def shown() -> bool:
            work()
            return process.poll() is not None

        try:
            wait_until(shown, "the trace", SECONDS)
        finally:
            process.kill()  # does nothing if it has ended
        assert process.stdout is not None
        (request,) = json.loads(process.stdout.read())["requests"]
    assert process.returncode == 0
    assert request["client_id"] == client_id
    assert request["api"] == api
    return dict(request)


@pytest.fixture(scope="module")
def topic(gateway: GatewayProcess) -> str:
    clients.create(gateway.bootstrap_servers("colon"), TOPIC)
    return TOPIC


@pytest.mark.parametrize(("listener", "name"), [("colon", TOPIC), ("home-a", "traced")])
def test_a_producer(gateway: GatewayProcess, topic: str, listener: str, name: str) -> None:
    client_id = f"traced-{listener}"
    servers = gateway.bootstrap_servers(listener)
    request = traced(
        gateway,
        client_id,
        "Produce",
        lambda: clients.produce(servers, name, ["x"], client_id=client_id),
    )
    assert request["listener"] == listener
    (item,) = request["items"]
    assert (item["kind"], item["name"], item["at_broker"]) == ("topic", name, FLAT)
    assert request["outcomes"] == ["FORWARD"]
    assert request["errors"] == {}
    assert request["broker_seconds"] > 0


def test_an_unknown_namespace(gateway: GatewayProcess) -> None:
    client_id = "traced-unknown"
    settings = clients.settings(gateway.bootstrap_servers("colon"), client_id=client_id)
    admin = AdminClient(settings)
    request = traced(
        gateway,
        client_id,
        "Metadata",
        lambda: admin.list_topics("nowhere:t", timeout=30),
    )
    (item,) = [item for item in request["items"] if item["kind"] == "topic"]
    assert (item["name"], item["error"], item["rule"]) == (
        *("nowhere:t", "UNKNOWN_TOPIC_OR_PARTITION"),
        "namespace",
    )
