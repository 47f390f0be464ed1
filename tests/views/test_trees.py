"""Names and ids in random trees: total, injective, reversible, and of one volume each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.error_codes import NOT_COORDINATOR, NOT_LEADER_OR_FOLLOWER
from gateway.mounts import Mounts, OtherVolume, join
from gateway.names import InvalidName, LogicalName, encode
from gateway.views import absolute, spelling
from gateway.views.spelling import Spelling
from gateway.views.view import View
from tests.views.trees import NAMES, PATHS, SPELLINGS, TREES, mounts, tree_settings, tree_view

HOWS = st.sampled_from(SPELLINGS)
WORDS = st.text(":/..laxt-", max_size=14) | st.builds(
    "".join,
    st.lists(st.sampled_from([":", "/", "..", ".", "la", "ny", "x", "a-.b", "a.b", "t"])),
)
IDS = st.one_of(WORDS.map(str.encode), st.binary(max_size=6))


@st.composite
def trees(draw: st.DrawFn) -> tuple[Mounts, str, str]:
    """A tree, the mount of a view's volume in it, and the mount of its listener's volume."""
    tree = draw(TREES)
    paths = st.sampled_from([mount.path for mount in tree])
    return tree, draw(paths), draw(paths)


def owners(tree: Mounts, listener_volume: str, spelled: str) -> list[str]:
    """The volumes in whose views a name is not a name of another volume."""
    found = []
    for mount in tree:
        denied = tree_view(tree, mount.path, listener_volume).resolve(spelled.encode())
        if not (isinstance(denied, Denied) and denied.code == NOT_LEADER_OR_FOLLOWER):
            found.append(mount.path)
    return found


# -- topics ----------------------------------------------------------------------------------------


@given(trees(), NAMES, HOWS)
def test_what_is_spelled_reads_back_in_its_volume_and_in_no_other(
    where: tuple[Mounts, str, str], name: LogicalName, how: Spelling
) -> None:
    tree, volume, listener_volume = where
    snapshot = Snapshot.of([name.namespace] if name.namespace else [])
    assume(name.namespace or snapshot.spelled(name.topic) == name)
    settings = tree_settings(tree, volume, listener_volume, how)
    shown = spelling.spell_name(settings, snapshot, name)
    hidden = absolute.hidden_by(settings, name.namespace) is not None
    if shown is None:
        assert hidden
        assert volume != listener_volume
        return
    assert spelling.parse(settings, snapshot, shown) == name
    view = View(settings, snapshot)
    assert view.volume_of_topic(shown.encode()) == volume
    assert owners(tree, listener_volume, shown) == [volume]


@given(trees(), NAMES)
def test_all_three_spellings_of_a_name_mean_the_same(
    where: tuple[Mounts, str, str], name: LogicalName
) -> None:
    tree, volume, listener_volume = where
    path = join(volume, name.namespace)
    owner = tree.owner(path)
    assert owner is not None
    colon = f":{path}:{name.topic}" if path else f":{name.topic}"
    legal = ".." + encode(LogicalName(path, name.topic))
    snapshot = Snapshot.of([name.namespace] if name.namespace else [])
    for spelled in (colon, colon.replace(":", "/"), *([] if ".." in name.topic else [legal])):
        assert (
            View(tree_settings(tree, volume, listener_volume), snapshot).volume_of_topic(
                spelled.encode()
            )
            == owner.path
        )
        settings = tree_settings(tree, owner.path, listener_volume)
        found = spelling.parse(settings, snapshot, spelled)
        inside = name.namespace if owner.path == volume else None
        assert join(owner.path, found.namespace) == path
        assert found.topic == name.topic
        assert inside is None or found.namespace == inside


@given(trees(), st.lists(NAMES, min_size=2, max_size=6, unique=True), HOWS)
def test_no_two_names_are_spelled_alike(
    where: tuple[Mounts, str, str], names: list[LogicalName], how: Spelling
) -> None:
    tree, _, listener_volume = where
    shown = []
    snapshot = Snapshot.of([name.namespace for name in names if name.namespace])
    for mount in tree:
        settings = tree_settings(tree, mount.path, listener_volume, how)
        shown += [
            spelled
            for name in names
            if name.namespace or snapshot.spelled(name.topic) == name
            if (spelled := spelling.spell_name(settings, snapshot, name)) is not None
        ]
    assert len(set(shown)) == len(shown)


@given(trees(), WORDS, HOWS)
def test_every_text_is_of_one_volume_or_of_none(
    where: tuple[Mounts, str, str], text: str, how: Spelling
) -> None:
    tree, _, listener_volume = where
    view = tree_view(tree, listener_volume, listener_volume, how)
    volume = view.volume_of_topic(text.encode())
    answering = owners(tree, listener_volume, text)
    # A name that no volume owns is answered by the listener's volume, and rejected in all.
    assert volume in answering
    for mount in tree:
        other = tree_view(tree, mount.path, listener_volume, how)
        assert other.volume_of_topic(text.encode()) == volume
        if mount.path == volume:
            continue
        assert isinstance(other.resolve(text.encode()), Denied)
        try:
            assert other.namespace_named(text) is None
        except InvalidName as error:
            assert mount.path not in answering or not isinstance(error, OtherVolume)


@given(trees(), NAMES)
def test_relative_names_never_leave_the_listeners_volume(
    where: tuple[Mounts, str, str], name: LogicalName
) -> None:
    tree, volume, listener_volume = where
    assume(name.namespace or not name.topic.startswith(".."))
    snapshot = Snapshot.of([name.namespace] if name.namespace else [])
    for spelled in {str(name), str(name).replace(":", "/"), encode(name)}:
        if not name.namespace and snapshot.spelled(name.topic) != name:
            continue
        at_home = View(tree_settings(tree, listener_volume, listener_volume), snapshot)
        assert at_home.volume_of_topic(spelled.encode()) == listener_volume
        found = at_home.resolve(spelled.encode())
        assert isinstance(found, Resolved)
        assert found.flat.decode() == encode(name)
        elsewhere = tree_view(tree, volume, listener_volume, namespaces=[name.namespace or "x"])
        assert volume == listener_volume or isinstance(elsewhere.resolve(spelled.encode()), Denied)


@given(trees(), PATHS.filter(bool), HOWS)
def test_namespaces_read_back(where: tuple[Mounts, str, str], path: str, how: Spelling) -> None:
    tree, volume, listener_volume = where
    view = tree_view(tree, volume, listener_volume, how, [path])
    shown = view.spell_namespace(path)
    if shown is None:
        assert volume != listener_volume
        assert absolute.hidden_by(view.settings, path) is not None
        return
    assert view.namespace_named(shown) == path
    assert view.volume_of_topic(shown.encode()) == volume


# -- homes -----------------------------------------------------------------------------------------


@given(trees(), WORDS)
def test_a_home_knows_no_absolute_names(where: tuple[Mounts, str, str], text: str) -> None:
    tree, volume, listener_volume = where
    settings = tree_settings(tree, volume, listener_volume, home="ny:x")
    view = View(settings, Snapshot.of(["ny:x", "la"]))
    assert view.volume_of_topic(text.encode()) == listener_volume
    assert view.volume_of_group(text.encode()) == listener_volume
    found = view.resolve(text.encode())
    if volume != listener_volume or text.startswith((":", "/", "..")):
        assert isinstance(found, Denied)
    if isinstance(found, Resolved):
        assert found.namespace == "ny:x" or found.namespace.startswith("ny:x:")


def test_a_home_shuts_the_other_volumes() -> None:
    tree = mounts("la", "ny")
    view = View(tree_settings(tree, "ny", "la", home="team"), Snapshot.of(["team"]))
    assert view.spell(b"x") is view.spell(b"team..x") is None
    assert view.spell_namespace("team") is None
    assert view.id_to_client(b"app") is view.id_to_client(b"team..app") is None
    assert not view.reaches(b"x")
    assert isinstance(view.resolve(b":ny:x"), Denied)
    assert isinstance(view.group_to_broker(b"app"), Denied)


def test_a_home_with_escape_reaches_the_root_of_the_tree() -> None:
    # DESIGN: `mount` moves the root; groups stay in the home.
    tree, snapshot = mounts("la", "ny"), Snapshot.of(["team", "team:sub"])
    home = View(tree_settings(tree, "la", "la", home="team", escape=True), snapshot)
    other = View(tree_settings(tree, "ny", "la", home="team", escape=True), snapshot)
    for spelled in (b":ny:x", b"/ny/x", b"..ny..x"):
        assert home.volume_of_topic(spelled) == "ny"
        assert isinstance(other.resolve(spelled), Resolved)
    assert home.spell(b"team..x") == b"x"
    assert home.spell(b"x") == b":la:x"
    assert other.spell(b"team..x") == b":ny:team:x"
    assert home.group_to_broker(b":ny:app") == b"team..:ny:app"
    assert home.id_to_client(b"team..:ny:app") == b":ny:app"
    assert other.id_to_client(b"app") is None


# -- groups and transactional ids ------------------------------------------------------------------


@given(trees(), IDS)
def test_every_id_is_of_one_volume(where: tuple[Mounts, str, str], client_id: bytes) -> None:
    tree, _, listener_volume = where
    views = {m.path: tree_view(tree, m.path, listener_volume) for m in tree}
    volume = views[listener_volume].volume_of_group(client_id)
    for path, view in views.items():
        found = view.group_to_broker(client_id)
        assert view.transactional_id_to_broker(client_id) == found or isinstance(found, Denied)
        if path != volume:
            assert isinstance(found, Denied)
            assert (found.code, found.rule) == (NOT_COORDINATOR, "volume")
        elif isinstance(found, Denied):
            assert "empty" in found.message
        else:
            assert client_id.endswith(found)


@given(trees(), IDS.filter(bool), HOWS)
def test_ids_read_back(where: tuple[Mounts, str, str], own: bytes, how: Spelling) -> None:
    tree, volume, listener_volume = where
    view = tree_view(tree, volume, listener_volume, how)
    shown = view.id_to_client(own)
    assert shown is not None
    assert view.volume_of_group(shown) == volume
    assert view.group_to_broker(shown) == own


@given(trees(), st.lists(IDS.filter(bool), min_size=2, max_size=6, unique=True), HOWS)
def test_no_two_ids_are_spelled_alike(
    where: tuple[Mounts, str, str], ids: list[bytes], how: Spelling
) -> None:
    tree, _, listener_volume = where
    views = [tree_view(tree, mount.path, listener_volume, how) for mount in tree]
    shown = [view.id_to_client(own) for view in views for own in ids]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize(
    ("client_id", "volume", "own"),
    [
        (b"app", "la:tracking", b"app"),
        (b":la:tracking:app", "la:tracking", b"app"),
        (b"/ny/app", "ny", b"app"),
        (b"..ny..app", "ny", b"app"),
        (b":ny:deep:app", "ny:deep", b"app"),
        (b":ny:deeper:app", "ny", b"deeper:app"),
        (b":ny/app", "la:tracking", b":ny/app"),
        (b":sf:app", "la:tracking", b":sf:app"),
        (b"..ny..team-a..app", "ny", b"team-a..app"),
    ],
)
def test_the_mount_before_an_id(client_id: bytes, volume: str, own: bytes) -> None:
    tree = mounts("la:tracking", "ny", "ny:deep")
    view = tree_view(tree, volume, "la:tracking")
    assert view.volume_of_group(client_id) == volume
    assert view.group_to_broker(client_id) == own
    assert view.own_id(client_id) == own


def test_an_id_of_a_listener_without_a_tree_is_as_it_is() -> None:
    settings = replace(tree_settings(mounts(""), "", ""), mounts=None)
    assert View(settings, Snapshot.of([])).group_to_broker(b":la:app") == b":la:app"
