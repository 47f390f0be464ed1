"""What Java's clients push of themselves (KIP-714), as /metrics/clients shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dashboards import files
from dashboards.promql import read
from dashboards.queries import PUSHED
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.telemetry.store import LAST_SECONDS
from tests.live.support import clients, java_tools
from tests.live.support.steady_java_client import java_client

CLIENT_METRICS: Final = "org.apache.kafka.tools.ClientMetricsCommand"
FETCHES: Final = "org.apache.kafka.consumer.fetch.manager."
LAG: Final = "kafka_client_consumer_fetch_manager_records_lag_max"
LATENCY: Final = "kafka_client_producer_request_latency_avg"
SENT: Final = "kafka_client_producer_record_send_total"
HOMES: Final = ("pushes-a", "pushes-b", "pushes-c")
APP: Final = "app"
"""The client id of all clients here, of which nobody knows who else has it."""


class Series(NamedTuple):
    """A sample of /metrics/clients."""

    name: str
    labels: Mapping[str, str]
    value: float


@pytest.fixture(scope="module")
def served(kafka: KafkaCluster) -> Iterator[GatewayProcess]:
    listeners = [Listener(home, f"{home} is home", home=home) for home in HOMES]
    with GatewayProcess(kafka.bootstrap_servers, listeners, HOMES, workers=2) as process:
        for home in HOMES:
            clients.create(process.bootstrap_servers(home), "orders")
        yield process


def subscribe(servers: str, name: str, metrics: str) -> None:
    """Make a subscription as an operator does."""
    arguments = ("--alter", "--name", name, "--metrics", metrics, "--interval", "1000")
    java_tools.run(CLIENT_METRICS, servers, *arguments)


def shown(gateway: GatewayProcess) -> list[Series]:
    """All series of clients, as Prometheus' own client reads them."""
    status, text = gateway.get("/metrics/clients")
    assert status == 200
    assert "pushes-a.." not in text, "a flat name"
    return [
        Series(sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def of_home(gateway: GatewayProcess, home: str) -> list[Series]:
    return [one for one in shown(gateway) if one.labels["namespace"] == home]


def await_names(gateway: GatewayProcess, home: str, *names: str) -> list[Series]:
    """The series of a home, once each of these metrics is among them."""

    def found() -> list[Series]:
        series = of_home(gateway, home)
        return series if {*names} <= {one.name for one in series} else []

    return wait_until(found, f"{names} of {home}", clients.SECONDS)


def instances(series: list[Series]) -> set[str]:
    return {one.labels["client_instance_id"] for one in series}


@pytest.mark.long("kills")
def test_what_java_clients_push(served: GatewayProcess, tmp_path: Path) -> None:
    servers = {home: served.bootstrap_servers(home) for home in HOMES}
    first, second, third = HOMES
    subscribe(servers[first], "everything", "*")
    subscribe(servers[second], "fetches", FETCHES)
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                java_client(home, at, "orders", "readers", tmp_path, more={"client.id": APP})
            )
            for home, at in servers.items()
        ]
        for client in running:
            client.await_progress("records", "orders")
        everything = await_names(served, first, LAG, LATENCY, SENT)
        fetches = await_names(served, second, LAG)

        for series, home in ((everything, first), (fetches, second)):
            assert {one.labels["client_id"] for one in series} == {APP}
            assert {one.labels["principal"] for one in series} == {"User:ANONYMOUS"}
            assert {one.labels["listener"] for one in series} == {home}
            topics = {one.labels["topic"] for one in series if "topic" in one.labels}
            assert topics == {"orders"}, "topics have the clients' names"
            lag = [one for one in series if one.name == LAG]
            assert {one.labels.get("group_id") for one in lag} == {"readers"}
        # A producer and a consumer at one home; at the other one only the consumer has what is
        # subscribed, and no instance is of both.
        assert len(instances(everything)) == 2
        assert len(instances([one for one in fetches if one.name == LAG])) == 1
        assert not instances(everything) & instances(fetches)
        prefix = "kafka_client_consumer_fetch_manager_"
        assert {one.name for one in fetches if not one.name.startswith(prefix)} == set()
        sent = [one.value for one in everything if one.name == SENT]
        assert max(sent) >= 20
        # Nothing is asked of those who are subscribed to nothing.
        assert of_home(served, third) == []

        _check_panels(everything)

        served.kill()
        served.start_again()
        again = await_names(served, first, LAG, LATENCY)
        assert instances(again) == instances(everything), "they went on"

    # They have ended, and said so.
    wait_until(lambda: not shown(served), "the end of all series", clients.SECONDS)
    for client in running:
        client.check()
    gone = "kafka_gateway_client_telemetry_clients 0.0"
    wait_until(lambda: gone in served.metrics(), gone, LAST_SECONDS + clients.SECONDS)


def _check_panels(series: list[Series]) -> None:
    """Every query of the dashboards finds what clients push."""
    asked = [query.expression for query in files.panel_queries() if PUSHED in query.expression]
    assert asked
    for expression in asked:
        reading = read(expression)
        (selector,) = reading.selectors
        found = [one.labels for one in series if one.name == selector.metric]
        assert found, expression
        known = {label for labels in found for label in labels}
        assert reading.labels | {matcher.label for matcher in selector.matchers} <= known


def test_without_subscriptions_there_is_nothing(gateway: GatewayProcess) -> None:
    assert gateway.get("/metrics/clients") == (200, "")
