"""Rules that an alteration does not concern do not prevent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.config.policies import PolicySettings
from gateway.policies.declared import Alteration, caused
from gateway.policies.interface import RequestMetadata
from gateway.policies.judge import Judge
from gateway.policies.tree import Placed, Policies
from gateway.policies.violation import Violation

DEFAULTS = {"retention.ms": "100", "segment.bytes": "10"}


def rules(
    block: Mapping[str, Any], before: Mapping[str, str], after: Mapping[str, str]
) -> list[str]:
    """The rules that the alteration from one set of configs to the other violates."""
    settings = PolicySettings.model_validate({"everywhere": {"partitions": {"max": 3}, **block}})
    (placed,) = Policies(settings).of("org")
    was, is_then = (
        RequestMetadata(
            topic="org:x",
            num_partitions=9,  # which is too many, and was before
            replication_factor=1,
            configs=configs,
            namespace="org",
            effective_configs={**DEFAULTS, **configs},
        )
        for configs in (before, after)
    )
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    return [one.rule for one in caused(placed, is_then, Alteration(was, changed))]


RANGE = {"retention.ms": {"min": 10, "max": 50}}


def test_what_is_wrong_already_and_not_changed() -> None:
    assert rules(RANGE, {}, {"segment.bytes": "5"}) == []
    assert rules(RANGE, {"retention.ms": "70"}, {"retention.ms": "70", "segment.bytes": "5"}) == []
    assert rules({"name_pattern": "y"}, {}, {"segment.bytes": "5"}) == []


def test_what_is_changed_has_to_be_right() -> None:
    assert rules(RANGE, {}, {"retention.ms": "40"}) == []
    assert rules(RANGE, {}, {"retention.ms": "99"}) == ["retention.ms.max"]
    assert rules(RANGE, {"retention.ms": "70"}, {"retention.ms": "5"}) == ["retention.ms.min"]
    # Set to the value that it had anyhow.
    assert rules(RANGE, {}, {"retention.ms": "100"}) == ["retention.ms.max"]
    # And the value that it falls back to.
    assert rules(RANGE, {"retention.ms": "20"}, {}) == ["retention.ms.max"]
    assert rules(RANGE, {"retention.ms": "70"}, {}) == ["retention.ms.max"]


def test_configs_that_may_not_be_set_go_one_by_one() -> None:
    before = {"retention.ms": "20", "segment.bytes": "5", "flush.ms": "1"}
    for block in (
        {"configs": {"forbidden": ("retention.ms", "segment.bytes")}},
        {"configs": {"allowed": ("flush.ms",)}},
    ):
        (rule,) = (f"configs.{name}" for name in block["configs"])
        without = {key: value for key, value in before.items() if key != "retention.ms"}
        assert rules(block, before, without) == []
        assert rules(block, before, {**before, "flush.ms": "2"}) == []
        assert rules(block, before, {**before, "retention.ms": "30"}) == [rule]
        assert rules(block, without, before) == [rule]
        assert rules(block, {}, {"segment.bytes": "5"}) == [rule]


def test_required_configs() -> None:
    block = {"configs": {"required": ["retention.ms", "segment.bytes"]}}
    assert rules(block, {}, {"flush.ms": "1"}) == []
    assert rules(block, {}, {"retention.ms": "1"}) == []
    assert rules(block, {"retention.ms": "1"}, {}) == ["configs.required"]
    block = {"configs": {"required": {"retention.ms": "7"}}}  # type: ignore[dict-item]
    assert rules(block, {"retention.ms": "8"}, {"retention.ms": "8", "flush.ms": "1"}) == []
    assert rules(block, {"retention.ms": "8"}, {"retention.ms": "9"}) == ["configs.required"]
    assert rules(block, {"retention.ms": "8"}, {"retention.ms": "7"}) == []


class Class:
    """Stands for a policy class that rejects everything, in place of threads."""

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        return Violation("create.topic.policy", "No.", placed.source, "enforce")


async def test_the_judge_tells_what_a_change_causes_and_what_a_class_says_of_the_result() -> None:
    block = {"partitions": {"max": 3}, "create.topic.policy.class.name": "any:Class"}
    settings = PolicySettings.model_validate({"everywhere": block})
    judge = Judge(Policies(settings), Class().why_not)
    metadata = RequestMetadata(topic="x", num_partitions=9, replication_factor=1)
    denied = await judge.why_not(metadata)
    assert denied is not None
    assert denied.message.startswith("Topic 'x' has 9 partitions")
    assert denied.message.endswith("No.")
    denied = await judge.why_not(metadata, Alteration(metadata, ()))
    assert denied is not None
    assert denied.message == "No."
    assert await judge.why_not(metadata, Alteration(metadata, ()), classes=False) is None
