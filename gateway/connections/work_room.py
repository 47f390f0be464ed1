"""The memory for long requests that are decided, or carried out by the gateway itself.

While a request is worked on, its items, their answers, and what brokers return about them are
objects that take ten to a hundred times the request's bytes. ``slices.Turns`` has eight places for
that, but work gives its place up whenever it waits for the catalog or a broker. Without a bound all
that clients send at once are objects at once: 60 DescribeConfigs of 20,000 names in namespaces. So
a long request waits as the bytes that it came in, which ``incomplete_requests`` counts, until there
is room for it (``shares``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from gateway.connections.shares import Shares
from gateway.connections.waiting_clients import network_of

T = TypeVar("T")

FEW_BYTES: Final = 4 * 1024
"""Bytes of a request that needs no room."""

CARRIED_OUT: Final = 2 * 1024 * 1024
"""Bytes of the requests of a listener that the gateway carries out at a time, in each worker; half
of them of one address. Their brokers may take half a minute."""

DECIDED: Final = 16 * 1024 * 1024
"""The same, of requests that are decided: this process alone decides how long that takes. Half of
them is the longest request without records."""


class _Request:
    """A request of ``size`` bytes; ``turn`` is done when there is room for it."""

    __slots__ = ("network", "size", "turn")

    def __init__(self, network: str, size: int) -> None:
        self.network = network
        self.size = size
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class WorkRoom:
    """The requests of a listener that are worked on, up to ``most`` bytes together."""

    def __init__(self, most: int) -> None:
        self._shares = Shares[_Request](most, most, _begin)

    def __bool__(self) -> bool:
        """Whether anything has room, or waits for it."""
        return bool(self._shares)

    async def run(self, host: str, size: int, work: Callable[[], Awaitable[T]]) -> T:
        """The result of ``work`` on a request of ``size`` bytes. Nothing of it is begun before
        there is room."""
        request = _Request(network_of(host), size)
        self._shares.enter(request)
        try:
            await request.turn
            return await work()
        finally:
            self._shares.leave(request)
            self._shares.go_on()


def _begin(request: _Request) -> None:
    if not request.turn.done():  # its connection may have ended
        request.turn.set_result(None)
