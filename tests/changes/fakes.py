"""Gateways over the same catalog and broker, all in memory, with a hook between any two steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable, Decide
from gateway.catalog.validity import Validity
from gateway.changes.base.context import Context
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from gateway.counts import Row
from gateway.policies.judge import NO_JUDGE, Judge
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.view import View, ViewSettings
from protocol import messages
from tests.changes.fake_broker import FakeBroker, Step, no_step

START = 1_700_000_000_000
"""Milliseconds since the epoch at which every test begins."""


class Crash(BaseException):
    """The process is gone at this step: no code may catch this."""


@dataclass
class Clock:
    """Milliseconds since the epoch, moved by hand."""

    now: int = START

    def __call__(self) -> int:
        return self.now

    def seconds(self) -> float:
        """The clock in seconds."""
        return self.now / 1000

    def forward(self, *, seconds: float) -> None:
        """Let time pass."""
        self.now += int(seconds * 1000)


class Log:
    """The catalog topic: its newest state, and the decisions that led to it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.newest = snapshot
        self.decisions: list[tuple[Change, ...]] = []
        self.readers: list[FakeCatalog] = []

    def append(self, changes: Sequence[Change]) -> None:
        """Add a decision, which every gateway that does not lag reads at once."""
        if not changes:
            return
        self.decisions.append(tuple(changes))
        self.newest = self.newest.apply(changes, self.newest.version + 1)
        for reader in self.readers:
            if not reader.lags:
                reader.read()


class FakeCatalog:
    """A gateway's reader and writer (gateway/catalog/source.py).

    While it ``lags`` it reads only if it is told to. ``down`` makes it unavailable. ``step`` is
    awaited around a change (``"change"``, ``"changed"``) and before a refresh (``"refresh"``).
    """

    def __init__(self, log: Log, step: Step) -> None:
        self.log = log
        self.snapshot = log.newest
        self.fresh = True
        self.lags = False
        self.down = False
        self.damaged = self.skipped = 0
        self.lost = False
        self.age: float | None = 0.0
        self.validity = Validity(self.goes_stale)
        self.step = step
        self._subscribers: list[Callable[[], None]] = []
        log.readers.append(self)

    def take_rows(self) -> list[Row]:
        """No row is ever skipped."""
        return []

    def read(self) -> None:
        """Read to the end of the log."""
        if self.snapshot is not self.log.newest:
            self.snapshot = self.log.newest
            self._announce()

    def goes_stale(self) -> None:
        """Mark the catalog as stale, because it could not be read for too long."""
        self.fresh, self.validity.until = False, math.inf
        self._announce()

    def _announce(self) -> None:
        for changed in self._subscribers:
            changed()

    async def mend(self) -> int:
        """Mend every damage."""
        mended, self.damaged = self.damaged, 0
        return mended

    def subscribe(self, changed: Callable[[], None]) -> None:
        self._subscribers.append(changed)

    async def refresh(self) -> None:
        await self.step("refresh")
        self._check()
        self.read()

    async def change(self, decide: Decide) -> Snapshot:
        await self.step("change")
        self._check()
        # Called twice, as by a writer that was fenced: only the last result counts.
        decide(self.snapshot)
        self.log.append(decide(self.log.newest))
        self.read()
        await self.step("changed")
        return self.snapshot

    def _check(self) -> None:
        if self.down:
            raise CatalogUnavailable("The catalog cannot be written now; try again later.")


class FakeCluster:
    """A gateway's knowledge of the broker's topics.

    A listing begins at ``"list"``; ``lagging`` is listed instead of the broker's topics, and
    ``failed`` are the brokers that failed lately.
    """

    def __init__(self, broker: FakeBroker, clock: Clock, step: Step) -> None:
        self.index = TopicIndex(clock=clock.seconds)
        self.api_versions: dict[int, tuple[int, int]] = {}
        self.brokers = {1: ("broker", 9092)}
        self.step = step
        self.lagging: dict[str, bytes] | None = None
        self.failed: set[tuple[str, int]] = set()
        self._broker = broker

    def lately_failed(self, address: tuple[str, int]) -> bool:
        return address in self.failed

    def versions_of(self, node_id: int | None) -> dict[int, tuple[int, int]]:
        """The same versions for each node."""
        return self.api_versions

    def hear(self, node_id: int, host: str, port: int) -> None:
        """Do nothing, because it lists only if a test calls for it."""

    async def refresh(self) -> None:
        mark = self.index.mark()
        await self.step("list")
        if self._broker.down:
            raise ClusterUnreachable("main", {("10.0.0.1", 9092): "refused the connection"})
        self.list(mark)

    def list(self, mark: float | None = None) -> None:
        """Take in the broker's listing."""
        listed = self.lagging
        if listed is None:
            listed = {name: topic.topic_id for name, topic in self._broker.topics.items()}
        pairs = [(name.encode(), topic_id) for name, topic_id in listed.items()]
        held = self._broker.topics
        partitions = {name.encode(): held[name].partitions for name in listed if name in held}
        self.index.replace(pairs, mark, partitions)


@dataclass
class FakeGateway:
    """A gateway process; ``step`` is awaited at each of its steps, and may raise Crash."""

    context: Context
    catalog: FakeCatalog
    cluster: FakeCluster
    broker: FakeBroker

    def view(
        self,
        home: str = "",
        *,
        escape: bool = False,
        legal: bool = False,
    ) -> View:
        """The view of a client of a listener with these settings, at this moment."""
        spelling = "legal" if legal else "colon"
        return View(ViewSettings("test", spelling, home, escape), self.catalog.snapshot)  # type: ignore[arg-type]


def allowed(gateway: FakeGateway, view: View | None = None) -> Access:
    """Access to everything in a view (by default of a listener without a home), as without an
    authorizer."""
    return Access(view or gateway.view(), "User:ANONYMOUS", "127.0.0.1")


class _Steps:
    """Passes every step to the world's ``step`` of the moment."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def __call__(self, name: str) -> None:
        self._world.steps.append(name)
        await self._world.step(name)


@dataclass
class World:
    """A broker, a catalog, and any number of gateways.

    ``step`` is awaited at every step of any gateway with the step's name; ``steps`` holds the names
    so far.
    """

    namespaces: Iterable[str] = ()
    entries: Iterable[TopicEntry] = ()
    step: Step = no_step
    steps: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.broker = FakeBroker(step=_Steps(self))
        self.log = Log(Snapshot.of(self.namespaces, topics=self.entries))

    @property
    def snapshot(self) -> Snapshot:
        """The newest state of the catalog."""
        return self.log.newest

    def gateway(self, judge: Judge = NO_JUDGE) -> FakeGateway:
        """Another gateway, which has listed the broker's topics."""
        step = _Steps(self)
        catalog = FakeCatalog(self.log, step)
        cluster = FakeCluster(self.broker, self.clock, step)
        cluster.list()
        context = Context(catalog, cast(Cluster, cluster), self.broker, self.clock, judge=judge)
        return FakeGateway(context, catalog, cluster, self.broker)


def once(at: str, do: Callable[[], Any], *, nth: int = 1) -> Step:
    """A step hook that calls ``do`` the ``nth`` time a step of that name is reached; its result is
    awaited if it can be."""
    seen = 0

    async def step(name: str) -> None:
        nonlocal seen
        if name != at:
            return
        seen += 1
        if seen == nth:
            result = do()
            if hasattr(result, "__await__"):
                await result

    return step


def crash_at(number: int) -> Step:
    """A step hook that ends the process at the ``number``-th step (0: the first)."""
    seen = -1

    async def step(name: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise Crash(name)

    return step


def body_of(name: str, version: int, values: dict[str, object]) -> bytes:
    """A request body; raises an error if the version does not have a value."""
    return messages.write(messages.build(messages.message_class(name, version), **values))
