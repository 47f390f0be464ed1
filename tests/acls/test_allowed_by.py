"""gateway.acls.authorizer: ACLs that a client's request needs."""

from __future__ import annotations

import pytest

from gateway.acl_model import PatternType, ResourcePattern, ResourceType
from gateway.acls import authorizer
from gateway.acls.authorizer import AllowedBy, Verdict, needed_acls
from gateway.places import Place
from gateway.views.authorized_access import AuthorizedAccess
from tests.session.test_acls import pair

LA = Place("la", "la:tracking")
READ = "ALLOW READ for User:alice on TOPIC:LITERAL:team-a:x"
GROUP = "ALLOW READ for User:alice on GROUP:PREFIXED:app"
ALTER = "ALLOW ALTER for User:alice on TOPIC:LITERAL:team-b:"


def access() -> AuthorizedAccess:
    """Alice's rights."""
    made = pair(
        "ALLOW READ User:alice TOPIC:LITERAL:team-a:x",
        "ALLOW WRITE User:alice TOPIC:LITERAL:team-a:x",
        "ALLOW READ User:alice GROUP:PREFIXED:app",
        "ALLOW ALTER User:alice TOPIC:LITERAL:team-b:",
    ).session.state.access
    assert isinstance(made, AuthorizedAccess)
    return made


def needed(*clients: AuthorizedAccess) -> set[tuple[str, str]]:
    found = needed_acls((one.principal, one.allowed_by, LA) for one in clients)
    assert {one.place for one in found} <= {LA}
    return {(one.principal, one.acl) for one in found}


def test_what_was_asked_and_allowed_is_told() -> None:
    alice = access()
    assert needed(alice) == set()
    alice.to_read(b"team-a:x")
    assert needed(alice, alice) == {("User:alice", READ)}
    alice.to_read(b"team-a:denied")
    alice.group(3, b"app-1")
    assert needed(alice) == {("User:alice", READ), ("User:alice", GROUP)}


def test_an_acl_that_lets_others_make_acls_is_needed() -> None:
    alice = access()
    assert alice.manages(ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, "team-b:y"))
    assert needed(alice) == {("User:alice", ALTER)}


def test_rights_in_another_state_of_the_catalog_are_the_same_clients() -> None:
    alice = access()
    alice.over(alice.view).to_read(b"team-a:x")
    assert needed(alice) == {("User:alice", READ)}


def test_what_is_no_acl_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = AllowedBy()
    for because in ("super.users", "an ACL that has changed since", "ALLOW READ for x on y"):
        found.add(Verdict(True, because))
    assert list(found.texts()) == ["ALLOW READ for x on y"]
    monkeypatch.setattr(authorizer, "MOST", 1)
    for number in range(3):
        found.add(Verdict(True, f"ALLOW {number}"))
    assert len(found.texts()) == 1


def test_the_same_acl_of_two_clusters_is_needed_in_both() -> None:
    alice = access()
    alice.to_read(b"team-a:x")
    places = [Place("la", "la:tracking"), Place("ny", "ny:tracking")]
    found = needed_acls((alice.principal, alice.allowed_by, place) for place in places)
    assert {one.place for one in found} == set(places)
