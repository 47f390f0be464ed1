"""The catalog that a gateway on this machine holds in memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Final

from gateway.catalog.log.held import LINE_LIMIT, Head, NotHeld, read_held
from gateway.catalog.log.records import UnreadableCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.commands.errors import CommandError, Unavailable
from gateway.config.models import Config
from gateway.operators import address

_SECONDS: Final = 60.0


async def held_catalog(config: Config) -> tuple[Head, Snapshot]:
    """The newest catalog that a worker of this configuration's gateway holds; no broker is queried.

    Raises CommandError, and Unavailable if no such worker responds.
    """
    if sys.platform != "linux":
        raise CommandError("--from-memory works on Linux only; copy a file of catalog export there")
    found: list[tuple[Head, Snapshot]] = []
    reasons = []
    for worker_id in range(config.workers):
        try:
            async with asyncio.timeout(_SECONDS):
                found.append(await _ask(config, worker_id))
        except (OSError, NotHeld, UnreadableCatalog) as error:
            reasons.append(f"worker {worker_id}: {str(error) or 'it does not answer in time'}")
    if not found:
        raise Unavailable(
            f"no gateway on this machine has the catalog in memory ({'; '.join(reasons)}); run this"
            " where one runs, in its container, as its user, and with its configuration"
        )
    return max(found, key=lambda one: one[0].version)


async def _ask(config: Config, worker_id: int) -> tuple[Head, Snapshot]:
    """Raises OSError, NotHeld and UnreadableCatalog."""
    where = address(config.metrics.port, worker_id)
    reader, writer = await asyncio.open_unix_connection(where, limit=LINE_LIMIT)
    try:
        writer.write(f"{config.clusters[0].name}\n".encode())
        return await read_held(_lines(reader))
    finally:
        writer.close()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while line := await reader.readline():
        yield line
