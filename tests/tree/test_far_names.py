"""Names of a volume whose catalog is at another gateway, beside the owner's own view of the same
volume."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.mounts import Mount, Mounts, join
from gateway.names import LogicalName, encode, flat_prefix
from gateway.tree.far_names import FarNames
from gateway.views import spelling
from gateway.views.spelling import Spelling
from gateway.views.view import View
from tests.views.trees import NAMES, PATHS, SPELLINGS, tree_settings

HOWS = st.sampled_from(SPELLINGS)
WORDS = st.text(":/..laxt-", max_size=14) | NAMES.map(str) | NAMES.map(lambda name: f":{name}")

LA, NY = "la", "ny"
TREE = Mounts([Mount(LA, 1, "c1"), Mount(NY)])


@st.composite
def trees(draw: st.DrawFn) -> tuple[Mounts, str, str]:
    """A tree as the asking gateway knows it, the mount of a far volume in it, and the listener's
    mount."""
    paths = draw(st.lists(PATHS, min_size=1, max_size=5, unique=True))
    far = draw(st.sampled_from(paths))
    known = [Mount(path) if path == far else Mount(path, n) for n, path in enumerate(paths, 1)]
    return Mounts(known), far, draw(st.sampled_from(paths))


def far_names(
    tree: Mounts,
    far: str,
    listener_volume: str,
    how: Spelling = "colon",
    *,
    home: str = "",
    escape: bool = False,
) -> FarNames:
    """The names of a far volume, from the settings that the client's own view has."""
    near = next((mount.path for mount in tree if not mount.far), listener_volume)
    view = listener_volume if listener_volume != far else near
    return FarNames(tree_settings(tree, view, listener_volume, how, home=home, escape=escape), far)


def owners_view(
    tree: Mounts, far: str, listener_volume: str, how: Spelling, namespace: str
) -> View:
    """The view of the owner's listener, whose catalog has a namespace."""
    settings = tree_settings(tree, far, listener_volume, how)
    return View(settings, Snapshot.of([namespace] if namespace else []))


@given(trees(), NAMES, HOWS)
def test_what_is_spelled_reads_back(
    where: tuple[Mounts, str, str], name: LogicalName, how: Spelling
) -> None:
    tree, far, listener_volume = where
    names = far_names(tree, far, listener_volume, how)
    shown = names.spell(name)
    if shown is None:
        assert far != listener_volume, "a relative name is never hidden by a mount"
        return
    parsed = names.parse(shown)
    assert parsed is not None
    if far == listener_volume and how == "legal":
        # `search..clicks` may be a topic of the default namespace, too.
        assert names.flat(parsed) == names.flat(name)
    else:
        assert parsed == name


@given(trees(), WORDS, HOWS)
def test_what_is_read_is_spelled_as_a_name_of_the_same_topic(
    where: tuple[Mounts, str, str], written: str, how: Spelling
) -> None:
    tree, far, listener_volume = where
    names = far_names(tree, far, listener_volume, how)
    name = names.parse(written)
    shown = None if name is None else names.spell(name)
    if name is None or shown is None:
        return
    again = names.parse(shown)
    assert again is not None
    assert names.flat(again) == names.flat(name)


@given(trees(), NAMES, HOWS)
def test_a_name_is_spelled_as_the_owner_spells_it(
    where: tuple[Mounts, str, str], name: LogicalName, how: Spelling
) -> None:
    tree, far, listener_volume = where
    names = far_names(tree, far, listener_volume, how)
    view = owners_view(tree, far, listener_volume, how, name.namespace)
    assume(name.namespace or view.snapshot.spelled(name.topic) == name)
    flat = encode(name).encode()
    assert names.flat(name) == flat
    shown = view.spell(flat)
    assert names.spell(name) == (None if shown is None else shown.decode())


@given(trees(), NAMES, HOWS, st.sampled_from(SPELLINGS))
def test_an_absolute_name_is_the_topic_that_it_is_for_the_owner(
    where: tuple[Mounts, str, str], name: LogicalName, how: Spelling, written_as: Spelling
) -> None:
    tree, far, listener_volume = where
    path = join(far, name.namespace)
    written = {
        "colon": f":{path}:{name.topic}" if path else f":{name.topic}",
        "slash": f"/{path.replace(':', '/')}/{name.topic}" if path else f"/{name.topic}",
        "legal": f"..{flat_prefix(path)}{name.topic}",
    }[written_as]
    names = far_names(tree, far, listener_volume, how)
    view = owners_view(tree, far, listener_volume, how, name.namespace)
    found, parsed = view.resolve(written.encode()), names.parse(written)
    if isinstance(found, Denied):
        # A name that a mount hides, or that has another namespace in legal spelling.
        assert parsed is None or parsed.namespace not in view.snapshot.namespaces
        return
    assert parsed is not None
    assert names.flat(parsed) == found.flat
    shown = view.spell(found.flat)
    assert names.spell(parsed) == (None if shown is None else shown.decode())


@given(trees(), WORDS, HOWS)
def test_a_name_of_another_volume_is_none_of_this_one(
    where: tuple[Mounts, str, str], written: str, how: Spelling
) -> None:
    tree, far, listener_volume = where
    settings = tree_settings(tree, far, listener_volume, how)
    owner = spelling.volume_of(settings, written)
    if owner is not None and owner.path != far:
        assert far_names(tree, far, listener_volume, how).parse(written) is None


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (":ny:search:clicks", LogicalName("search", "clicks")),
        ("/ny/search/clicks", LogicalName("search", "clicks")),
        ("..ny.search..clicks", LogicalName("search", "clicks")),
        (":ny:orders", LogicalName("", "orders")),
        (":la:orders", None),
        ("orders", None),
        ("search:clicks", None),
        (":sf:orders", None),
        (":ny:search:", None),
        (":ny", None),
        (":ny/search:x", None),
        ("x" * 2_000, None),
        ("", None),
    ],
)
def test_names_at_a_listener_of_another_volume(written: str, name: LogicalName | None) -> None:
    assert far_names(TREE, NY, LA).parse(written) == name


@pytest.mark.parametrize(
    ("how", "shown"),
    [("colon", "search:clicks"), ("slash", "search/clicks"), ("legal", "search..clicks")],
)
def test_names_at_a_listener_of_the_far_volume_are_relative(how: Spelling, shown: str) -> None:
    names = far_names(TREE, NY, NY, how)
    assert names.spell(LogicalName("search", "clicks")) == shown
    assert names.spell(LogicalName("", "orders")) == "orders"
    assert names.parse("search:clicks") == LogicalName("search", "clicks")
    assert names.parse(":ny:search:clicks") == LogicalName("search", "clicks")


def test_no_broker_can_have_every_name() -> None:
    names = far_names(TREE, NY, LA)
    assert names.flat(LogicalName("", "a b")) is None
    assert names.flat(LogicalName("search", "x" * 249)) is None


@pytest.mark.parametrize("escape", [False, True])
def test_a_home_confines_to_its_own_volume(escape: bool) -> None:
    names = far_names(TREE, NY, LA, home="team", escape=escape)
    name = LogicalName("search", "clicks")
    assert names.spell(name) == (":ny:search:clicks" if escape else None)
    assert names.parse(":ny:search:clicks") == (name if escape else None)
    assert names.parse("clicks") is None
    assert names.parse("team:clicks") is None


def test_mounts_of_the_listeners_reach_alone_have_names() -> None:
    tree = Mounts([Mount(LA, 1), Mount(NY), Mount("sf")]).within([LA, NY])
    assert far_names(tree, "sf", LA).parse(":sf:orders") is None
    assert far_names(tree, NY, LA).parse(":ny:orders") == LogicalName("", "orders")
