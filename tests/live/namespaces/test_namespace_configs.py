"""Configs of namespaces (KIP-37: Namespace configs): inherited down the tree.

Set once, overridden by the topic; the responses to clients, and the broker's own configs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.namespaces import (
    DEFAULT,
    INHERITED,
    INVALID_CONFIG,
    INVALID_TOPIC_EXCEPTION,
    OWN,
)

Names = Callable[[str], str]

RETENTION = "retention.ms"
WEEK = ("604800000", DEFAULT)
"""Kafka's default of ``retention.ms`` and of ``segment.ms``."""


def _await_on_broker(kafka: KafkaCluster, topic: str, configs: Mapping[str, str | None]) -> None:
    """Wait until the broker's own topic has these configs set, or not set if None."""

    def found() -> dict[str, str | None]:
        described = namespaces.describe(kafka.bootstrap_servers, namespaces.flat(topic))
        return {key: described[key][0] if described[key][1] == OWN else None for key in configs}

    wait_until(lambda: found() == configs, f"{configs} of {topic}", clients.SECONDS)


def test_a_namespace_s_configs_reach_new_and_existing_topics(
    colon: str, admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    """Set on the outer tier, and overridden on the inner tier; deletion falls back step by step."""
    root, topic = unique("org"), unique("orders")
    inner = f"{root}:inner"
    outside, inside, later = f"{root}:{topic}", f"{inner}:{topic}", f"{inner}:later"
    namespaces.create(admin, f"{inner}:")
    for name in (outside, inside):
        namespaces.create_topic(colon, kafka, name)
    assert namespaces.describe(colon, inside)[RETENTION] == WEEK

    namespaces.alter(admin, f"{root}:", {RETENTION: "3600000"})
    namespaces.create_topic(colon, kafka, later)
    for name in (outside, inside, later):
        assert namespaces.describe(colon, name)[RETENTION] == ("3600000", INHERITED)
        _await_on_broker(kafka, name, {RETENTION: "3600000"})
    assert namespaces.describe(admin, f"{root}:")[RETENTION] == ("3600000", OWN)
    assert namespaces.describe(admin, f"{inner}:")[RETENTION] == ("3600000", INHERITED)

    namespaces.alter(admin, f"{inner}:", {RETENTION: "7200000"})
    assert namespaces.describe(colon, outside)[RETENTION] == ("3600000", INHERITED)
    for name in (inside, later):
        assert namespaces.describe(colon, name)[RETENTION] == ("7200000", INHERITED)
        _await_on_broker(kafka, name, {RETENTION: "7200000"})

    namespaces.alter(admin, f"{inner}:", drop=[RETENTION])
    for name in (inside, later):
        assert namespaces.describe(colon, name)[RETENTION] == ("3600000", INHERITED)
        _await_on_broker(kafka, name, {RETENTION: "3600000"})
    namespaces.alter(admin, f"{root}:", drop=[RETENTION])
    for name in (outside, inside, later):
        assert namespaces.describe(colon, name)[RETENTION] == WEEK
        _await_on_broker(kafka, name, {RETENTION: None})


WRITTEN = {
    RETENTION: (" +03600000 ", "3600000", "7200000"),
    "min.cleanable.dirty.ratio": ("0.50", "0.5", "0.75"),
    "cleanup.policy": ("compact, delete", "compact,delete", "delete"),
    "preallocate": ("TRUE", "true", "false"),
    "follower.replication.throttled.replicas": ("0:1, 0:2", "0:1,0:2", "0:3"),
}
"""By key: a value, the broker's form of it, and another value."""


def test_values_are_inherited_however_they_are_written(
    colon: str, admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    """A broker describes a parsed value, which the gateway must not take for the topic's own."""
    root = unique("org")
    topic = f"{root}:orders"
    namespaces.create(admin, f"{root}:")
    namespaces.create_topic(colon, kafka, topic)
    namespaces.alter(admin, f"{root}:", {key: one for key, (one, _, _) in WRITTEN.items()})
    described = namespaces.describe(colon, topic)
    for key, (_, told, _) in WRITTEN.items():
        assert described[key] == (told, INHERITED)
    namespaces.alter(admin, f"{root}:", {key: other for key, (_, _, other) in WRITTEN.items()})
    described = namespaces.describe(colon, topic)
    for key, (_, _, other) in WRITTEN.items():
        assert described[key] == (other, INHERITED)
    _await_on_broker(kafka, topic, {key: other for key, (_, _, other) in WRITTEN.items()})


def test_a_topic_overrides_its_namespace(
    colon: str, admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    """At creation and later; if the topic's own config is deleted, the namespace's applies."""
    root = unique("org")
    created, altered, plain = (f"{root}:{unique(stem)}" for stem in ("made", "set", "plain"))
    configs = {RETENTION: "3600000", "cleanup.policy": "compact"}
    namespaces.create(admin, f"{root}:", configs=configs)
    namespaces.create_topic(colon, kafka, created, {RETENTION: "1000000"})
    for name in (altered, plain):
        namespaces.create_topic(colon, kafka, name)
    # If a topic sets the namespace's value, it is the topic's own nevertheless.
    namespaces.alter(colon, altered, {RETENTION: "3600000"})
    assert namespaces.describe(colon, created)[RETENTION] == ("1000000", OWN)
    assert namespaces.describe(colon, altered)[RETENTION] == ("3600000", OWN)
    assert namespaces.describe(colon, plain)[RETENTION] == ("3600000", INHERITED)
    for name in (created, altered, plain):
        assert namespaces.describe(colon, name)["cleanup.policy"] == ("compact", INHERITED)

    namespaces.alter(admin, f"{root}:", {RETENTION: "7200000"})
    wanted = {created: "1000000", altered: "3600000", plain: "7200000"}
    for name, value in wanted.items():
        _await_on_broker(kafka, name, {RETENTION: value, "cleanup.policy": "compact"})
    for name in (created, altered):
        namespaces.alter(colon, name, drop=[RETENTION])
        assert namespaces.describe(colon, name)[RETENTION] == ("7200000", INHERITED)
        _await_on_broker(kafka, name, {RETENTION: "7200000"})


def test_a_new_entity_starts_with_the_namespace_s_and_overrides_parts(
    colon: str, admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    """The KIP's bootstrapping: a child namespace inherits the configs that it does not set."""
    root = unique("org")
    namespaces.create(admin, f"{root}:", configs={RETENTION: "3600000", "segment.ms": "600000"})
    namespaces.create(admin, f"{root}:team:", configs={RETENTION: "7200000"})
    topic = f"{root}:team:{unique('orders')}"
    namespaces.create_topic(colon, kafka, topic, {"max.message.bytes": "2000000"})
    described = namespaces.describe(colon, topic)
    assert described[RETENTION] == ("7200000", INHERITED)
    assert described["segment.ms"] == ("600000", INHERITED)
    assert described["max.message.bytes"] == ("2000000", OWN)
    _await_on_broker(
        kafka,
        topic,
        {RETENTION: "7200000", "segment.ms": "600000", "max.message.bytes": "2000000"},
    )


def test_a_move_changes_what_is_inherited(
    colon: str, admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    source, target, topic = unique("from"), unique("to"), unique("orders")
    namespaces.create(admin, f"{source}:", configs={RETENTION: "3600000", "segment.ms": "600000"})
    namespaces.create(admin, f"{target}:", configs={RETENTION: "7200000"})
    old, new = f"{source}:{topic}", f"{target}:{topic}"
    namespaces.create_topic(colon, kafka, old, {"max.message.bytes": "2000000"})
    namespaces.alter(admin, old, {"gateway.namespace": target})
    wanted = {RETENTION: "7200000", "segment.ms": None, "max.message.bytes": "2000000"}
    _await_on_broker(kafka, old, wanted)  # it is stored under the same name
    described = namespaces.describe(colon, new)
    assert described[RETENTION] == ("7200000", INHERITED)
    assert described["segment.ms"] == WEEK
    assert described["max.message.bytes"] == ("2000000", OWN)


def test_bad_configs_are_rejected_with_the_broker_s_own_text(
    colon: str, admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    """The broker's code and text, on a namespace as on a topic; the request changes nothing."""
    root, probe = unique("org"), unique("probe")
    namespaces.create(admin, f"{root}:", configs={RETENTION: "3600000"})
    for key, value in ((RETENTION, "soon"), ("no.such.key", "1"), ("cleanup.policy", "shred")):
        asked = namespaces.creation(kafka.bootstrap_servers, probe, {key: value}, validate=True)
        code, text = namespaces.rejection(asked)
        assert code == INVALID_CONFIG
        for future in (
            namespaces.alteration(admin, f"{root}:", {key: value}),
            namespaces.creation(admin, f"{root}:below:", {key: value}),
        ):
            assert namespaces.rejection(future) == (code, text)
    assert f"{root}:below:" not in clients.listed(admin)
    described = namespaces.describe(admin, f"{root}:")
    assert {key for key, (_, source) in described.items() if source == OWN} == {RETENTION}


def test_validate_only_changes_nothing(admin: str, unique: Names) -> None:
    root = unique("org")
    namespaces.create(admin, f"{root}:")
    asked = namespaces.alteration(admin, f"{root}:", {RETENTION: "3600000"}, validate=True)
    asked.result(clients.SECONDS)
    bad = namespaces.alteration(admin, f"{root}:", {RETENTION: "soon"}, validate=True)
    assert namespaces.rejection(bad)[0] == INVALID_CONFIG
    assert namespaces.describe(admin, f"{root}:")[RETENTION] == WEEK


def test_the_gateway_s_own_keys_are_no_configs(
    admin: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    root, topic = unique("org"), unique("orders")
    namespaces.create(admin, f"{root}:")
    namespaces.create_topic(colon, kafka, f"{root}:{topic}")
    rejected: list[Future[Any]] = [
        namespaces.alteration(admin, f"{root}:", {"gateway.namespace": "team-a"}),
        namespaces.alteration(admin, f"{root}:", {"gateway.topics": "3"}),
        namespaces.alteration(colon, f"{root}:{topic}", {"gateway.bogus": "1"}),
        namespaces.creation(colon, f"{root}:{unique('made')}", {"gateway.namespace": root}),
    ]
    for future in rejected:
        code, text = namespaces.rejection(future)
        assert code == INVALID_CONFIG
        assert "gateway." in text


def test_kafka_configs_at_a_legal_listener(
    admin_legal: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """Java's tool rejects colons; without ``--all`` it describes the entity's own configs."""
    root, topic = unique("org"), unique("orders")
    namespaces.create(admin_legal, f"{root}:apache:")
    name = f"{root}:apache:{topic}"
    namespaces.create_topic(colon, kafka, name)
    of_namespace = ["--entity-type", "topics", "--entity-name", f"{root}.apache.."]
    of_topic = ["--entity-type", "topics", "--entity-name", f"{root}.apache..{topic}"]
    java_tools.configs(
        admin_legal, "--alter", *of_namespace, "--add-config", "retention.ms=3600000"
    )
    own = java_tools.configs(admin_legal, "--describe", *of_namespace).stdout
    assert "retention.ms=3600000" in own
    assert "DYNAMIC_TOPIC_CONFIG:retention.ms=3600000" in own
    assert "gateway." not in own

    shown = java_tools.configs(admin_legal, "--describe", *of_topic).stdout
    assert "gateway." not in shown
    assert "retention.ms" not in shown
    everything = java_tools.configs(admin_legal, "--describe", "--all", *of_topic).lines
    assert [line for line in everything if f"gateway.namespace={root}:apache" in line]
    (line,) = (line for line in everything if line.strip().startswith("retention.ms="))
    assert "retention.ms=3600000" in line
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:retention.ms=3600000" in line
    assert "DYNAMIC_TOPIC_CONFIG" not in line
    _await_on_broker(kafka, name, {RETENTION: "3600000"})

    dropped = ["--delete-config", "retention.ms"]
    java_tools.configs(admin_legal, "--alter", *of_namespace, *dropped)
    _await_on_broker(kafka, name, {RETENTION: None})


def test_a_topic_s_inherited_configs_are_shown_by_kafka_topics(
    admin: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    root, topic = unique("org"), unique("orders")
    namespaces.create(admin, f"{root}:", configs={RETENTION: "3600000"})
    namespaces.create_topic(colon, kafka, f"{root}:{topic}", {"segment.ms": "600000"})
    shown = java_tools.topics(colon, "--describe", "--topic", f"{root}:{topic}").stdout
    for part in ("retention.ms=3600000", "segment.ms=600000"):
        assert part in shown


def test_missing_namespaces_have_no_configs(admin: str, unique: Names) -> None:
    root = unique("org")
    code, text = namespaces.rejection(namespaces.alteration(admin, f"{root}:", {RETENTION: "1"}))
    assert code in {3, INVALID_TOPIC_EXCEPTION}
    assert f"'{root}'" in text
    code, text = namespaces.rejection(namespaces.description(admin, f"{root}:"))
    assert code in {3, INVALID_TOPIC_EXCEPTION}
