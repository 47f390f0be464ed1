"""One listening socket: clients are accepted from it, as far and as fast as they may come.

The event loop's own servers accept whatever there is, end for good when the process has no
descriptor left, and tell nobody. So the gateway accepts by itself, and hands each socket over.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

from gateway.connections.guarding import reason
from gateway.connections.quota import ConnectionQuota, CountedSocket
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

TOLD_SECONDS: Final = 10.0
"""Between two lines of the log about one cause."""

TOO_MANY_OF_ONE: Final = "max.connections.per.ip"
"""Kind of the end of a connection whose address has too many (``gateway/connections/ends.py``)."""

DESCRIPTORS_A_CLIENT: Final = 2
"""Its own socket and the one to its broker."""


class Delays:
    """Why clients of one listener wait: counted, by reason, and logged now and then."""

    def __init__(self, listener: str) -> None:
        self._listener = listener
        self._counts: dict[str, int] = {}
        self._told: dict[str, float] = {}

    def note(self, reason: str, level: int = logging.WARNING) -> None:
        """Accepting stops for a while, or until there is room; what stands before the colon is the
        kind."""
        kind = reason.partition(":")[0]
        self._counts[kind] = self._counts.get(kind, 0) + 1
        now = monotonic()
        if now - self._told.get(kind, -TOLD_SECONDS) >= TOLD_SECONDS:
            self._told[kind] = now
            log.log(level, "listener %s accepts no one for now: %s", self._listener, reason)

    def take(self) -> dict[str, int]:
        """How often since the last call, by kind."""
        counts, self._counts = self._counts, {}
        return counts


class Acceptor:
    """``take`` gets each client's socket and address. ``make_room`` ends the connection of a full
    listener that nobody will miss, if there is one; ``refused`` is told of clients that are closed
    (``host:port``, why, and the defect of ours that it was)."""

    def __init__(
        self,
        listening: socket.socket,
        quota: ConnectionQuota,
        delays: Delays,
        *,
        take: Callable[[socket.socket, object], None],
        make_room: Callable[[], object],
        refused: Callable[[str, str, Exception | None], None],
    ) -> None:
        self._listening = listening
        self._quota = quota
        self._delays = delays
        self._take = take
        self._make_room = make_room
        self._refused = refused
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
        """False: nobody waits any more, or the system is out of something."""
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
            self._refused(address_text(peer), f"{TOO_MANY_OF_ONE}: this address has as many", None)
            return True
        counted = CountedSocket(accepted, self._quota, host)
        counted.setblocking(False)
        try:
            self._take(counted, peer)
        except Exception as error:  # noqa: BLE001 - see ``guarding``
            counted.close()
            self._refused(address_text(peer), reason(error), error)
        return True

    def _pause(self, seconds: float | None = None) -> None:
        """Accept no one, for so long or until there is room."""
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
            # Nobody need wait there: without a descriptor accepting fails before the system looks
            # for clients. And while it is said to fail, a balancer sends none.
            self._accept()


async def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host, shared with the other workers (SO_REUSEPORT).

    Raises OSError with the address that cannot be bound.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((family, address) for family, *_, address in found):
            made = socket.create_server(address, family=family, backlog=BACKLOG, reuse_port=True)
            made.setblocking(False)
            sockets.append(made)
    except BaseException:
        close_all(sockets)
        raise
    return sockets


def close_all(sockets: Iterable[socket.socket]) -> None:
    """Close them."""
    for each in sockets:
        each.close()


def descriptors_left(count: int = DESCRIPTORS_A_CLIENT) -> bool:
    """Whether this process may have so many descriptors more."""
    taken: list[int] = []
    try:
        taken += (os.open(os.devnull, os.O_RDONLY) for _ in range(count))
    except OSError:
        return False
    finally:
        for descriptor in taken:
            os.close(descriptor)
    return True
