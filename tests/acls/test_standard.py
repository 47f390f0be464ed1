"""gateway.acls.standard: each rule, and all against the documented rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import Operation, ResourceType, pattern_of, resource
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.snapshot import Snapshot
from tests.acls.reference import Reference, bindings_of
from tests.acls.samples import (
    HOST,
    HOSTS,
    KINDS,
    NAMES,
    OPERATIONS,
    OTHER_HOST,
    PRINCIPALS,
    allows,
    authorizer,
    named,
    snapshots,
)

# -- as in Kafka ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acl", "allowed", "denied"),
    [
        pytest.param(
            "TOPIC:LITERAL:orders ALLOW READ a",
            ["a READ TOPIC orders", "a DESCRIBE TOPIC orders"],
            [
                "a WRITE TOPIC orders",
                "a READ TOPIC orders-eu",
                "a READ TOPIC order",
                "a READ GROUP orders",
                "b READ TOPIC orders",
                "a READ TOPIC org:orders",
            ],
            id="literal",
        ),
        pytest.param(
            "TOPIC:PREFIXED:or ALLOW READ a",
            ["a READ TOPIC or", "a READ TOPIC orders"],
            ["a READ TOPIC o", "a READ TOPIC xor", "a READ GROUP orders"],
            id="prefixed",
        ),
        pytest.param(
            "TOPIC:LITERAL:* ALLOW READ a",
            ["a READ TOPIC x", "a READ TOPIC *", "a READ TOPIC org:x", "a READ TOPIC org:"],
            ["a READ GROUP x", "a WRITE TOPIC x"],
            id="literal *",
        ),
        pytest.param(
            "GROUP:LITERAL:org..app ALLOW READ a",
            ["a READ GROUP org:app"],
            ["a READ GROUP org:apps", "a READ GROUP app", "b READ GROUP org:app"],
            id="an id as brokers know it",
        ),
        pytest.param(
            "GROUP:PREFIXED:org.v1-.2.. ALLOW READ a",
            ["a READ GROUP org:v1.2:app", "a READ GROUP org:v1.2:in:app"],
            ["a READ GROUP org:app", "a READ TOPIC org:v1.2:app"],
            id="the beginning of all ids of a namespace as brokers know them",
        ),
        pytest.param(
            "TRANSACTIONAL_ID:PREFIXED:org..a ALLOW WRITE a",
            ["a WRITE TRANSACTIONAL_ID org:a1"],
            ["a WRITE TRANSACTIONAL_ID org:in:a1", "a WRITE TRANSACTIONAL_ID org:b"],
            id="the beginning of ids as brokers know them",
        ),
        pytest.param(
            "TOPIC:LITERAL:org..x ALLOW READ a",
            ["a READ TOPIC org..x"],
            ["a READ TOPIC org:x"],
            id="a topic of the default namespace that is spelled like another one's",
        ),
        pytest.param(
            "GROUP:PREFIXED:* ALLOW READ a",
            ["a READ GROUP *", "a READ GROUP *x"],
            ["a READ GROUP x"],
            id="a prefix * is no wildcard",
        ),
        pytest.param(
            "TOPIC:LITERAL:x ALLOW ALL a",
            [f"a {operation.name} TOPIC x" for operation in Operation if operation > 2],
            [],
            id="ALL",
        ),
        pytest.param("TOPIC:LITERAL:x ALLOW READ *", ["a READ TOPIC x"], [], id="User:*"),
        pytest.param(
            "TOPIC:LITERAL:x ALLOW READ a 10.0.0.1",
            ["a READ TOPIC x", "a DESCRIBE TOPIC x"],
            ["a@10.0.0.2 READ TOPIC x"],
            id="host",
        ),
        pytest.param(
            "TOPIC:LITERAL:x ALLOW ALTER_CONFIGS a",
            ["a ALTER_CONFIGS TOPIC x", "a DESCRIBE_CONFIGS TOPIC x"],
            ["a DESCRIBE TOPIC x", "a ALTER TOPIC x"],
            id="ALTER_CONFIGS implies DESCRIBE_CONFIGS",
        ),
        pytest.param(
            "TOPIC:LITERAL:x ALLOW CREATE a",
            ["a CREATE TOPIC x"],
            ["a DESCRIBE TOPIC x"],
            id="CREATE implies nothing",
        ),
        pytest.param(
            "CLUSTER:LITERAL:kafka-cluster ALLOW ALTER a",
            ["a ALTER CLUSTER kafka-cluster", "a DESCRIBE CLUSTER kafka-cluster"],
            ["a CREATE CLUSTER kafka-cluster", "a ALTER TOPIC x"],
            id="cluster",
        ),
        pytest.param(
            "USER:PREFIXED:User:al ALLOW DESCRIBE_TOKENS a",
            ["a DESCRIBE_TOKENS USER User:alice", "a DESCRIBE_TOKENS USER User:al:x"],
            ["a DESCRIBE_TOKENS USER User:bob"],
            id="users have no namespaces",
        ),
    ],
)
def test_one_acl(acl: str, allowed: list[str], denied: list[str]) -> None:
    made = authorizer(acl)
    assert [each for each in allowed if not allows(made, each)] == []
    assert [each for each in denied if allows(made, each)] == []


@pytest.mark.parametrize("operation", ["READ", "WRITE", "DELETE", "ALTER", "DESCRIBE"])
def test_what_implies_describe(operation: str) -> None:
    assert allows(authorizer(f"TOPIC:LITERAL:x ALLOW {operation} a"), "a DESCRIBE TOPIC x")
    denied = [f"TOPIC:LITERAL:x DENY {operation} a", "TOPIC:PREFIXED:x ALLOW ALL a"]
    assert allows(authorizer(denied), "a DESCRIBE TOPIC x") is (operation != "DESCRIBE")


@pytest.mark.parametrize(
    "denial",
    [
        "TOPIC:LITERAL:orders DENY READ a",
        "TOPIC:LITERAL:orders DENY ALL a",
        "TOPIC:LITERAL:orders DENY READ *",
        "TOPIC:LITERAL:orders DENY READ a 10.0.0.1",
        "TOPIC:PREFIXED:o DENY READ a",
        "TOPIC:PREFIXED:orders DENY READ a",
        "TOPIC:LITERAL:* DENY READ a",
    ],
)
@pytest.mark.parametrize(
    "allowance", ["TOPIC:LITERAL:orders", "TOPIC:PREFIXED:or", "TOPIC:LITERAL:*"]
)
def test_deny_over_allow(denial: str, allowance: str) -> None:
    made = authorizer([denial, f"{allowance} ALLOW ALL a"])
    assert not allows(made, "a READ TOPIC orders")
    assert allows(made, "a WRITE TOPIC orders") is ("ALL" not in denial)
    assert allows(made, "a@10.0.0.2 READ TOPIC orders") is ("10.0.0.1" in denial)


def test_super_users_are_not_asked() -> None:
    made = authorizer("TOPIC:LITERAL:* DENY ALL *", super_users=["User:root"])
    assert allows(made, "root WRITE TOPIC x")
    assert made.authorize_any("User:root", HOST, Operation.WRITE, ResourceType.TOPIC).allowed
    assert made.may_manage("User:root", HOST, pattern_of("TOPIC:LITERAL:org:x"))
    assert not made.may_manage("User:root", HOST, pattern_of("TOPIC:LITERAL:x"))
    assert not allows(made, "a WRITE TOPIC x")


@pytest.mark.parametrize(
    ("acl", "question", "allowed"),
    [
        ("TOPIC:LITERAL:x ALLOW READ b", "a READ TOPIC y", True),
        ("TOPIC:LITERAL:x ALLOW READ b", "a READ TOPIC x", False),
        ("TOPIC:LITERAL:x DENY WRITE b 10.9.9.9", "a READ TOPIC x", False),
        ("TOPIC:PREFIXED:x ALLOW READ b", "a READ TOPIC xy", False),
        ("TOPIC:PREFIXED:x ALLOW READ b", "a READ TOPIC y", True),
        ("TOPIC:LITERAL:* ALLOW READ b", "a READ TOPIC x", False),
        ("GROUP:LITERAL:* ALLOW READ b", "a READ TOPIC x", True),
        ("TOPIC:PREFIXED:org: ALLOW READ b", "a READ TOPIC org:deep:x", False),
        ("TOPIC:PREFIXED:org:d ALLOW READ b", "a READ TOPIC org:deep:x", True),
        ("TOPIC:PREFIXED:or ALLOW READ b", "a READ TOPIC org:x", True),
        ("GROUP:LITERAL:org..app ALLOW READ b", "a READ GROUP org:app", False),
        ("GROUP:LITERAL:org..app ALLOW READ b", "a READ GROUP org:other", True),
    ],
)
def test_allow_everyone_if_no_acl_found(acl: str, question: str, allowed: bool) -> None:
    assert allows(authorizer(acl, allow_everyone=True), question) is allowed
    assert not allows(authorizer(acl), question)


def test_of_a_namespace_with_acls_one_is_found() -> None:
    made = authorizer("TOPIC:LITERAL:org: ALLOW DESCRIBE *", allow_everyone=True)
    assert not allows(made, "a WRITE TOPIC org:x")
    assert not allows(made, "a READ GROUP org:deep:g")
    assert not allows(made, "a ALTER TOPIC org:")
    assert allows(made, "a WRITE TOPIC other:x")
    assert not made.may_manage("User:a", HOST, pattern_of("TOPIC:LITERAL:other:x")), (
        "nobody was given it"
    )


@pytest.mark.parametrize("written", ["::1", "0:0:0:0:0:0:0:1", "0000::0001"])
@pytest.mark.parametrize("asked", ["::1", "0:0:0:0:0:0:0:1"])
def test_an_address_has_many_forms(written: str, asked: str) -> None:
    made = authorizer([f"TOPIC:LITERAL:x DENY READ a {written}", "TOPIC:LITERAL:x ALLOW READ a"])
    assert not made.authorize("User:a", asked, Operation.READ, named("TOPIC x")).allowed
    assert made.authorize("User:a", "::2", Operation.READ, named("TOPIC x")).allowed


def test_an_ipv4_address_inside_an_ipv6_one() -> None:
    made = authorizer(f"TOPIC:LITERAL:x ALLOW READ a {HOST}")
    assert allows(made, f"a@::ffff:{HOST} READ TOPIC x")
    assert not allows(made, f"a@::ffff:{OTHER_HOST} READ TOPIC x")


# -- configuration ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "configs",
    [
        {"super.users": "User:a"},
        {"allow.everyone.if.no.acl.found": "true"},
        {"early.start.listeners": "CONTROLLER"},
    ],
)
def test_configs_that_it_does_not_take(configs: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"takes no '{next(iter(configs))}'; leave it out"):
        StandardAuthorizer().configure(configs, lambda: None)


# -- against the documented rules -------------------------------------------------------------


@given(snapshots, st.booleans())
def test_it_decides_as_the_rules_say(snapshot: Snapshot, allow_everyone: bool) -> None:
    """Every question in this small world is put to both."""
    made = authorizer(snapshot, allow_everyone=allow_everyone)
    bindings = bindings_of(snapshot)
    for principal in PRINCIPALS:
        for host in HOSTS:
            reference = Reference(bindings, principal, host)
            for operation in OPERATIONS:
                for kind in KINDS:
                    for name in NAMES:
                        what = resource(kind, name)
                        found = made.authorize(principal, host, operation, what)
                        expected = reference.allowed(operation, kind, name, allow_everyone)
                        assert found.allowed is expected, (principal, host, operation, str(what))
