"""Names of client metrics' subscriptions: resolved as group ids are, and spelled back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.names import parents
from gateway.views.subscription_names import spell_subscription, subscription_named
from gateway.views.view import View, ViewSettings
from tests.views.trees import SPELLINGS, TREES, mounts, tree_settings

TREE = mounts("", "ny", "la:tracking")
SNAPSHOT = Snapshot.of(["team-a:sub", "team-b"])


def view(home: str = "", snapshot: Snapshot = SNAPSHOT) -> View:
    return View(ViewSettings("test", "colon", home), snapshot)


@pytest.mark.parametrize(
    ("home", "spelled", "name"),
    [
        ("", "latencies", "latencies"),
        ("", ":latencies", "latencies"),
        ("", "team-a:latencies", "team-a:latencies"),
        ("", ":team-a:latencies", "team-a:latencies"),
        ("", "team-a..latencies", "team-a..latencies"),  # a colon alone ends a namespace
        ("team-a", "latencies", "team-a:latencies"),
        ("team-a", "sub:latencies", "team-a:sub:latencies"),
        ("team-a", "team-a:latencies", "team-a:team-a:latencies"),
        ("team-a", ":latencies", "team-a::latencies"),  # in a namespace that cannot exist
        ("team-a", "", "team-a:"),
    ],
)
def test_the_name_of_a_spelling(home: str, spelled: str, name: str) -> None:
    assert subscription_named(view(home), spelled) == name


@pytest.mark.parametrize(
    ("home", "name", "spelled"),
    [
        ("", "latencies", "latencies"),
        ("", "team-a:latencies", "team-a:latencies"),
        ("team-a", "team-a:latencies", "latencies"),
        ("team-a", "team-a:sub:latencies", "sub:latencies"),
        ("team-a", "team-b:latencies", None),
        ("team-a", "latencies", None),
        ("", "gone:latencies", None),
    ],
)
def test_what_a_view_shows(home: str, name: str, spelled: str | None) -> None:
    assert spell_subscription(view(home), name) == spelled


def test_nothing_is_shown_of_a_namespace_that_is_being_deleted() -> None:
    deleting = SNAPSHOT.apply([Namespace("team-a", deleting=1)], 2)
    assert spell_subscription(view(snapshot=deleting), "team-a:sub:latencies") is None
    assert spell_subscription(view(snapshot=deleting), "team-b:latencies") == "team-b:latencies"


def test_a_mount_stands_before_a_name() -> None:
    home = View(tree_settings(TREE, "", "", home="team-a"), SNAPSHOT)
    own, far = (View(tree_settings(TREE, volume, ""), SNAPSHOT) for volume in ("", "ny"))
    elsewhere = View(tree_settings(TREE, "ny", "", home="team-a"), SNAPSHOT)
    assert subscription_named(own, "team-a:x") == "team-a:x"
    assert subscription_named(far, ":ny:team-a:x") == "team-a:x"
    assert spell_subscription(far, "team-a:x") == ":ny:team-a:x"
    assert isinstance(subscription_named(own, ":ny:team-a:x"), Denied)
    assert isinstance(subscription_named(far, "team-a:x"), Denied)
    assert subscription_named(home, ":ny:x") == "team-a::ny:x"
    assert spell_subscription(elsewhere, "team-a:x") is None
    assert isinstance(subscription_named(elsewhere, "x"), Denied)


@given(
    TREES,
    st.sampled_from(SPELLINGS),
    st.sampled_from(["", "la", "la:ny", "x"]),
    st.text("la:ny/.x", min_size=1, max_size=6).filter(lambda text: ":" not in text),
    st.data(),
)
def test_what_a_view_shows_it_reads_back(
    tree: object, spelling: object, namespace: str, own: str, data: st.DataObject
) -> None:
    volumes = [mount.path for mount in tree]  # type: ignore[attr-defined]
    volume, listeners = data.draw(st.sampled_from(volumes)), data.draw(st.sampled_from(volumes))
    settings = tree_settings(tree, volume, listeners, spelling)  # type: ignore[arg-type]
    here = View(settings, Snapshot.of(parents(namespace)))
    name = f"{namespace}:{own}" if namespace else own
    shown = spell_subscription(here, name)
    assert shown is not None
    assert subscription_named(here, shown) == name
