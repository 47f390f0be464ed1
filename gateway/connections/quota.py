"""How many connections a listener takes, and how fast: Kafka's ConnectionQuotas, of one worker.

As in Kafka, what is beyond ``max.connections`` or ``max.connection.creation.rate`` waits (in the
listen backlog) until there is room, and what is beyond ``max.connections.per.ip`` is closed. A
connection counts as long as its descriptor is open, whoever has it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from time import monotonic

from gateway.config.models import Listener


class ConnectionQuota:
    """One listener's. ``on_room`` are called when a connection of a full listener has ended."""

    def __init__(self, listener: Listener, now: Callable[[], float] = monotonic) -> None:
        self._most = listener.max_connections
        self._per_ip = listener.max_connections_per_ip
        self._overrides = listener.max_connections_per_ip_overrides
        self._rate = listener.max_connection_creation_rate
        self._now = now
        self._allowance = float(self._rate)
        self._counted_at = now()
        self._by_host: dict[str, int] = {}
        self.count = 0
        self.on_room: list[Callable[[], None]] = []

    @property
    def full(self) -> bool:
        """Whether ``max.connections`` are open."""
        return self.count >= self._most

    def seconds_to_wait(self) -> float:
        """Until the next one may come (``max.connection.creation.rate``); 0: now."""
        now = self._now()
        earned = (now - self._counted_at) * self._rate
        self._counted_at = now
        self._allowance = min(self._rate, self._allowance + earned)
        return 0.0 if self._allowance >= 1 else (1 - self._allowance) / self._rate

    def free(self) -> bool:
        """Whether another connection may come now."""
        return not self.full and not self.seconds_to_wait()

    def take(self, host: str) -> bool:
        """Count a connection from this address; False: it has ``max.connections.per.ip``."""
        self._allowance -= 1
        open_now = self._by_host.get(host, 0)
        if open_now >= self._overrides.get(host, self._per_ip):
            return False
        self._by_host[host] = open_now + 1
        self.count += 1
        return True

    def give_back(self, host: str) -> None:
        """A connection that was counted has ended."""
        was_full = self.full
        self.count -= 1
        left = self._by_host[host] - 1
        if left:
            self._by_host[host] = left
        else:
            del self._by_host[host]
        if was_full:
            for on_room in self.on_room:
                on_room()


class CountedSocket(socket.socket):
    """A client's socket, which gives its place back when its descriptor is closed: here, or by the
    event loop, which then detaches it.

    uvloop holds a reference (``_io_refs``), and while it does ``close`` leaves the descriptor
    alone: whoever hands a socket over may close it afterwards.
    """

    __slots__ = ("_host", "_quota")

    def __init__(self, accepted: socket.socket, quota: ConnectionQuota, host: str) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self._quota: ConnectionQuota | None = quota
        self._host = host

    def close(self) -> None:
        """Close the descriptor, unless an event loop has it."""
        super().close()
        if self.fileno() < 0:
            self._give_back()

    def detach(self) -> int:
        """Leave the descriptor, which is closed, to whoever did it."""
        descriptor = super().detach()
        self._give_back()
        return descriptor

    def _give_back(self) -> None:
        quota, self._quota = self._quota, None
        if quota is not None:
            quota.give_back(self._host)
