"""The interface of the catalog: its snapshots, changes to it, and reports of committed changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from gateway.catalog.entities import Change, Entity, Key, Removal, key_of
from gateway.catalog.schema.table import kind_of
from gateway.catalog.snapshot import Snapshot
from protocol.pausing import paced

Decide = Callable[[Snapshot], Sequence[Change]]
"""A function from the newest state to the changes of a decision: it may be called several times,
and only its last result counts. It rejects by raising; then nothing is written."""


class CatalogUnavailable(ConnectionError):
    """The catalog cannot be read or written now; the text is a sentence for the client.

    It is an OSError, like the error for a broker that cannot be reached.
    """


class Catalog(Protocol):
    """A reader and writer of the catalog. Snapshots are replaced whole and never change.

    :class:`gateway.catalog.replicated.ReplicatedCatalog` is the one of the product. Tests fill in
    one in memory, because all that decides by the catalog or changes it is tested without a broker.
    """

    @property
    def snapshot(self) -> Snapshot:
        """The newest state that this process has read."""
        ...

    @property
    def fresh(self) -> bool:
        """True if the snapshot is young enough to decide by (``catalog.max_staleness``)."""
        ...

    @property
    def age(self) -> float | None:
        """Seconds since the catalog was last read to its end; None: it never was."""
        ...

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` on the event loop whenever ``snapshot`` or ``fresh`` has changed."""
        ...

    async def refresh(self) -> None:
        """Read to the end once more, so that "does not exist" holds for the log as of now;
        simultaneous calls share a single read. Raises CatalogUnavailable."""
        ...

    async def change(self, decide: Decide) -> Snapshot:
        """Commit the changes that ``decide`` returns for the newest state, with no other writer in
        between.

        Several changes are a single decision, which readers see as a whole or not at all. Returns
        the snapshot, read back, that holds them. Raises the exceptions of ``decide``, and
        :class:`CatalogUnavailable` if nothing can be written now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Committed:
    """An entity that a decision of this process has changed, created or removed.

    - ``before``, ``after``: its states; None where it did not exist.
    - ``version``: the catalog's version after the change.
    - ``certain``: the change is known to be written; False if the cluster was lost before it
      responded, and no caller waited for the outcome.
    """

    actor: Actor
    key: Key
    before: Entity | None
    after: Entity | None
    version: int
    certain: bool = True


Observer: TypeAlias = Callable[[Sequence[Committed]], None]
"""Called once with each transaction, in slices, so it may have pause points. Belongs to the
writer's event loop, and must not wait."""


def committed(actor: Actor, state: Snapshot, changes: Sequence[Change]) -> Iterator[Committed]:
    """The entities that a decision on ``state`` changes, without entities written as they were."""
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

    - ``principal``: ``User:alice``; for the gateway's own changes ``gateway``, ``gateway:`` and the
      kind of a background task, or ``operator:`` and the login of the operator who runs a command.
    - ``address``: ``host:port`` of the client, or empty.
    - ``listener``, ``client_id``: of the client's connection, or empty.
    - ``api``: Kafka's name of the request, or the command, or empty.
    """

    principal: str
    address: str = ""
    listener: str = ""
    client_id: str = ""
    api: str = ""


GATEWAY: Final = Actor("gateway")
"""The actor of changes that no client or operator requested, such as a gateway's registration."""

ACTOR: Final[ContextVar[Actor]] = ContextVar("ACTOR", default=GATEWAY)
