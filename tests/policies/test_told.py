"""gateway.policies.told: what applies, in rows."""

from __future__ import annotations

from gateway.policies.declared import violations
from gateway.policies.limits import over
from gateway.policies.told import Row, anything_set, rows
from gateway.policies.tree import NO_POLICIES
from tests.policies.samples import asked, policies

EVERYWHERE, ORG = "policies.everywhere", "policies.namespaces.org"


def guaranteed(acks: str) -> list[Row]:
    return [
        Row("producer.acks", acks, None, "the default"),
        Row("producer.idempotence", "observe", None, "the default"),
    ]


def test_without_policies_the_guarantee_is_told() -> None:
    assert rows(NO_POLICIES, "org") == guaranteed("upgrade")
    assert rows(NO_POLICIES, "") == guaranteed("observe")
    assert not anything_set(rows(NO_POLICIES, ""))


def test_every_key_of_a_block() -> None:
    block = {
        "create.topic.policy.class.name": "acme.policies:Naming",
        "mode": "warn",
        "partitions": {"min": 1, "max": 12},
        "replication_factor": {"min": 3},
        "min.insync.replicas": {"min": 2},
        "retention.ms": {"max": 604_800_000},
        "retention.bytes": {"max": 9},
        "configs": {
            "ranges": {"segment.ms": {"min": 5, "max": 6}},
            "required": {"retention.ms": None, "cleanup.policy": "compact"},
            "allowed": ["retention.ms", "cleanup.policy"],
            "forbidden": ["flush.ms", "flush.messages"],
        },
        "name_pattern": "[a-z]+",
        "max_topics": 100,
        "max_partitions": 1_000,
        "max_topics_in_tree": 500,
        "max_partitions_in_tree": 5_000,
        "producer": {"acks": "require", "idempotence": "require"},
    }
    told = rows(policies(org=block), "org:apache")
    assert [(one.rule, one.limit) for one in told] == [
        ("partitions.min", "1"),
        ("partitions.max", "12"),
        ("replication_factor.min", "3"),
        ("min.insync.replicas.min", "2"),
        ("retention.ms.max", "604800000"),
        ("retention.bytes.max", "9"),
        ("segment.ms.min", "5"),
        ("segment.ms.max", "6"),
        ("configs.required", "retention.ms"),
        ("configs.required", "cleanup.policy=compact"),
        ("configs.allowed", "retention.ms, cleanup.policy"),
        ("configs.forbidden", "flush.ms, flush.messages"),
        ("name_pattern", "[a-z]+"),
        ("max_topics", "100"),
        ("max_partitions", "1000"),
        ("max_topics_in_tree", "500"),
        ("max_partitions_in_tree", "5000"),
        ("create.topic.policy.class.name", "acme.policies:Naming"),
        ("producer.acks", "require"),
        ("producer.idempotence", "require"),
    ]
    assert {one.source for one in told} == {ORG}
    assert [one.mode for one in told] == ["warn"] * 18 + [None, None]
    assert anything_set(told)


def test_blocks_from_the_outermost_on() -> None:
    written = policies({"partitions": {"max": 12}}, org={"mode": "warn", "partitions": {"max": 50}})
    assert rows(written, "org") == [
        Row("partitions.max", "12", "enforce", EVERYWHERE),
        Row("partitions.max", "50", "warn", ORG),
        *guaranteed("upgrade"),
    ]
    assert rows(written, "") == [
        Row("partitions.max", "12", "enforce", EVERYWHERE),
        *guaranteed("observe"),
    ]


def test_the_guarantee_has_the_source_of_each_half() -> None:
    written = policies(
        {"producer": {"idempotence": "require"}},
        {"producer": {"acks": "upgrade"}},
        org={"producer": {"acks": "require"}},
    )
    idempotence = Row("producer.idempotence", "require", None, EVERYWHERE)
    assert rows(written, "org") == [Row("producer.acks", "require", None, ORG), idempotence]
    assert rows(written, "") == [
        Row("producer.acks", "upgrade", None, "policies.default_namespace"),
        idempotence,
    ]
    assert anything_set(rows(written, ""))


def test_nothing_may_be_set() -> None:
    written = policies(org={"configs": {"allowed": []}})
    assert rows(written, "org")[0] == Row("configs.allowed", "nothing", "enforce", ORG)


class Usage:
    """Everything is full."""

    def topics(self, path: str) -> int:
        return 10**9

    def tree_topics(self, path: str | None) -> int:
        return 10**9

    partitions, tree_partitions = topics, tree_topics


def test_what_is_violated_is_told_by_the_same_name() -> None:
    """Of every rule that violations name."""
    block = {
        "partitions": {"max": 1},
        "replication_factor": {"min": 9},
        "retention.ms": {"max": 5},
        "configs": {
            "ranges": {"segment.ms": {"min": 5}},
            "required": ["cleanup.policy"],
            "allowed": ["cleanup.policy", "flush.ms"],
            "forbidden": ["flush.ms"],
        },
        "name_pattern": "[0-9]+",
        "max_topics": 1,
        "max_partitions": 1,
        "max_topics_in_tree": 1,
        "max_partitions_in_tree": 1,
    }
    written = policies(org=block)
    metadata = asked(configs={"retention.ms": "-1", "segment.ms": "1", "flush.ms": "1"})
    violated = [one for placed in written.of("org") for one in violations(placed, metadata)]
    violated += over(written, Usage(), "org:orders", "org", topics=1, partitions=1)
    told = {(row.rule, row.mode, row.source) for row in rows(written, "org")}
    assert len(violated) == 12
    assert {(one.rule, one.mode, one.source) for one in violated} <= told
