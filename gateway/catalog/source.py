"""Where snapshots come from: the interface every catalog has, and the one seeded from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from gateway.catalog.snapshot import Snapshot


class Catalog(Protocol):
    """A reader of the catalog. Snapshots are replaced whole and never change."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest state this process has read."""
        ...

    def subscribe(self, changed: Callable[[Snapshot], None]) -> None:
        """Call ``changed`` with each new snapshot, in order, on the event loop."""
        ...

    async def refresh(self) -> None:
        """Read to the end once more, so that "does not exist" is said of what is known now."""
        ...


class SeededCatalog:
    """A catalog whose namespaces stand in the configuration file; it never changes."""

    def __init__(self, namespaces: Iterable[str]) -> None:
        self._snapshot = Snapshot.of(namespaces)

    @property
    def snapshot(self) -> Snapshot:
        """The namespaces of the configuration, with every tier above them."""
        return self._snapshot

    def subscribe(self, changed: Callable[[Snapshot], None]) -> None:
        """Nothing to announce: the configuration is read once."""

    async def refresh(self) -> None:
        """Nothing newer to read."""
