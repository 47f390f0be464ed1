"""The interface that every catalog has: where snapshots come from, and how one is changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.counts import Row

Decide = Callable[[Snapshot], Sequence[Change]]
"""What a change is made of, given the state it is made on: it may be asked several times, and
only its last answer counts. It refuses by raising; nothing is written then."""


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
        """Whether the snapshot is young enough to be decided by (``catalog.max_staleness``)."""
        ...

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` on the event loop whenever ``snapshot`` or ``fresh`` has changed."""
        ...

    async def refresh(self) -> None:
        """Read to the end once more, so that "does not exist" is said of what is known now.

        Raises :class:`CatalogUnavailable`.
        """
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
        """How many records were skipped, as no gateway can have written them."""
        ...

    @property
    def damaged(self) -> int:
        """How many entities are not in its log as they should be."""
        ...

    async def mend(self) -> int:
        """Write again, or remove, all that junk stands for; returns how many records."""
        ...


class OwnedCatalog(CheckedCatalog, Protocol):
    """A catalog as whoever started it sees it."""

    def take_rows(self) -> Sequence[Row]:
        """What was skipped of its log since the last call, for the metrics."""
        ...

    async def start(self) -> None:
        """Read to the end, and follow from then on."""
        ...

    async def stop(self) -> None:
        """Read and write no more. The snapshot stays."""
        ...
