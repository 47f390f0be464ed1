"""gateway.changes.base.resources: namespaces as configs show them, inside and outside of a tree."""

from __future__ import annotations

import pytest

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.resources import relative_path
from gateway.mounts import Mount, Mounts
from gateway.views.view import View, ViewSettings

MOUNTS = Mounts([Mount("la:tracking", 1, "la"), Mount("ny:tracking", 2, "ny")])


def view(volume: str, *, home: str = "", escape: bool = False) -> View:
    settings = ViewSettings(
        "here",
        home=home,
        escape=escape,
        mounts=MOUNTS,
        volume=volume,
        listener_volume="la:tracking",
    )
    return View(settings, Snapshot.of(["search", "search:ads"]))


@pytest.mark.parametrize(
    ("seen", "path", "shown"),
    [
        (view("la:tracking"), "search:ads", "search:ads"),
        (view("la:tracking"), "", ""),
        (view("ny:tracking"), "search:ads", ":ny:tracking:search:ads"),
        (view("ny:tracking"), "", ":ny:tracking"),
        (view("la:tracking", home="search"), "search:ads", "ads"),
        (view("la:tracking", home="search"), "search", ""),
        (view("la:tracking", home="search"), "other", None),
        (view("la:tracking", home="search", escape=True), "other", ":la:tracking:other"),
    ],
)
def test_a_path_reads_back_as_the_same_namespace(seen: View, path: str, shown: str | None) -> None:
    assert relative_path(seen, path) == shown
    if shown and path:
        assert seen.namespace_named(shown + ":") == path
