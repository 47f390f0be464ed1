"""A catalog that is gone: for a process that knew it, and for a process that starts."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import CatalogFormat, Namespace
from gateway.catalog.log.topics import CatalogLost
from gateway.catalog.members import seed
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.source import CatalogUnavailable
from tests.catalog.fake_log import FakeLog, FakePartition, FakeTransactions
from tests.catalog.skipped_time import skipping
from tests.catalog.test_catalog_topic import NOT_AUTHORIZED, TOPIC, FakeAdmin
from tests.waiting import eventually


def catalog(log: FakeLog, admin: FakeAdmin, *, anew: bool = False) -> ReplicatedCatalog:
    """A process's catalog on a log in memory."""
    return ReplicatedCatalog(
        [("broker", 9092)],
        admin,
        topic=TOPIC,
        max_staleness=2.0,
        start_seconds=0.3,
        change_seconds=0.3,
        partition=FakePartition(log),
        transactions=FakeTransactions(log),
        anew=anew,
        cluster="la",
    )


async def known(log: FakeLog, admin: FakeAdmin) -> ReplicatedCatalog:
    """A process that has made the catalog, and a namespace in it."""
    one = catalog(log, admin)
    await one.start()
    await one.change(seed(["org"]))
    return one


@skipping
async def test_an_empty_catalog_is_not_marked_until_it_holds_something() -> None:
    log, admin = FakeLog(), FakeAdmin()
    first = catalog(log, admin)
    await first.start()
    assert not admin.marked
    await first.stop()  # or killed: the next process begins like the first
    second = await known(log, admin)
    assert admin.marked
    await second.stop()


@skipping
async def test_a_catalog_of_before_there_were_marks_is_marked() -> None:
    log, admin = FakeLog(), FakeAdmin(partitions=1)
    log.write(Namespace("a"), seq=1, decision="d1")
    one = catalog(log, admin)
    await one.start()
    assert admin.marked
    await one.stop()


@pytest.mark.parametrize("topic_made_by_hand", [False, True])
@skipping
async def test_what_starts_after_the_loss_begins_nothing(topic_made_by_hand: bool) -> None:
    log, admin = FakeLog(), FakeAdmin()
    await (await known(log, admin)).stop()
    log.recreate()
    admin.partitions = int(topic_made_by_hand)
    with pytest.raises(CatalogLost, match=r"--new-catalog la$"):
        await catalog(log, admin).start()
    with pytest.raises(CatalogLost):  # nor can the next process
        await catalog(log, admin).start()
    assert log.next == 0


@skipping
async def test_unless_the_operator_says_so() -> None:
    log, admin = FakeLog(), FakeAdmin()
    await (await known(log, admin)).stop()
    log.recreate()
    admin.partitions = 0
    one = catalog(log, admin, anew=True)
    await one.start()
    assert not one.snapshot.version
    await one.change(seed(["other"]))
    assert set(one.snapshot.namespaces) == {"other"}
    await one.stop()


@skipping
async def test_who_knew_it_does_not_go_on_with_an_empty_one() -> None:
    log, admin = FakeLog(), FakeAdmin()
    one = await known(log, admin)
    log.recreate()
    await eventually(lambda: one.lost and not one.fresh, "the loss")
    assert set(one.snapshot.namespaces) == {"org"}
    with pytest.raises(CatalogUnavailable):
        await one.change(seed(["more"]))
    assert log.next == 0
    await one.stop()


@skipping
async def test_who_knew_it_goes_on_with_what_was_restored() -> None:
    log, admin = FakeLog(), FakeAdmin()
    one = await known(log, admin)
    log.recreate()
    await eventually(lambda: one.lost, "the loss")
    other = catalog(log, admin, anew=True)
    await other.start()
    await other.change(lambda _: [CatalogFormat(5), Namespace("org"), Namespace("more")])
    await eventually(lambda: one.fresh and not one.lost, "the restored catalog")
    assert set(one.snapshot.namespaces) == {"org", "more"}
    assert one.snapshot.format == 5
    await one.stop()
    await other.stop()


@skipping
async def test_a_mark_that_cannot_be_made_stops_nothing() -> None:
    log, admin = FakeLog(), FakeAdmin(mark_create_code=NOT_AUTHORIZED)
    one = await known(log, admin)
    assert set(one.snapshot.namespaces) == {"org"}
    await one.stop()
