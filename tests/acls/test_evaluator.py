"""gateway.acls.evaluator: gates of namespaces, delegation, any resource of a type, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gateway.acls.evaluator
from gateway.acl_model import (
    Operation,
    PatternType,
    ResourcePattern,
    ResourceType,
    name_of,
    pattern_of,
    resource,
)
from gateway.acls.evaluator import AclEvaluators
from gateway.acls.index import AclIndex
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Change, Removal
from gateway.catalog.snapshot import Snapshot
from tests.acls.reference import Reference, bindings_of
from tests.acls.samples import (
    HOST,
    KINDS,
    NAMES,
    OPERATIONS,
    PRINCIPALS,
    acls,
    allows,
    authorizer,
    named,
    patterns,
    resource_acls,
    snapshots,
)

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP

# -- namespaces -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acls", "allowed", "denied"),
    [
        pytest.param(
            ["TOPIC:LITERAL:org:x ALLOW READ a"],
            ["a READ TOPIC org:x"],
            [],
            id="a namespace without ACLs of its own is open",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ b", "TOPIC:LITERAL:org:x ALLOW READ a"],
            [],
            ["a READ TOPIC org:x"],
            id="closed to whom none of its ACLs lets in",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW DESCRIBE a", "TOPIC:LITERAL:org:x ALLOW READ a"],
            ["a READ TOPIC org:x", "a DESCRIBE TOPIC org:y", "a DESCRIBE GROUP org:g"],
            ["a READ TOPIC org:y", "a WRITE TOPIC org:x"],
            id="DESCRIBE opens it for all that its ACLs allow",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW WRITE a", "TOPIC:LITERAL:org:x ALLOW READ a"],
            ["a READ TOPIC org:x", "a WRITE TOPIC org:y", "a DESCRIBE TOPIC org:y"],
            ["a READ TOPIC org:y"],
            id="so does what implies DESCRIBE",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW CREATE a", "TOPIC:LITERAL:org:x ALLOW ALL a"],
            ["a CREATE TOPIC org:x", "a CREATE TOPIC org:y"],
            ["a READ TOPIC org:x", "a DESCRIBE TOPIC org:x"],
            id="what does not imply it opens for itself alone",
        ),
        pytest.param(
            [
                "TOPIC:LITERAL:org: ALLOW DESCRIBE a",
                "TOPIC:LITERAL:org: DENY READ a",
                "TOPIC:LITERAL:org:x ALLOW ALL a",
            ],
            ["a WRITE TOPIC org:x"],
            ["a READ TOPIC org:x"],
            id="DENY on a namespace",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ b", "TOPIC:LITERAL:* ALLOW READ a"],
            ["a READ TOPIC org:x"],
            ["a WRITE TOPIC org:x"],
            id="* covers the namespace, too",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ b", "TOPIC:PREFIXED:org: ALLOW READ a"],
            ["a READ TOPIC org:x", "a READ TOPIC org:deep:x"],
            ["a READ GROUP org:x"],
            id="so does PREFIXED org:",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ b", "GROUP:PREFIXED:org: ALLOW READ a"],
            [],
            ["a READ GROUP org:g"],
            id="a group's ACL opens no namespace",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ a", "TOPIC:LITERAL:org:x DENY READ a"],
            ["a READ TOPIC org:y", "a READ GROUP org:g", "a READ TRANSACTIONAL_ID org:t"],
            ["a READ TOPIC org:x", "a READ TOPIC x", "a WRITE TOPIC org:y"],
            id="ALLOW on a namespace counts for all in it, an entity's DENY denies",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ a"],
            ["a READ TOPIC org:deep:", "a READ TOPIC org:deep:er:x"],
            ["a READ TOPIC other:x"],
            id="and for all below",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW ALL a", "TOPIC:LITERAL:org:deep: ALLOW READ b"],
            ["a READ TOPIC org:deep:", "a READ TOPIC org:x"],
            ["a READ TOPIC org:deep:x", "b READ TOPIC org:deep:x"],
            id="every tier with ACLs of its own is asked",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org:deep: ALLOW READ b"],
            ["b READ TOPIC org:deep:x"],
            ["b READ TOPIC org:x"],
            id="a tier without is not",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: DENY ALL b"],
            [],
            ["a READ TOPIC org:x"],
            id="a DENY alone is an ACL of its own",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ b", "TOPIC:LITERAL:org:x ALLOW READ a"],
            ["b READ TOPIC org:"],
            ["a READ TOPIC org:", "a DESCRIBE TOPIC org:"],
            id="the namespace itself",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW READ b", "CLUSTER:LITERAL:kafka-cluster ALLOW CREATE a"],
            ["a CREATE CLUSTER kafka-cluster"],
            [],
            id="the cluster is in no namespace",
        ),
    ],
)
def test_gates(acls: list[str], allowed: list[str], denied: list[str]) -> None:
    made = authorizer(acls)
    assert [each for each in allowed if not allows(made, each)] == []
    assert [each for each in denied if allows(made, each)] == []


@pytest.mark.parametrize(
    ("acls", "allowed", "denied"),
    [
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW ALTER a"],
            ["a CREATE TOPIC org:x", "a CREATE TOPIC org:deep:", "a CREATE TOPIC org:deep:er:x"],
            ["a CREATE TOPIC org:", "a CREATE TOPIC x", "a CREATE GROUP org:g"],
            id="ALTER on a namespace",
        ),
        pytest.param(
            ["TOPIC:PREFIXED:org: ALLOW ALTER a"],
            ["a CREATE TOPIC org:x", "a CREATE TOPIC org:deep:x"],
            ["a CREATE TOPIC org:", "a DELETE TOPIC org:x"],
            id="by a prefix",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org:x ALLOW ALTER a", "TOPIC:PREFIXED:org:y ALLOW ALTER a"],
            [],
            ["a CREATE TOPIC org:x", "a CREATE TOPIC org:y"],
            id="ALTER on a topic delegates nothing",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW ALTER a", "TOPIC:LITERAL:org:x DENY CREATE a"],
            ["a CREATE TOPIC org:y"],
            ["a CREATE TOPIC org:x"],
            id="a DENY denies",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW ALTER a", "TOPIC:LITERAL:org: DENY CREATE a"],
            [],
            ["a CREATE TOPIC org:x", "a CREATE TOPIC org:deep:x"],
            id="so does one at the gate",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW ALTER a", "TOPIC:PREFIXED:org:deep: DENY ALTER a"],
            ["a CREATE TOPIC org:x"],
            ["a CREATE TOPIC org:deep:x"],
            id="ALTER itself is denied further down",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW ALTER a", "TOPIC:LITERAL:org:deep: ALLOW READ b"],
            ["a CREATE TOPIC org:x", "a CREATE TOPIC org:deep:"],
            ["a CREATE TOPIC org:deep:x"],
            id="a gate further down",
        ),
        pytest.param(
            ["TOPIC:LITERAL:org: ALLOW ALTER a 10.0.0.1"],
            ["a CREATE TOPIC org:x"],
            ["a@10.0.0.2 CREATE TOPIC org:x"],
            id="from its host alone",
        ),
    ],
)
def test_delegation(acls: list[str], allowed: list[str], denied: list[str]) -> None:
    made = authorizer(acls)
    assert [each for each in allowed if not allows(made, each)] == []
    assert [each for each in denied if allows(made, each)] == []


@pytest.mark.parametrize(
    ("pattern", "managed"),
    [
        ("TOPIC:LITERAL:org:", True),
        ("TOPIC:PREFIXED:org:", True),
        ("TOPIC:LITERAL:org:x", True),
        ("TOPIC:PREFIXED:org:x", True),
        ("TOPIC:LITERAL:org:deep:", True),
        ("TOPIC:PREFIXED:org:deep:", True),
        ("GROUP:LITERAL:org:x", True),
        ("GROUP:PREFIXED:org:", True),
        ("TRANSACTIONAL_ID:PREFIXED:org:deep:x", True),
        ("TOPIC:LITERAL:*", False),
        ("TOPIC:PREFIXED:*", False),
        ("TOPIC:LITERAL:org", False),
        ("TOPIC:PREFIXED:org", False),
        ("TOPIC:PREFIXED:or", False),
        ("TOPIC:LITERAL:other:x", False),
        ("TOPIC:PREFIXED:organic:", False),
        ("GROUP:LITERAL:g", False),
        ("USER:LITERAL:org:x", False),
        ("CLUSTER:LITERAL:kafka-cluster", False),
        ("TOPIC:LITERAL:org:closed:", True),
        ("TOPIC:LITERAL:org:closed:x", False),
        ("TOPIC:PREFIXED:org:closed:", False),
        ("GROUP:LITERAL:org:closed:deep:g", False),
        ("TOPIC:LITERAL:org:denied:", False),
        ("TOPIC:LITERAL:org:denied:x", False),
    ],
)
def test_whose_acls_are_delegated(pattern: str, managed: bool) -> None:
    made = authorizer(
        [
            "TOPIC:LITERAL:org: ALLOW ALTER a",
            "TOPIC:LITERAL:org:closed: ALLOW ALL b",
            "TOPIC:PREFIXED:org:denied: DENY ALTER a",
        ]
    )
    assert made.may_manage("User:a", HOST, pattern_of(pattern)) is managed
    assert not made.may_manage("User:c", HOST, pattern_of(pattern))


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


changes = resource_acls | patterns.map(lambda pattern: Removal(("acl", str(pattern))))


@given(snapshots, st.lists(st.lists(changes, max_size=3), max_size=3), st.booleans())
def test_what_it_remembers_is_forgotten_in_time(
    snapshot: Snapshot, steps: list[list[Change]], allow_everyone: bool
) -> None:
    """Whatever was asked before a change, afterwards it answers as one that has seen no other."""
    made = authorizer(snapshot, allow_everyone=allow_everyone)
    for step in steps:
        answers(made)
        snapshot = snapshot.apply(step, snapshot.version + 1)
        made.see(snapshot)
    assert answers(made) == answers(authorizer(snapshot, allow_everyone=allow_everyone))


def answers(made: StandardAuthorizer) -> list[str]:
    """With the rules, on some of what there is."""
    asked = [
        made.authorize(principal, HOST, operation, resource(kind, name))
        for principal in PRINCIPALS
        for operation in OPERATIONS[:4]
        for kind in KINDS[:2]
        for name in NAMES
    ]
    others = [
        made.authorize_any(principal, HOST, operation, kind).allowed
        for principal in PRINCIPALS
        for operation in OPERATIONS
        for kind in KINDS
    ]
    others += [
        made.may_manage(principal, HOST, ResourcePattern(kind, pattern_type, name))
        for principal in PRINCIPALS
        for kind in KINDS
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        for name in NAMES
    ]
    return [f"{each.allowed} {each.rule}" for each in asked] + [str(each) for each in others]


MORE_NAMES = [*NAMES, "*", *(f"{name}~" for name in (*NAMES, "", "*"))]
"""And in each namespace, and after each prefix, a name that no ACL has."""


@given(snapshots, st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALTER]))
def test_any_means_that_there_is_one(snapshot: Snapshot, operation: Operation) -> None:
    made = authorizer(snapshot)
    for principal in PRINCIPALS:
        reference = Reference(bindings_of(snapshot), principal, HOST)
        for kind in KINDS:
            names = [name for name in MORE_NAMES if kind is not TOPIC or not name.endswith(":")]
            expected = any(reference.allowed(operation, kind, name, False) for name in names)
            found = made.authorize_any(principal, HOST, operation, kind)
            assert found.allowed is expected, (principal, kind, found.rule)


@given(snapshots)
def test_whose_acls_are_managed_is_who_may_alter_the_namespace(snapshot: Snapshot) -> None:
    made = authorizer(snapshot)
    for principal in PRINCIPALS:
        reference = Reference(bindings_of(snapshot), principal, HOST)
        for kind in KINDS[:2]:
            for name in NAMES:
                pattern = ResourcePattern(kind, PatternType.PREFIXED, name)
                inside = name.rpartition(":")[0]
                expected = bool(inside) and reference.allowed(
                    Operation.ALTER, TOPIC, f"{inside}:~~~", False
                )
                assert made.may_manage(principal, HOST, pattern) is expected, (principal, pattern)


# -- what is kept -----------------------------------------------------------------------------


def test_what_is_kept_of_names_that_clients_invent_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway.acls.evaluator, "_KEPT", 20)
    index = AclIndex()
    index.see(Snapshot().apply(acls("TOPIC:LITERAL:* ALLOW READ a"), 1).acls)
    evaluators = AclEvaluators(index)
    seen = []  # kept, so that no two of them have one id
    for number in range(50):
        evaluator = evaluators.of("User:a", HOST)
        seen.append(evaluator)
        name = name_of(TOPIC, f"invented-{number}:x")
        assert evaluator.answer(Operation.READ, TOPIC, name) is not None
        evaluators.of(f"User:{number}", HOST)
        assert evaluators.room > -2
    assert len(set(map(id, seen))) > 2
    evaluator = evaluators.of("User:a", HOST)
    room = evaluators.room
    assert evaluator.answer(Operation.READ, TOPIC, name_of(TOPIC, "a:" * 500 + "x")) is not None
    assert evaluators.room == room, "a name that is too long for a namespace leaves nothing"


def test_an_asker_is_made_once() -> None:
    evaluators = AclEvaluators(AclIndex())
    first = evaluators.of("User:a", HOST)
    assert evaluators.of("User:a", HOST) is first
    assert evaluators.of("User:a", "::1") is not first
    evaluators.forget(["User:b"])
    assert evaluators.of("User:a", HOST) is first
    evaluators.forget(["User:a"])
    assert evaluators.of("User:a", HOST) is not first
