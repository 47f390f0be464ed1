"""The memory for long requests that are decided and forwarded, or that the gateway carries out.

While a request is worked on, its items, their answers, and what brokers return about them are
objects that take ten to a hundred times the request's bytes; and so do the names and errors that
are kept of it until its broker has answered. ``slices.Turns`` has a few places for work, but work
gives its place up whenever it waits for the catalog or a broker. Without a bound all that clients
send at once are objects at once: 60 DescribeConfigs of 20,000 names. So a long request waits as the
bytes that it came in, which ``incomplete_requests`` counts, until there is room for it
(``shares``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Final

from gateway.connections.shares import Shares

FEW_BYTES: Final = 4 * 1024
"""Bytes of a request that needs no room."""

CARRIED_OUT: Final = 2 * 1024 * 1024
"""Bytes of the requests of a listener that the gateway carries out at a time, in each worker; half
of them of one tenant. Their brokers may take half a minute."""

DECIDED: Final = 8 * 1024 * 1024
"""The same, of requests that are decided, and then forwarded until they are answered."""


class _Request:
    """A request of ``size`` bytes; ``turn`` is done when there is room for it."""

    __slots__ = ("sharer", "size", "turn")

    def __init__(self, tenant: Hashable, size: int) -> None:
        self.sharer = tenant
        self.size = size
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class WorkRoom:
    """The long requests of a listener that are worked on, up to ``most`` bytes together, one for
    each connection."""

    def __init__(self, most: int) -> None:
        self._shares = Shares[_Request](most, most, _begin)
        self._requests: dict[Hashable, _Request] = {}

    def __bool__(self) -> bool:
        """Whether anything has room, or waits for it."""
        return bool(self._shares or self._requests)

    async def enter(self, sender: Hashable, tenant: Hashable, size: int) -> None:
        """Wait for room for a connection's request of ``size`` bytes, which has it until
        :meth:`leave`. Tenants have shares, not addresses: those of a load balancer are one."""
        self.leave(sender)
        request = self._requests[sender] = _Request(tenant, size)
        self._shares.enter(request)
        await request.turn

    def leave(self, sender: Hashable) -> None:
        """Take the room of a connection's request back, or its place in the line; does nothing if
        it has none."""
        request = self._requests.pop(sender, None)
        if request is not None:
            self._shares.leave(request)
            self._shares.go_on()


def _begin(request: _Request) -> None:
    if not request.turn.done():  # its connection may have ended
        request.turn.set_result(None)
