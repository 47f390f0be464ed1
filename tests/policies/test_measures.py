"""gateway.policies.declared: how close a number is to its limits."""

from __future__ import annotations

import pytest

from gateway.config.policies import PolicyBlock
from gateway.policies.declared import Measure, measures
from gateway.policies.interface import RequestMetadata
from gateway.policies.violation import is_near


def block(**values: object) -> PolicyBlock:
    return PolicyBlock.model_validate(values)


@pytest.mark.parametrize(
    ("value", "limit", "near"),
    [(80, 100, True), (79, 100, False), (120, 100, True), (121, 100, False), (0, 0, False)],
)
def test_near_is_within_a_fifth_of_the_limit(value: int, limit: int, near: bool) -> None:
    assert is_near(value, limit) is near


def test_every_end_of_every_range() -> None:
    limits = block(
        partitions={"min": 2, "max": 12},
        replication_factor={"min": 3},
        **{"retention.ms": {"max": 1000}},
    )
    topic = RequestMetadata("org:x", 10, 2, configs={"retention.ms": "-1"}, namespace="org")
    found = list(measures(limits, topic))
    assert found == [
        Measure("partitions.min", 10, 2, broken=False),
        Measure("partitions.max", 10, 12, broken=False),
        Measure("replication_factor.min", 2, 3, broken=True),
        Measure("retention.ms.max", None, 1000, broken=True),
    ]
    assert [one.near for one in found] == [False, True, False, False]


def test_what_the_broker_made_of_it_counts() -> None:
    limits = block(**{"retention.ms": {"max": 1000}})
    topic = RequestMetadata("org:x", 1, 1, effective_configs={"retention.ms": "900"})
    assert [one.near for one in measures(limits, topic)] == [True]
    namespace = RequestMetadata("org:", configs={"retention.ms": "1.5"})
    assert list(measures(limits, namespace)) == [Measure("retention.ms.max", None, 1000, False)]


def test_of_assigned_replicas_each_partition_is_looked_at() -> None:
    limits = block(replication_factor={"min": 2}, partitions={"max": 9})
    topic = RequestMetadata("org:x", replicas_assignments={0: (1, 2), 1: (1,)})
    found = [(one.rule, one.value, one.broken) for one in measures(limits, topic)]
    assert found == [
        ("partitions.max", 2, False),
        ("replication_factor.min", 2, False),
        ("replication_factor.min", 1, True),
    ]


def test_what_nobody_knows_is_no_number() -> None:
    limits = block(partitions={"max": 2}, **{"retention.ms": {"max": 1}})
    topic = RequestMetadata("org:x", configs={"retention.ms": "soon"})
    assert list(measures(limits, topic)) == []
