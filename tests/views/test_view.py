"""Views: both spellings, home namespaces, and names that may not be used."""

from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import Namespace, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.names import LogicalName, encode
from gateway.views.view import Spelling, View, ViewSettings
from tests.views.found import flat_of, message_of

SNAPSHOT = Snapshot.of(["team-a:sub", "team-b", "org:apache:kafka", "a.b"])


def view(spelling: Spelling = "colon", home: str = "", escape: bool = False) -> View:
    return View(ViewSettings("test", spelling, home, escape, not home), SNAPSHOT)


@pytest.mark.parametrize(
    ("spelled", "flat"),
    [
        ("org:apache:kafka:orders", "org.apache.kafka..orders"),
        ("org.apache.kafka..orders", "org.apache.kafka..orders"),
        (":org:apache:kafka:orders", "org.apache.kafka..orders"),
        ("orders", "orders"),
        (":orders", "orders"),
        ("unknown..orders", "unknown..orders"),
        ("a.b:x", "a-.b..x"),
    ],
)
def test_both_spellings_from_the_root(spelled: str, flat: str) -> None:
    assert flat_of(view().resolve(spelled.encode())) == flat


@pytest.mark.parametrize(
    ("spelled", "flat"),
    [
        ("orders", "team-a..orders"),
        ("sub:orders", "team-a.sub..orders"),
        ("a..b", "team-a..a..b"),
        ("team-b..orders", "team-a..team-b..orders"),
    ],
)
def test_under_a_home_names_are_relative(spelled: str, flat: str) -> None:
    assert flat_of(view(home="team-a").resolve(spelled.encode())) == flat


@pytest.mark.parametrize("spelled", [":orders", "..orders", ":team-b:orders", "..team-b..orders"])
def test_a_home_confines_unless_it_may_be_escaped(spelled: str) -> None:
    assert "outside namespace 'team-a'" in message_of(view(home="team-a").resolve(spelled.encode()))
    assert flat_of(view(home="team-a", escape=True).resolve(spelled.encode())) in {
        "orders",
        "team-b..orders",
    }


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        ("nope:orders", "InvalidNamespaceException: namespace 'nope' does not exist"),
        ("org:nope:orders", "namespace 'org:nope' does not exist"),
        ("org:", "names a namespace"),
        (":", "not allowed"),
        ("__consumer_offsets", "reserved"),
        (":__kafka_gateway_catalog", "reserved"),
        ("a b", "characters other than"),
        ("org:b/c", "characters other than"),
        ("", "not allowed"),
        ("org:" + "x" * 245, "leaves 244"),
    ],
)
def test_what_may_not_be_named_says_why(spelled: str, said: str) -> None:
    assert said in message_of(view().resolve(spelled.encode()))


def test_bytes_that_are_not_utf8_name_nothing() -> None:
    assert isinstance(view().resolve(b"\xff\xfe"), Denied)


@pytest.mark.parametrize(
    ("spelling", "home", "flat", "shown"),
    [
        ("colon", "", "org.apache.kafka..orders", "org:apache:kafka:orders"),
        ("legal", "", "org.apache.kafka..orders", "org.apache.kafka..orders"),
        ("colon", "", "unknown..orders", "unknown..orders"),
        ("colon", "", "__consumer_offsets", None),
        ("colon", "team-a", "team-a..orders", "orders"),
        ("colon", "team-a", "team-a.sub..orders", "sub:orders"),
        ("colon", "team-a", "team-b..orders", None),
        ("colon", "team-a", "orders", None),
        ("legal", "team-a", "team-a..a..b", "a..b"),
        ("colon", "team-a", "team-a....1", None),
    ],
)
def test_flat_names_are_shown_as_the_listener_spells(
    spelling: Spelling, home: str, flat: str, shown: str | None
) -> None:
    found = view(spelling, home).spell(flat.encode())
    assert (None if found is None else found.decode()) == shown


def test_a_home_lists_only_itself_and_the_root_everything() -> None:
    home = view(home="team-a")
    assert home.lists(b"team-a..orders")
    assert not home.lists(b"team-a.sub..orders")
    assert not home.lists(b"orders")
    assert view().lists(b"team-a.sub..orders")
    assert not view().lists(b"__kafka_gateway_catalog")


names = st.builds(
    LogicalName,
    st.sampled_from(["", "team-a", "team-a:sub", "team-b", "org:apache:kafka", "a.b"]),
    st.text(alphabet="ab1._-", min_size=1, max_size=8).filter(lambda t: t not in {".", ".."}),
)


@given(names, st.sampled_from(["colon", "legal"]), st.sampled_from(["", "team-a"]), st.booleans())
def test_what_is_shown_resolves_to_what_it_was_shown_for(
    name: LogicalName, spelling: Spelling, home: str, escape: bool
) -> None:
    seen = view(spelling, home, escape)
    flat = encode(name).encode()
    shown = seen.spell(flat)
    if shown is not None:
        found = seen.resolve(shown)
        assert isinstance(found, Resolved)
        assert found.flat == flat


def test_ids_of_a_namespace_that_is_deleted_reach_nothing() -> None:
    marked = Snapshot.of(["team-a:sub", "team-b"]).apply([Namespace("team-a", deleting=1)], 9)
    everything, home = (
        View(ViewSettings("test", "colon", home, escape=False), marked) for home in ("", "team-a")
    )
    for one, ids in ((everything, (b"team-a..app", b"team-a.sub..app")), (home, (b"app",))):
        for spelled in ids:
            for found in (one.group_to_broker(spelled), one.transactional_id_to_broker(spelled)):
                assert isinstance(found, Denied)
    for spelled in (b"team-b..app", b"app", b"team-a"):
        assert everything.group_to_broker(spelled) == spelled


def test_ids_carry_their_homes_prefix() -> None:
    home, root = view(home="team-a"), view()
    assert home.group_to_broker(b"app") == b"team-a..app"
    assert home.id_to_client(b"team-a..app") == b"app"
    assert home.id_to_client(b"app") is None
    assert home.group_to_broker(b"") == b"team-a.."
    assert home.id_to_client(b"team-a..") == b""
    assert home.transactional_id_to_broker(b"tx") == b"team-a..tx"
    assert root.group_to_broker(b"app") == b"app"
    assert root.id_to_client(b"app") == b"app"


def test_ids_that_may_not_be_used() -> None:
    home, root = view(home="team-a"), view()
    for rejected, code in (
        (root.group_to_broker(b"__kafka_gateway_x"), 30),
        (root.transactional_id_to_broker(b"__kafka_gateway_x"), 53),
        (home.transactional_id_to_broker(b""), 42),
        (home.group_to_broker(b"x" * 32_767), 42),
    ):
        assert isinstance(rejected, Denied)
        assert rejected.code == code
    assert root.id_to_client(b"__kafka_gateway_x") is None


def test_a_moved_topic_is_reached_by_its_logical_name_alone() -> None:
    moved = LogicalName("team-b", "orders")
    entry = TopicEntry("team-a..orders", moved)
    snapshot = Snapshot.of(["team-a", "team-b"], topics=[entry])
    seen = View(ViewSettings("test"), snapshot)
    assert flat_of(seen.resolve(b"team-b:orders")) == "team-a..orders"
    assert seen.spell(b"team-a..orders") == b"team-b:orders"
    assert "does not exist" in message_of(seen.resolve(b"team-a:orders"))


def test_a_default_name_that_folds_into_a_namespace_is_captured() -> None:
    assert SNAPSHOT.captured_by(LogicalName("", "team-b__x")) == "team-b"
    assert SNAPSHOT.captured_by(LogicalName("", "team_b__x")) is None
    assert SNAPSHOT.captured_by(LogicalName("", "org.apache_kafka_.x")) == "org:apache:kafka"
    assert SNAPSHOT.captured_by(LogicalName("team-b", "x")) is None


MANY = 10_000


def _with_many_changed() -> tuple[View, Snapshot]:
    """A view that has spelled a topic of each of many namespaces, and a state in which all of the
    namespaces have changed, and a namespace is gone."""
    before = Snapshot.of(f"n{number}" for number in range(MANY))
    view = View(ViewSettings("test"), before)
    for number in range(MANY):
        view.spell(f"n{number}..t".encode())
    changed = [Namespace(f"n{number}", {"owner": "b"}) for number in range(1, MANY)]
    return view, before.apply([*changed, Removal(("namespace", "n0"))], 2)


def test_a_view_after_a_change_of_many_namespaces_spells_as_a_new_one() -> None:
    view, after = _with_many_changed()
    following, new = view.successor(after), View(ViewSettings("test"), after)
    for flat in (b"n0..t", b"n1..t", b"n9999..t", b"t"):
        assert following.spell(flat) == new.spell(flat)


@pytest.mark.alone
def test_it_is_made_in_one_short_turn() -> None:
    view, after = _with_many_changed()
    took = []
    for _ in range(3):
        began = thread_time()
        view.successor(after)
        took.append(thread_time() - began)
    assert min(took) < 0.02
