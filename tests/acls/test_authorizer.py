"""gateway.acls.authorizer: the methods that an authorizer inherits."""

from __future__ import annotations

import pytest

from gateway.acl_model import AclBinding, Operation, Resource, ResourceType, pattern_of
from gateway.acls.authorizer import Verdict
from gateway.catalog.snapshot import Snapshot
from tests.acls.custom import ListAuthorizer
from tests.acls.samples import HOST, entry

TOPIC = ResourceType.TOPIC


class Unreadable:
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def having(*lines: str) -> ListAuthorizer:
    made = ListAuthorizer()
    for line in lines:
        pattern, _, rest = line.partition(" ")
        made.bindings.append(AclBinding(pattern_of(pattern), entry(rest)))
    return made


def test_a_verdict_has_a_rule() -> None:
    assert Verdict(True, "some rule").rule == "some rule"
    assert Verdict(False, entry("DENY READ a")).rule == "DENY READ for User:a"


@pytest.mark.parametrize(
    ("lines", "by"),
    [
        ([], None),
        (["TOPIC:LITERAL:x ALLOW WRITE a"], 0),
        (["TOPIC:PREFIXED:x ALLOW WRITE a"], 0),
        (["TOPIC:LITERAL:* ALLOW WRITE a"], 0),
        (["TOPIC:LITERAL:x ALLOW ALL a"], 0),
        # READ or ALTER do not imply WRITE, and ACLs of other principals do not count.
        (["TOPIC:PREFIXED:x ALLOW READ a"], None),
        (["TOPIC:PREFIXED:x ALLOW WRITE b"], None),
        (["GROUP:LITERAL:x ALLOW WRITE a"], None),
        # ACLs of everybody count for each principal, and ACLs of any host for each host.
        (["TOPIC:LITERAL:x ALLOW WRITE *"], 0),
        (["TOPIC:LITERAL:x ALLOW WRITE * 10.0.0.1"], 0),
        (["TOPIC:LITERAL:x ALLOW WRITE a 10.0.0.2"], None),
        (["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:x DENY WRITE *"], None),
        (["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:x DENY WRITE a 10.0.0.2"], 0),
        (["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:x DENY ALL a"], None),
        (["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:x DENY READ a"], 0),
        # A DENY of the same name, or of the same or a shorter prefix, is dominant.
        (["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:PREFIXED:x DENY WRITE a"], None),
        (["TOPIC:PREFIXED:xy ALLOW WRITE a", "TOPIC:PREFIXED:x DENY WRITE a"], None),
        (["TOPIC:PREFIXED:x ALLOW WRITE a", "TOPIC:PREFIXED:xy DENY WRITE a"], 0),
        (["TOPIC:PREFIXED:x ALLOW WRITE a", "TOPIC:LITERAL:x DENY WRITE a"], 0),
        (["TOPIC:LITERAL:y ALLOW WRITE a", "TOPIC:LITERAL:x DENY WRITE a"], 0),
        # Only LITERAL * denies everything, and only LITERAL * can deny LITERAL *.
        (["TOPIC:LITERAL:* ALLOW WRITE a", "TOPIC:LITERAL:x DENY WRITE a"], 0),
        (["TOPIC:LITERAL:* ALLOW WRITE a", "TOPIC:LITERAL:* DENY WRITE *"], None),
        (["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:* DENY WRITE a"], None),
        # A prefix stays within its namespace, unless it ends with a namespace.
        (["TOPIC:PREFIXED:org:x ALLOW WRITE a", "TOPIC:PREFIXED:or DENY WRITE a"], 0),
        (["TOPIC:PREFIXED:org:x ALLOW WRITE a", "TOPIC:PREFIXED:org: DENY WRITE a"], None),
        (["TOPIC:PREFIXED:org: ALLOW WRITE a", "TOPIC:PREFIXED:org DENY WRITE a"], 0),
    ],
)
def test_authorize_any_goes_by_the_acls(lines: list[str], by: int | None) -> None:
    made = having(*lines)
    verdict = made.authorize_any("User:a", HOST, Operation.WRITE, TOPIC)
    assert verdict.allowed is (by is not None)
    if by is not None and verdict.rule != "the list":
        assert verdict.rule == str(made.bindings[by])


def test_authorize_any_names_what_denies() -> None:
    made = having("TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:LITERAL:* DENY WRITE a")
    verdict = made.authorize_any("User:a", HOST, Operation.WRITE, TOPIC)
    assert verdict.rule == "DENY WRITE for User:a on TOPIC:LITERAL:*"
    nothing = having().authorize_any("User:a", HOST, Operation.WRITE, TOPIC)
    assert nothing.rule == "no ACL allows WRITE on any TOPIC"


def test_super_users_need_no_acl() -> None:
    """They may do things without any ACL, which Kafka's default finds by a name."""

    class Owned(ListAuthorizer):
        def authorize(
            self, principal: str, host: str, operation: Operation, resource: Resource
        ) -> Verdict:
            if principal == "User:root":
                return Verdict(True, "root")
            return super().authorize(principal, host, operation, resource)

    made = Owned()
    made.bindings.append(AclBinding(pattern_of("TOPIC:LITERAL:*"), entry("DENY ALL *")))
    assert made.authorize_any("User:root", HOST, Operation.WRITE, TOPIC).rule == "root"
    assert not made.authorize_any("User:a", HOST, Operation.WRITE, TOPIC).allowed


@pytest.mark.parametrize(
    ("because", "rule"),
    [
        ("deny\x1b[2J\r\nby \x00rule 7", r"deny\x1b[2J\r\nby \x00rule 7"),
        ("", "the authorizer gives no reason"),
        (Unreadable(), "the authorizer gives no reason"),
    ],
)
def test_a_rule_is_safe_to_show(because: object, rule: str) -> None:
    assert Verdict(False, because).rule == rule


@pytest.mark.parametrize(
    ("pattern", "managed"),
    [
        ("TOPIC:LITERAL:org:", True),
        ("GROUP:PREFIXED:org:x", True),
        ("TOPIC:LITERAL:org:deep:x", False),
        ("TOPIC:LITERAL:*", False),
        ("TOPIC:PREFIXED:or", False),
    ],
)
def test_acls_are_delegated_with_their_namespace(pattern: str, managed: bool) -> None:
    made = having("TOPIC:LITERAL:org: ALLOW ALTER a")
    assert made.may_manage("User:a", HOST, pattern_of(pattern)) is managed
    assert not made.may_manage("User:b", HOST, pattern_of(pattern))


def test_what_may_be_left_out() -> None:
    made = having()
    made.see(Snapshot())
    made.close()
