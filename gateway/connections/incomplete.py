"""The memory for a listener's requests that have not arrived whole, or wait to be decided.

There is a budget for all connections of the listener, and a budget for each address. A client may
announce a request of ``socket.request.max.bytes`` and never send its end, on as many connections as
it has. If a budget is exceeded, the connection that holds the most is closed. Requests of up to 16
KiB are not counted (``exchanges/framing.py``): they cost no more than the connection itself, and
``max.connections`` bounds connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Final

from gateway.config.security import IncompleteRequests
from gateway.connections.base import BaseConnection
from gateway.connections.closing import TOO_MUCH_INCOMPLETE, guard
from gateway.peers import network_of

FRAME_ROOM: Final = 4
"""Bytes of a frame besides its request: the size field."""


class IncompleteBytes:
    """Counts the bytes of incomplete requests. ``longest`` is the size of the longest request, for
    which every budget has room."""

    def __init__(self, limits: IncompleteRequests, longest: int) -> None:
        self._most = max(limits.max_bytes, longest + FRAME_ROOM)
        self._per_ip = max(limits.max_bytes_per_ip, longest + FRAME_ROOM)
        self._sizes: dict[BaseConnection, int] = {}
        self._networks: dict[str, dict[BaseConnection, None]] = {}
        self._by_network: dict[str, int] = {}
        self.total = 0

    def add(self, connection: BaseConnection, change: int) -> None:
        """Note that a connection holds ``change`` bytes more, or fewer; close others if a budget is
        exceeded."""
        # Not below 0: bytes that were given up earlier cannot be given up again.
        self._set(connection, max(self._sizes.get(connection, 0) + change, 0))
        if change <= 0:
            return
        network = network_of(connection.host)
        while self._by_network.get(network, 0) > self._per_ip:
            self._close_largest(
                self._networks[network], f"of its address, more than {self._per_ip}"
            )
        while self.total > self._most:
            self._close_largest(self._sizes, f"of the listener, more than {self._most}")

    def forget(self, connection: BaseConnection) -> None:
        """Note that a connection holds no bytes any more."""
        self._set(connection, 0)

    def _set(self, connection: BaseConnection, size: int) -> None:
        network = network_of(connection.host)
        change = size - self._sizes.get(connection, 0)
        self.total += change
        left = self._by_network.get(network, 0) + change
        if size > 0:
            self._sizes[connection] = size
            self._networks.setdefault(network, {})[connection] = None
        elif self._sizes.pop(connection, None) is not None:
            del self._networks[network][connection]
        if left > 0:
            self._by_network[network] = left
        else:
            self._by_network.pop(network, None)
            self._networks.pop(network, None)

    def _close_largest(self, holders: Iterable[BaseConnection], whose: str) -> None:
        largest = max(holders, key=self._sizes.__getitem__)
        size = self._sizes[largest]
        self.forget(largest)
        close = partial(largest.close, f"{TOO_MUCH_INCOMPLETE}: it held {size} bytes {whose}")
        # Called later: this may be the connection whose bytes are being read.
        asyncio.get_running_loop().call_soon(guard, largest, close)
