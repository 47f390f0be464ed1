"""Accepting clients, as many and as fast as Kafka's ConnectionQuotas allow, in one worker.

The event loop's own servers accept whatever there is, end for good when the process has no
descriptor left, and report it nowhere. So the gateway accepts by itself, and hands the sockets
over.

As in Kafka, what is beyond ``max.connections`` or ``max.connection.creation.rate`` waits (in the
listen backlog) until there is room, and what is beyond ``max.connections.per.ip`` is closed. A
connection counts as long as its descriptor is open, whoever has it.
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
"""Clients accepted in one turn of the event loop: those who are in have their turns, too."""

TIMER_SECONDS: Final = 0.001
"""How much too early an event loop's timers may be (uvloop's count in milliseconds): whoever looks
again at once would look many times."""

RETRY_SECONDS: Final = 0.25
"""After the system could not accept: it has run out of something."""

LOG_SECONDS: Final = 10.0
"""Between two lines of the log about one cause."""

DESCRIPTORS_A_CLIENT: Final = 2
"""Its own socket and the one to its broker."""


class ConnectionQuota:
    """The quota of one port: ``most`` connections, ``per_ip`` of one address, ``rate`` new ones a
    second. ``on_room`` are called when it was full and a connection has closed."""

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
        """True while ``max.connections`` are open."""
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
        """Leave the descriptor, which the event loop closes, to it."""
        descriptor = super().detach()
        self._give_back()
        return descriptor

    def _give_back(self) -> None:
        quota, self._quota = self._quota, None
        if quota is not None:
            quota.give_back(self._host)


class Delays:
    """Why clients of one listener wait: counted, by reason, and logged now and then."""

    def __init__(self, listener: str, counts: Counts) -> None:
        self._listener = listener
        self._counts = counts
        self._logged_at: dict[str, float] = {}

    def note(self, reason: str, level: int = logging.WARNING) -> None:
        """Accepting stops for a while, or until there is room; what stands before the colon is the
        kind."""
        kind = reason.partition(":")[0]
        self._counts.add("accept_delays", (self._listener, kind), 1)
        now = monotonic()
        if now - self._logged_at.get(kind, -LOG_SECONDS) >= LOG_SECONDS:
            self._logged_at[kind] = now
            log.log(level, "listener %s accepts no clients for now: %s", self._listener, reason)


class Acceptor:
    """``take`` gets each client's socket and address. ``make_room`` closes a silent connection
    of a full listener, if there is one; ``refused`` is called for clients that are closed
    (``host:port``, why, and the gateway's defect that was the cause)."""

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
        """Begin to accept."""
        self._quota.on_room.append(self._resume)
        self._resume()

    def stop(self) -> None:
        """Accept no more, and close the port."""
        self._stopped = True
        self._pause()
        self._quota.on_room.remove(self._resume)
        self._listening.close()

    def _accept(self) -> None:
        """A client waits; there may be more."""
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
                return  # if there is another one, the event loop says so

    def _accept_one(self) -> bool:
        """Accept one client. False: none waits any more, or the system is out of something."""
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
        """Accept no client, for so long or until there is room."""
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
            # No client need wait: without a descriptor accepting fails before the system looks for
            # clients. And while it is said to fail, a balancer sends none.
            self._accept()


async def listening_sockets(host: str, port: int, *, shared: bool = True) -> list[socket.socket]:
    """A socket for each address of the host; ``shared`` with the other workers (SO_REUSEPORT).

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
    """Whether this process can open so many more descriptors."""
    taken: list[int] = []
    try:
        taken += (os.open(os.devnull, os.O_RDONLY) for _ in range(count))
    except OSError:
        return False
    finally:
        for descriptor in taken:
            os.close(descriptor)
    return True
