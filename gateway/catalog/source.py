"""The interface of the catalog: its snapshots, changes to it, and reports of committed changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from gateway.catalog.entities import Change, Entity, Key, Removal, key_of
from gateway.catalog.schema.table import kind_of
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.validity import Validity
from gateway.counts import Row
from protocol.pausing import paced

Decide = Callable[[Snapshot], Sequence[Change]]
"""The changes of a decision, given the state it is made on: it may be called several times, and
only its last result counts. It rejects by raising; nothing is written then."""


class CatalogUnavailable(ConnectionError):
    """The catalog cannot be read or written now; the text is a sentence for the client.

    It is an OSError, as a broker that cannot be reached is.
    """


class Catalog(Protocol):
    """A reader and writer of the catalog. Snapshots are replaced whole and never change."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest state this process has read."""
        ...

    @property
    def fresh(self) -> bool:
        """True if the snapshot is young enough to decide by (``catalog.max_staleness``)."""
        ...

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` on the event loop whenever ``snapshot`` or ``fresh`` has changed."""
        ...

    async def refresh(self) -> None:
        """Read to the end once more, so that "does not exist" is said of what is known now;
        requested by many at once, it is done once. Raises CatalogUnavailable."""
        ...

    async def change(self, decide: Decide) -> Snapshot:
        """Commit what ``decide`` says of the newest state, with no other writer in between.

        Several changes are one decision: all of them are seen, or none. Returns the snapshot,
        read back, that holds them. Raises what ``decide`` raises, and
        :class:`CatalogUnavailable` when nothing can be written now.
        """
        ...


class CheckedCatalog(Catalog, Protocol):
    """A catalog that says how its log was found."""

    @property
    def skipped(self) -> int:
        """The number of records skipped because no gateway can have written them."""
        ...

    @property
    def damaged(self) -> int:
        """The number of entities not in its log as they should be: junk stands in their place, or
        they were missing when it was read from its beginning."""
        ...

    async def mend(self) -> int:
        """Write again, or remove, every entity that junk stands for, as no other gateway has more;
        returns the number of records. Raises CatalogUnavailable."""
        ...


class OwnedCatalog(CheckedCatalog, Protocol):
    """A catalog as whoever started it sees it."""

    @property
    def validity(self) -> Validity:
        """Until when it is fresh, if nothing more is read."""
        ...

    @property
    def lost(self) -> bool:
        """True while its log is not there, or is empty, and was there before."""
        ...

    @property
    def position(self) -> int:
        """The offset of the next record of its log; all before it are in the snapshot."""
        ...

    @property
    def age(self) -> float | None:
        """Seconds since the log was last read to its end; None: it never was."""
        ...

    def take_rows(self) -> Sequence[Row]:
        """Counts of skipped and mended records since the last call, for the metrics."""
        ...

    def prepare(self, preparing: Callable[[Snapshot], None]) -> None:
        """Call ``preparing``, in slices, with each snapshot before it becomes ``snapshot``: what
        subscribers have to do then must be short, and part of it may be done before. It may be
        called with a snapshot that never does."""
        ...

    async def start(self) -> None:
        """Read to the end, and follow from then on."""
        ...

    async def stop(self) -> None:
        """Read and write no more. The snapshot stays."""
        ...


@dataclass(frozen=True, slots=True)
class Committed:
    """One entity that a decision of this process has changed, made or removed.

    ``before`` and ``after`` are its states, None where it did not exist. ``version`` is the
    catalog's after it. ``certain``: it is known to be written; False: the cluster was lost before
    it said so, and nobody was there to wait until it could be asked.
    """

    actor: Actor
    key: Key
    before: Entity | None
    after: Entity | None
    version: int
    certain: bool = True


Observer: TypeAlias = Callable[[Sequence[Committed]], None]
"""Called with each transaction once, in slices, so it may have pause points. Belongs to the
writer's event loop, and must not wait."""


def committed(actor: Actor, state: Snapshot, changes: Sequence[Change]) -> Iterator[Committed]:
    """The entities that a decision on ``state`` changes, without those written as they were."""
    seen: dict[Key, Entity | None] = {}
    for version, change in paced(enumerate(changes, state.version + 1)):
        key = key_of(change)
        before = seen[key] if key in seen else state.entity(key)
        after = seen[key] = None if isinstance(change, Removal) else kind_of(change).lasting(change)
        if before != after:
            yield Committed(actor, key, before, after, version)


@dataclass(frozen=True, slots=True)
class Actor:
    """A client whose request is served, or the gateway itself.

    ``principal`` is ``User:alice``; the gateway's own are ``gateway``, ``gateway:`` and the kind of
    a background task, and ``operator:`` and the login of who runs a command. ``address`` is
    ``host:port`` of the client; ``api`` Kafka's name of the request, or the command. All but
    ``principal`` may be empty.
    """

    principal: str
    address: str = ""
    listener: str = ""
    client_id: str = ""
    api: str = ""


GATEWAY: Final = Actor("gateway")
"""The actor of changes that no client or operator requested: a gateway that registers."""

ACTOR: Final[ContextVar[Actor]] = ContextVar("ACTOR", default=GATEWAY)
