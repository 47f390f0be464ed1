"""``catalog import``: a file's entities into the catalog, as a diff that is shown first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, CatalogUnavailable, Decide
from gateway.commands.catalog_diff import Difference, stale
from gateway.commands.catalog_shown import thing
from gateway.commands.failure import CommandError, Unavailable
from gateway.commands.progress import Progress
from gateway.commands.told import counted, shortened

BATCH: Final = 500
"""Changes that are committed together."""


class _Outdated(Exception):
    """The catalog is not what the diff was made of."""


async def commit(catalog: Catalog, found: Sequence[Difference]) -> Snapshot:
    """Commits all differences, in batches, each decided on the newest state.

    Raises CommandError, saying how much was committed, when the catalog has changed in what a
    batch touches; before the first batch, in what any of them does.
    """
    snapshot = catalog.snapshot
    async with Progress("importing") as progress:
        for start in range(0, len(found), BATCH):
            progress.text = f"{start:,} of {counted(len(found), 'change')}"
            batch = found[start : start + BATCH]
            try:
                snapshot = await catalog.change(_decide(batch, batch if start else found))
            except _Outdated as error:
                raise CommandError(
                    f"the catalog has changed meanwhile ({error}), so {_committed(start, found)}; "
                    "import once more to see what is left to do"
                ) from None
            except CatalogUnavailable as error:
                raise Unavailable(
                    f"{error} At least {counted(start, 'change')} of {len(found):,} were "
                    "committed; import once more to see what is left to do"
                ) from None
    return snapshot


def _decide(batch: Sequence[Difference], unchanged: Sequence[Difference]) -> Decide:
    def decide(snapshot: Snapshot) -> list[Change]:
        keys = stale(snapshot, unchanged)
        if keys:
            raise _Outdated(shortened(map(thing, keys)))
        return [one.change for one in batch]

    return decide


def _committed(number: int, found: Sequence[Difference]) -> str:
    if not number:
        return "nothing was committed"
    return f"only {number:,} of {counted(len(found), 'change')} were committed"
