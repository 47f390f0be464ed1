"""Accepts the clients of a worker, as many and as fast as Kafka's ConnectionQuotas allow.

The event loop's own servers accept every client, stop for good when the process has no descriptor
left, and report neither. So the gateway accepts clients itself, and hands their sockets to the
event loop.

As in Kafka, a client beyond ``max.connections`` or ``max.connection.creation.rate`` waits in the
listen backlog until there is room, and a connection beyond ``max.connections.per.ip`` is closed. A
connection counts until its descriptor is closed, whichever object holds it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Final

from gateway.brokers.lookups import LOOKUPS
from gateway.config.models import Listener
from gateway.config.values import UNLIMITED
from gateway.connections.closing import TOO_MANY_OF_ONE, internal_error
from gateway.counts import Counts
from gateway.peers import address_text, host_text

log = logging.getLogger(__name__)

BACKLOG: Final = 1024

ACCEPTED_A_TURN: Final = 64
"""Clients accepted in one turn of the event loop, so that connected clients get their turns,
too."""

TIMER_SECONDS: Final = 0.001
"""Seconds by which an event loop's timer may fire too early (uvloop's timers count milliseconds).
Without this margin, accepting would resume too early, and stop again, many times."""

RETRY_SECONDS: Final = 0.25
"""Seconds until the next attempt if ``accept`` failed because the system has run out of
something."""

LOG_SECONDS: Final = 10.0
"""Seconds between two log lines about one cause."""

DESCRIPTORS_A_CLIENT: Final = 2
"""Descriptors that a client needs: its own socket and the one to its broker."""


class ConnectionQuota:
    """The connection quota of a listener in a worker, as Kafka's ConnectionQuotas.

    ``most`` is the limit on open connections, ``per_ip`` on open connections from an address,
    unless ``overrides`` has a limit for that address, and ``rate`` on new connections a second. The
    callbacks ``on_room`` are called if a connection closes while the quota is full.
    """

    def __init__(
        self,
        most: int,
        per_ip: int = UNLIMITED,
        overrides: Mapping[str, int] = MappingProxyType({}),
        rate: int = UNLIMITED,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._most = most
        self._per_ip = per_ip
        self._overrides = overrides
        self._rate = rate
        self._now = now
        self._allowance = float(self._rate)
        self._counted_at = now()
        self._by_host: dict[str, int] = {}
        self.count = 0
        self.on_room: list[Callable[[], None]] = []

    @classmethod
    def of(cls, listener: Listener, now: Callable[[], float] = monotonic) -> ConnectionQuota:
        """The quota that a listener is configured with."""
        return cls(
            listener.max_connections,
            listener.max_connections_per_ip,
            listener.max_connections_per_ip_overrides,
            listener.max_connection_creation_rate,
            now,
        )

    @property
    def full(self) -> bool:
        """Whether ``max.connections`` connections are open."""
        return self.count >= self._most

    def seconds_to_wait(self) -> float:
        """Seconds until the next connection may be accepted (``max.connection.creation.rate``), or
        0."""
        now = self._now()
        earned = (now - self._counted_at) * self._rate
        self._counted_at = now
        self._allowance = min(self._rate, self._allowance + earned)
        return 0.0 if self._allowance >= 1 else (1 - self._allowance) / self._rate

    def free(self) -> bool:
        """Whether another connection may be accepted now."""
        return not self.full and not self.seconds_to_wait()

    def take(self, host: str) -> bool:
        """Count a connection from an address, or return False if the address already has
        ``max.connections.per.ip`` open. Both count for the creation rate."""
        self._allowance -= 1
        open_now = self._by_host.get(host, 0)
        if open_now >= self._overrides.get(host, self._per_ip):
            return False
        self._by_host[host] = open_now + 1
        self.count += 1
        return True

    def give_back(self, host: str) -> None:
        """Stop counting a connection from an address whose descriptor has been closed."""
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
    """A client's socket, which leaves its quota when its descriptor is closed: here, or by the
    event loop, which then detaches the socket.

    While uvloop holds a reference (``_io_refs``), ``close`` leaves the descriptor open, so the code
    that hands a socket over may close it afterwards.
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
        """Leave the descriptor to the event loop, which closes it, and stop counting the
        connection."""
        descriptor = super().detach()
        self._give_back()
        return descriptor

    def _give_back(self) -> None:
        quota, self._quota = self._quota, None
        if quota is not None:
            quota.give_back(self._host)


class Delays:
    """Counts and logs the reasons for which a listener's clients wait to be accepted."""

    def __init__(self, listener: str, counts: Counts) -> None:
        self._listener = listener
        self._counts = counts
        self._logged_at: dict[str, float] = {}

    def note(self, reason: str, level: int = logging.WARNING) -> None:
        """Count that accepting stops for a while, or until there is room, and log it if it was not
        logged in the last :data:`LOG_SECONDS`. The text of ``reason`` before the colon is the kind
        that is counted."""
        kind = reason.partition(":")[0]
        self._counts.add("accept_delays", (self._listener, kind), 1)
        now = monotonic()
        if now - self._logged_at.get(kind, -LOG_SECONDS) >= LOG_SECONDS:
            self._logged_at[kind] = now
            log.log(level, "listener %s accepts no clients for now: %s", self._listener, reason)


class Acceptor:
    """Accepts the clients of a listening socket.

    ``take`` gets each client's socket and address. ``make_room`` closes a silent connection of a
    full listener. ``rejected`` is called for each client that is closed at once, with its
    ``host:port``, the reason, and the exception if a defect of the gateway was the cause.
    """

    def __init__(
        self,
        listening: socket.socket,
        quota: ConnectionQuota,
        delays: Delays,
        *,
        take: Callable[[socket.socket, object], None],
        make_room: Callable[[], object],
        rejected: Callable[[str, str, Exception | None], None],
    ) -> None:
        self._listening = listening
        self._quota = quota
        self._delays = delays
        self._take = take
        self._make_room = make_room
        self._rejected = rejected
        self._loop = asyncio.get_running_loop()
        self._reading = False
        self._retry: asyncio.TimerHandle | None = None
        self._stopped = False
        self.failing = False

    def start(self) -> None:
        """Begin to accept clients."""
        self._quota.on_room.append(self._resume)
        self._resume()

    def stop(self) -> None:
        """Stop accepting clients, and close the listening socket."""
        self._stopped = True
        self._pause()
        self._quota.on_room.remove(self._resume)
        self._listening.close()

    @property
    def waits_for_room(self) -> bool:
        """Whether a client waits because ``max.connections`` are open."""
        return not (self._reading or self._stopped) and self._retry is None

    def _accept(self) -> None:
        """Accept clients that wait, up to :data:`ACCEPTED_A_TURN`, as far as the quota has room."""
        if self._quota.full:
            self._pause()
            self._delays.note("max.connections: all are open")
            self._make_room()
            return
        seconds = self._quota.seconds_to_wait()
        if seconds:
            self._pause(seconds + TIMER_SECONDS)
            self._delays.note("max.connection.creation.rate: clients come faster")
            return
        for _ in range(ACCEPTED_A_TURN):
            if not self._accept_one() or not self._quota.free():
                return  # the event loop calls again if another client waits

    def _accept_one(self) -> bool:
        """Accept a client. Returns False if no client waits, or the system has run out of
        something."""
        try:
            accepted, peer = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            self.failing = False
            return False
        except OSError as error:
            self.failing = True
            self._pause(RETRY_SECONDS)
            self._delays.note(f"accept failed: {error.strerror}", logging.ERROR)
            return False
        self.failing = False
        host = host_text(peer)
        if not self._quota.take(host):
            accepted.close()
            self._rejected(address_text(peer), f"{TOO_MANY_OF_ONE}: this address has as many", None)
            return True
        counted = CountedSocket(accepted, self._quota, host)
        counted.setblocking(False)
        try:
            self._take(counted, peer)
        except Exception as error:  # noqa: BLE001 - see ``closing``
            counted.close()
            self._rejected(address_text(peer), internal_error(error), error)
        return True

    def _pause(self, seconds: float | None = None) -> None:
        """Stop accepting clients for ``seconds``, or for None until there is room."""
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._listening.fileno())
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if seconds is not None:
            self._retry = self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        if self._stopped or self._reading:
            return
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._reading = True
        self._loop.add_reader(self._listening.fileno(), self._accept)
        if self.failing:
            # Try at once: a load balancer sends no clients while ``failing`` is reported, and
            # without a descriptor accept fails before the system looks for clients, so no client
            # need wait for this.
            self._accept()


async def listening_sockets(host: str, port: int, *, shared: bool = True) -> list[socket.socket]:
    """Open a listening socket for each address of the host. If ``shared``, the other workers can
    bind the same port (SO_REUSEPORT).

    Raises OSError with the address that cannot be bound.
    """
    found = await LOOKUPS.addresses(host, port)
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((family, address) for family, *_, address in found):
            made = socket.create_server(address, family=family, backlog=BACKLOG, reuse_port=shared)
            made.setblocking(False)
            sockets.append(made)
    except BaseException:
        for each in sockets:
            each.close()
        raise
    return sockets


def descriptors_left(count: int = DESCRIPTORS_A_CLIENT) -> bool:
    """Whether this process can open ``count`` more descriptors."""
    taken: list[int] = []
    try:
        taken += (os.open(os.devnull, os.O_RDONLY) for _ in range(count))
    except OSError:
        return False
    finally:
        for descriptor in taken:
            os.close(descriptor)
    return True
