"""gateway.commands.catalog.importing: committing differences, in batches."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog import importing as catalog_import
from gateway.commands.catalog.diff import Difference, differences
from gateway.commands.catalog.importing import commit
from gateway.commands.errors import CommandError, Unavailable
from tests.commands.fake_backend import FakeCatalog

PATHS = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_import, "BATCH", 2)


def found() -> list[Difference]:
    return differences(Snapshot(), map(Namespace, PATHS), prune=False, now=1)


async def test_in_batches() -> None:
    catalog = FakeCatalog(Snapshot())
    snapshot = await commit(catalog, found())
    assert set(snapshot.namespaces) == set(PATHS)
    assert catalog.commits == [2, 2, 1]


async def test_what_the_first_batch_does_not_touch_is_looked_at_too() -> None:
    catalog = FakeCatalog(Snapshot.of(["e"]))
    with pytest.raises(CommandError, match=r"\(namespace e\), so nothing was committed"):
        await commit(catalog, found())
    assert catalog.commits == []


async def test_a_change_on_the_way() -> None:
    catalog = FakeCatalog(Snapshot())

    def somebody() -> None:
        catalog.snapshot = catalog.snapshot.apply([Namespace("d", {"x": "y"})], 9)

    catalog.before[1] = somebody
    with pytest.raises(CommandError, match=r"\(namespace d\), so only 2 of 5 changes were"):
        await commit(catalog, found())
    assert catalog.commits == [2]


async def test_notes_of_work_under_way_are_no_change() -> None:
    before = Snapshot().apply([Namespace("a", {"x": "1"}, None, ("x",), 5)], 1)
    catalog = FakeCatalog(before.apply([Namespace("a", {"x": "1"})], 2))
    wanted = differences(before, [Namespace("a", {"x": "2"})], prune=False, now=9)
    snapshot = await commit(catalog, wanted)
    assert snapshot.namespaces["a"] == Namespace("a", {"x": "2"}, None, ("x",), 9)


async def test_a_catalog_that_cannot_be_written() -> None:
    catalog = FakeCatalog(Snapshot())
    catalog.fails_at = 1
    with pytest.raises(Unavailable, match="At least 2 changes of 5 were committed"):
        await commit(catalog, found())
