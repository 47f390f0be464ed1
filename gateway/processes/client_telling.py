"""A worker's part in /metrics/clients: it tells its supervisor what clients have pushed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gateway.telemetry.store import Store
from gateway.telemetry.told import ClientsTold, ClientTold, TellClients

log = logging.getLogger(__name__)


class ClientTelling:
    """Tells what is in a store. ``send`` sends a message, as fast as the supervisor reads."""

    def __init__(
        self, store: Store, send: Callable[[ClientTold | ClientsTold], Awaitable[None]]
    ) -> None:
        self._store = store
        self._send = send
        self._telling: asyncio.Task[None] | None = None

    def take(self, order: TellClients) -> None:
        """Tell of all clients; an order before it is not waited for any more."""
        if self._telling is not None:
            self._telling.cancel()
        self._telling = asyncio.create_task(self._tell(order.number), name="tell clients")

    async def _tell(self, number: int) -> None:
        try:
            for kept in self._store.tell():
                await self._send(ClientTold.of(number, kept))
            await self._send(ClientsTold(number))
        except Exception:
            log.exception("the metrics of clients are not told")
