"""Which names denote a namespace, and how namespaces are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.snapshot import Snapshot
from gateway.names import InvalidName, flat_prefix
from gateway.views import spelling
from gateway.views.spelling import Spelling, ViewSettings, id_owner

SNAPSHOT = Snapshot.of(["team-a:sub", "team-b", "org:apache:kafka", "a.b"])
PATHS = ["team-a", "team-a:sub", "team-b", "org", "org:apache", "org:apache:kafka", "a.b"]


def settings(how: Spelling = "colon", home: str = "", escape: bool = False) -> ViewSettings:
    return ViewSettings("test", how, home, escape)


@pytest.mark.parametrize(
    ("home", "escape", "spelled", "path"),
    [
        ("", False, "org:", "org"),
        ("", False, "org:new:", "org:new"),
        ("", False, ":org:", "org"),
        ("", False, "org.apache..", "org:apache"),
        ("", False, "a-.b..", "a.b"),
        ("", False, "nope..", None),
        ("", False, "org..orders", None),
        ("", False, "orders", None),
        ("", False, "..", None),
        ("", False, "", None),
        ("team-a", False, "sub:", "team-a:sub"),
        ("team-a", False, "new:", "team-a:new"),
        ("team-a", False, "sub..", None),
        ("team-a", True, ":org:", "org"),
        ("team-a", True, "..org..", "org"),
    ],
)
def test_what_denotes_a_namespace(home: str, escape: bool, spelled: str, path: str | None) -> None:
    found = spelling.parse_namespace(settings(home=home, escape=escape), SNAPSHOT, spelled)
    assert found == path


@pytest.mark.parametrize(
    ("home", "spelled", "said"),
    [
        ("", ":", "(empty)"),
        ("", "a::b:", "(empty)"),
        ("", "a_b:", "tier 'a_b'"),
        ("team-a", ":org:", "outside namespace 'team-a'"),
        ("team-a", "::", "outside namespace 'team-a'"),
    ],
)
def test_what_no_namespace_can_be_called(home: str, spelled: str, said: str) -> None:
    with pytest.raises(InvalidName) as error:
        spelling.parse_namespace(settings(home=home), SNAPSHOT, spelled)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("how", "home", "escape", "shown"),
    [
        ("colon", "", False, "team-a:sub:"),
        ("legal", "", False, "team-a.sub.."),
        ("colon", "team-a", False, "sub:"),
        ("legal", "team-a", False, "sub:"),
        ("colon", "team-b", False, None),
        ("colon", "team-b", True, ":team-a:sub:"),
        ("legal", "team-b", True, "..team-a.sub.."),
        ("colon", "team-a:sub", False, None),
    ],
)
def test_how_a_namespace_is_shown(
    how: Spelling, home: str, escape: bool, shown: str | None
) -> None:
    assert spelling.spell_namespace(settings(how, home, escape), "team-a:sub") == shown


@given(
    st.sampled_from(PATHS),
    st.sampled_from(["colon", "legal"]),
    st.sampled_from(["", "team-a", "org"]),
    st.booleans(),
)
def test_a_shown_namespace_denotes_what_it_was_shown_for(
    path: str, how: Spelling, home: str, escape: bool
) -> None:
    chosen = settings(how, home, escape)
    shown = spelling.spell_namespace(chosen, path)
    if shown is not None:
        assert spelling.parse_namespace(chosen, SNAPSHOT, shown) == path


@pytest.mark.parametrize("home", ["team-a", "a.", "a-", "org:v1.2", "-", "a..b"])
@pytest.mark.parametrize(
    "client_id", ["app", "a:b", ":", "my app", "x..y", ".", "..", "é", "org:x", ""]
)
def test_from_the_root_a_homes_id_is_told_by_its_prefix(home: str, client_id: str) -> None:
    snapshot = Snapshot.of([home, "org"])
    assert id_owner(snapshot, flat_prefix(home) + client_id) == (home, client_id)


@pytest.mark.parametrize(
    "client_id", ["app", "..", "..x", "nowhere..", "nowhere..app", "team-a:app", ""]
)
def test_ids_of_no_home(client_id: str) -> None:
    assert id_owner(Snapshot.of(["team-a"]), client_id) is None
