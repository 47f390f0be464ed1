"""Tools that read and write the configs of topics keep configs that they do not know.

Strimzi's Topic Operator deletes every dynamic config of a topic that its specification does not
have; MirrorMaker 2 copies every config that is neither a default nor read-only, when it creates a
topic and each time it synchronizes. Both are done here by an admin client, step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from confluent_kafka.admin import ConfigEntry

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.conftest import LISTENERS
from tests.live.support import clients, namespaces
from tests.live.support.namespaces import DEFAULT, INVALID_CONFIG, OWN
from tests.live.support.wire import Wire

Names = Callable[[str], str]
Entries = dict[str, ConfigEntry]

EXCLUDED = {"min.insync.replicas", "unclean.leader.election.enable", "message.timestamp.type"}
"""From MirrorMaker 2's ``config.properties.exclude``: configs that each cluster decides itself."""


def described(servers: str, name: str) -> Entries:
    return namespaces.description(servers, name).result(clients.SECONDS)


def dynamic(entries: Entries) -> set[str]:
    """The configs that a topic operator takes for the topic's own."""
    return {key for key, entry in entries.items() if namespaces.source_of(entry) == OWN}


def reconcile(servers: str, name: str, spec: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """A run of Strimzi's Topic Operator: the configs that it has set and deleted."""
    entries = described(servers, name)
    put = {key for key, value in spec.items() if entries[key].value != value}
    drop = dynamic(entries) - spec.keys()
    if put or drop:
        namespaces.alter(servers, name, {key: spec[key] for key in put}, drop=sorted(drop))
    return put, drop


def replace(servers: str, name: str, configs: Mapping[str, str]) -> None:
    """Send AlterConfigs; a config that it does not name is reset."""
    entries = [{"name": key, "value": value} for key, value in configs.items()]
    resource = {"resource_type": 2, "resource_name": name, "configs": entries}
    with Wire(servers) as wire:
        (answer,) = wire.ask("AlterConfigs", 2, resources=[resource], validate_only=False).responses
    assert not answer.error_code, answer.error_message
    wait_until(lambda: dynamic(described(servers, name)) == {*configs}, name, clients.SECONDS)
    namespaces.await_configs(servers, name, configs)


def writable(entries: Entries) -> Entries:
    """The configs that MirrorMaker 2 synchronizes."""
    return {
        key: entry
        for key, entry in entries.items()
        if not entry.is_read_only and not entry.is_sensitive and key not in EXCLUDED
    }


def copied(entries: Entries) -> dict[str, str]:
    """The configs with which MirrorMaker 2 creates a topic of the other cluster."""
    found = writable(entries)
    return {key: entry.value or "" for key, entry in found.items() if not entry.is_default}


@pytest.fixture
def topic(colon: str, kafka: KafkaCluster, unique: Names) -> str:
    """A topic with a config of its own and an inherited config."""
    root = unique("org")
    name = f"{root}:{unique('orders')}"
    namespaces.create(colon, f"{root}:", configs={"retention.ms": "3600000"})
    namespaces.create_topic(colon, kafka, name, {"segment.ms": "600000"})
    return name


def test_a_topic_operator_reconciles(colon: str, topic: str) -> None:
    """Twice, because the operator repeats this every two minutes; the topic stays where it is."""
    spec = {"retention.ms": "7200000", "cleanup.policy": "delete"}
    assert reconcile(colon, topic, spec) == ({"retention.ms"}, {"segment.ms"})
    assert reconcile(colon, topic, spec) == (set(), set())
    entries = namespaces.describe(colon, topic)
    assert entries["retention.ms"] == ("7200000", OWN)
    assert entries["segment.ms"][1] != OWN
    assert entries["gateway.namespace"] == (topic.rpartition(":")[0], DEFAULT)
    assert reconcile(colon, topic, {}) == (set(), {"retention.ms"})
    assert namespaces.describe(colon, topic)["retention.ms"][0] == "3600000"
    assert topic in clients.listed(colon)


def test_and_by_replacing_all_configs(colon: str, topic: str) -> None:
    """AlterConfigs with a specification, and with the described configs and another."""
    replace(colon, topic, {"retention.ms": "7200000"})
    entries = described(colon, topic)
    assert dynamic(entries) == {"retention.ms"}
    again = {key: entries[key].value or "" for key in dynamic(entries)}
    replace(colon, topic, again | {"segment.ms": "700000"})
    assert topic in clients.listed(colon)


def test_a_copy_of_a_topic_and_its_configs(
    colon: str, kafka: KafkaCluster, topic: str, unique: Names
) -> None:
    """Into another namespace, the default namespace, and to a broker without a gateway."""
    root, plain = unique("copies"), unique("copy")
    namespaces.create(colon, f"{root}:")
    targets = [(colon, f"{root}:{plain}"), (colon, plain), (kafka.bootstrap_servers, f"{plain}-2")]
    configs = copied(described(colon, topic))
    assert configs == {"retention.ms": "3600000", "segment.ms": "600000"}
    for servers, target in targets:
        namespaces.create(servers, target, configs=configs)
        clients.await_stored(kafka, namespaces.flat(target))
    namespaces.alter(colon, topic, {"segment.ms": "800000", "max.message.bytes": "5000"})
    for _ in range(2):
        entries = writable(described(colon, topic))
        put = {key: entry.value or "" for key, entry in entries.items() if not entry.is_default}
        drop = [key for key, entry in entries.items() if entry.is_default]
        for servers, target in targets:
            namespaces.alter(servers, target, put, drop=drop)
            assert copied(described(servers, target)).items() >= put.items()
    namespaces.delete(kafka.bootstrap_servers, f"{plain}-2")


def test_what_is_not_kafka_s_is_a_read_only_default_everywhere(
    gateway: GatewayProcess, admin: str, unique: Names
) -> None:
    """At every listener, of topics and of namespaces, also with a home's principals."""
    name = f"team-a:{unique('orders')}"
    plain = unique("plain")
    clients.create(admin, name, plain)
    namespaces.alter(admin, "team-a:", {"gateway.principals": "User:nobody-here"})
    found: set[str] = set()
    for listener in LISTENERS:
        servers = gateway.bootstrap_servers(listener.name)
        home = listener.home
        names = [name.partition(":")[2], ":"] if home else [name, plain, "team-a:", ":"]
        for asked in names if home != "team-b" else [":"]:
            for key, entry in described(servers, asked).items():
                if not key.startswith("gateway."):
                    continue
                found.add(key)
                told = (entry.is_default, entry.is_read_only, namespaces.source_of(entry))
                assert told == (True, True, DEFAULT), f"{key} of {asked} at {listener.name}"
    namespaces.alter(admin, "team-a:", {"gateway.principals": ""})
    every = ("namespace", "namespaces", "topics", "policies", "spelling", "authorization")
    assert found == {*(f"gateway.{key}" for key in every), "gateway.principals"}
    assert "gateway.principals" not in described(admin, "team-a:")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_in_every_version(colon: str, topic: str, version: int) -> None:
    resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": None}
    with Wire(colon) as wire:
        (result,) = wire.ask("DescribeConfigs", version, resources=[resource]).results
    configs = {c.name: c for c in result.configs if c.name.startswith("gateway.")}
    assert configs.keys() == {"gateway.namespace", "gateway.policies"}
    for config in configs.values():
        assert (config.read_only, int(config.config_source)) == (True, DEFAULT)


def test_a_delete_by_accident_releases_nothing(colon: str, topic: str) -> None:
    """An old tool deletes the key if it looks dynamic; the request's other changes fail, too."""
    for drop in (["gateway.namespace"], ["segment.ms", "gateway.namespace"]):
        code, text = namespaces.rejection(namespaces.alteration(colon, topic, drop=drop))
        assert code == INVALID_CONFIG
        assert "set 'gateway.release' to 'true'" in text
    assert namespaces.describe(colon, topic)["segment.ms"] == ("600000", OWN)
    assert topic in clients.listed(colon)
