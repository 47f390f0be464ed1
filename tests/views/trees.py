"""Trees for tests of names: views of several volumes, and hypothesis strategies for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from gateway.catalog.snapshot import Snapshot
from gateway.mounts import Mount, Mounts
from gateway.names import LogicalName
from gateway.views.spelling import Spelling, ViewSettings
from gateway.views.view import View

SPELLINGS: tuple[Spelling, ...] = ("colon", "slash", "legal")

TIERS = st.sampled_from(["la", "ny", "x", "a.b", "a-b", "c-", "..", "-", "t"])
PATHS = st.lists(TIERS, max_size=3).map(":".join)
TOPICS = st.text("at.-_", min_size=1, max_size=5).filter(lambda topic: topic not in {".", ".."})


def mounts(*paths: str) -> Mounts:
    """Mounts at these paths, numbered from 1, each of a cluster named by its number."""
    return Mounts(Mount(path, n, f"c{n}") for n, path in enumerate(paths, 1))


def tree_settings(
    tree: Mounts,
    volume: str,
    listener_volume: str,
    spelling: Spelling = "colon",
    *,
    home: str = "",
    escape: bool = False,
) -> ViewSettings:
    """The settings of a listener's view of a volume."""
    settings = ViewSettings(
        "test",
        spelling,
        mounts=tree,
        volume=volume,
        listener_volume=listener_volume,
        escape=escape,
    )
    if volume == listener_volume:
        return replace(settings, home=home)
    return replace(settings, home_elsewhere=home)


def tree_view(
    tree: Mounts,
    volume: str,
    listener_volume: str,
    spelling: Spelling = "colon",
    namespaces: Iterable[str] = (),
) -> View:
    """A listener's view of a volume that has these namespaces."""
    settings = tree_settings(tree, volume, listener_volume, spelling)
    return View(settings, Snapshot.of(namespaces))


TREES = st.lists(PATHS, min_size=1, max_size=5, unique=True).map(lambda paths: mounts(*paths))
NAMES = st.builds(LogicalName, PATHS, TOPICS)
