"""Denials that clients get have the names that they wrote, and no others."""

from __future__ import annotations

import pytest

from gateway.acl_model import CLUSTER, Operation, Resource, ResourceType, resource
from gateway.acls.authorizer import Verdict
from gateway.views.authorized_access import ACL_RULE, CODES, as_asked, denied, unnamed

NO = Verdict(False, "nothing allows it")
READ = Operation.READ
ALICE = "User:alice"


def told(kind: ResourceType, logical: str, home: str = "") -> str:
    return denied(ALICE, READ, resource(kind, logical), NO, home).message


@pytest.mark.parametrize(
    ("kind", "code"), [("TOPIC", 29), ("GROUP", 30), ("CLUSTER", 31), ("TRANSACTIONAL_ID", 53)]
)
def test_codes_are_kafkas(kind: str, code: int) -> None:
    assert CODES[ResourceType[kind]] == code


def test_all_of_it_is_kept_for_the_audit() -> None:
    found = denied(ALICE, READ, Resource(ResourceType.TOPIC, "team-b", "x"), NO, "team-a")
    assert (found.rule, found.operation, found.resource) == (ACL_RULE, "READ", "TOPIC team-b:x")
    assert found.because == "nothing allows it"


@pytest.mark.parametrize(
    ("kind", "logical", "home", "expected"),
    [
        ("TOPIC", "team-a:x", "", "topic 'team-a:x'"),
        ("TOPIC", "x", "", "topic 'x'"),
        ("TOPIC", "team-a:", "", "topic 'team-a:'"),
        ("TOPIC", "team-a:x", "team-a", "topic 'x'"),
        ("TOPIC", "team-a:sub:x", "team-a", "topic 'sub:x'"),
        ("TOPIC", "team-a:sub:", "team-a", "topic 'sub:'"),
        ("TOPIC", "team-a:", "team-a", "topic ':'"),
        ("TOPIC", "team-b:x", "team-a", "this topic"),
        ("TOPIC", "x", "team-a", "this topic"),
        ("GROUP", "team-a:app", "team-a", "group 'app'"),
        ("TRANSACTIONAL_ID", "team-a:tx", "team-a", "transactional id 'tx'"),
    ],
)
def test_names_are_those_of_the_view(kind: str, logical: str, home: str, expected: str) -> None:
    assert told(ResourceType[kind], logical, home) == f"{ALICE} is not allowed to READ {expected}."


def test_the_cluster_has_no_name() -> None:
    for home in ("", "team-a"):
        found = denied(ALICE, Operation.ALTER, CLUSTER, NO, home)
        assert found.message == f"{ALICE} is not allowed to ALTER cluster."
        assert unnamed(found, ALICE) == found


def test_a_name_as_it_was_asked_for() -> None:
    found = denied(ALICE, READ, Resource(ResourceType.TOPIC, "team-b", "new"), NO, "")
    again = as_asked(found, ALICE, b"team-a..old")
    assert again.message == f"{ALICE} is not allowed to READ topic 'team-a..old'."
    assert again.resource == found.resource
    assert unnamed(found, ALICE).message == f"{ALICE} is not allowed to READ this topic."
