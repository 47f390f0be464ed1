"""Policies apply to every way in which topics are created or changed: a test for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewPartitions

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from tests.live.support import clients, namespaces
from tests.live.support.by_hand import TIMEOUT, metadata_codes
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import Wire

Names = Callable[[str], str]

POLICY_VIOLATION, UNKNOWN_TOPIC = 44, 3
TOPIC = 2
MOST_PARTITIONS = 3
KEY = "retention.ms"
STRICT = {
    "partitions": {"max": MOST_PARTITIONS},
    KEY: {"max": 604_800_000},
    "configs": {"forbidden": ["segment.ms"]},
}


POLICIES = {
    "namespaces": {
        "strict": STRICT,
        "taken": STRICT,
        "full": {"max_partitions": 4},
        "outer:inner": {KEY: {"max": 5_000}},
    },
    "default_namespace": {"partitions": {"max": 3}},
}
"""``taken`` is the only namespace of these that does not exist yet."""

gateway = own_gateway(
    Listener("colon", "all", list_namespaces=True),
    namespaces=["strict:sub", "full", "free", "outer:inner"],
    policies=POLICIES,
)


def growth(servers: str, name: str, total: int, *, validate: bool = False) -> Future[None]:
    """Request that a topic grow to ``total`` partitions, by CreatePartitions."""
    asked = [NewPartitions(name, total)]
    return clients.admin(servers).create_partitions(asked, validate_only=validate)[name]


def rejected(future: Future[Any]) -> str:
    """The text of the policy's rejection of a request."""
    code, text = namespaces.rejection(future)
    assert code == POLICY_VIOLATION, text
    return text


# -- CreatePartitions ------------------------------------------------------------------------------


def test_create_partitions(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    name, other = f"strict:{unique('x')}", f"free:{unique('y')}"
    for each in (name, other):
        namespaces.create_topic(servers, kafka, each)
    text = rejected(growth(servers, name, 4))
    assert f"Topic '{name}' has 4 partitions" in text
    assert "set by namespace 'strict'" in text
    rejected(growth(servers, name, 4, validate=True))
    asked = [NewPartitions(name, 4), NewPartitions(other, 4)]
    told = clients.admin(servers).create_partitions(asked)
    rejected(told[name])
    told[other].result(clients.SECONDS)
    growth(servers, name, 3).result(clients.SECONDS)
    clients.await_partitions(kafka, namespaces.flat(name), 3)
    clients.await_partitions(kafka, namespaces.flat(other), 4)
    with pytest.raises(KafkaException, match="currently has 3 partition"):  # by the broker
        growth(servers, name, 2).result(clients.SECONDS)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_create_partitions_with_assignments(
    servers: str, kafka: KafkaCluster, unique: Names, version: int
) -> None:
    name = unique("plain")
    namespaces.create_topic(servers, kafka, name)
    node = next(iter(clients.admin(kafka.bootstrap_servers).list_topics().brokers))
    with Wire(servers) as wire:
        for added, code in ((3, POLICY_VIOLATION), (2, 0)):
            topic = {
                "name": name,
                "count": 1 + added,
                "assignments": [{"broker_ids": (node,)}] * added,
            }
            answer = wire.ask(
                "CreatePartitions", version, topics=[topic], timeout=TIMEOUT, validate_only=False
            )
            (result,) = answer.results
            assert int(result.error_code) == code, result.error_message
    clients.await_partitions(kafka, name, 3)


def test_kafka_topics_alter(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    name = f"strict:{unique('x')}"
    namespaces.create_topic(servers, kafka, name)
    alter = ["--bootstrap-server", servers, "--alter", "--topic", name, "--partitions"]
    ended = java.run_java(java.TOPICS, [*alter, "4"])
    assert ended.returncode != 0
    assert "PolicyViolationException: Topic" in ended.stdout + ended.stderr
    assert java.run_java(java.TOPICS, [*alter, "2"]).returncode == 0
    clients.await_partitions(kafka, namespaces.flat(name), 2)


def test_only_the_partitions_that_are_added_count(
    servers: str, kafka: KafkaCluster, unique: Names
) -> None:
    first, second = f"full:{unique('x')}", f"full:{unique('y')}"
    for each in (first, second):
        namespaces.create_topic(servers, kafka, each)
    growth(servers, first, 3).result(clients.SECONDS)
    assert "would have 5 partitions, and at most 4" in rejected(growth(servers, second, 2))
    assert "max_partitions" in rejected(namespaces.creation(servers, f"full:{unique('z')}"))
    # Moving the topic in is rejected, too.
    outside = f"free:{unique('z')}"
    namespaces.create_topic(servers, kafka, outside)
    move = {"gateway.namespace": "full"}
    assert "max_partitions" in rejected(namespaces.alteration(servers, outside, move))
    namespaces.delete(servers, first)
    clients.await_gone(kafka, namespaces.flat(first))  # it counts as long as it is listed
    growth(servers, second, 3).result(clients.SECONDS)
    namespaces.alter(servers, outside, move)


# -- configs ---------------------------------------------------------------------------------------


def test_incremental_alter_configs(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    name = f"strict:sub:{unique('x')}"
    namespaces.create_topic(servers, kafka, name, {KEY: "1000"})
    text = rejected(namespaces.alteration(servers, name, {KEY: "-1"}))
    assert f"Topic '{name}' has {KEY}=-1 (no limit)" in text
    rejected(namespaces.alteration(servers, name, {"segment.ms": "100000"}, validate=True))
    namespaces.alter(servers, name, {KEY: "2000"})
    namespaces.alter(servers, name, drop=[KEY])  # falls back to a week
    namespaces.await_value(kafka, namespaces.flat(name), KEY, "604800000")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_alter_configs(servers: str, kafka: KafkaCluster, unique: Names, version: int) -> None:
    name = f"strict:{unique('x')}"
    namespaces.create_topic(servers, kafka, name, {KEY: "1000"})
    assert replaced(servers, version, name, {"segment.ms": "100000"}) == POLICY_VIOLATION
    assert replaced(servers, version, name, {KEY: "604800001"}) == POLICY_VIOLATION
    assert replaced(servers, version, name, {KEY: "3000"}) == 0
    namespaces.await_value(kafka, namespaces.flat(name), KEY, "3000")


def replaced(servers: str, version: int, name: str, configs: Mapping[str, str]) -> int:
    """The error code of an AlterConfigs request."""
    shown = [{"name": key, "value": value} for key, value in configs.items()]
    resource = {"resource_type": TOPIC, "resource_name": name, "configs": shown}
    with Wire(servers) as wire:
        answer = wire.ask("AlterConfigs", version, resources=[resource], validate_only=False)
    (told,) = answer.responses
    return int(told.error_code)


def test_what_violated_before_can_be_repaired(
    servers: str, kafka: KafkaCluster, unique: Names
) -> None:
    """A topic that violates the policy was created at the broker, which applies no policy."""
    name = f"strict:{unique('x')}"
    flat = namespaces.flat(name)
    namespaces.create_topic(kafka.bootstrap_servers, kafka, flat, {"segment.ms": "9", KEY: "-1"})
    namespaces.alter(servers, name, {"max.message.bytes": "100000"})
    rejected(namespaces.alteration(servers, name, {"segment.ms": "10"}))
    namespaces.alter(servers, name, {KEY: "1000"})
    namespaces.alter(servers, name, drop=["segment.ms"])
    rejected(namespaces.alteration(servers, name, {"segment.ms": "9"}))


def test_configs_of_a_namespace(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    made = f"strict:{unique('ns')}:"
    text = rejected(namespaces.creation(servers, made, {KEY: "-1"}))
    assert f"Namespace '{made[:-1]}' has {KEY}=-1" in text
    rejected(namespaces.creation(servers, made, {"segment.ms": "9"}, validate=True))
    namespaces.create(servers, made, configs={KEY: "1000"})
    rejected(namespaces.alteration(servers, made, {KEY: "604800001"}))
    assert replaced(servers, 1, made, {"segment.ms": "9"}) == POLICY_VIOLATION
    namespaces.alter(servers, made, {KEY: "2000"})


def test_what_topics_inherit(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    """A config set on a namespace without policies is checked if topics with policies inherit
    it."""
    name = f"outer:inner:{unique('x')}"
    namespaces.alter(servers, "outer:", {KEY: "1000"})
    namespaces.create_topic(servers, kafka, name)
    for asked in (
        namespaces.alteration(servers, "outer:", {KEY: "5001"}),
        namespaces.alteration(servers, "outer:", drop=[KEY]),  # a week, by default
    ):
        assert "Topic 'outer:inner:*' has retention.ms=" in rejected(asked)
    namespaces.alter(servers, "outer:", {KEY: "4000"})
    namespaces.await_value(kafka, namespaces.flat(name), KEY, "4000")
    namespaces.delete(servers, name)
    clients.await_gone(kafka, namespaces.flat(name))
    namespaces.alter(servers, "outer:", drop=[KEY])


# -- move, release and adopt -----------------------------------------------------------------------


def test_move(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    name = unique("x")
    flat = f"free..{name}"
    with_four(kafka, flat)
    move = {"gateway.namespace": "strict:sub"}
    for validate in (True, False):
        asked = namespaces.alteration(servers, f"free:{name}", move, validate=validate)
        assert f"Topic 'strict:sub:{name}' has 4 partitions" in rejected(asked)
    assert f"free:{name}" in clients.listed(servers)
    namespaces.delete(servers, f"free:{name}")


def test_release_to_the_default_namespace(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    name = unique("x")
    with_four(kafka, f"free..{name}")
    move = {"gateway.namespace": ":"}
    text = rejected(namespaces.alteration(servers, f"free:{name}", move))
    assert "set for the default namespace" in text
    with_four(kafka, name)  # it is in the default namespace, whose policies never applied to it
    namespaces.alter(servers, name, {"gateway.namespace": "free", "gateway.topic": f"{name}-2"})
    release = {"gateway.release": "true"}
    text = rejected(namespaces.alteration(servers, f"free:{name}-2", release))
    assert "set for the default namespace" in text
    namespaces.delete(servers, f"free:{name}", f"free:{name}-2")


def test_adopt(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    name = unique("x")
    with_four(kafka, f"taken..{name}")
    adopt = {"gateway.adopt": "true"}
    for validate in (True, False):
        asked = namespaces.creation(servers, "taken:", adopt, validate=validate)
        assert f"Topic 'taken:{name}' has 4 partitions" in rejected(asked)
    move = {"gateway.namespace": "strict"}
    rejected(namespaces.alteration(servers, f"taken..{name}", move))
    namespaces.delete(kafka.bootstrap_servers, f"taken..{name}")
    clients.await_gone(kafka, f"taken..{name}")


def with_four(kafka: KafkaCluster, flat: str) -> None:
    """Create a topic of four partitions at the broker."""
    clients.create(kafka.bootstrap_servers, flat, partitions=4)
    clients.await_stored(kafka, flat)


# -- topics that brokers would create by themselves -----------------------------------------------


@pytest.mark.parametrize("version", [0, 1, 3, 4, 9, 13])
def test_auto_creation(servers: str, kafka: KafkaCluster, unique: Names, version: int) -> None:
    """The gateway creates requested topics if policies allow them; the broker creates none."""
    large = f"strict:{unique('large')}"
    namespaces.create(servers, f"{large}:")
    namespaces.alter(servers, f"{large}:", {"gateway.num.partitions": "4"})
    too_large = f"{large}:{unique('auto')}"
    name, inside = unique("auto"), f"strict:{unique('auto')}"
    asked = [too_large, name, inside]
    codes = metadata_codes(servers, version, asked, allowed=True)
    assert codes == dict.fromkeys(asked, UNKNOWN_TOPIC)
    clients.await_stored(kafka, name, namespaces.flat(inside))
    assert namespaces.flat(too_large) not in kafka.topics()
    assert clients.partitions(kafka, namespaces.flat(inside)) == 1


def test_a_deleted_topic_does_not_come_back_by_being_asked_for(
    servers: str, kafka: KafkaCluster, unique: Names
) -> None:
    """The gateway listed the topic before it was deleted at the broker."""
    name = unique("x")
    namespaces.create_topic(servers, kafka, name)
    assert metadata_codes(servers, 9, [name], allowed=True) == {name: 0}
    namespaces.delete(kafka.bootstrap_servers, name)
    clients.await_gone(kafka, name)
    assert metadata_codes(servers, 9, [name], allowed=True) == {name: UNKNOWN_TOPIC}
    assert name not in kafka.topics()
