"""bench.targets: the name of each, and its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bench.targets import kroxylicious
from bench.targets.direct import Direct
from bench.targets.gateway import gateway_with_names, gateway_with_topic_ids
from bench.targets.haproxy import HAProxy, haproxy_config
from bench.targets.listening import accepts
from bench.targets.target import TargetError, Versions, port_of
from bench.wire import TARGETS
from devkit.ports import free_port
from tests.bench.scripted_server import echo, scripted_server


def test_direct_is_the_broker_and_costs_nothing() -> None:
    target = Direct()
    target.start("127.0.0.1:9092")
    assert (target.port, target.leader_port(9092), target.processes()) == (9092, 9092, [])
    assert target.topic("bulk") == "direct-bulk"


def test_haproxy_leads_to_the_broker_whatever_brokers_say_of_themselves() -> None:
    text = haproxy_config("127.0.0.1:9092", 7777)
    assert "nbthread 1\n" in text
    assert "mode tcp\n" in text
    assert "bind 127.0.0.1:7777\n" in text
    assert "server broker 127.0.0.1:9092\n" in text
    target = HAProxy(Path("/nowhere"))
    assert target.leader_port(9092) == target.port


def test_a_missing_haproxy_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path))
    with pytest.raises(TargetError, match="apt-get install haproxy"):
        HAProxy(tmp_path).start("127.0.0.1:9092")


def test_kroxylicious_has_one_tenant() -> None:
    config = kroxylicious.configuration("127.0.0.1:9092", 5000)
    (cluster,) = config["virtualClusters"]
    (gateway,) = cluster["gateways"]
    assert cluster["targetCluster"] == {"bootstrapServers": "127.0.0.1:9092"}
    assert gateway["portIdentifiesNode"]["bootstrapAddress"] == "127.0.0.1:5000"
    assert [entry["type"] for entry in config["filterDefinitions"]] == ["MultiTenant"]
    assert yaml.safe_load(yaml.safe_dump(config)) == config


def test_the_gateway_is_measured_with_ids_and_with_names() -> None:
    ids, names = gateway_with_topic_ids(), gateway_with_names()
    assert (ids.versions, names.versions) == (Versions(13, 15), Versions(12, 12))
    assert (ids.topic("bulk"), names.topic("bulk")) == (
        "team-a:gateway-ids-bulk",
        "team-a:gateway-names-bulk",
    )
    assert ids.leader_port(4711) == 4711


def test_targets_go_by_their_names(tmp_path: Path) -> None:
    assert {name: make(tmp_path).name for name, make in TARGETS.items()} == {
        name: name for name in TARGETS
    }


def test_accepts() -> None:
    assert not accepts(free_port())
    with scripted_server(echo(b"")) as served:
        assert accepts(served.port)


def test_port_of() -> None:
    assert port_of("[::1]:9092") == 9092
