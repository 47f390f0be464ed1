"""gateway.policies.declared: names, partitions, replicas; which rules apply to a namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.policies.declared import violations
from gateway.policies.interface import RequestMetadata
from tests.policies.samples import asked, placed


def rules(metadata: RequestMetadata, **keys: Any) -> list[str]:
    return [one.rule for one in violations(placed(**keys), metadata)]


def message(metadata: RequestMetadata, **keys: Any) -> str:
    (one,) = violations(placed(**keys), metadata)
    return one.message


def test_a_violation_says_rule_value_limit_and_who_set_it() -> None:
    (one,) = violations(placed(partitions={"max": 12}), asked("org:apache:orders", 64))
    assert one.message == (
        "Topic 'org:apache:orders' has 64 partitions, and at most 12 are allowed here"
        " (policies: partitions.max, set by namespace 'org')."
    )
    assert (one.rule, one.source, one.mode) == (
        "partitions.max",
        "policies.namespaces.org",
        "enforce",
    )


def test_the_mode_is_the_blocks_own() -> None:
    (one,) = violations(placed(None, mode="warn", partitions={"min": 2}), asked(partitions=1))
    assert one.mode == "warn"
    assert one.message == (
        "Topic 'org:orders' has 1 partition, and at least 2 are required here"
        " (policies: partitions.min, set for every namespace)."
    )


def test_nothing_is_set_and_nothing_violated() -> None:
    assert rules(RequestMetadata("orders")) == []


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        (1, ["partitions.min"]),
        (2, []),
        (12, []),
        (13, ["partitions.max"]),
        (None, ["partitions"]),
    ],
)
def test_partitions(partitions: int | None, expected: list[str]) -> None:
    found = rules(asked(partitions=partitions), partitions={"min": 2, "max": 12})
    assert found == expected


def test_what_is_not_known_is_rejected() -> None:
    unknown = asked(partitions=None, replication_factor=None)
    assert "an unknown number of partitions, and 1 to 12 are allowed here" in message(
        unknown, partitions={"min": 1, "max": 12}
    )
    assert "an unknown replication factor, and at least 3 is required here" in message(
        unknown, replication_factor={"min": 3}
    )


def test_assignments_count_as_partitions() -> None:
    two = asked(assignments={0: [1, 2], 1: [2, 3]})
    assert rules(two, partitions={"max": 2}) == []
    assert rules(two, partitions={"max": 1}) == ["partitions.max"]


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        ([[1, 2, 3], [2, 3, 4]], []),
        ([[1, 2, 3], [2, 3]], ["replication_factor.min"]),
        ([[1], [2, 3, 4]], ["replication_factor.min"]),
        ([[1, 2, 3], [1, 2, 3, 4, 5]], ["replication_factor.max"]),
    ],
)
def test_every_partition_has_its_replication_factor(
    replicas: Sequence[Sequence[int]], expected: list[str]
) -> None:
    metadata = asked(assignments=dict(enumerate(replicas)))
    assert rules(metadata, replication_factor={"min": 3, "max": 4}) == expected


def test_the_partition_with_too_few_replicas_is_told() -> None:
    metadata = asked(assignments={0: [1, 2, 3], 7: [4]})
    told = message(metadata, replication_factor={"min": 3})
    assert "has replication factor 1 in partition 7, and at least 3 is required here" in told


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("orders", []),
        ("org:orders", []),
        ("org:apache:orders-2", []),
        ("org:Orders", ["name_pattern"]),
        ("org:2-orders", ["name_pattern"]),
        # The whole name has to match, not a part of it.
        ("org:orders.v2", ["name_pattern"]),
    ],
)
def test_the_name_pattern_is_for_the_name_in_its_namespace(topic: str, expected: list[str]) -> None:
    assert rules(asked(topic), name_pattern="[a-z][a-z0-9-]*") == expected


def test_the_name_pattern_is_told() -> None:
    assert message(asked("org:Orders"), name_pattern="[a-z]+") == (
        "Topic 'org:Orders' has the name 'Orders', and a name has to match [a-z]+ here"
        " (policies: name_pattern, set by namespace 'org')."
    )


def test_a_pattern_of_alternatives_is_matched_as_a_whole() -> None:
    for name, expected in (("in", []), ("out", []), ("inner", ["name_pattern"])):
        assert rules(asked(name), name_pattern="in|out") == expected


def test_of_a_namespace_only_its_configs_are_asked() -> None:
    everything = {
        "partitions": {"max": 0},
        "replication_factor": {"min": 9},
        "name_pattern": "x",
        "configs": {"required": ["retention.ms"]},
        "max_topics": 0,
    }
    namespace = RequestMetadata("org:Apache:", configs={"segment.ms": "1"})
    assert rules(namespace, **everything) == []
    told = message(namespace, configs={"forbidden": ["segment.ms"]})
    assert told.startswith("Namespace 'org:Apache' sets segment.ms, which may not be set here (")


def test_all_rules_are_told_at_once() -> None:
    found = rules(
        asked("org:Orders", 64, 1, {"segment.ms": "1"}),
        partitions={"max": 12},
        replication_factor={"min": 3},
        name_pattern="[a-z]+",
        configs={"forbidden": ["segment.ms"], "required": ["retention.ms"]},
    )
    assert found == [
        "name_pattern",
        "partitions.max",
        "replication_factor.min",
        "configs.required",
        "configs.forbidden",
    ]


@given(
    st.integers(-(2**31), 2**31),
    st.integers(-10, 10) | st.none(),
    st.integers(0, 20) | st.none(),
)
def test_a_range_is_what_is_between_its_ends(value: int, low: int | None, more: int | None) -> None:
    high = None if more is None else (low or 0) + more
    if low is None and high is None:
        return
    bounds = {"min": low, "max": high}
    within = (low is None or value >= low) and (high is None or value <= high)
    assert rules(asked(partitions=value), partitions=bounds) == (
        []
        if within
        else ["partitions.min" if low is not None and value < low else "partitions.max"]
    )
