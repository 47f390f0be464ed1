"""The metrics, the traffic log and the audit log agree about a namespace's counts.

They count requests that a gateway denies, answers and executes under its namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.traffic_sums import Counts, of_metrics, of_records, read_files
from devkit.waiting import wait_until
from tests.live.operations import audited
from tests.live.support import clients

NAMESPACE: Final = "counted"
TOPIC, FLAT = f"{NAMESPACE}:orders", f"{NAMESPACE}..orders"
POLICIES: Final = {
    "namespaces": {NAMESPACE: {"partitions": {"max": 4}, "producer": {"acks": "require"}}}
}
RECORDS, WEAK = 5, 3


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counted")


@pytest.fixture(scope="module")
def gateway(kafka: KafkaCluster, directory: Path) -> Iterator[GatewayProcess]:
    """A gateway with two workers, after topics and records, some of them denied."""
    overrides = {
        "traffic_log": {"directory": str(directory / "traffic"), "window_seconds": 1},
        "audit": {"directory": str(directory / "audit")},
        "policies": POLICIES,
    }
    process = GatewayProcess(
        kafka.bootstrap_servers,
        [Listener("colon", "all")],
        [NAMESPACE],
        workers=2,
        overrides=overrides,
    )
    with process:
        _work(process.bootstrap_servers("colon"), kafka)
        yield process


def _work(servers: str, kafka: KafkaCluster) -> None:
    clients.create(servers, TOPIC)
    clients.await_stored(kafka, FLAT)
    for topic, partitions in ((f"{NAMESPACE}:wide", 9), ("nowhere:x", 1)):
        future = clients.admin(servers).create_topics([NewTopic(topic, partitions)])[topic]
        clients.error_code(future)
    clients.produce(servers, TOPIC, ["x"] * RECORDS, acks="all")
    codes: list[int] = []
    weak = Producer(clients.settings(servers, linger_ms=0, acks=1, enable_idempotence=False))
    for _ in range(WEAK):  # each in a request of its own
        weak.produce(
            TOPIC, "x", partition=0, on_delivery=lambda e, _: codes.append(e.code() if e else 0)
        )
        assert weak.flush(clients.SECONDS) == 0
    assert codes == [KafkaError.POLICY_VIOLATION] * WEAK


@pytest.fixture(scope="module")
def counts(gateway: GatewayProcess, directory: Path) -> Counts:
    """The metrics, once the traffic log has written as much."""

    def agreed() -> Counts | None:
        # Both must be complete: otherwise they agree on a worker's report before the other reports.
        metrics = of_metrics(gateway.fresh_metrics())
        same = metrics == of_records(read_files(directory / "traffic"))
        produced = metrics["records_total", NAMESPACE, "Produce"] == RECORDS
        return metrics if same and produced else None

    agreed_on = wait_until(agreed, "metrics that are those of the traffic log", clients.SECONDS)
    assert agreed_on is not None
    return agreed_on


def test_denials_count_under_the_namespace_that_they_concern(counts: Counts) -> None:
    assert counts["errors_total", NAMESPACE, "Produce", "POLICY_VIOLATION"] == WEAK
    assert counts["errors_total", NAMESPACE, "CreateTopics", "POLICY_VIOLATION"] == 1
    of_none = {key: n for key, n in counts.items() if key[:2] == ("errors_total", "(none)")}
    # A namespace that the catalog does not have is no label.
    assert {key[2] for key in of_none} == {"CreateTopics"}
    assert sum(of_none.values()) == 1
    requests = Counter[str]()
    for (name, *labels), count in counts.items():
        if name == "requests_total" and labels[1] == "CreateTopics":
            requests[labels[0]] += count
    assert requests == {NAMESPACE: 2, "(none)": 1}


def test_the_audit_log_has_each_denial(counts: Counts, directory: Path) -> None:
    denials = {key[1]: n for key, n in counts.items() if key[0] == "denials_total"}
    events = audited.await_events(
        directory, lambda e: e["type"] == "kafka.gateway.access.denied", "denials", WEAK + 2
    )
    assert Counter(event["data"]["rule"] for event in events) == denials
    weak = [e["data"] for e in events if e["data"]["rule"] == "producer_guarantee"]
    named = {(data["operation"], data["resource_type"], data["resource"]) for data in weak}
    assert (len(weak), named) == (WEAK, {("WRITE", "TOPIC", TOPIC)})


def test_brokers_time_is_of_what_took_them_time(counts: Counts) -> None:
    """A denied Produce takes no broker time: it is only in the gateway's histogram."""
    produced = sum(
        n for key, n in counts.items() if key[0] == "requests_total" and key[2] == "Produce"
    )
    assert counts["gateway_seconds_count", "Produce"] == produced
    assert counts["broker_seconds_count", "Produce"] == produced - WEAK
    assert counts["broker_seconds_count", "CreateTopics"] == 3  # executed, successfully or not
