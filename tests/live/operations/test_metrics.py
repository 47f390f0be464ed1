"""The gateway's reports about itself: /metrics, /livez, /readyz and the traffic log."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka.cimpl import NewTopic
from prometheus_client.parser import text_string_to_metric_families

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, namespaces

RECORDS = 20
TOPIC, FLAT, GROUP = "team-a:measured", "team-a..measured", "measured-readers"
CLIENT_ID = "billing"
LISTENERS = (Listener("colon", "all"), Listener("home", "home", home="team-a"))

Labels = dict[str, str]


class Scrape:
    """A response of /metrics."""

    def __init__(self, text: str) -> None:
        families = text_string_to_metric_families(text)
        self._samples = [sample for family in families for sample in family.samples]

    def sum(self, name: str, **labels: str) -> float:
        """The sum of all samples of that name with these labels."""
        return sum(
            sample.value
            for sample in self._samples
            if sample.name == f"kafka_gateway_{name}" and labels.items() <= sample.labels.items()
        )

    def labels(self, name: str) -> list[Labels]:
        """The labels of every sample of that name."""
        return [s.labels for s in self._samples if s.name == f"kafka_gateway_{name}"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traffic")


@pytest.fixture(scope="module")
def gateway(kafka: KafkaCluster, directory: Path) -> Iterator[GatewayProcess]:
    """A gateway with two workers, whose counts are summed.

    There has been a producer, a group and two rejections.
    """
    overrides = {"traffic_log": {"directory": str(directory), "window_seconds": 1}}
    process = GatewayProcess(
        kafka.bootstrap_servers, LISTENERS, ["team-a"], workers=2, overrides=overrides
    )
    with process:
        _work(process, kafka)
        yield process


def _work(gateway: GatewayProcess, kafka: KafkaCluster) -> None:
    servers = gateway.bootstrap_servers("colon")
    clients.create(servers, TOPIC)
    clients.await_stored(kafka, FLAT)
    values = [f"{n:04}" + "x" * 996 for n in range(RECORDS)]
    clients.produce(servers, TOPIC, values, client_id=CLIENT_ID, acks="all")
    assert clients.consume(servers, TOPIC, RECORDS, GROUP, client_id="reader") == values
    for topic in ("nowhere:orders", "nowhere:other"):
        future = clients.admin(servers).create_topics([NewTopic(topic, 1)])[topic]
        assert clients.error_code(future) == clients.INVALID_TOPIC_EXCEPTION


def test_metrics(gateway: GatewayProcess) -> None:
    def counted() -> Scrape | None:
        """The counts, once connections are counted: the producer's, the reader's, the admins'."""
        scrape = Scrape(gateway.fresh_metrics())
        both = [
            scrape.sum("records_total", api=api, namespace="team-a") >= RECORDS
            for api in ("Produce", "Fetch")
        ]
        return scrape if all(both) and scrape.sum("denials_total") >= 2 else None

    scrape = wait_until(counted, "the counts of both workers", clients.SECONDS)
    assert scrape is not None
    assert scrape.sum("records_total", namespace="team-a", api="Produce") == RECORDS
    produce = {"namespace": "team-a", "api": "Produce"}
    assert 1 <= scrape.sum("requests_total", **produce) <= RECORDS
    assert {labels["version"] for labels in scrape.labels("requests_total")} >= {"13"} | set()
    for direction in ("in", "out"):
        assert scrape.sum("bytes_total", namespace="team-a", direction=direction) >= RECORDS * 1000
    assert scrape.sum("denials_total", rule="namespace") == 2
    assert scrape.sum("errors_total", error="INVALID_TOPIC_EXCEPTION", api="CreateTopics") == 2
    requests = scrape.sum("requests_total", api="Produce")
    for histogram in ("gateway_seconds", "broker_seconds"):
        assert scrape.sum(f"{histogram}_count", api="Produce") == requests
    assert scrape.sum("connections_total", listener="colon") >= 3
    assert scrape.sum("open_connections", listener="colon") >= 1
    assert scrape.sum("open_connections", listener="home") == 0
    assert scrape.sum("cluster_reachable") == 1
    assert {labels["worker"] for labels in scrape.labels("worker_resident_bytes")} == {"0", "1"}


def test_health(gateway: GatewayProcess) -> None:
    for path in ("/livez", "/readyz"):
        status, body = gateway.get(path)
        assert (status, json.loads(body)) == (200, {"status": "ok", "problems": []})
    assert gateway.get("/nothing")[0] == 404


@pytest.mark.long("kills")
def test_not_ready_without_a_cluster() -> None:
    """A gateway that cannot reach its cluster lives, and is ready again once it can."""
    with KafkaCluster() as kafka:
        listeners = LISTENERS[:1]
        with GatewayProcess(kafka.bootstrap_servers, listeners, ["team-a"]) as process:
            kafka.stop_broker(1)
            _await_status(process, 503)
            assert process.get("/livez")[0] == 200
            assert "not known to be reachable" in process.get("/readyz")[1]
            wait_until(
                lambda: Scrape(process.metrics()).sum("cluster_reachable") == 0,
                "the metric",
                clients.SECONDS,
            )
            kafka.restart_broker(1)
            _await_status(process, 200)
            assert json.loads(process.get("/readyz")[1]) == {"status": "ok", "problems": []}


def test_traffic_log(gateway: GatewayProcess, directory: Path) -> None:
    """Flow and denial records, in files that can be read while they grow."""

    def complete() -> bool:
        records = _records(directory)
        produced = sum(r.get("records", 0) for r in records if r.get("client_id") == CLIENT_ID)
        given = sum(r.get("records_out", 0) for r in records if r.get("client_id") == "reader")
        denials = [r for r in records if r["kind"] == "denial"]
        return min(produced, given) >= RECORDS and len(denials) >= 2

    wait_until(complete, "the records of both workers", clients.SECONDS)
    records = _records(directory)
    produced = [r for r in records if (r.get("client_id"), r.get("api")) == (CLIENT_ID, "Produce")]
    assert sum(r["records"] for r in produced) == RECORDS
    assert sum(r["acks_all"] for r in produced) == sum(r["requests"] for r in produced)
    for record in produced:
        assert (record["namespace"], record["logical_topic"]) == ("team-a", TOPIC)
        assert record["flat_topic"] == FLAT
        assert record["software_name"] == "confluent-kafka-python"
        assert record["listener"] == "colon"
        assert record["client_address"] == "127.0.0.1"
        assert sum(record["gateway_us_quarters"].values()) == sum(
            record["broker_us_quarters"].values()
        )
        assert sum(record["gateway_us_quarters"].values()) == record["led_requests"]
    read = [r for r in records if (r.get("client_id"), r.get("api")) == ("reader", "Fetch")]
    assert {r["flat_topic"] for r in read} >= {FLAT}
    assert sum(r["bytes_out"] for r in read if r["flat_topic"] == FLAT) >= RECORDS * 1000
    assert sum(r["records_out"] for r in read if r["flat_topic"] == FLAT) >= RECORDS
    assert len({r["id"] for r in records}) == len(records)
    denials = [r for r in records if r["kind"] == "denial"]
    assert {r["resource"] for r in denials} == {"nowhere:orders", "nowhere:other"}
    for denial in denials:
        assert (denial["rule"], denial["error"]) == ("namespace", "INVALID_TOPIC_EXCEPTION")
        assert "namespace 'nowhere' does not exist" in denial["message"]
    assert {r["worker_id"] for r in records} <= {0, 1}


def test_who_would_be_locked_out(gateway: GatewayProcess, directory: Path, tmp_path: Path) -> None:
    """``check --cluster --dry-run`` of the running gateway's file with authorization.

    It lists all operations of the producer and the readers, by the traffic log and by a group with
    a member.
    """

    def is_logged() -> bool:
        seen = {(r.get("api"), r.get("logical_topic")) for r in _records(directory)}
        return {("Produce", TOPIC), ("Fetch", TOPIC)} <= seen

    with clients.consumer(gateway.bootstrap_servers("home"), "members") as member:
        member.subscribe(["measured"])
        clients.take(member, RECORDS)
        member.commit(asynchronous=False)
        wait_until(is_logged, "the records of both", clients.SECONDS)
        content = yaml.safe_load(gateway.config_path.read_text())
        denied, warnings = _locked_out(tmp_path, {**content, "authorization": {}})
        may_all = {"super.users": ["User:ANONYMOUS"]}
        allowed, _ = _locked_out(tmp_path, {**content, "authorization": may_all})
    assert {
        ("User:ANONYMOUS", "colon", "WRITE", "TOPIC", TOPIC),
        ("User:ANONYMOUS", "colon", "READ", "TOPIC", TOPIC),
        ("User:ANONYMOUS", None, "READ", "GROUP", "team-a:members"),
        ("User:ANONYMOUS", None, "READ", "TOPIC", TOPIC),
    } <= denied
    assert any("WRITE TOPIC team-a:measured" in one for one in warnings)
    assert allowed == set()


def _locked_out(directory: Path, content: Any) -> tuple[set[tuple[Any, ...]], list[str]]:
    """The denials that the command lists for a configuration, and its warnings."""
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(content))
    said = json.loads(
        namespaces.attempt("check", "--cluster", "--dry-run", "--json", str(path)).out
    )
    keys = ("principal", "listener", "operation", "resource_type", "name")
    found = {tuple(one[key] for key in keys) for one in said["cluster"]["lock_out"]["denied"]}
    return found, said["warnings"]


def _await_status(gateway: GatewayProcess, status: int) -> None:
    wait_until(lambda: gateway.get("/readyz")[0] == status, f"{status} from /readyz", 120)


def _records(directory: Path) -> list[dict[str, Any]]:
    """All records: of files that are still being written and of compressed files."""
    records = []
    for path in sorted(directory.glob("*.jsonl*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        records += [json.loads(line) for line in whole.splitlines()]
    return records
