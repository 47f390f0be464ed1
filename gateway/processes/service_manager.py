"""Notifies a service manager, such as systemd, by the protocol of sd_notify(3).

The service manager is notified that the gateway is ready, that it stops and, twice in
``WatchdogSec=``, that it is alive. If all processes of a gateway hang, no connection is closed, so
its clients wait for their own timeouts; if a service manager gets no sign of life, it ends the
gateway, and the clients go on elsewhere at once.
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
    """The service manager that started this process; without an address, notifications are
    dropped."""

    def __init__(self, address: str | None = None, watchdog_seconds: float | None = None) -> None:
        """``address``: a datagram socket's path, or ``@`` and an abstract name.
        ``watchdog_seconds``: how long the manager waits for a sign of life, or None if it does not.
        """
        self.address = address
        self.watchdog_seconds = watchdog_seconds
        self._failure = ""

    @classmethod
    def of(cls, environment: MutableMapping[str, str]) -> ServiceManager:
        """The manager that the environment names. Its variables are removed from the environment,
        so that the processes which this process starts do not notify it."""
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
        """Notify the manager that clients are served."""
        self._tell(b"READY=1")

    def stopping(self) -> None:
        """Notify the manager that the gateway drains, and then ends."""
        self._tell(b"STOPPING=1")

    async def keep_alive(self) -> None:
        """Send signs of life until the task is cancelled; returns at once if the manager expects no
        signs."""
        if self.watchdog_seconds is None:
            return
        while True:
            self._tell(b"WATCHDOG=1")
            await asyncio.sleep(self.watchdog_seconds / 2)

    def _tell(self, state: bytes) -> None:
        """Send a notification; if it fails, log each new reason once and go on."""
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
