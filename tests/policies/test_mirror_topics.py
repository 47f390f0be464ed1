"""gateway.policies.mirror_topics: MirrorMaker's own topics, and the rules that spare them."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.policies.declared import violations
from gateway.policies.mirror_topics import is_made_by_mirror_maker
from tests.policies.samples import asked, placed

OWN = (
    "mm2-configs.A.internal",
    "mm2-status.A.internal",
    "mm2-offsets.A.internal",
    "mm2-offset-syncs.us-west.internal",
    "A.checkpoints.internal",
)
"""Names that MirrorMaker of Kafka 4.3.1 makes for the aliases A and us-west."""

OF_USERS = (
    "orders.internal",
    "mm2-configs.A",
    "mm2-configs.internal",
    "mm2-configs..internal",
    "mm2-offset-syncs.internal",
    "mm2x.A.internal",
    "mm2-orders.A.internal",
    "mm2-configs.A.internal.x",
    ".checkpoints.internal",
    "checkpoints.internal",
    "A.checkpoints-internal",
    "heartbeats",
    "",
)


@pytest.mark.parametrize("topic", OWN)
def test_topics_that_it_makes(topic: str) -> None:
    assert is_made_by_mirror_maker(topic)


@pytest.mark.parametrize("topic", OF_USERS)
def test_topics_of_users(topic: str) -> None:
    assert not is_made_by_mirror_maker(topic)


def rules(topic: str, **keys: Any) -> list[str]:
    metadata = asked(topic, configs={"cleanup.policy": "compact", "segment.ms": "7"})
    return [one.rule for one in violations(placed(**keys), metadata)]


@pytest.mark.parametrize("namespace", ["", "dr:a:"])
@pytest.mark.parametrize("topic", OWN)
@pytest.mark.parametrize(
    "keys",
    [
        {"name_pattern": "[a-z]+"},
        {"configs": {"required": ["retention.ms"]}},
        {"configs": {"required": {"cleanup.policy": "delete"}}},
        {"configs": {"allowed": ["retention.ms"]}},
    ],
)
def test_it_can_start_whatever_names_and_configs_are_required(
    topic: str, namespace: str, keys: dict[str, Any]
) -> None:
    assert rules(f"{namespace}{topic}", **keys) == []
    assert rules(f"{namespace}Orders.internal", **keys) != []


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"partitions": {"max": 2}}, "partitions.max"),
        ({"replication_factor": {"min": 4}}, "replication_factor.min"),
        ({"configs": {"ranges": {"segment.ms": {"min": 8}}}}, "segment.ms.min"),
        ({"configs": {"forbidden": ["segment.ms"]}}, "configs.forbidden"),
    ],
)
def test_all_other_rules_are_for_its_topics_too(keys: dict[str, Any], rule: str) -> None:
    assert rules("dr:a:mm2-configs.A.internal", **keys) == [rule]


@pytest.mark.parametrize(
    ("allowed", "expected"), [(["retention.ms"], ["configs.allowed"]), (["segment.ms"], [])]
)
def test_a_namespace_is_not_taken_for_a_topic_of_its_own(
    allowed: list[str], expected: list[str]
) -> None:
    """``A.checkpoints.internal`` may be a tier as well."""
    metadata = asked("dr:A.checkpoints.internal:", configs={"segment.ms": "7"})
    found = violations(placed("dr", configs={"allowed": allowed}), metadata)
    assert [one.rule for one in found] == expected
