"""gateway.policies.violation: the sentence that a client reads."""

from __future__ import annotations

from gateway.policies.violation import Violation, shown_name, violation
from tests.policies.samples import placed


def test_a_declared_rule_says_who_set_it() -> None:
    found = violation(placed("org:apache", mode="warn"), "partitions.max", "Topic 'x' is too large")
    assert found == Violation(
        "partitions.max",
        "Topic 'x' is too large (policies: partitions.max, set by namespace 'org:apache').",
        "policies.namespaces.org:apache",
        "warn",
    )


def test_names() -> None:
    assert shown_name("org:orders") == "topic 'org:orders'"
    assert shown_name("orders") == "topic 'orders'"
    assert shown_name("org:apache:") == "namespace 'org:apache'"
