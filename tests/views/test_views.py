"""Views follow the catalog: a new snapshot, a stale snapshot, a fresh snapshot again."""

from __future__ import annotations

import pytest

from gateway.acls.authorizer import Authorizer
from gateway.catalog.entities import Alias, Namespace, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.config.policies import PolicySettings
from gateway.decision import Denied, Resolved
from gateway.names import LogicalName
from gateway.policies.tree import REQUIRE_ACKS, UPGRADE_ACKS, Policies
from gateway.slices import Slices
from gateway.topic_ids import TopicIndex
from gateway.views.access import READ
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from gateway.views.views import Views
from protocol import pausing
from protocol.pausing import EVERY
from tests.changes.fake_broker import no_step
from tests.changes.fakes import FakeCatalog, Log
from tests.pauses import pause_everywhere
from tests.session.allowing import Allowing

OWN_ID, NEW_ID, NEWER_ID = (bytes([n]) * 16 for n in (1, 2, 3))


class Seeing(Allowing):
    """Keeps the snapshots that it was shown."""

    def __init__(self) -> None:
        super().__init__(["READ TOPIC team-a:x"])
        self.seen: list[Snapshot] = []

    def see(self, snapshot: Snapshot) -> None:
        self.seen.append(snapshot)


def views(authorizer: Authorizer | None = None) -> tuple[Views, FakeCatalog, Log]:
    log = Log(Snapshot.of(["team-a", "team-b"]))
    catalog = FakeCatalog(log, no_step)
    settings = [ViewSettings("root"), ViewSettings("home", home="team-a", list_subtree=False)]
    return Views(catalog, settings, authorizer), catalog, log


def test_a_view_is_kept_while_nothing_changes() -> None:
    seen, _, _ = views()
    before = seen.of("root")
    seen.update()
    assert seen.of("root") is before


def test_a_change_makes_new_views() -> None:
    seen, _, log = views()
    assert isinstance(seen.of("root").resolve(b"org:orders"), Denied)
    log.append([Namespace("org")])
    seen.update()
    assert isinstance(seen.of("root").resolve(b"org:orders"), Resolved)


def test_views_that_are_prepared_are_made_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the turn that replaces the views takes them as they are."""
    pause_everywhere(monkeypatch)
    seen, _, log = views()
    count = 10 * EVERY
    before = [seen.of("root"), seen.of("home")]
    for view in before:
        assert all(view.spell(f"team-a..t{n}".encode()) for n in range(count))
    moved = LogicalName("team-b", "moved")
    changes = [
        Namespace("org"),
        *(TopicEntry(f"x{n}", LogicalName("", f"y{n}")) for n in range(count)),
    ]
    log.append([*changes, TopicEntry("team-a..t1", moved)])
    preparing, steps = Slices(lambda: seen.prepare(log.newest)), 1
    while not preparing.step():
        assert [seen.of("root"), seen.of("home")] == before
        steps += 1
    preparing.result()
    assert steps > 2 * 10  # the spellings of both views
    pauses: list[None] = []
    pausing.on_pause(lambda: pauses.append(None))
    try:
        seen.update()
    finally:
        pausing.on_pause(None)
    assert not pauses, "no topics are compared in that turn"
    root, home = seen.of("root"), seen.of("home")
    assert (root.snapshot, home.snapshot) == (log.newest, log.newest)
    assert root.spell(b"team-a..t1") == b"team-b:moved"
    assert (home.spell(b"team-a..t0"), home.spell(b"team-a..t1")) == (b"t0", None)


@pytest.mark.parametrize("changed", ["policies", "snapshot", "staleness"])
def test_views_that_were_prepared_for_another_state_are_not_used(changed: str) -> None:
    seen, catalog, log = views()
    seen.of("root")
    log.append([Namespace("org")])
    seen.prepare(log.newest)
    policies = Policies()
    if changed == "policies":
        seen.set_policies(policies)
        assert seen.of("root").policies is policies
    elif changed == "snapshot":
        log.append([Namespace("more")])
        seen.update()
        assert isinstance(seen.of("root").resolve(b"more:orders"), Resolved)
    else:
        catalog.fresh = False
        seen.update()
        assert seen.of("root").closed
    assert seen.of("root").snapshot is log.newest


def test_a_stale_catalog_closes_the_views_until_it_is_fresh_again() -> None:
    seen, catalog, _ = views()
    catalog.fresh = False
    seen.update()
    closed = seen.of("root")
    found = closed.resolve(b"team-a:orders")
    assert isinstance(found, Denied)
    assert (found.code, found.rule) == (5, "stale")
    group = closed.group_to_broker(b"app")
    assert isinstance(group, Denied)
    assert group.code == 15
    assert isinstance(closed.transactional_id_to_broker(b"tx"), Denied)
    assert closed.spell(b"team-a..orders") is None
    index = TopicIndex()
    index.learn(b"team-a..orders", OWN_ID)
    assert closed.flat_of_id(OWN_ID, index) is None
    catalog.fresh = True
    seen.update()
    assert isinstance(seen.of("root").resolve(b"team-a:orders"), Resolved)


@pytest.mark.parametrize("prepared", [False, True])
def test_spellings_that_nothing_has_touched_are_taken_over(prepared: bool) -> None:
    seen, _, log = views()
    view = seen.of("root")
    flats = [b"orders", b"team-a..orders", b"team-b..orders", b"org..orders", b"org.x..orders"]
    assert [view.spell(flat) for flat in flats][3:] == [b"org..orders", b"org.x..orders"]
    log.append([Namespace("org"), Namespace("org:x")])
    log.append([TopicEntry("team-a..orders", LogicalName("team-b", "moved"))])
    log.append([Namespace("team-b", deleting=1)])
    if prepared:
        seen.prepare(log.newest)
    seen.update()
    expected = [b"orders", None, None, b"org:orders", b"org:x:orders"]
    assert [seen.of("root").spell(flat) for flat in flats] == expected
    log.append([Namespace("team-b"), Removal(("namespace", "org:x"))])
    seen.update()
    expected = [b"orders", b"team-b:moved", b"team-b:orders", b"org:orders", b"org.x..orders"]
    assert [seen.of("root").spell(flat) for flat in flats] == expected
    fresh = View(ViewSettings("root"), log.newest)
    assert [fresh.spell(flat) for flat in flats] == expected


def test_a_name_of_the_default_namespace_gets_another_spelling_when_a_namespace_comes() -> None:
    seen, _, log = views()
    log.append([TopicEntry("t", LogicalName("", "crm..foo"))])
    seen.update()
    assert seen.of("root").spell(b"t") == b"crm..foo"
    log.append([Namespace("crm")])
    seen.update()
    assert seen.of("root").spell(b"t") == b":crm..foo"
    found = seen.of("root").resolve(b":crm..foo")
    assert isinstance(found, Resolved)
    assert found.flat == b"t", "a leading colon means that what follows is no legal spelling"


def test_a_moved_topic_goes_by_the_id_of_the_name_it_is_asked_by() -> None:
    name, before = LogicalName("team-b", "orders"), LogicalName("team-a", "orders")
    entry = TopicEntry("team-a..orders", name, NEW_ID)
    index = TopicIndex()
    index.learn(b"team-a..orders", OWN_ID)
    view = View(ViewSettings("root"), Snapshot.of(["team-a", "team-b"], topics=[entry]))
    found = view.resolve(b"team-b:orders")
    assert isinstance(found, Resolved)
    assert found.topic_id == NEW_ID
    assert view.flat_of_id(NEW_ID, index) == b"team-a..orders"
    assert view.id_to_broker(NEW_ID, index) == OWN_ID
    assert view.flat_of_id(OWN_ID, index) is None
    assert view.id_to_show(b"team-a..orders", None) == NEW_ID
    assert isinstance(view.resolve(b"team-a:orders"), Denied)
    assert before not in {entry.name}


def test_an_alias_keeps_the_id_that_its_name_had() -> None:
    aliases = (Alias(LogicalName("team-a", "orders"), 2**50, None),)
    entry = TopicEntry("team-a..orders", LogicalName("team-b", "orders"), NEW_ID, aliases)
    index = TopicIndex()
    index.learn(b"team-a..orders", OWN_ID)
    snapshot = Snapshot.of(["team-a", "team-b"], topics=[entry])
    view = View(ViewSettings("root"), snapshot)
    by_alias = view.resolve(b"team-a:orders")
    assert isinstance(by_alias, Resolved)
    assert (by_alias.flat, by_alias.topic_id) == (b"team-a..orders", None)
    assert view.flat_of_id(OWN_ID, index) == b"team-a..orders"
    assert view.id_to_show(b"team-a..orders", b"team-a:orders") is None
    assert view.id_to_show(b"team-a..orders", b"team-b:orders") == NEW_ID
    home = View(ViewSettings("home", home="team-a"), snapshot)
    assert home.flat_of_id(OWN_ID, index) == b"team-a..orders"
    assert home.flat_of_id(NEW_ID, index) is None


def test_what_is_below_is_listed_as_the_listener_says() -> None:
    snapshot = Snapshot.of(["team-a:sub", "team-b"])
    flats = [b"orders", b"team-a..orders", b"team-a.sub..orders", b"team-b..orders"]

    def listed(settings: ViewSettings) -> list[bytes]:
        view = View(settings, snapshot)
        return [flat for flat in flats if view.lists(flat)]

    assert listed(ViewSettings("a")) == flats
    assert listed(ViewSettings("b", list_subtree=False)) == flats[:1]
    assert listed(ViewSettings("c", home="team-a")) == flats[1:3]
    assert listed(ViewSettings("d", home="team-a", list_subtree=False)) == flats[1:2]


def test_principals_of_one_home_have_one_view() -> None:
    seen, _, _ = views()
    at_home = seen.of("root", "team-a")
    assert at_home is seen.of("root", "team-a")
    assert at_home is not seen.of("root")
    assert at_home.settings.home == "team-a"
    assert seen.of("root").settings.home == ""


def test_a_listeners_home_confines_who_has_another() -> None:
    seen, _, _ = views()
    assert seen.of("home", "team-b") is seen.of("home")
    assert isinstance(seen.of("home", "team-b").resolve(b":team-b:x"), Denied)


def test_views_of_homes_follow_the_catalog_too() -> None:
    seen, catalog, log = views()
    before = seen.of("root", "team-a")
    assert isinstance(before.resolve(b"sub:x"), Denied)
    log.append([Namespace("team-a:sub")])
    seen.update()
    assert isinstance(seen.of("root", "team-a").resolve(b"sub:x"), Resolved)
    catalog.fresh = False
    seen.update()
    assert seen.of("root", "team-a").closed
    # Nor is a view that is requested now any better.
    assert seen.of("root", "team-b").closed


def test_connections_of_one_principal_from_one_host_share_what_is_known() -> None:
    seen, _, _ = views(Seeing())
    view = seen.of("root")
    alice = seen.access(view, "User:alice", "10.0.0.1")
    assert alice is seen.access(view, "User:alice", "10.0.0.1")
    others = [
        seen.access(view, "User:bob", "10.0.0.1"),
        seen.access(view, "User:alice", "10.0.0.2"),
        seen.access(seen.of("home"), "User:alice", "10.0.0.1"),
    ]
    assert alice not in others
    assert len({id(each) for each in others}) == len(others)
    assert isinstance(alice, AuthorizedAccess)
    assert alice.flat_denial(READ, b"team-a..x") is None
    assert alice.flat_denial(READ, b"team-b..x") is not None


def test_without_an_authorizer_hosts_make_no_difference() -> None:
    """Principals do, because policies get the principal."""
    seen, _, _ = views()
    view = seen.of("root")
    alice = seen.access(view, "User:alice", "10.0.0.1")
    assert alice is seen.access(view, "User:alice", "10.0.0.2")
    assert not alice.authorizes
    assert seen.access(view, "User:bob", "10.0.0.1").principal == "User:bob"


def test_of_many_principals_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.views.views.MAX_ACCESSES", 2)
    seen, _, _ = views(Seeing())
    view = seen.of("root")
    alice, bob, carol = (seen.access(view, f"User:{who}", "h") for who in ("alice", "bob", "carol"))
    assert seen.access(view, "User:bob", "h") is bob
    assert seen.access(view, "User:carol", "h") is carol
    assert seen.access(view, "User:alice", "h") is not alice


def test_the_authorizer_sees_every_snapshot_before_anyone_is_let_in_by_it() -> None:
    authorizer = Seeing()
    seen, _, log = views(authorizer)
    first = log.newest
    assert authorizer.seen == [first]
    alice = seen.access(seen.of("root"), "User:alice", "10.0.0.1")
    log.append([Namespace("org")])
    seen.update()
    assert authorizer.seen == [first, log.newest]
    again = seen.access(seen.of("root"), "User:alice", "10.0.0.1")
    assert again is not alice
    assert again.view.snapshot is log.newest


def test_what_was_allowed_is_asked_anew_though_no_name_has_changed() -> None:
    seen, _, _ = views(Seeing())
    view = seen.of("root")
    alice = seen.access(view, "User:alice", "10.0.0.1")
    seen.update()
    assert seen.of("root") is view
    assert seen.access(view, "User:alice", "10.0.0.1") is not alice


def guarantee(seen: Views, spelled: bytes, flat: bytes) -> int:
    """The guarantee of a topic, which is the same by name and by flat name."""
    found = seen.of("root").resolve(spelled)
    assert isinstance(found, Resolved)
    assert found.guarantee == seen.of("root").guarantee_of(flat)
    return found.guarantee


def requiring(namespace: str) -> Policies:
    block = {"producer": {"acks": "require"}}
    return Policies(PolicySettings.model_validate({"namespaces": {namespace: block}}))


def test_a_topic_s_producers_are_held_to_what_its_namespace_says() -> None:
    seen, catalog, log = views()
    assert guarantee(seen, b"orders", b"orders") == 0
    assert guarantee(seen, b"team-a:orders", b"team-a..orders") == UPGRADE_ACKS
    before = seen.of("root")
    seen.set_policies(requiring("team-a"))
    assert seen.of("root") is not before
    assert before.resolve(b"team-a:orders") != seen.of("root").resolve(b"team-a:orders")
    assert guarantee(seen, b"team-a:orders", b"team-a..orders") == REQUIRE_ACKS
    assert guarantee(seen, b"team-b:orders", b"team-b..orders") == UPGRADE_ACKS
    log.append([Namespace("team-a:sub")])
    seen.update()
    assert guarantee(seen, b"team-a:sub:x", b"team-a.sub..x") == REQUIRE_ACKS
    catalog.fresh = False
    seen.update()
    catalog.fresh = True
    seen.update()
    assert guarantee(seen, b"team-a:orders", b"team-a..orders") == REQUIRE_ACKS


def test_a_moved_topic_s_producers_are_held_to_what_its_new_namespace_says() -> None:
    seen, _, log = views()
    seen.set_policies(requiring("team-b"))
    aliases = (Alias(LogicalName("team-a", "orders"), 2**50, None),)
    log.append([TopicEntry("team-a..orders", LogicalName("team-b", "orders"), NEW_ID, aliases)])
    seen.update()
    for spelled in (b"team-b:orders", b"team-a:orders"):
        assert guarantee(seen, spelled, b"team-a..orders") == REQUIRE_ACKS


def test_with_other_policies_who_asks_gets_another_access() -> None:
    seen, _, _ = views()
    before = seen.access(seen.of("root"), "User:alice", "10.0.0.1")
    seen.set_policies(requiring("team-a"))
    now = seen.access(seen.of("root"), "User:alice", "10.0.0.1")
    assert now is not before
    found = now.to_write(b"team-a:orders")
    assert isinstance(found, Resolved)
    assert found.guarantee == REQUIRE_ACKS
