"""Mirrors: names that begin with MirrorMaker 2's alias of a source cluster, both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.acl_model import Resource, ResourceType
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.names import InvalidName, LogicalName, below, encode
from gateway.views import spelling
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.mirrors import Mirrors
from gateway.views.spelling import Spelling, ViewSettings
from gateway.views.view import View
from gateway.views.views import settings_of
from tests.examples import examples
from tests.views import trees
from tests.views.found import flat_of, message_of

NAMESPACES = ["dr:a:team-a", "dr:a:team-b:sub", "dr:b", "dr:c", "team-a", "A.team-a", "A", "mm2"]
SNAPSHOT = Snapshot.of(NAMESPACES)
MIRRORS = Mirrors.of_aliases([("A", "dr:a"), ("AA", "dr:b"), ("mm2", "dr:c")], ".")


def view(how: Spelling = "colon", home: str = "", escape: bool = False) -> View:
    made = ViewSettings("test", how, home, escape, not home, mirrors=MIRRORS)
    return View(made, SNAPSHOT)


@pytest.mark.parametrize(
    ("spelled", "flat"),
    [
        ("A.orders", "dr.a..orders"),
        ("A.team-a:orders", "dr.a.team-a..orders"),
        ("A.team-a..orders", "dr.a.team-a..orders"),
        ("A.heartbeats", "dr.a..heartbeats"),
        ("A.B.orders", "dr.a..B.orders"),
        ("A.nope..orders", "dr.a..nope..orders"),
        ("A.orders.internal", "dr.a..orders.internal"),
        ("AA.orders", "dr.b..orders"),
        ("mm2.orders", "dr.c..orders"),
        # MirrorMaker 2's own topics are where they are without mirrors.
        ("A.checkpoints.internal", "A.checkpoints.internal"),
        ("mm2-offset-syncs.A.internal", "mm2-offset-syncs.A.internal"),
        ("mm2.x.internal", "mm2.x.internal"),
        # And so are names that begin with no alias, or from the root.
        ("heartbeats", "heartbeats"),
        ("B.orders", "B.orders"),
        ("A", "A"),
        ("dr:a:orders", "dr.a..orders"),
        ("dr.a.team-a..orders", "dr.a.team-a..orders"),
        (":A.orders", "A.orders"),
        (":A.team-a:orders", "A-.team-a..orders"),
        ("A:orders", "A..orders"),
    ],
)
def test_what_names_are_read_as(spelled: str, flat: str) -> None:
    assert flat_of(view().resolve(spelled.encode())) == flat


@pytest.mark.parametrize(
    ("how", "flat", "shown"),
    [
        ("colon", "dr.a..orders", "A.orders"),
        ("colon", "dr.a.team-a..orders", "A.team-a:orders"),
        ("legal", "dr.a.team-a..orders", "A.team-a..orders"),
        ("slash", "dr.a.team-a..orders", "A.team-a/orders"),
        ("colon", "dr.b..A.orders", "AA.A.orders"),
        # As it would read as MirrorMaker 2's own topic.
        ("colon", "dr.a..x.checkpoints.internal", "dr:a:x.checkpoints.internal"),
        ("legal", "dr.a..x.checkpoints.internal", "dr.a..x.checkpoints.internal"),
        ("colon", "dr.c..x.internal", "dr:c:x.internal"),
        ("colon", "A.checkpoints.internal", "A.checkpoints.internal"),
        # As it would read as a topic of namespace dr:a:team-a, or of none.
        ("colon", "dr.a..team-a..orders", "dr:a:team-a..orders"),
        ("colon", "dr.a....orders", "dr:a:..orders"),
        # What begins with an alias is of the mirror.
        ("colon", "A.orders", ":A.orders"),
        ("legal", "A.orders", ":A.orders"),
        ("slash", "A.orders", "/A.orders"),
        ("colon", "A-.team-a..orders", ":A.team-a:orders"),
        ("legal", "A-.team-a..orders", "A-.team-a..orders"),
        ("legal", "A..orders", ":A:orders"),
    ],
)
def test_how_topics_are_shown(how: Spelling, flat: str, shown: str) -> None:
    seen = view(how)
    assert seen.spell(flat.encode()) == shown.encode()
    assert flat_of(seen.resolve(shown.encode())) == flat


def test_under_a_home_a_name_that_begins_as_a_mirrors_is_hidden() -> None:
    seen = view(home="dr")
    assert seen.spell(b"dr.a..orders") == b"A.orders"
    assert flat_of(seen.resolve(b"A.orders")) == flat_of(seen.resolve(b"a:orders"))
    assert seen.spell(b"dr..A.orders") is None
    assert seen.spell(b"dr..orders") == b"orders"
    assert view(home="dr", escape=True).spell(b"dr..A.orders") == b":dr:A.orders"


def test_what_a_mirror_hides_is_not_reached_by_id() -> None:
    entry = TopicEntry("odd", LogicalName("dr", "A.x"), topic_id=b"7" * 16)
    snapshot = replace_topics(entry)
    seen = View(replace(view(home="dr").settings), snapshot)
    assert seen.spell(b"odd") is None
    assert not seen.reaches(b"odd")


def replace_topics(*entries: TopicEntry) -> Snapshot:
    return Snapshot.of(NAMESPACES, topics=entries)


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        ("A.", "'A.' names nothing"),
        ("A.:orders", "outside namespace 'dr:a'"),
        ("A...orders", "outside namespace 'dr:a'"),
        ("A.team-a:", "names a namespace, not a topic in it"),
        ("A.nope:orders", "'dr:a:nope' does not exist, so topic 'A.nope:orders' cannot be used"),
        ("A.nope:orders", "catalog import --under dr:a"),
        ("A.a_b:orders", "Tier 'a_b'"),
    ],
)
def test_names_of_no_topic(spelled: str, said: str) -> None:
    assert said in message_of(view().resolve(spelled.encode()))


@pytest.mark.parametrize(
    ("how", "path", "shown"),
    [
        ("colon", "dr:a:team-a", "A.team-a:"),
        ("legal", "dr:a:team-a", "A.team-a.."),
        ("slash", "dr:a:team-b:sub", "A.team-b/sub/"),
        ("colon", "dr:a", "dr:a:"),
        ("colon", "A.team-a", ":A.team-a:"),
        ("legal", "A", ":A:"),
        ("colon", "A", "A:"),
        ("legal", "A.team-a", "A-.team-a.."),
    ],
)
def test_namespaces(how: Spelling, path: str, shown: str) -> None:
    seen = view(how)
    assert seen.spell_namespace(path) == shown
    assert seen.namespace_named(shown) == path


def test_the_separator_of_the_policy() -> None:
    made = ViewSettings("test", mirrors=Mirrors.of_aliases([("us.west", "dr:a")], "_"))
    seen = View(made, SNAPSHOT)
    assert flat_of(seen.resolve(b"us.west_orders")) == "dr.a..orders"
    assert flat_of(seen.resolve(b"us.west.orders")) == "us.west.orders"
    own = b"us.west_checkpoints_internal"
    assert flat_of(seen.resolve(own)).encode() == own == seen.spell(own)


def test_a_principals_home_keeps_the_mirrors_inside_it() -> None:
    whole = view().settings
    assert settings_of(whole, "team-a").mirrors is None
    assert settings_of(whole, "dr:a:team-a").mirrors is None
    assert settings_of(whole, "dr:a").mirrors == Mirrors.of_aliases([("A", "dr:a")], ".")
    assert settings_of(whole, "dr").mirrors == Mirrors.of_aliases(
        [("A", "dr:a"), ("AA", "dr:b"), ("mm2", "dr:c")], "."
    )


def test_listings_hold_mirrors_without_what_else_is_below() -> None:
    made = ViewSettings("test", list_subtree=False, mirrors=MIRRORS)
    seen = View(made, SNAPSHOT)
    assert seen.lists(b"dr.a..orders")
    assert seen.lists(b"dr.a.team-a..orders")
    assert seen.lists(b"orders")
    assert not seen.lists(b"team-a..orders")


def test_a_new_namespace_changes_how_a_mirrors_topic_is_shown() -> None:
    before = View(view().settings, Snapshot.of(["dr:a"]))
    flat = b"dr.a..new..orders"
    assert before.spell(flat) == b"A.new..orders"
    after = before.successor(Snapshot.of(["dr:a:new"]))
    assert after.spell(flat) == b"dr:a:new..orders"


TIERS = st.sampled_from(["A", "A.", "A.team-a", "dr", "a", "b", "team-a", "AA", "mm2", "-", "x.y"])
PATHS = st.lists(TIERS, max_size=4).map(":".join)
WORDS = st.sampled_from(
    ["A", ".", "..", "AA", "mm2", "orders", "team-a", "dr", "internal", "checkpoints", "-", "_"]
)
TOPICS = st.lists(WORDS, min_size=1, max_size=6).map("".join).filter(lambda t: t not in (".", ".."))
NAMES = st.builds(LogicalName, PATHS | st.sampled_from(NAMESPACES), TOPICS)
TEXTS = st.lists(WORDS | st.sampled_from([":", "/"]), max_size=8).map("".join)
SETTINGS = st.builds(
    lambda how, home, escape, separator: ViewSettings(
        "test",
        how,
        home,
        escape,
        mirrors=Mirrors.of_aliases([("A", "dr:a"), ("AA", "dr:b"), ("mm2", "dr:c")], separator),
    ),
    st.sampled_from(["colon", "legal", "slash"]),
    st.sampled_from(["", "dr"]),
    st.booleans(),
    st.sampled_from([".", "-", "_", "._"]),
)
TREE = trees.mounts("", "dr:a", "A.team-a", "la")
TREES = st.builds(
    lambda made, volume: replace(made, mounts=TREE, volume=volume, listener_volume=volume),
    SETTINGS,
    st.sampled_from([mount.path for mount in TREE]),
)


@settings(max_examples=examples(1_000))
@given(SETTINGS | TREES, NAMES)
def test_a_name_that_is_shown_reads_back(made: ViewSettings, name: LogicalName) -> None:
    """So that two names are never shown alike."""
    snapshot = Snapshot.of([*NAMESPACES, *([name.namespace] if name.namespace else [])])
    shown = spelling.spell_name(made, snapshot, name)
    if shown is not None:
        assert spelling.parse(made, snapshot, shown) == name
    elif made.mounts is None and (not made.home or made.escape):
        raise AssertionError("a view of all hides nothing")


@settings(max_examples=examples(1_000))
@given(SETTINGS | TREES, TEXTS)
def test_every_text_is_read_or_rejected(made: ViewSettings, text: str) -> None:
    try:
        name = spelling.parse(made, SNAPSHOT, text)
        path = spelling.parse_namespace(made, SNAPSHOT, text)
    except InvalidName:
        return
    assert path is None or not text.endswith(":")
    mirrors = made.mirrors
    assert mirrors is not None
    colons = text.replace("/", ":") if made.reads_slashes else text
    mirror = None if colons.startswith(":") else mirrors.of(colons)
    if mirror is not None:
        assert below(name.namespace, mirror.namespace) is not None
    elif not made.home:
        # As if there were no mirrors.
        assert spelling.parse(replace(made, mirrors=None), SNAPSHOT, text) == name


@settings(max_examples=examples(500))
@given(SETTINGS | TREES, st.sampled_from([*NAMESPACES, "dr", "dr:a", "dr:a:team-b"]))
def test_a_namespace_that_is_shown_reads_back(made: ViewSettings, path: str) -> None:
    shown = spelling.spell_namespace(made, path)
    if shown is not None:
        assert spelling.parse_namespace(made, SNAPSHOT, shown) == path


@settings(max_examples=examples(500))
@given(SETTINGS, NAMES)
def test_every_topic_of_a_mirror_has_its_own_name_too(
    made: ViewSettings, name: LogicalName
) -> None:
    snapshot = Snapshot.of([*NAMESPACES, *([name.namespace] if name.namespace else [])])
    try:
        encode(name)
    except InvalidName:
        return
    if not made.home and below(name.namespace, "dr:a") is not None:
        assert spelling.parse(made, snapshot, str(name)) == name


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        (Resource(ResourceType.TOPIC, "dr:a", "orders"), "'A.orders'"),
        (Resource(ResourceType.TOPIC, "dr:a:team-a", ""), "'A.team-a:'"),
        (Resource(ResourceType.TOPIC, "dr:a", ""), "'dr:a:'"),
        (Resource(ResourceType.TOPIC, "dr:a", "x.checkpoints.internal"), "'dr:a:x.checkpoints.i"),
        (Resource(ResourceType.TOPIC, "team-a", "orders"), "'team-a:orders'"),
        (Resource(ResourceType.GROUP, "dr:a", "app"), "'dr:a:app'"),
    ],
)
def test_denials_name_what_is_in_a_mirror_by_its_alias(named: Resource, shown: str) -> None:
    authorizer = StandardAuthorizer()
    authorizer.see(SNAPSHOT)
    why = AuthorizedAccess(view(), "User:bob", "10.0.0.1", authorizer).denial(3, named)
    assert why is not None
    assert f"not allowed to READ {named.type.name.lower()} {shown}" in why.message
