"""Links in views: where names and ids lead, which names are listed, and whose ACLs count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import Change, Link, Namespace, Removal, TopicEntry, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.names import LogicalName
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from gateway.views.views import Listings
from tests.session.allowing import Allowing

FLAT, OWN_ID, LINK_ID = "team-a..orders", b"o" * 16, b"l" * 16
TOPIC, LINK = LogicalName("team-a", "orders"), LogicalName("team-b", "shared")
ENTRY, LINKED = TopicEntry(FLAT, TOPIC), Link(LINK, FLAT, LINK_ID)
SNAPSHOT = Snapshot.of(["team-a", "team-b"]).apply([ENTRY, LINKED], 2)
READ, DESCRIBE, DELETE = 3, 8, 6


def view(snapshot: Snapshot = SNAPSHOT, home: str = "") -> View:
    return View(ViewSettings("test", "colon", home, False, not home), snapshot)


def index(*flats: str) -> TopicIndex:
    made = TopicIndex()
    made.replace([(flat.encode(), OWN_ID) for flat in flats or (FLAT,)])
    return made


def access(one: View, *allowed: str) -> Access:
    return AuthorizedAccess(one, "User:alice", "1.2.3.4", Allowing(allowed))


def resolved(one: View, spelled: str) -> Resolved:
    found = one.resolve(spelled.encode())
    assert isinstance(found, Resolved), found
    return found


def test_both_names_lead_to_one_topic_under_an_id_each() -> None:
    topic, link = resolved(view(), "team-a:orders"), resolved(view(), "team-b:shared")
    assert topic.flat == link.flat == FLAT.encode()
    assert (topic.topic_id, link.topic_id) == (None, LINK_ID)
    assert (topic.link, link.link) == (False, True)
    assert link.logical == "team-b:shared"
    for known in (OWN_ID, LINK_ID):
        assert view().flat_of_id(known, index()) == FLAT.encode()
        assert view().id_to_broker(known, index()) == OWN_ID
    assert view().spell(FLAT.encode()) == b"team-a:orders"


def test_in_a_home_the_topic_has_its_links_name() -> None:
    home = view(home="team-b")
    assert resolved(home, "shared").flat == FLAT.encode()
    assert home.spell(FLAT.encode()) == b"shared"
    assert home.id_to_show(FLAT.encode(), None) == LINK_ID
    assert home.flat_of_id(LINK_ID, index()) == FLAT.encode()
    assert home.flat_of_id(OWN_ID, index()) is None
    assert Listings().of(Access(home, "", ""), index()).names == ["shared"]


def test_a_listing_shows_both_and_no_link_without_its_topic() -> None:
    everything = Access(view(), "", "")
    assert Listings().of(everything, index()).names == ["team-a:orders", "team-b:shared"]
    assert Listings().of(everything, index("other")).names == ["other"]


def test_a_link_has_acls_of_its_own() -> None:
    by_link = access(view(), "READ TOPIC team-b:shared", "DESCRIBE TOPIC team-b:shared")
    assert isinstance(by_link.to_read(b"team-b:shared"), Resolved)
    assert isinstance(by_link.to_read(b"team-a:orders"), Denied)
    assert by_link.by_id(READ, FLAT.encode(), LINK_ID) is None
    assert by_link.by_id(READ, FLAT.encode(), OWN_ID) is not None
    assert by_link.shown(FLAT.encode()) == b"team-b:shared"
    assert Listings().of(by_link, index()).names == ["team-b:shared"]
    by_topic = access(view(), "READ TOPIC team-a:orders", "DESCRIBE TOPIC team-a:orders")
    assert isinstance(by_topic.to_read(b"team-b:shared"), Denied)
    assert by_topic.by_id(READ, FLAT.encode(), LINK_ID) is not None
    assert by_topic.shown(FLAT.encode()) == b"team-a:orders"
    assert Listings().of(by_topic, index()).names == ["team-a:orders"]


def test_a_denial_names_the_link_alone() -> None:
    nobody = access(view())
    found = nobody.to_read(b"team-b:shared")
    assert isinstance(found, Denied)
    assert found.message == "User:alice is not allowed to READ topic 'team-b:shared'."
    assert nobody.shown(FLAT.encode()) is None


def test_nothing_of_a_topic_is_deleted_under_its_link() -> None:
    found = access(view(), "DELETE TOPIC team-b:shared").topic(DELETE, b"team-b:shared")
    assert isinstance(found, Denied)
    assert (found.code, found.rule) == (42, "link")
    assert "team-a" not in found.message
    assert Access(view(), "", "").topic(DELETE, b"team-b:shared") == found
    denied = access(view()).topic(DELETE, b"team-b:shared")
    assert isinstance(denied, Denied)
    assert denied.code == 29


def test_a_dangling_link_leads_nowhere_whatever_is_made_since() -> None:
    gone = SNAPSHOT.apply([Link(LINK, FLAT, LINK_ID, "team-a:orders"), Removal(key_of(ENTRY))], 3)
    for snapshot in (gone, gone.apply([TopicEntry(FLAT, TOPIC)], 4)):
        found = view(snapshot).resolve(b"team-b:shared")
        assert isinstance(found, Denied)
        assert (found.code, "it is a link whose topic was deleted" in found.message) == (3, True)
        assert view(snapshot).flat_of_id(LINK_ID, index()) is None
        assert snapshot.links_of(FLAT) == ()
        assert view(snapshot).link_named("team-b:shared") is not None


def test_a_link_follows_its_topic_and_ends_with_either_namespace() -> None:
    moved = SNAPSHOT.apply([TopicEntry(FLAT, LogicalName("", "elsewhere"), b"m" * 16)], 3)
    assert resolved(view(moved), "team-b:shared").topic_id == LINK_ID
    assert view(moved, home="team-b").spell(FLAT.encode()) == b"shared"
    for path in ("team-a", "team-b"):
        marked = SNAPSHOT.apply([Namespace(path, deleting=1)], 3)
        assert isinstance(view(marked).resolve(b"team-b:shared"), Denied)
        assert view(marked, home="team-b").spell(FLAT.encode()) is None


def test_a_topic_stored_by_a_links_name_is_hidden() -> None:
    """It was made at the broker itself; because no name leads to it, no right does."""
    one = view()
    assert one.spell(b"team-b..shared") is None
    assert one.flat_of_id(b"x" * 16, index()) is None


changes = st.lists(
    st.sampled_from(
        [
            ENTRY,
            Removal(key_of(ENTRY)),
            LINKED,
            Link(LINK, FLAT, LINK_ID, "team-a:orders"),
            Removal(key_of(LINKED)),
            TopicEntry(FLAT, LogicalName("team-b", "moved"), b"m" * 16),
            TopicEntry("other", LogicalName("team-a", "other")),
            Link(LogicalName("team-b", "second"), "other", b"s" * 16),
            Namespace("team-a"),
            Removal(("namespace", "team-a")),
        ]
    ),
    max_size=12,
)


@given(changes)
def test_whatever_the_order_the_state_is_that_of_what_is_held(made: list[Change]) -> None:
    """A compacted log gives every reader the same results, and a view that follows each change the
    same results as a new view."""
    base = Snapshot.of(["team-a", "team-b"])
    follower, snapshot = view(base), base
    for number, change in enumerate(made, start=2):
        snapshot = snapshot.apply([change], number)
        follower = follower.successor(snapshot)
        for flat in (FLAT, "other", "team-b..shared"):
            follower.spell(flat.encode())
    fresh = view(Snapshot().apply(snapshot.entities(), snapshot.version))
    names = ["team-a:orders", "team-b:shared", "team-b:second", "team-b:moved"]
    for name in names:
        assert follower.resolve(name.encode()) == fresh.resolve(name.encode())
    for flat in (FLAT, "other", "team-b..shared"):
        assert follower.spell(flat.encode()) == fresh.spell(flat.encode())
        assert snapshot.links_of(flat) == fresh.snapshot.links_of(flat)
    for known in (LINK_ID, b"s" * 16):
        assert snapshot.by_topic_id(known) == fresh.snapshot.by_topic_id(known)
