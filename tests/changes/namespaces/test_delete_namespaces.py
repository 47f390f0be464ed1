"""Which namespaces may be marked for deletion: the decisions alone."""

from __future__ import annotations

from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.changes.namespaces.delete_namespaces import decide
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from tests.session.allowing import Allowing

NOW = 1_700_000_000_000


def view(snapshot: Snapshot, home: str = "") -> View:
    return View(ViewSettings("test", home=home), snapshot)


def access(snapshot: Snapshot, home: str = "") -> Access:
    return Access(view(snapshot, home), "User:alice", "127.0.0.1")


def test_only_the_outermost_is_marked() -> None:
    snapshot = Snapshot.of(["org:a:b", "other", "org:c"]).apply(
        [Namespace("org", {"retention.ms": "1"}, apply=("retention.ms",))], 2
    )
    paths = {"org:a:b", "org", "org:a", "org:c", "other"}
    deletion = decide(access(snapshot), paths, NOW)
    assert not deletion.denied
    assert deletion.marked == [
        Namespace("org", {"retention.ms": "1"}, deleting=NOW),
        Namespace("other", deleting=NOW),
    ]


def test_namespaces_below_are_named() -> None:
    snapshot = Snapshot.of(["org:a:b", *(f"many:{number:02}" for number in range(12))])
    deletion = decide(access(snapshot), {"org", "org:a", "many"}, NOW)
    assert not deletion.marked
    text = "Namespace 'org' holds namespaces: 'org:a:b'; delete them too."
    assert (deletion.denied["org"].code, deletion.denied["org"].message) == (42, text)
    assert deletion.denied["org:a"].code == 42
    assert "'many:09', 2 more;" in deletion.denied["many"].message


def test_only_namespaces_that_may_be_described_are_named() -> None:
    snapshot = Snapshot.of(["org:a", "org:b", "org:c"])
    for allowed, held in (
        (["DESCRIBE TOPIC org:a:"], "'org:a', 2 more"),
        ([], "3 that you do not see here"),
    ):
        alice = AuthorizedAccess(view(snapshot), "User:alice", "127.0.0.1", Allowing(allowed))
        why = decide(alice, {"org"}, NOW).denied["org"]
        assert why.message == f"Namespace 'org' holds namespaces: {held}; delete them too."


def test_part_of_a_request_may_be_rejected() -> None:
    snapshot = Snapshot.of(["org:a:b"])
    deletion = decide(access(snapshot), {"org:a:b", "none"}, NOW)
    assert [namespace.path for namespace in deletion.marked] == ["org:a:b"]
    assert (deletion.denied["none"].code, deletion.denied["none"].message) == (
        3,
        "Namespace 'none' does not exist.",
    )


def test_what_is_being_deleted_is_neither_deleted_again_nor_in_the_way() -> None:
    snapshot = Snapshot.of(["org:a"]).apply([Namespace("org:a", deleting=5)], 2)
    deletion = decide(access(snapshot), {"org:a"}, NOW)
    assert deletion.denied["org:a"].code == 3
    assert "is being deleted already" in deletion.denied["org:a"].message
    deletion = decide(access(snapshot), {"org"}, NOW)
    assert deletion.marked == [Namespace("org", deleting=NOW)]


def test_names_are_the_views() -> None:
    snapshot = Snapshot.of(["team-a:x:y"])
    deletion = decide(access(snapshot, "team-a"), {"team-a:x"}, NOW)
    text = "Namespace 'x' holds namespaces: 'x:y'; delete them too."
    assert deletion.denied["team-a:x"].message == text
