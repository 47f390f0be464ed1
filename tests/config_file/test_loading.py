"""gateway.config_file.loading, gateway.config.models: the valid content of a file, and its
errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from gateway.config.addresses import Address, parse_address
from gateway.config.errors import Problem
from gateway.config.models import Config
from gateway.config.policies import PolicyBlock
from gateway.config_file.loading import load_file
from gateway.page.passwords import password_line
from tests.config_file.written import MINIMAL, load, rejections, rejections_with

EXAMPLES = Path(__file__).parents[2] / "config"


def test_defaults(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL)
    (cluster,) = config.clusters
    (listener,) = config.listeners
    assert cluster.bootstrap_servers == (("broker-1", 9092), ("::1", 9093))
    assert cluster.node_ids == ("1-3", "10")
    assert (listener.bind, listener.advertised_host) == ("127.0.0.1", "127.0.0.1")
    assert listener.broker_base_port == 9193
    assert (listener.spelling, listener.home, listener.escape) == ("colon", None, False)
    assert (listener.list_namespaces, listener.list_subtree) == (False, None)
    assert (config.catalog.max_staleness, config.catalog.replication_factor) == (60, -1)
    assert (config.namespaces, config.workers, config.drain_seconds) == ((), 1, 10)
    assert config.max_request_bytes == 100 * 1024 * 1024
    assert (config.metrics.host, config.metrics.port) == ("127.0.0.1", 9404)
    assert config.traffic_log.enabled
    assert (config.audit.directory, config.audit.topic) == (None, None)
    assert config.gateway_id


def test_everything_can_be_set(tmp_path: Path) -> None:
    text = (
        MINIMAL
        + """\
    bind: 10.0.0.1
    advertised_host: kafka.example
    broker_base_port: 9300
    spelling: legal
    home: org:apache
    escape: true
    list_namespaces: true
    list_subtree: false
    gateway_port: 9400
    max.connections: 1000
    max.connections.per.ip: 0
    max.connections.per.ip.overrides: {192.0.2.7: 20, "2001:DB8::7": 30}
    max.connection.creation.rate: 40
gateway_id: gw-1
namespaces: ["org:apache:kafka"]
workers: 2
socket.request.max.bytes: 2048
drain_seconds: 1.5
catalog:
  max_staleness: 1
  replication_factor: 32767
  security: {protocol: SSL}
  key_file: KEYS
metrics:
  host: 127.0.0.2
  port: 9405
  max_connections: 6
  max_namespaces: 5
  page: true
  fleet_url: "https://{gateway_id}.example"
  auth: {passwords: PASSWORDS, token: {file: TOKEN}}
traffic_log:
  {enabled: false, directory: /log, window_seconds: 2, max_file_bytes: 5000, max_files: 3,
   max_queued_records: 100}
audit:
  {directory: /audit, topic: __kafka_gateway_audit-1, max_file_bytes: 5000, max_files: 3,
   max_queued_events: 100}
log: {format: json}
"""
    )
    keys = tmp_path / "keys"
    keys.write_text(f"k1 {'11' * 32}\n")
    passwords, token = tmp_path / "passwords", tmp_path / "token"
    passwords.write_text(f"{password_line('alice', 'correct horse')}\n")
    token.write_text("0123456789abcdef\n")
    files = {"KEYS": keys, "PASSWORDS": passwords, "TOKEN": token}
    for name, path in files.items():
        text = text.replace(name, str(path))
    config = load(tmp_path, text)
    listener = config.listeners[0]
    assert listener.model_dump() == {
        "name": "colon",
        "bind": "10.0.0.1",
        "port": 9192,
        "advertised_host": "kafka.example",
        "broker_base_port": 9300,
        "spelling": "legal",
        "home": "org:apache",
        "escape": True,
        "list_namespaces": True,
        "list_subtree": False,
        "volume": None,
        "reach": None,
        "list_tree": False,
        "security_protocol": "PLAINTEXT",
        "tls": None,
        "sasl": None,
        "broker_names": None,
        "gateway_port": 9400,
        "gateway_name": None,
        "max_connections": 1_000,
        "max_connections_per_ip": 0,
        "max_connections_per_ip_overrides": {"192.0.2.7": 20, "2001:db8::7": 30},
        "max_connection_creation_rate": 40,
    }
    assert (config.gateway_id, config.workers, config.max_request_bytes) == ("gw-1", 2, 2048)
    assert config.drain_seconds == 1.5
    assert (config.catalog.max_staleness, config.catalog.replication_factor) == (1, 32_767)
    assert config.catalog.security is not None
    assert config.catalog.security.protocol == "SSL"
    assert config.catalog.key_file == keys
    assert config.metrics.model_dump() == {
        "host": "127.0.0.2",
        "port": 9405,
        "max_connections": 6,
        "max_namespaces": 5,
        "page": True,
        "fleet_url": "https://{gateway_id}.example",
        "auth": {"passwords": passwords, "token": {"file": token, "env": None}},
    }
    assert config.log.format == "json"
    assert config.traffic_log.directory == Path("/log")
    assert config.audit.model_dump() == {
        "directory": Path("/audit"),
        "topic": "__kafka_gateway_audit-1",
        "max_file_bytes": 5_000,
        "max_files": 3,
        "max_queued_events": 100,
    }
    assert Config.from_json(config.to_json()) == config


def test_every_problem_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    text = """\
clusters:
  - name: main
    bootstrap_server: [a:1]
    node_ids: ["3-1"]
namespaces: [team-a, "te am"]
listner: 1
listeners:
  - name: a
    port: 9192
    home: team-b
  - name: a
    port: 9190
    spelling: blue
  - name: c
    port: 0
workers: yes
metrics:
  port: 9192
"""
    assert rejections(tmp_path, text) == [
        "2: clusters[0].bootstrap_servers: is missing; add it",
        "3: clusters[0].bootstrap_server: unknown key 'bootstrap_server'; "
        "did you mean 'bootstrap_servers'?",
        '4: clusters[0].node_ids: node_ids 3-1 is reversed; write it like ["1-3", 10]',
        "5: namespaces[1]: tier 'te am' of namespace 'te am' is not one or more of "
        "[a-zA-Z0-9.-]; write it like org:apache:kafka",
        "6: listner: unknown key 'listner'; did you mean 'listeners'?",
        "13: listeners[1].spelling: must be 'colon', 'legal' or 'slash', not 'blue'; choose one",
        "15: listeners[2].port: port 0 is any port, but clients must be told which; choose one",
        "16: workers: must be a whole number, not true; write it without quotes",
        "18: metrics.port: the metrics port (9192) and the bootstrap port of listener 'a' (9192) "
        "overlap; move one of them",
    ]


def test_keys_that_were_removed_say_what_to_do_instead(tmp_path: Path) -> None:
    text = MINIMAL + "    mirrors: {B: from-b}\n    mirror_separator: _\n"
    line = MINIMAL.count("\n") + 1
    assert rejections(tmp_path, text) == [
        f"{line}: listeners[0].mirrors: was removed; take it out: A.team-a:orders is the topic"
        " orders of a namespace A.team-a now, so create that and move the copies there"
        " (CHANGELOG.md; docs/mirrormaker.md)",
        f"{line + 1}: listeners[0].mirror_separator: was removed with mirrors; take it out",
    ]
    # In other places they were never keys.
    assert "unknown key 'mirrors'" in rejections(tmp_path, MINIMAL + "mirrors: {}\n")[0]


def test_a_file_without_anything_needed(tmp_path: Path) -> None:
    assert rejections(tmp_path, "workers: 1") == [
        "1: clusters: is missing; add it",
        "1: listeners: is missing; add it",
    ]


@pytest.mark.parametrize(
    ("overrides", "rejection"),
    [
        ({"workers": 0}, "workers: must be at least 1, not 0; raise it"),
        ({"workers": 257}, "workers: must be at most 256, not 257; lower it"),
        ({"workers": "2"}, "workers: must be a whole number, not '2'; write it without quotes"),
        ({"drain_seconds": -1}, "drain_seconds: must be at least 0, not -1; raise it"),
        ({"drain_seconds": "x"}, "drain_seconds: must be a number, not 'x'; write it without quo"),
        ({"drain_seconds": float("nan")}, "drain_seconds: input should be a finite number"),
        ({"namespaces": [12]}, "namespaces[0]: must be text, not 12; put it in quotes"),
        ({"namespaces": "team-a"}, "namespaces: must be a list, not 'team-a'; write it like [a, b"),
        ({"namespaces": ["a:"]}, "namespaces[0]: tier '(empty)' of namespace 'a:' is not"),
        ({"namespaces": ["a" * 247]}, f"namespaces[0]: '{'a' * 247}' leaves none of Kafka's 249"),
        ({"listeners": []}, "listeners: is an empty list; add an item"),
        ({"listeners": {"a": 1}}, "listeners: must be a list, not keys and values; write it like"),
        ({"listeners": [1]}, "listeners[0]: must hold keys of its own, not 1; indent them"),
        ({"metrics": None}, "metrics: must hold keys of its own, not nothing; indent them"),
        ({"metrics": {"host": ""}}, "metrics.host: is empty; give it or leave it out"),
        ({"metrics": {"host": "h" * 254}}, "metrics.host: has over 253 characters; shorten it"),
        ({"metrics": {"port": 65536}}, "metrics.port: port 65536 is not within 1-65535; choose an"),
        (
            {"traffic_log": {"enabled": "on"}},
            "traffic_log.enabled: must be true or false, not 'on'",
        ),
        ({"traffic_log": {"directory": 5}}, "traffic_log.directory: must be a path, not 5; put it"),
        (
            {"traffic_log": {"topic": "__kafka_gateway_audit"}},
            "traffic_log.topic: '__kafka_gateway_audit' is not for the traffic log; write it like",
        ),
        ({"audit": {"topic": "a:b"}}, "audit.topic: topic name 'a:b' holds characters other than"),
        ({"audit": {"topic": ""}}, "audit.topic: topic name '(empty)' is not allowed; write it"),
        ({"audit": {"topic": "a" * 250}}, "audit.topic: has over 249 characters; shorten it"),
        (
            {"audit": {"topic": "__kafka_gateway_catalog"}},
            "audit.topic: '__kafka_gateway_catalog' is not for audit events; write it like __kafka",
        ),
        (
            {"audit": {"topic": "__consumer_offsets"}},
            "audit.topic: '__consumer_offsets' is not for audit events; write it like __kafka_gate",
        ),
        (
            {"audit": {"max_queued_events": 99}},
            "audit.max_queued_events: must be at least 100, not",
        ),
        ({"catalog": {"max_staleness": 0.9}}, "catalog.max_staleness: must be at least 1, not 0.9"),
        ({"catalog": {"max_staleness": 86401}}, "catalog.max_staleness: must be at most 86,400"),
        (
            {"catalog": {"replication_factor": 0}},
            "catalog.replication_factor: replication factor 0 is neither -1 (the brokers' default) "
            "nor within 1-32767; choose another",
        ),
        ({"catalog": {"replication_factor": -2}}, "catalog.replication_factor: replication factor"),
        ({"catalog": {"replication_factor": 32768}}, "catalog.replication_factor: replication fac"),
        (
            {"catalog": {"zzz": "t"}},
            "catalog.zzz: unknown key 'zzz'; the keys here are max_stalene",
        ),
        (
            {"list_subtree": True},
            "list_subtree: unknown key 'list_subtree' here; did you mean 'lis",
        ),
        ({"gateway_id": "a/b"}, "gateway_id: 'a/b' is no name; use 1 to 64 of letters, digits"),
        (
            {"max_request_bytes": 1},
            "max_request_bytes: unknown key 'max_request_bytes'; did you me",
        ),
        ({"port": 1}, "port: unknown key 'port' here; did you mean 'listeners.port'?"),
        ({"zzz": 1}, "zzz: unknown key 'zzz'; the keys here are gateway_id, clusters, namespaces"),
    ],
)
def test_rejected_values(tmp_path: Path, overrides: dict[str, Any], rejection: str) -> None:
    (line,) = rejections_with(tmp_path, **overrides)
    assert line.startswith(rejection)
    assert "; " in line or line.endswith("?")


@pytest.mark.parametrize(
    ("cluster", "rejection"),
    [
        ({"node_ids": []}, 'clusters[0].node_ids: node_ids names no node id; write it like ["1-3"'),
        ({"node_ids": [True]}, "clusters[0].node_ids[0]: must be text, not true; put it in quotes"),
        ({"node_ids": "1-3"}, "clusters[0].node_ids: must be a list, not '1-3'; write it like"),
        ({"bootstrap_servers": []}, "clusters[0].bootstrap_servers: is an empty list; add an item"),
        ({"bootstrap_servers": ["b"]}, "clusters[0].bootstrap_servers[0]: 'b' is not HOST:PORT; w"),
        ({"name": "a b"}, "clusters[0].name: 'a b' is no name; use 1 to 64 of"),
    ],
)
def test_rejected_clusters(tmp_path: Path, cluster: dict[str, Any], rejection: str) -> None:
    valid = {"name": "main", "bootstrap_servers": ["b:1"], "node_ids": ["1-3"]}
    (line,) = rejections_with(tmp_path, clusters=[{**valid, **cluster}])
    assert line.startswith(rejection)


def test_a_port_by_default_depends_on_no_rejected_value(tmp_path: Path) -> None:
    assert rejections_with(tmp_path, listeners=[{"name": "a", "port": "x"}]) == [
        "listeners[0].port: must be a whole number, not 'x'; write it without quotes"
    ]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("h:1", ("h", 1)),
        ("127.0.0.1:65535", ("127.0.0.1", 65535)),
        ("[fe80::1]:9092", ("fe80::1", 9092)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address
    assert str(parse_address(text)) == text
    assert str(Address(*address)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h",
        ":1",
        "h:",
        "h:x",
        "h:0",
        "h:65536",
        "h:123456",
        "::1:9092",
        "[::1]",
        "h:+1",
        "h:\u0661",
        5,
    ],
)
def test_no_addresses(text: object) -> None:
    with pytest.raises(ValueError, match=r"is not HOST:PORT; write|is not within 1-65535; correct"):
        parse_address(text)


def test_problems_found_later_get_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(MINIMAL)
    problems = [Problem(("listeners", 0, "port"), "p; q"), Problem(("metrics", "port"), "m; n")]
    file = load_file(path)
    path.unlink()  # it is not read again: it may have been a pipe
    assert str(file.error(problems)).split("\n") == [
        f"{path}:1: metrics.port: m; n",
        f"{path}:7: listeners[0].port: p; q",
    ]
    assert str(file.error([])) == ""


def _documented() -> dict[str, str]:
    """Key to default, as docs/configuration.md documents them."""
    text = (EXAMPLES.parent / "docs" / "configuration.md").read_text()
    rows = (line.split(" | ") for line in text.splitlines() if line.startswith("| `"))
    return {row[0].strip("| `"): row[2].strip("`") for row in rows if len(row) == 4}


def _keys(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key of the models, written as the documentation does."""
    for name, field in model.model_fields.items():
        key = f"{path}{field.alias or name}"
        (inner,) = [*_models(field.annotation), None][:1]
        if inner is None or "tuple" in str(field.annotation):
            yield key, field
        if inner is not None:
            yield from _keys(inner, f"{key}[]." if "tuple" in str(field.annotation) else f"{key}.")


def _models(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        # docs/policies.md has the keys of a block of policies (tests/docs/test_policies.py).
        return [] if annotation is PolicyBlock else [annotation]
    return [found for inner in get_args(annotation) for found in _models(inner)]


def test_the_documentation_has_every_key_and_its_default() -> None:
    documented, keys = _documented(), dict(_keys(Config))
    assert list(documented) == list(keys)
    for key, field in keys.items():
        if field.is_required():
            assert documented[key] == "required", key
        elif field.default_factory is None:
            default = TypeAdapter(object).dump_python(
                field.default, mode="json", exclude_unset=True
            )
            assert yaml.safe_load(documented[key]) == default, key
