"""gateway.acls.evaluator: gates of namespaces, delegation, and the cache."""

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
from gateway.acls.authorizer import Authorizer
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


changes = resource_acls | patterns.map(lambda pattern: Removal(("acl", str(pattern))))


@given(snapshots, st.lists(st.lists(changes, max_size=3), max_size=3), st.booleans())
def test_what_it_remembers_is_forgotten_in_time(
    snapshot: Snapshot, steps: list[list[Change]], allow_everyone: bool
) -> None:
    """Whatever was asked before a change, it answers afterwards like an authorizer that has seen no
    other state."""
    made = authorizer(snapshot, allow_everyone=allow_everyone)
    for step in steps:
        answers(made)
        snapshot = snapshot.apply(step, snapshot.version + 1)
        made.see(snapshot)
    assert answers(made) == answers(authorizer(snapshot, allow_everyone=allow_everyone))


def answers(made: StandardAuthorizer) -> list[str]:
    """Its decisions, with the rules, on some of the names."""
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


# -- the cache --------------------------------------------------------------------------------


def test_what_is_kept_of_names_that_clients_invent_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway.acls.evaluator, "_KEPT", 20)
    index = AclIndex()
    index.see(Snapshot().apply(acls("TOPIC:LITERAL:* ALLOW READ a"), 1).acls)
    evaluators = AclEvaluators(index)
    seen = []  # kept, so that no two of them have the same id
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


def test_an_evaluator_is_made_once() -> None:
    evaluators = AclEvaluators(AclIndex())
    first = evaluators.of("User:a", HOST)
    assert evaluators.of("User:a", HOST) is first
    assert evaluators.of("User:a", "::1") is not first
    evaluators.forget(["User:b"])
    assert evaluators.of("User:a", HOST) is first
    evaluators.forget(["User:a"])
    assert evaluators.of("User:a", HOST) is not first


@given(snapshots)
def test_a_deny_is_found_wherever_it_stands(snapshot: Snapshot) -> None:
    """On the topic, and on the namespaces around it: as by the list of all ACLs, which authorizers
    inherit."""
    made = authorizer(snapshot)
    for principal in PRINCIPALS:
        for operation in OPERATIONS[:4]:
            for name in NAMES:
                asked = (principal, HOST, operation, resource(TOPIC, name))
                found, listed = made.denying(*asked), Authorizer.denying(made, *asked)
                assert (found is None) is (listed is None), asked
                if found is not None:
                    assert not made.authorize(*asked).allowed
                    assert found.rule.startswith("DENY ")
