"""gateway.config_file.rules: ports that meet, homes, names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.config.errors import key_text
from gateway.config.models import Listener, MetricsSettings, TrafficLogSettings
from gateway.config.security import AuditSettings
from gateway.config_file.parts import ClusterParts, Parts
from gateway.config_file.rules import cross_problems, hosts_overlap, port_claims
from gateway.node_ids import NodeIdRanges
from tests.config import config_samples
from tests.tls.pki import Pki

# These are addresses in texts here; no code binds to them.
EVERY = "0.0.0.0"  # noqa: S104


def told(
    *listeners: dict[str, Any],
    metrics: int = 9404,
    namespaces: tuple[str, ...] | None = ("org:apache",),
    node_ids: list[str] | None = None,
    audit_topic: str | None = None,
    authorizes: bool = False,
    traffic_log: dict[str, Any] | None = None,
) -> list[str]:
    parts = Parts(
        {0: ClusterParts("main", NodeIdRanges.parse(node_ids or ["1-3"]))},
        namespaces,
        {index: Listener(**listener) for index, listener in enumerate(listeners)},
        MetricsSettings(port=metrics),
        AuditSettings(topic=audit_topic),
        authorizes,
        traffic_log=TrafficLogSettings(**(traffic_log or {})),
    )
    return [f"{key_text(problem.key)}: {problem.text}" for problem in cross_problems(parts)]


def test_nothing_is_wrong_with_neighbours() -> None:
    ports = [{"name": f"l{base}", "port": base} for base in (9000, 9004, 9008)]
    assert told(*ports, metrics=9012) == []


def test_claims(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    (listener,) = config.listeners
    claims = port_claims(Parts.of(config))
    assert [(claim.first, claim.last, key_text(claim.key)) for claim in claims] == [
        (listener.port, listener.port, "listeners[0].port"),
        (listener.port + 1, listener.port + 3, "listeners[0].broker_base_port"),
        (config.metrics.port, config.metrics.port, "metrics.port"),
    ]


def test_a_bootstrap_port_among_the_own_broker_ports() -> None:
    assert told({"name": "a", "port": 9001, "broker_base_port": 9000}) == [
        "listeners[0].broker_base_port: the broker ports of listener 'a' (9000-9002) and the "
        "bootstrap port of listener 'a' (9001) overlap; move one of them"
    ]


def test_broker_ports_of_two_listeners() -> None:
    one = {"name": "a", "port": 8000, "broker_base_port": 9000}
    other = {"name": "b", "port": 8001, "broker_base_port": 9002}
    assert told(one, other) == [
        "listeners[1].broker_base_port: the broker ports of listener 'b' (9002-9004) and the "
        "broker ports of listener 'a' (9000-9002) overlap; move one of them"
    ]


def test_the_metrics_port() -> None:
    assert told({"name": "a", "port": 9000}, metrics=9003) == [
        "metrics.port: the metrics port (9003) and the broker ports of listener 'a' (9001-9003) "
        "overlap; move one of them"
    ]


def test_ports_may_be_shared_by_different_addresses() -> None:
    one = {"name": "a", "port": 9000, "bind": "10.0.0.1"}
    other = {"name": "b", "port": 9000, "bind": "10.0.0.2"}
    assert told(one, other) == []


def test_but_not_what_clients_are_told() -> None:
    one = {"name": "a", "port": 9000, "bind": "10.0.0.1", "advertised_host": "Kafka.example"}
    other = {"name": "b", "port": 9000, "bind": "10.0.0.2", "advertised_host": "kafka.example"}
    assert told(one, other) == [
        "listeners[1].broker_base_port: the broker ports of listener 'a' (9001-9003) are "
        "advertised at 'kafka.example' too; choose another base port"
    ]


def named(name: str, port: int, pki: Pki, **more: Any) -> dict[str, Any]:
    """A listener whose brokers have names: a single port."""
    names = {"advertised_host": "kafka.example", "broker_names": "b-{node_id}.kafka.example"}
    tls = {"security_protocol": "SSL", "tls": pki.listener()}
    return {"name": name, "port": port, **tls, **names, **more}


def test_brokers_with_names_have_no_ports(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    assert told(named("a", 9000, pki), {"name": "b", "port": 9001}) == []
    assert told(named("a", 65_535, pki)) == []
    assert told(named("a", 9002, pki), {"name": "b", "port": 9001}) == [
        "listeners[1].broker_base_port: the broker ports of listener 'b' (9002-9004) and the "
        "bootstrap port of listener 'a' (9002) overlap; move one of them"
    ]


def test_names_are_not_advertised_twice(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    one = named("a", 9000, pki, bind="10.0.0.1")
    assert told(one, named("b", 9000, pki, bind="10.0.0.2")) == [
        "listeners[1].port: the bootstrap port of listener 'a' (9000) is advertised at "
        "'b-{node_id}.kafka.example' too; choose another port"
    ]
    assert told(one, named("b", 9001, pki, bind="10.0.0.2")) == []
    other = named("b", 9000, pki, bind="10.0.0.2", broker_names="c-{node_id}.kafka.example")
    assert told(one, other) == []


def test_ports_beyond_the_last_one() -> None:
    assert told({"name": "a", "port": 65_533}, node_ids=["1-3"]) == [
        "listeners[0].broker_base_port: the broker ports of listener 'a' (65534-65536), one for "
        "each place in node_ids, go beyond 65535; choose a lower base port or fewer node_ids"
    ]
    assert told({"name": "a", "port": 65_532}, node_ids=["1-3"]) == []


def test_names_of_listeners_are_not_used_twice() -> None:
    assert told({"name": "a", "port": 9000}, {"name": "a", "port": 9100}) == [
        "listeners[1].name: 'a' is the name of listeners[0] too; choose another"
    ]


def test_homes() -> None:
    listeners = [
        {"name": "a", "port": 9000, "home": "org"},
        {"name": "b", "port": 9100, "home": "org:apach"},
        {"name": "c", "port": 9200, "home": "zzz"},
        {"name": "d", "port": 9300, "escape": True},
    ]
    assert told(*listeners) == [
        "listeners[1].home: 'org:apach' is not among the namespaces; did you mean 'org:apache'?",
        "listeners[2].home: 'zzz' is not among the namespaces; add it there",
        "listeners[3].escape: means nothing without a home; remove it or give home",
    ]


def test_homes_are_not_judged_by_namespaces_that_could_not_be_read() -> None:
    assert told({"name": "a", "port": 9000, "home": "org"}, namespaces=None) == []


@pytest.mark.parametrize("host", [EVERY, "::"])
def test_a_wildcard_cannot_be_advertised(host: str) -> None:
    (problem,) = told({"name": "a", "port": 9000, "bind": host})
    assert problem.startswith(f"listeners[0].advertised_host: '{host}' is every address of this")
    assert told({"name": "a", "port": 9000, "bind": host, "advertised_host": "gw"}) == []


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
        (EVERY, "127.0.0.2", True),
        ("::", "::1", True),
        ("::", EVERY, False),
        ("localhost", "127.0.0.1", True),
        ("Gw.example", "gw.example", True),
        ("gw.example", "other.example", False),
        ("gw.example", EVERY, True),
    ],
)
def test_addresses_that_cannot_share_a_port(one: str, other: str, overlap: bool) -> None:
    assert hosts_overlap(one, other) is overlap
    assert hosts_overlap(other, one) is overlap


def test_an_audit_topic_that_clients_would_reach_needs_authorization() -> None:
    assert told(audit_topic="audit") == [
        "audit.topic: 'audit' could be read and written by every client, as there is no "
        "authorization; call it __kafka_gateway_audit, which no client reaches, or give "
        "authorization"
    ]
    assert told(audit_topic="audit", authorizes=True) == []
    assert told(audit_topic="__kafka_gateway_audit") == []
    assert told(audit_topic=None) == []
    assert told(traffic_log={"topic": "traffic"}) == [
        "traffic_log.topic: 'traffic' could be read and written by every client, as there is no "
        "authorization; call it __kafka_gateway_traffic, which no client reaches, or give "
        "authorization"
    ]
    assert told(traffic_log={"topic": "__kafka_gateway_traffic"}) == []


def test_a_traffic_log_without_a_place() -> None:
    problem = "traffic_log: has neither a directory nor a topic; give one, or enabled: false"
    assert told(traffic_log={"directory": None}) == [problem]
    assert told(traffic_log={"directory": None, "enabled": False}) == []
    assert told(traffic_log={"directory": None, "topic": "__kafka_gateway_traffic"}) == []
