"""Sends the catalogs that a worker has in memory to ``catalog export --from-memory``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Final

from gateway.catalog.log.held import Head, entity_lines, head_line, refusal_line
from gateway.catalog.replicated import ReplicatedCatalog

LINES_AT_ONCE: Final = 100
"""Entities per turn of the event loop: about a millisecond of work."""


class HeldCatalogs:
    """A worker's catalogs, by the names of their clusters."""

    def __init__(self, gateway_id: str, catalogs: Mapping[str, ReplicatedCatalog]) -> None:
        self._gateway_id = gateway_id
        self._catalogs = catalogs

    async def hand_over(self, cluster: str, writer: asyncio.StreamWriter) -> None:
        """Write the catalog of a cluster, or why it cannot be handed over."""
        catalog = self._catalogs.get(cluster)
        if catalog is None or not catalog.snapshot.version:
            what = "knows no such cluster" if catalog is None else "has not read the catalog"
            writer.write(refusal_line(f"it {what}"))
            return
        snapshot = catalog.snapshot
        lines = entity_lines(snapshot)
        size = sum(1 for _ in snapshot.entities())
        pid = os.getpid()
        writer.write(head_line(Head(self._gateway_id, pid, snapshot.version, size, catalog.age)))
        for number, line in enumerate(lines, 1):
            writer.write(line)
            if not number % LINES_AT_ONCE:
                await writer.drain()
                await asyncio.sleep(0)
        await writer.drain()
