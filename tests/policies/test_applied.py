"""gateway.policies.applied: the rules that apply in a namespace."""

from __future__ import annotations

from gateway.policies.applied import anything_set, applied_rules
from gateway.policies.applied_text import AppliedRule
from gateway.policies.declared import violations
from gateway.policies.limits import Counts, over
from gateway.policies.tree import NO_POLICIES
from tests.policies.samples import asked, policies

EVERYWHERE, ORG = "policies.everywhere", "policies.namespaces.org"


def guaranteed(acks: str) -> list[AppliedRule]:
    return [
        AppliedRule("producer.acks", acks, None, "the default"),
        AppliedRule("producer.idempotence", "observe", None, "the default"),
    ]


def test_without_policies_the_guarantee_is_told() -> None:
    assert applied_rules(NO_POLICIES, "org") == guaranteed("upgrade")
    assert applied_rules(NO_POLICIES, "") == guaranteed("observe")
    assert not anything_set(applied_rules(NO_POLICIES, ""))


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
        "max_namespaces_in_tree": 6,
        "max_acls_in_tree": 7,
        "max_links_in_tree": 8,
        "max_aliases_in_tree": 9,
        "producer": {"acks": "require", "idempotence": "require"},
    }
    found = applied_rules(policies(org=block), "org:apache")
    assert [(one.rule, one.limit) for one in found] == [
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
        ("max_namespaces_in_tree", "6"),
        ("max_acls_in_tree", "7"),
        ("max_links_in_tree", "8"),
        ("max_aliases_in_tree", "9"),
        ("create.topic.policy.class.name", "acme.policies:Naming"),
        ("producer.acks", "require"),
        ("producer.idempotence", "require"),
    ]
    assert {one.source for one in found} == {ORG}
    assert [one.mode for one in found] == ["warn"] * 22 + [None, None]
    assert anything_set(found)


def test_blocks_from_the_outermost_on() -> None:
    written = policies({"partitions": {"max": 12}}, org={"mode": "warn", "partitions": {"max": 50}})
    assert applied_rules(written, "org") == [
        AppliedRule("partitions.max", "12", "enforce", EVERYWHERE),
        AppliedRule("partitions.max", "50", "warn", ORG),
        *guaranteed("upgrade"),
    ]
    assert applied_rules(written, "") == [
        AppliedRule("partitions.max", "12", "enforce", EVERYWHERE),
        *guaranteed("observe"),
    ]


def test_the_guarantee_has_the_source_of_each_half() -> None:
    written = policies(
        {"producer": {"idempotence": "require"}},
        {"producer": {"acks": "upgrade"}},
        org={"producer": {"acks": "require"}},
    )
    idempotence = AppliedRule("producer.idempotence", "require", None, EVERYWHERE)
    assert applied_rules(written, "org") == [
        AppliedRule("producer.acks", "require", None, ORG),
        idempotence,
    ]
    assert applied_rules(written, "") == [
        AppliedRule("producer.acks", "upgrade", None, "policies.default_namespace"),
        idempotence,
    ]
    assert anything_set(applied_rules(written, ""))


def test_nothing_may_be_set() -> None:
    written = policies(org={"configs": {"allowed": []}})
    assert applied_rules(written, "org")[0] == AppliedRule(
        "configs.allowed", "nothing", "enforce", ORG
    )


class Usage(Counts):
    """A usage in which everything is full."""

    def topics(self, path: str) -> int:
        return 10**9

    def tree_topics(self, path: str | None) -> int:
        return 10**9

    partitions, tree_partitions = topics, tree_topics


def test_what_is_violated_is_told_by_the_same_name() -> None:
    """For every rule that violations name."""
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
    more = Counts()
    more.add("org", 1)
    violated += over(written, Usage(), more, "org:orders", "org")
    found = {(row.rule, row.mode, row.source) for row in applied_rules(written, "org")}
    assert len(violated) == 12
    assert {(one.rule, one.mode, one.source) for one in violated} <= found


def test_a_block_that_limits_the_catalog_alone() -> None:
    (first, *_) = applied_rules(policies(org={"max_acls_in_tree": 7}), "org:apache")
    assert first == AppliedRule("max_acls_in_tree", "7", "enforce", ORG)
