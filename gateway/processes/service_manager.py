"""What a service manager is told, by the protocol of sd_notify(3): systemd's, and others'.

It hears that the gateway is ready, that it stops and, twice in ``WatchdogSec=``, that it is alive.
A gateway of which all processes hang closes no connection, so that its clients wait for their own
timeouts; a service manager that hears nothing ends it, and they go on elsewhere at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import MutableMapping
from typing import Final

log = logging.getLogger(__name__)

_SOCKET: Final = "NOTIFY_SOCKET"
_WATCHDOG: Final = "WATCHDOG_USEC"
_WATCHDOG_PROCESS: Final = "WATCHDOG_PID"


class ServiceManager:
    """The service manager that started this process, or nobody, who is told nothing."""

    def __init__(self, address: str | None = None, watchdog_seconds: float | None = None) -> None:
        """``address`` is a datagram socket's path, or ``@`` and an abstract name;
        ``watchdog_seconds`` is how long the manager waits for a sign of life, or None if it does
        not."""
        self.address = address
        self.watchdog_seconds = watchdog_seconds
        self._failure = ""

    @classmethod
    def of(cls, environment: MutableMapping[str, str]) -> ServiceManager:
        """The one that the environment names, and which is taken out of it: it is told by this
        process alone, not by those that it starts."""
        address = environment.pop(_SOCKET, "")
        period = environment.pop(_WATCHDOG, "")
        process = environment.pop(_WATCHDOG_PROCESS, "") or str(os.getpid())
        if not address:
            return cls()
        if not address.startswith(("/", "@")):
            log.warning("NOTIFY_SOCKET=%s is neither a path nor @ and a name: ignored", address)
            return cls()
        if not period or process != str(os.getpid()):
            return cls(address)
        microseconds = int(period) if period.isascii() and period.isdecimal() else 0
        if microseconds == 0:
            log.warning("WATCHDOG_USEC=%s is no number of microseconds: ignored", period)
            return cls(address)
        return cls(address, microseconds / 1e6)

    def ready(self) -> None:
        """Clients are served."""
        self._tell(b"READY=1")

    def stopping(self) -> None:
        """The gateway drains, and then ends."""
        self._tell(b"STOPPING=1")

    async def keep_alive(self) -> None:
        """Give signs of life until it is cancelled; returns at once if none is waited for."""
        if self.watchdog_seconds is None:
            return
        while True:
            self._tell(b"WATCHDOG=1")
            await asyncio.sleep(self.watchdog_seconds / 2)

    def _tell(self, state: bytes) -> None:
        """A manager that cannot be told is no reason to end; it says so once."""
        if self.address is None:
            return
        abstract = self.address.startswith("@")
        address = "\0" + self.address[1:] if abstract else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto(state, address)
            self._failure = ""
        except OSError as error:
            failure = error.strerror or str(error)
            if failure != self._failure:
                log.warning(
                    "the service manager at %s cannot be told %s: %s",
                    self.address,
                    state.decode(),
                    failure,
                )
            self._failure = failure
