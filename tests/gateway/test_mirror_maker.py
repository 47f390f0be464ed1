"""MirrorMaker's topics and users' topics, by KIP-1074 and before it; Kafka's own classes are the
oracle of tests/live/oracle/test_replication_oracle.py."""

from __future__ import annotations

import pytest

from gateway.mirror_maker import DEFAULT, ReplicationPolicy, excluded, verdict


@pytest.mark.parametrize(
    ("topic", "kind", "now", "before"),
    [
        ("orders", "user", True, True),
        ("orders.internal", "user", True, False),
        ("x-internal", "user", True, False),
        ("mm2x.internal.y", "user", True, True),
        ("team-a:orders.internal", "user", True, False),
        ("mm2-offset-syncs.B.internal", "mirror-maker", False, False),
        ("mm2-configs.A.internal", "mirror-maker", False, False),
        ("A.checkpoints.internal", "mirror-maker", False, False),
        ("mm2-internal", "user", True, False),
        ("heartbeats", "user", True, True),
        ("A.heartbeats", "user", True, True),
        ("orders.replica", "user", False, False),
        ("__consumer_offsets", "kafka", False, False),
        (".hidden", "kafka", False, False),
    ],
)
def test_the_rules_since_kip_1074_and_before(
    topic: str, kind: str, now: bool, before: bool
) -> None:
    found = verdict(topic)
    assert (found.kind, found.replicated, found.was_replicated) == (kind, now, before)


def test_a_verdict_in_words() -> None:
    assert str(verdict("orders")) == "a user's topic, replicated"
    assert str(verdict("orders.internal")).startswith("a user's topic, replicated since Kafka 4.0")
    assert str(verdict("mm2-x.internal")) == "its own topic, not replicated"


def test_the_separator_is_configurable() -> None:
    policy = ReplicationPolicy(separator="_")
    assert policy.is_mm2_internal_topic(policy.offset_syncs_topic("A"))
    assert policy.is_checkpoints_topic("A_checkpoints_internal")
    assert not policy.is_mm2_internal_topic("A.checkpoints.internal")
    dotted = ReplicationPolicy(separator="_", internal_separator_enabled=False)
    assert dotted.checkpoints_topic("A") == "A.checkpoints.internal"
    assert dotted.is_mm2_internal_topic("A.checkpoints.internal")


def test_names_of_copies() -> None:
    assert DEFAULT.format_remote_topic("A", "orders") == "A.orders"
    assert DEFAULT.topic_source("A.B.orders") == "A"
    assert DEFAULT.upstream_topic("A.B.orders") == "B.orders"
    assert DEFAULT.original_topic("A.B.orders") == "orders"
    identity = ReplicationPolicy(identity=True, source_alias="A")
    assert identity.format_remote_topic("A", "orders") == "orders"
    assert identity.format_remote_topic("A", "heartbeats") == "A.heartbeats"
    assert identity.topic_source("orders") == "A"


def test_the_exclude_list_has_a_dot_that_the_kips_text_lacks() -> None:
    assert excluded("mm2-x.internal")
    assert not excluded("mm2-x-internal")
    assert not excluded("mm2internal")
