"""Absolute names: how they are read, by example."""

from __future__ import annotations

import pytest

from gateway.decision import Denied
from gateway.error_codes import NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION
from gateway.mounts import Mounts, OtherVolume
from gateway.names import InvalidName
from gateway.views.absolute import hidden_by
from gateway.views.spelling import Spelling
from gateway.views.view import View
from tests.views.found import flat_of
from tests.views.trees import SPELLINGS, mounts, tree_view

TREE = mounts("la:tracking", "ny:tracking", "ny:tracking:deep")
ROOTED = mounts("", "la:tracking")
NAMESPACES = ["search:sub", "deep", "la:tracking", "la:other", "a.b"]


def view(volume: str, spelling: Spelling = "colon", tree: Mounts = TREE) -> View:
    first = next(iter(tree)).path
    return tree_view(tree, volume, first, spelling, NAMESPACES)


@pytest.mark.parametrize(
    ("volume", "spelled", "flat"),
    [
        ("la:tracking", ":la:tracking:search:clicks", "search..clicks"),
        ("la:tracking", "/la/tracking/search/clicks", "search..clicks"),
        ("la:tracking", "..la.tracking.search..clicks", "search..clicks"),
        ("la:tracking", ":la:tracking:clicks", "clicks"),
        ("la:tracking", "/la/tracking/clicks", "clicks"),
        ("la:tracking", "..la.tracking..clicks", "clicks"),
        ("la:tracking", "search/sub/clicks", "search.sub..clicks"),
        ("la:tracking", "search..clicks", "search..clicks"),
        ("la:tracking", ":la:tracking:..x", "..x"),
        ("la:tracking", "/la/tracking/a.b/c", "a-.b..c"),
        ("ny:tracking", "/ny/tracking/clicks", "clicks"),
        ("ny:tracking:deep", "/ny/tracking/deep/clicks", "clicks"),
        ("ny:tracking:deep", "..ny.tracking.deep.deep..clicks", "deep..clicks"),
    ],
)
def test_the_longest_mount_owns_a_name(volume: str, spelled: str, flat: str) -> None:
    for spelling in SPELLINGS:
        assert flat_of(view(volume, spelling).resolve(spelled.encode())) == flat


@pytest.mark.parametrize(
    ("spelled", "flat"), [(":x", "x"), ("/x", "x"), ("..x", "x"), (":la:other:x", "la.other..x")]
)
def test_a_mount_at_the_root_owns_what_no_other_does(spelled: str, flat: str) -> None:
    assert flat_of(view("", tree=ROOTED).resolve(spelled.encode())) == flat


def test_what_a_mount_hides_is_reached_relatively() -> None:
    # DESIGN: relative names never leave their volume, whatever is mounted below.
    root, hiding = view("", tree=ROOTED), view("la:tracking", tree=ROOTED)
    assert flat_of(root.resolve(b"la:tracking:x")) == "la.tracking..x"
    assert flat_of(hiding.resolve(b":la:tracking:x")) == "x"
    assert root.spell(b"la.tracking..x") == b"la:tracking:x"


@pytest.mark.parametrize("spelled", ["clicks", "search:clicks", "/ny/tracking/x", ":ny:tracking:x"])
def test_a_name_of_another_volume_is_rejected(spelled: str) -> None:
    other = "la:tracking" if spelled.startswith((":", "/")) else "ny:tracking"
    found = view(other).resolve(spelled.encode())
    assert isinstance(found, Denied)
    assert (found.code, found.rule) == (NOT_LEADER_OR_FOLLOWER, "volume")
    with pytest.raises(OtherVolume) as error:
        view(other).parse(spelled)
    assert error.value.mount is not None
    assert error.value.mount.path == view(other).volume_of_topic(spelled.encode())


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        (":la:x", "':la' is a directory that leads to mounts; it holds no topics"),
        ("/la/x", "'/la' is a directory that leads to mounts; it holds no topics"),
        ("..la..x", "':la' is a directory"),
        (":x", "':' is a directory"),
        (":sf:x", "No cluster is mounted at ':sf' or above it"),
        ("/la/tracking:x", "mixes spellings"),
        ("search:sub/x", "mixes spellings"),
        (":la:tracking:search:", "names a namespace"),
        ("..la.tracking..a..b", "':la:tracking:a..b'"),
        ("::la:tracking:x", "(empty)"),
        (":la:tracking::x", "(empty)"),
        ("..", "(empty)"),
    ],
)
def test_what_names_no_topic_in_the_tree(spelled: str, said: str) -> None:
    found = view("la:tracking").resolve(spelled.encode())
    assert isinstance(found, Denied)
    assert found.code == UNKNOWN_TOPIC_OR_PARTITION
    assert said in found.message


@pytest.mark.parametrize(
    ("spelled", "path"),
    [
        ("/la/tracking/search/", "search"),
        (":la:tracking:new:", "new"),
        ("..la.tracking.search.sub..", "search:sub"),
        ("..la.tracking.nope..", None),
        ("search/", "search"),
        ("search..", "search"),
        ("..la.tracking..", None),
    ],
)
def test_absolute_namespaces(spelled: str, path: str | None) -> None:
    assert view("la:tracking").namespace_named(spelled) == path


@pytest.mark.parametrize("spelled", [":la:tracking:", "/la/", ":ny:tracking:x:", "/a:b/", ":"])
def test_what_names_no_namespace_of_the_volume(spelled: str) -> None:
    with pytest.raises(InvalidName):
        view("la:tracking").namespace_named(spelled)


@pytest.mark.parametrize("name", [":ny:tracking:x", "/ny/tracking/search/x", "..ny.tracking..x"])
def test_a_mount_out_of_reach_is_as_no_mount(name: str) -> None:
    within = TREE.within(["la:tracking"])
    found = view("la:tracking", tree=within).resolve(name.encode())
    nothing = view("la:tracking", tree=within).resolve(name.replace("ny", "sf").encode())
    assert isinstance(found, Denied)
    assert isinstance(nothing, Denied)
    assert found.code == nothing.code == UNKNOWN_TOPIC_OR_PARTITION
    assert found.message.replace("ny", "sf") == nothing.message
    assert view("la:tracking", tree=within).volume_of_topic(name.encode()) == "la:tracking"


def test_what_a_mount_out_of_reach_hides_stays_hidden() -> None:
    within = mounts("", "la:tracking").within([""])
    over = view("", tree=within)
    assert isinstance(over.resolve(b":la:tracking:x"), Denied)
    assert hidden_by(over.settings, "la:tracking") is not None
    assert over.spell(b"la.tracking..x") == b"la:tracking:x"  # as ever, relatively


def test_ids_of_a_mount_out_of_reach_are_the_listeners_own() -> None:
    within = view("la:tracking", tree=TREE.within(["la:tracking"]))
    assert within.group_to_broker(b":ny:tracking:g") == b":ny:tracking:g"
    assert within.id_to_client(b":ny:tracking:g") == b":ny:tracking:g"
    assert within.group_to_broker(b":la:tracking:g") == b"g"
