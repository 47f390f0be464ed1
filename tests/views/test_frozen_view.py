"""Frozen names: an error that clients retry, by name and by id; subscriptions keep them."""

from __future__ import annotations

from gateway.catalog.entities import Alias, CatalogFormat, Freeze, TopicEntry
from gateway.catalog.freezes import FROZEN, Frozen
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied, Resolved
from gateway.error_codes import LEADER_NOT_AVAILABLE
from gateway.names import LogicalName
from gateway.topic_ids import TopicIndex
from gateway.views.view import View, ViewSettings
from gateway.views.views import Views
from tests.changes.fake_broker import no_step
from tests.changes.fakes import FakeCatalog, Log

MOVED = TopicEntry(
    "org..x", LogicalName("team", "x"), b"v" * 16, (Alias(LogicalName("org", "old"), 9_999),)
)
SNAPSHOT = Snapshot.of(["org", "team"], topics=[MOVED])
SETTINGS = ViewSettings("test", "colon")


def index() -> TopicIndex:
    found = TopicIndex()
    found.replace([(b"org..x", b"x" * 16), (b"org..y", b"y" * 16), (b"plain", b"p" * 16)])
    return found


def view(*names: str, namespaces: tuple[str, ...] = ()) -> View:
    return View(SETTINGS, SNAPSHOT, frozen=Frozen(frozenset(names), namespaces))


def is_frozen(found: Resolved | Denied) -> bool:
    if isinstance(found, Denied):
        assert (found.code, found.rule) == (LEADER_NOT_AVAILABLE, FROZEN)
        return True
    return False


def test_a_frozen_name_is_retried_and_others_are_as_ever() -> None:
    frozen = view("team:x")
    for _ in range(2):  # the second result is remembered
        assert is_frozen(frozen.resolve(b"team:x"))
        assert not is_frozen(frozen.resolve(b"org:old")), "its alias may stay"
        assert not is_frozen(frozen.resolve(b"plain"))


def test_all_in_a_namespace_is_frozen() -> None:
    frozen = view(namespaces=("team",))
    assert is_frozen(frozen.resolve(b"team:x"))
    assert is_frozen(frozen.resolve(b"team:any"))
    assert not is_frozen(frozen.resolve(b"org:y"))


def test_an_id_is_frozen_with_its_name() -> None:
    topics = index()
    assert view().flat_of_id(b"v" * 16, topics) == b"org..x"
    assert view("team:x").flat_of_id(b"v" * 16, topics) is None
    assert view("org:y").flat_of_id(b"y" * 16, topics) is None
    assert view("org:y").flat_of_id(b"p" * 16, topics) == b"plain"
    assert view("org:old").flat_of_id(b"x" * 16, topics) is None, "the alias has the broker's id"


def test_a_member_stays_subscribed() -> None:
    frozen = view("team:x")
    found = frozen.subscribed(b"team:x")
    assert isinstance(found, Resolved)
    assert found.flat == b"org..x"
    assert is_frozen(frozen.resolve(b"team:x"))


def test_clients_views_follow_the_catalog() -> None:
    log = Log(SNAPSHOT.apply([CatalogFormat(5)], 2))
    catalog = FakeCatalog(log, no_step)
    views = Views(catalog, [SETTINGS])
    assert not is_frozen(views.of("test").resolve(b"team:x"))
    log.append([Freeze("f", "run", 9, ("team:x",))])
    views.update()
    assert is_frozen(views.of("test").resolve(b"team:x"))


def test_a_worker_that_nobody_waits_for_decides_nothing() -> None:
    listed = [False]
    views = Views(FakeCatalog(Log(SNAPSHOT), no_step), [SETTINGS], may_decide=lambda: listed[0])
    assert views.of("test").closed
    listed[0] = True
    views.update()
    assert not views.of("test").closed
