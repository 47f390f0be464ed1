"""gateway.acls.evaluator: any resource of a type (KIP-679), and the ACL that decided."""

from __future__ import annotations

import pytest

from gateway.acl_model import (
    Operation,
    ResourceType,
)
from gateway.catalog.snapshot import Snapshot
from tests.acls.samples import (
    HOST,
    authorizer,
    named,
)

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP

# -- any resource of a type (KIP-679) ---------------------------------------------------------


@pytest.mark.parametrize(
    ("acls", "topics", "groups"),
    [
        pytest.param([], False, False, id="no ACL"),
        pytest.param(["TOPIC:LITERAL:x ALLOW WRITE a"], True, False, id="literal"),
        pytest.param(["TOPIC:PREFIXED:x ALLOW WRITE a"], True, False, id="prefixed"),
        pytest.param(["TOPIC:LITERAL:* ALLOW ALL *"], True, False, id="* for every user"),
        pytest.param(["TOPIC:LITERAL:x ALLOW WRITE b"], False, False, id="somebody else's"),
        pytest.param(["TOPIC:LITERAL:x ALLOW WRITE a 10.0.0.2"], False, False, id="host"),
        pytest.param(
            ["TOPIC:LITERAL:x ALLOW WRITE a 10.0.0.2", "TOPIC:LITERAL:x ALLOW READ a"],
            False,
            False,
            id="operation and host in two ACLs",
        ),
        pytest.param(
            ["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:* DENY WRITE a"],
            False,
            False,
            id="all denied",
        ),
        pytest.param(
            ["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:x DENY ALL *"],
            False,
            False,
            id="that one denied",
        ),
        pytest.param(
            ["TOPIC:LITERAL:xy ALLOW WRITE a", "TOPIC:PREFIXED:x DENY WRITE a"],
            False,
            False,
            id="a shorter prefix denied",
        ),
        pytest.param(
            [
                "TOPIC:PREFIXED:x ALLOW WRITE a",
                "TOPIC:PREFIXED:xy DENY WRITE a",
                "TOPIC:LITERAL:x DENY WRITE a",
            ],
            True,
            False,
            id="a longer prefix denied leaves some",
        ),
        pytest.param(
            ["TOPIC:PREFIXED:x ALLOW WRITE a", "TOPIC:PREFIXED:x DENY WRITE a 10.0.0.2"],
            True,
            False,
            id="denied at another host",
        ),
        pytest.param(
            ["TOPIC:LITERAL:* ALLOW WRITE a", "TOPIC:LITERAL:hardcode DENY WRITE a"],
            True,
            False,
            id="Kafka's probe is a name as any other",
        ),
        pytest.param(
            [
                "TOPIC:LITERAL:* ALLOW WRITE a",
                "TOPIC:PREFIXED:* DENY WRITE a",
                "TOPIC:PREFIXED:h DENY WRITE a",
            ],
            True,
            False,
            id="nor is * as a name",
        ),
        pytest.param(["TOPIC:LITERAL:org: ALLOW WRITE a"], True, True, id="a namespace"),
        pytest.param(["TOPIC:PREFIXED:org: ALLOW WRITE a"], True, False, id="all topics in one"),
        pytest.param(
            ["TOPIC:LITERAL:org:x ALLOW WRITE a", "TOPIC:LITERAL:org: ALLOW READ b"],
            False,
            False,
            id="in a closed namespace",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW WRITE a", "TOPIC:PREFIXED:org: DENY WRITE a"],
            False,
            False,
            id="all of it denied",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW WRITE a", "TOPIC:PREFIXED:org:x DENY WRITE a"],
            True,
            True,
            id="some of it denied",
        ),
    ],
)
def test_authorize_any(acls: list[str], topics: bool, groups: bool) -> None:
    made = authorizer(acls)
    for _ in range(2):  # the second time it is remembered
        assert made.authorize_any("User:a", HOST, Operation.WRITE, TOPIC).allowed is topics
        assert made.authorize_any("User:a", HOST, Operation.WRITE, GROUP).allowed is groups


@pytest.mark.parametrize(
    ("acl", "allowed"),
    [
        ("TOPIC:LITERAL:x ALLOW READ b", True),
        ("TOPIC:LITERAL:x DENY WRITE a", True),
        ("TOPIC:LITERAL:* ALLOW READ b", False),
        ("TOPIC:LITERAL:* DENY WRITE a", False),
    ],
)
def test_any_if_everyone_is_allowed(acl: str, allowed: bool) -> None:
    made = authorizer(acl, allow_everyone=True)
    assert made.authorize_any("User:a", HOST, Operation.WRITE, TOPIC).allowed is allowed


# -- why --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acls", "question", "rule"),
    [
        (["TOPIC:LITERAL:x ALLOW READ a"], "a WRITE TOPIC x", "no ACL allows it"),
        (
            ["TOPIC:LITERAL:x ALLOW READ a"],
            "a DESCRIBE TOPIC x",
            "ALLOW READ for User:a on TOPIC:LITERAL:x",
        ),
        (
            ["TOPIC:PREFIXED:x DENY READ * 10.0.0.1", "TOPIC:PREFIXED:xy ALLOW ALL a"],
            "a READ TOPIC xyz",
            "DENY READ for User:* from 10.0.0.1 on TOPIC:PREFIXED:x",
        ),
        (
            ["TOPIC:LITERAL:org: ALLOW READ b", "TOPIC:LITERAL:org:x ALLOW READ a"],
            "a READ TOPIC org:x",
            "no ACL allows READ or DESCRIBE on namespace 'org:', which has ACLs",
        ),
        (
            ["TOPIC:LITERAL:org: ALLOW READ b", "TOPIC:LITERAL:org:x ALLOW READ a"],
            "a DESCRIBE TOPIC org:x",
            "no ACL allows DESCRIBE on namespace 'org:', which has ACLs",
        ),
        (
            ["TOPIC:LITERAL:org: ALLOW READ b", "TOPIC:PREFIXED:org: DENY READ a"],
            "a READ GROUP org:deep:g",
            "DENY READ for User:a on TOPIC:PREFIXED:org:",
        ),
        (
            ["TOPIC:LITERAL:org: ALLOW READ a", "TOPIC:LITERAL:org:deep: DENY ALL a"],
            "a READ GROUP org:deep:g",
            "DENY ALL for User:a on TOPIC:LITERAL:org:deep:",
        ),
        (
            ["TOPIC:LITERAL:org: ALLOW READ a"],
            "a READ GROUP org:deep:g",
            "ALLOW READ for User:a on TOPIC:LITERAL:org:",
        ),
        (
            ["TOPIC:LITERAL:org: ALLOW ALTER a"],
            "a CREATE TOPIC org:x",
            "ALLOW ALTER for User:a on TOPIC:LITERAL:org:",
        ),
        (["TOPIC:LITERAL:* ALLOW ALL a"], "root READ TOPIC x", "super.users"),
    ],
)
def test_the_rule_that_decided(acls: list[str], question: str, rule: str) -> None:
    made = authorizer(acls, super_users=["User:root"])
    user, operation, what = question.split(" ", 2)
    verdict = made.authorize(f"User:{user}", HOST, Operation[operation], named(what))
    assert verdict.rule == rule


def test_the_rules_of_any() -> None:
    made = authorizer(["TOPIC:LITERAL:* DENY WRITE a", "TOPIC:PREFIXED:x ALLOW ALL *"])

    def rule(user: str, operation: Operation, kind: ResourceType = TOPIC) -> str:
        return made.authorize_any(user, HOST, operation, kind).rule

    assert rule("User:a", Operation.WRITE) == "DENY WRITE for User:a on TOPIC:LITERAL:*"
    assert rule("User:a", Operation.READ) == "ALLOW ALL for User:* on TOPIC:PREFIXED:x"
    assert rule("User:a", Operation.READ, GROUP) == "no ACL allows READ on any GROUP"
    everyone = authorizer([], allow_everyone=True)
    verdict = everyone.authorize_any("User:a", HOST, Operation.WRITE, TOPIC)
    assert (verdict.allowed, verdict.rule) == (True, "allow.everyone.if.no.acl.found")


def test_a_rule_that_is_read_too_late() -> None:
    made = authorizer("TOPIC:LITERAL:x ALLOW READ a")
    verdict = made.authorize("User:a", HOST, Operation.READ, named("TOPIC x"))
    made.see(Snapshot())
    assert verdict.allowed
    assert verdict.rule == "an ACL that has changed since"
