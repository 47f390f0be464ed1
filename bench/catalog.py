"""Catalog: what 10,000 namespaces and 50,000 topics cost to look up, to change, to hold.

``python -m bench catalog`` prints the table. Looking up and changing are timed in this process,
on the very classes that the gateway uses; start-up and memory are those of a real gateway on a
real broker (``catalog_live``).
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from bench.catalog_live import measure_gateways
from bench.catalog_population import NAMESPACES, TOPICS, namespaces, topics
from bench.catalog_rows import CatalogRow
from bench.codec import nanoseconds
from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.view import View, ViewSettings
from gateway.views.views import Listings

LOOKUP_NS: Final = 1_000.0
"""A lookup on the hot path may take this long."""

Value = TypeVar("Value")

_SETTINGS: Final = ViewSettings("bench")
_HOT: Final = 100
_COLD: Final = 10_000
_CHANGES: Final = 15


def measure_catalog(say: Callable[[str], None]) -> Iterator[CatalogRow]:
    """Every row, in the order of the table; ``say`` is told what goes on."""
    say("catalog: looking up and changing")
    snapshot = populated()
    yield from look_ups(snapshot)
    yield from changes(snapshot)
    yield from measure_gateways(say)


def populated(spaces: int = NAMESPACES, count: int = TOPICS) -> Snapshot:
    """The whole catalog."""
    return Snapshot().apply([*namespaces(spaces), *topics(count, spaces)], version=1)


def look_ups(snapshot: Snapshot) -> Iterator[CatalogRow]:
    """The cost of a look-up of one name by another."""
    view = View(_SETTINGS, snapshot)
    spelled = [str(entry.name).encode() for entry in snapshot.topics.values()]
    flat = [name.encode() for name in snapshot.topics]
    for title, look_up, names in (
        ("View.resolve", view.resolve, spelled),
        ("View.spell", view.spell, flat),
    ):
        hot = list(itertools.islice(names, 0, None, max(1, len(names) // _HOT)))
        cold = list(itertools.islice(names, 1, None, max(1, len(names) // _COLD)))
        yield CatalogRow(f"{title}, a name in use", "ns", _again(look_up, hot), LOOKUP_NS)
        yield CatalogRow(f"{title}, a name never seen", "us", _once(look_up, cold) / 1e3)


def changes(snapshot: Snapshot) -> Iterator[CatalogRow]:
    """The time that a change of one topic takes in a worker's event loop."""
    index = TopicIndex()
    index.replace((flat.encode(), None) for flat in snapshot.topics)
    listings = Listings()
    view = View(_SETTINGS, snapshot)
    first = _timed(lambda: listings.of(Access(view, "", ""), index))[1]
    rounds = []
    for entry in itertools.islice(list(snapshot.topics.values()), _CHANGES):
        snapshot, applied = _timed(partial(_changed, snapshot, entry))
        view, viewed = _timed(partial(view.successor, snapshot))
        listed = _timed(partial(listings.of, Access(view, "", ""), index))[1]
        rounds.append((applied, viewed, listed))
    applied, viewed, listed = map(statistics.median, zip(*rounds, strict=True))
    yield CatalogRow("one topic changes: the next snapshot", "ms", applied)
    yield CatalogRow("... the next view of a listener", "ms", viewed)
    yield CatalogRow("... the next listing of all topics", "ms", listed)
    yield CatalogRow("the first listing of all topics", "ms", first)


def _changed(snapshot: Snapshot, entry: TopicEntry) -> Snapshot:
    return snapshot.apply([replace(entry, since=entry.since + 1)], snapshot.version + 1)


def _again(look_up: Callable[[bytes], object], names: Sequence[bytes]) -> float:
    """Nanoseconds of one lookup of names that have all been looked up before."""

    def run() -> None:
        for name in names:
            look_up(name)

    run()
    return nanoseconds(run) / len(names)


def _once(look_up: Callable[[bytes], object], names: Sequence[bytes]) -> float:
    """Nanoseconds of one lookup of names that nobody has asked for yet."""
    return _timed(lambda: [look_up(name) for name in names])[1] * 1e6 / len(names)


def _timed(act: Callable[[], Value]) -> tuple[Value, float]:
    """The result of a call, and the milliseconds that it took."""
    started = time.perf_counter()
    value = act()
    return value, (time.perf_counter() - started) * 1e3
