"""A search for the bytes that take the most of a worker's time in a single callback.

Clients choose the bytes that they send: which array of which request is how long, whether its
elements repeat, in which spellings, how long the arrays in them are, whether its text is UTF-8, and
how many requests a read holds. Meanwhile the catalog may change, and the gateway may
stop. From random choices the search goes on with the choices that took longest.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from time import monotonic

from gateway.apis.table import APIS
from gateway.exchanges.exchange import Unanswerable
from gateway.slices import Slices
from protocol.errors import ProtocolError
from tests.session.allowing import Allowing
from tests.session.long_requests import Elements, TimedPair, longest_request, ways
from tests.session.pair import raw_frame

READ = 256 * 1024
"""Bytes that an event loop reads at once."""

ITEMS = (1, 3, 10, 30, 100, 300, 1_000, 1_000, 3_000, 3_000, 10_000, 10_000, 30_000, 99_000)
NAMES = ("x:", "team-a:t", "t", "", "no such:")
"""Starts of the names: of no namespace, of existing topics, of missing topics, not valid."""

REPEATS = (0, 0, 0, 1, 1, 2, 100)
INNER = (0, 0, 0, 0, 3, 30, 300, 3_000, 100_000)

MARK = "\x7f"
"""Stands for a byte that is in no UTF-8 text."""

KNOWN = 300
"""Topics that exist."""

KEPT = 12
"""The worst shapes so far, from which the search goes on."""


@dataclass(frozen=True)
class Shape:
    """A read of ``frames`` requests, whose array at ``way`` has ``items`` elements."""

    api: str
    version: int
    way: str
    items: int
    frames: int
    name: str
    allowed: bool
    malformed: bool = False
    """Whether the names are malformed UTF-8."""
    leaving: bool = False
    """Whether the client is sent to another gateway."""
    changing: bool = False
    """Whether the catalog changes while the requests are in flight."""
    repeats: int = 0
    """How many of the elements are different; 0: all."""
    spelled: bool = False
    """Whether they are in two spellings in turn."""
    inner: int = 0
    """Elements in each array of each element; 0: as in samples."""


def ways_of_all() -> Sequence[tuple[str, int, str]]:
    """Each array of each API at each version."""
    return [
        (row.name, version, way)
        for row in sorted(APIS.values(), key=lambda one: one.name)
        for version in row.versions
        for way in ways(row.name, version)
    ]


def seconds(shape: Shape) -> float:
    """CPU seconds of the longest callback that such a read leads to."""
    key = next(row.key for row in APIS.values() if row.name == shape.api)
    name = shape.name + MARK if shape.malformed else shape.name
    elements = Elements(name, shape.repeats, shape.spelled, shape.inner)
    body = longest_request(shape.api, shape.version, shape.way, shape.items, elements)
    if shape.malformed:
        body = body.replace(MARK.encode(), b"\x80")
    frame = raw_frame(key, shape.version, body)
    topics = [f"team-a..t{number}" for number in range(KNOWN)]
    pair = TimedPair(topics=topics, authorizer=None if shape.allowed else Allowing([]))
    if shape.leaving:
        pair.session.leave()
    try:
        read = frame * max(min(shape.frames, READ // len(frame)), 1)
        for start in range(0, len(read), READ):
            pair.send(read[start : start + READ])
        if shape.changing:
            _change(pair)
        while pair.session.under_way:
            pair.let_answer()
    except (ProtocolError, Unanswerable):
        pass  # the connection ends; its time counts
    finally:
        # Work that is left unfinished puts off Python's collector only for the first minute, and
        # all shapes after that would pay for it.
        pair.session.abandon()
    return pair.longest


def _change(pair: TimedPair) -> None:
    """Change the catalog, but not the names in the requests."""
    pair.view = pair.view.successor(pair.catalog.snapshot)
    access = pair.access()
    pair.callback(lambda: pair.session.see(access))
    checking = Slices(pair.session.check_doubted)
    try:
        while pair.session.doubted and not checking.done:
            pair.callback(checking.step)
    finally:
        checking.abandon()


def steady(shape: Shape, bound: float) -> float:
    """The best of three tries of :func:`seconds` if one takes longer than ``bound``, because the
    first try makes walkers, and Python's collector may run in any."""
    took = seconds(shape)
    for _ in range(2):
        if took > bound:
            gc.collect()
            gc.freeze()  # Python's collector looks at the shapes that the search keeps
            took = min(took, seconds(shape))
    return took


class Search:
    """``worst`` are the shapes that took longest, each with its seconds."""

    def __init__(self, seed: int, bound: float) -> None:
        self._random = Random(seed)
        self._bound = bound / 2
        self._ways = ways_of_all()
        self.tried = 0
        self.worst: list[tuple[float, Shape]] = []

    def run(self, budget: float) -> None:
        """Try shapes for ``budget`` seconds."""
        until = monotonic() + budget
        while monotonic() < until:
            self._try(self._next())

    def _try(self, shape: Shape) -> None:
        took = steady(shape, self._bound)
        self.tried += 1
        if any(one == shape for _, one in self.worst):
            return
        self.worst.append((took, shape))
        self.worst.sort(key=lambda one: one[0], reverse=True)
        del self.worst[KEPT:]
        if self.tried % 50 == 0:
            gc.collect()

    def _next(self) -> Shape:
        choose = self._random.choice
        if not self.worst or self._random.random() < 0.6:
            return Shape(
                *choose(self._ways),
                choose(ITEMS),
                choose((1, 4, 1_000, 10_000)),
                choose(NAMES),
                self._random.random() < 0.5,
                malformed=self._random.random() < 0.2,
                leaving=self._random.random() < 0.2,
                changing=self._random.random() < 0.2,
                repeats=choose(REPEATS),
                spelled=self._random.random() < 0.3,
                inner=choose(INNER),
            )
        _, shape = choose(self.worst)
        changes = choose(
            (
                {"items": max(shape.items * 2 // choose((1, 3, 4)), 1)},
                {"frames": max(shape.frames * 4 // choose((1, 8, 16)), 1)},
                {"name": choose(NAMES)},
                {"allowed": not shape.allowed},
                {"malformed": not shape.malformed},
                {"leaving": not shape.leaving},
                {"changing": not shape.changing},
                {"repeats": choose(REPEATS)},
                {"spelled": not shape.spelled},
                {"inner": choose(INNER)},
                {
                    "version": choose(
                        [v for a, v, w in self._ways if (a, w) == (shape.api, shape.way)]
                    )
                },
            )
        )
        return replace(shape, **changes)
