"""Namespaces in requests for topics: the meaning of names, and the content and order of
listings."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis import namespace_listing
from gateway.apis.namespace_listing import listed_namespaces, namespaces_among
from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName
from gateway.views.access import Access
from gateway.views.view import View, ViewSettings
from tests.views.trees import mounts

NAMESPACES = ("team-a:sub:deep", "team-b", "org:v1.2")
TIERS = ["org", "org:v1.2", "team-a", "team-a:sub", "team-a:sub:deep", "team-b"]


def view(*, deleting: str = "", topics: tuple[TopicEntry, ...] = (), **settings: Any) -> View:
    snapshot = Snapshot.of(NAMESPACES, topics=topics)
    if deleting:
        snapshot = snapshot.apply([Namespace(deleting, deleting=1)], 2)
    return View(ViewSettings("test", **{"list_namespaces": True, **settings}), snapshot)


def named(over: View, *names: str) -> namespace_listing.NamespacesAmong | None:
    return namespaces_among(Access(over, "", ""), [name.encode() for name in names])


def test_topics_look_like_no_namespace() -> None:
    assert named(view(), "orders", "team-a:orders", "org.v1-.2..orders", ":orders", "a.b.") is None


def test_both_spellings_of_a_namespace_that_exists() -> None:
    found = named(view(), "orders", "org:v1.2:", "org.v1-.2..", "team-a:")
    assert found is not None
    assert found.existing == {
        "org:v1.2:": "org:v1.2",
        "org.v1-.2..": "org:v1.2",
        "team-a:": "team-a",
    }
    assert found.others == []


@pytest.mark.parametrize("name", ["nowhere:", "nowhere..", "team-a:x:", ":", "..", "a b:", "a::"])
def test_what_denotes_none_that_exists(name: str) -> None:
    found = named(view(), name)
    assert found is not None
    assert (found.existing, found.others) == ({}, [name])


@pytest.mark.parametrize("name", ["team-a:", "team-a..", "team-a:sub:", "team-a.sub.."])
def test_one_that_is_being_deleted_does_not_exist(name: str) -> None:
    found = named(view(deleting="team-a"), name)
    assert found is not None
    assert (found.existing, found.others) == ({}, [name])


def test_under_a_home_names_are_relative_and_confined() -> None:
    found = named(view(home="team-a"), "sub:", "team-b:", ":team-b:", "..team-b..", "sub..")
    assert found is not None
    assert found.existing == {"sub:": "team-a:sub"}
    found = named(view(home="team-a", escape=True), ":team-b:", "..team-b..")
    assert found is not None
    assert set(found.existing.values()) == {"team-b"}


def test_a_listing_holds_every_tier() -> None:
    assert listed_namespaces(Access(view(), "", "")) == {f"{path}:": path for path in TIERS}


def test_a_legal_listener_lists_legal_names() -> None:
    shown = list(listed_namespaces(Access(view(spelling="legal"), "", "")))
    assert shown[:3] == ["org..", "org.v1-.2..", "team-a.."]


def test_nothing_is_listed_unless_the_listener_says_so() -> None:
    assert listed_namespaces(Access(view(list_namespaces=False), "", "")) == {}


def test_without_the_subtree_only_direct_namespaces_are_listed() -> None:
    assert list(listed_namespaces(Access(view(list_subtree=False), "", ""))) == [
        "org:",
        "team-a:",
        "team-b:",
    ]
    shown = listed_namespaces(Access(view(home="team-a", list_subtree=False), "", ""))
    assert shown == {"sub:": "team-a:sub"}


@pytest.mark.parametrize("escape", [False, True])
def test_under_a_home_what_is_below_it_is_listed(escape: bool) -> None:
    shown = listed_namespaces(Access(view(home="team-a", escape=escape), "", ""))
    assert shown == {"sub:": "team-a:sub", "sub:deep:": "team-a:sub:deep"}


def test_what_is_being_deleted_is_not_listed_nor_what_is_below_it() -> None:
    shown = listed_namespaces(Access(view(deleting="team-a:sub"), "", ""))
    assert list(shown.values()) == ["org", "org:v1.2", "team-a", "team-b"]


@pytest.mark.parametrize("settings", [{}, {"spelling": "legal"}, {"home": "team-a"}])
def test_what_is_listed_denotes_what_it_stands_for(settings: dict[str, Any]) -> None:
    over = view(**settings)
    shown = listed_namespaces(Access(over, "", ""))
    found = named(over, *shown)
    assert found is not None
    assert found.existing == shown


def test_a_namespace_stands_before_its_topics() -> None:
    over = view()
    names = ["org:", "org:v1.2:", "org:v1.2:a", "org:x", "plain", "team-a:", "team-a:0"]
    places = [namespace_listing.place(Access(over, "", ""), name) for name in names]
    assert places == [
        "org..",
        "org.v1-.2..",
        "org.v1-.2..a",
        "org..x",
        "plain",
        "team-a..",
        "team-a..0",
    ]


def test_a_topic_stands_where_the_broker_has_it() -> None:
    over = view(topics=(TopicEntry("flat", LogicalName("team-a", "orders")),))
    assert namespace_listing.place(Access(over, "", ""), "team-a:orders") == "flat"


@pytest.mark.parametrize("name", ["nowhere:orders", "__consumer_offsets", "a b", ":"])
def test_what_may_not_be_named_has_no_place(name: str) -> None:
    assert namespace_listing.place(Access(view(), "", ""), name) is None


def test_a_namespace_that_is_gone_still_has_a_place() -> None:
    assert namespace_listing.place(Access(view(), "", ""), "gone:") == "gone.."
    assert namespace_listing.path_of(view(), "gone:") == "gone"
    assert namespace_listing.path_of(view(), "gone..") is None
    assert namespace_listing.path_of(view(), "gone") is None


# -- directories of a tree -------------------------------------------------------------------------

TREE = mounts("la:tracking", "ny:tracking", "ny")


def in_tree(volume: str = "la:tracking", **settings: Any) -> View:
    tree = {"mounts": TREE, "volume": volume, "listener_volume": "la:tracking"}
    return view(**{"list_namespaces": False, "list_tree": True, **tree, **settings})


@pytest.mark.parametrize(
    ("spelling", "shown"),
    [
        ("colon", [":la:tracking:", ":ny:", ":ny:tracking:"]),
        ("slash", ["/la/tracking/", "/ny/", "/ny/tracking/"]),
        ("legal", ["..la.tracking..", "..ny..", "..ny.tracking.."]),
    ],
)
def test_a_listing_holds_the_mounts(spelling: str, shown: list[str]) -> None:
    access = Access(in_tree(spelling=spelling), "", "")
    assert list(listed_namespaces(access)) == shown
    with_namespaces = Access(in_tree(spelling=spelling, list_namespaces=True), "", "")
    assert list(listed_namespaces(with_namespaces))[:3] == shown
    assert len(listed_namespaces(with_namespaces)) == 3 + len(TIERS)


def test_mounts_are_listed_in_the_listeners_volume_alone_and_within_its_reach() -> None:
    assert listed_namespaces(Access(in_tree("ny"), "", "")) == {}
    assert listed_namespaces(Access(in_tree(list_tree=False), "", "")) == {}
    assert listed_namespaces(Access(in_tree(home="team-a"), "", "")) == {}
    within = listed_namespaces(Access(in_tree(mounts=TREE.within(["ny"])), "", ""))
    assert list(within) == [":ny:"]


@pytest.mark.parametrize("name", [":la:", "/la/", "..la..", ":", "/", ":la:tracking:"])
def test_directories_and_the_volumes_own_mount_exist(name: str) -> None:
    # DESIGN: a path that only leads to mounts is a directory: it lists, and holds no topics.
    found = named(in_tree(list_tree=False), name)
    assert found is not None
    assert (list(found.existing), found.others) == ([name], [])


@pytest.mark.parametrize("name", [":sf:", "/ny/", "/ny/tracking/", "..ny..", ":la:x:"])
def test_what_is_no_directory_of_the_listeners_volume(name: str) -> None:
    found = named(in_tree(), name)
    assert found is not None
    assert (found.existing, found.others) == ({}, [name])


def test_directories_stand_before_all_topics() -> None:
    over = in_tree()
    places = [
        namespace_listing.place(Access(over, "", ""), name)
        for name in (":la:", ":la:tracking:", "0")
    ]
    assert None not in places
    assert places == sorted(places, key=str)


def test_slashes_end_no_namespace_without_a_tree() -> None:
    assert named(view(), "org/", "/org/") is None
    found = named(view(spelling="slash"), "org/", "/org/v1.2/")
    assert found is not None
    assert found.existing == {"org/": "org", "/org/v1.2/": "org:v1.2"}
