"""Looks up host names, so that a silent name server delays only its own names.

``getaddrinfo`` blocks for as long as the system's resolver waits, 10 s and more. Event loops run it
on a few threads that all names share (libuv has four), and wait for these threads when they end. So
here each name has a thread of its own while it is looked up, for which no event loop waits. If the
name server does not respond, the addresses found last are used (RFC 8767).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from typing import Final, cast

log = logging.getLogger(__name__)

SLOW_SECONDS: Final = 1.8
"""Seconds to wait for a lookup before the addresses found last are used (RFC 8767, 5)."""

KEPT_SECONDS: Final = 24 * 3600.0
"""Seconds for which addresses are used without a name server (RFC 8767, 4: a day or more)."""

PREFERRED_SECONDS: Final = 600.0
"""Seconds for which the address that worked is tried first (RFC 6555, 4.2)."""

MOST_NAMES: Final = 256
"""Names that may be looked up at once; each has a thread."""

_NO_SUCH_NAME: Final = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", 0)})
"""Errors by which a name server denies a name; all other errors say nothing about the name."""

AddressInfo = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]
"""Family, type, protocol, canonical name, socket address: an item of ``socket.getaddrinfo``."""


@dataclass(slots=True)
class _Name:
    """The last addresses of a name, and its lookup."""

    found: Sequence[AddressInfo] = ()
    found_at: float = 0.0
    under_way: Future[Sequence[AddressInfo]] | None = None
    doubtful: bool = False
    """Whether the last lookup failed, or takes long: then callers do not wait for the next
    lookup."""
    preferred: str = ""
    """The IP address to try first, until ``preferred_until``."""
    preferred_until: float = 0.0

    def kept(self) -> Sequence[AddressInfo]:
        """The addresses found last, unless they were found too long ago."""
        return self.found if monotonic() - self.found_at < KEPT_SECONDS else ()

    def in_order(self, found: Sequence[AddressInfo]) -> Sequence[AddressInfo]:
        """These addresses, the address that worked last in front."""
        if not self.preferred or monotonic() > self.preferred_until:
            return found
        return sorted(found, key=lambda info: info[4][0] != self.preferred)


class Lookups:
    """The lookups of a process, from any event loop; a lock guards the names."""

    def __init__(self, most_names: int = MOST_NAMES) -> None:
        self._names: dict[str, _Name] = {}
        self._running = 0
        self._most_names = most_names
        self._lock = threading.Lock()

    async def addresses(self, host: str, port: int) -> list[AddressInfo]:
        """The addresses of a host, at least one, the address to try first in front. Waits for as
        long as the lookup takes, unless the name has been found before. Raises OSError; ValueError
        for an invalid name."""
        if numeric := _numeric(host):
            return _with_port(numeric, port)
        with self._lock:
            name = self._names.setdefault(host, _Name())
            lookup = name.under_way or self._begin(host, name)
            kept = name.kept()
            doubtful = name.doubtful
        if not (doubtful and kept):
            try:
                kept = await self._result(host, name, lookup)
            except OSError:
                if not (kept := name.kept()):
                    raise
        return _with_port(name.in_order(kept), port)

    def prefer(self, host: str, address: str) -> None:
        """Prefer this IP address of the host: it works, and addresses that were tried before it did
        not."""
        with self._lock:
            if (name := self._names.get(host)) is not None:
                name.preferred = address
                name.preferred_until = monotonic() + PREFERRED_SECONDS

    async def _result(
        self, host: str, name: _Name, lookup: Future[Sequence[AddressInfo]]
    ) -> Sequence[AddressInfo]:
        """The addresses that the lookup finds; if it takes long, any addresses found before."""
        waiting = asyncio.wrap_future(lookup)
        waiting.add_done_callback(_retrieve)
        done, _ = await asyncio.wait([waiting], timeout=SLOW_SECONDS)
        if not done:
            with self._lock:
                if name.under_way is lookup:
                    self._doubt(host, name, "the name server does not answer")
                kept = name.kept()
            if kept:
                return kept
        return await waiting

    def _begin(self, host: str, name: _Name) -> Future[Sequence[AddressInfo]]:
        """Look a name up on a thread of its own. The caller holds the lock."""
        lookup: Future[Sequence[AddressInfo]] = Future()
        if self._running >= self._most_names:
            reason = f"{self._running} other names are being looked up"
            lookup.set_exception(socket.gaierror(socket.EAI_AGAIN, reason))
            return lookup
        lookup.set_running_or_notify_cancel()
        # A daemon thread, so that the process ends without waiting for it.
        thread = threading.Thread(
            target=self._look_up, args=(host, name, lookup), name=f"lookup {host}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # the system gives no more threads
            lookup.set_exception(socket.gaierror(socket.EAI_AGAIN, str(error)))
            return lookup
        self._running += 1
        name.under_way = lookup
        return lookup

    def _look_up(self, host: str, name: _Name, lookup: Future[Sequence[AddressInfo]]) -> None:
        """The lookup's thread: look the name up and store its addresses."""
        try:
            found = _ask_system(host)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            with self._lock:
                self._ended(name)
                self._failed(host, name, error)
            lookup.set_exception(error)
            return
        with self._lock:
            self._ended(name)
            name.found, name.found_at = found, monotonic()
            if name.doubtful:
                name.doubtful = False
                log.info("the name %r is found again", host)
        lookup.set_result(found)

    def _ended(self, name: _Name) -> None:
        self._running -= 1
        name.under_way = None

    def _failed(self, host: str, name: _Name, error: Exception) -> None:
        """Keep the addresses found before, unless there is no such name. The caller holds the
        lock."""
        if isinstance(error, OSError) and error.errno not in _NO_SUCH_NAME:
            self._doubt(host, name, error.strerror or str(error))
        else:
            name.found = ()
            self._names.pop(host, None)

    def _doubt(self, host: str, name: _Name, reason: str) -> None:
        """Note that a name cannot be looked up; logged the first time. The caller holds the
        lock."""
        if name.doubtful:
            return
        name.doubtful = True
        serving = "the addresses found last are used" if name.kept() else "none was found before"
        log.warning("the name %r cannot be looked up: %s; %s", host, reason, serving)


def _numeric(host: str) -> Sequence[AddressInfo]:
    """The address info of an IP address, without a lookup; empty for a name. Raises ValueError."""
    try:
        return _ask_system(host, socket.AI_NUMERICHOST)
    except socket.gaierror:
        return ()


def _ask_system(host: str, flags: int = 0) -> Sequence[AddressInfo]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return cast(Sequence[AddressInfo], found)


def _with_port(found: Sequence[AddressInfo], port: int) -> list[AddressInfo]:
    return [
        (family, kind, protocol, canonical, (address[0], port, *address[2:]))
        for family, kind, protocol, canonical, address in found
    ]


def _retrieve(waiting: asyncio.Future[Sequence[AddressInfo]]) -> None:
    """Retrieve a lookup's exception, so that asyncio does not log it when no caller waits any
    more."""
    if not waiting.cancelled():
        waiting.exception()


LOOKUPS: Final = Lookups()
"""The lookups of this process."""
