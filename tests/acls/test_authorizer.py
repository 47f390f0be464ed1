"""gateway.acls.authorizer: what an authorizer has without doing anything for it."""

from __future__ import annotations

import pytest

from gateway.acl_model import AclBinding, Operation, ResourceType, pattern_of
from gateway.acls.authorizer import Verdict
from gateway.catalog.snapshot import Snapshot
from tests.acls.custom import ListAuthorizer
from tests.acls.samples import HOST, entry

TOPIC = ResourceType.TOPIC


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
    ("lines", "allowed"),
    [
        ([], False),
        (["TOPIC:LITERAL:x ALLOW WRITE a"], True),
        (["TOPIC:PREFIXED:x ALLOW WRITE a"], True),
        (["TOPIC:PREFIXED:x ALLOW READ a"], False),
        (["TOPIC:PREFIXED:x ALLOW WRITE b"], False),
        (["GROUP:LITERAL:x ALLOW WRITE a"], False),
        (["TOPIC:LITERAL:x ALLOW WRITE a", "TOPIC:PREFIXED:x DENY WRITE a"], False),
        (["TOPIC:PREFIXED:x ALLOW WRITE a", "TOPIC:PREFIXED:xy DENY WRITE a"], True),
    ],
)
def test_authorize_any_tries_what_an_acl_allows(lines: list[str], allowed: bool) -> None:
    verdict = having(*lines).authorize_any("User:a", HOST, Operation.WRITE, TOPIC)
    assert verdict.allowed is allowed
    assert verdict.rule == ("the list" if allowed else "no ACL allows WRITE on any TOPIC")


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
