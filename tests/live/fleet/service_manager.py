"""A service manager's part in sd_notify(3), as far as it matters for a gateway that hangs.

If a gateway sends no keep-alive for ``WATCHDOG_SECONDS``, it is killed with all its processes, as
systemd does with ``WatchdogSignal=SIGKILL``. systemd itself needs a machine of its own.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from devkit.gateway_process import GatewayProcess

WATCHDOG_SECONDS: Final = 5.0
"""``WatchdogSec=`` of the unit in deploy/systemd."""

_LOOK_SECONDS: Final = 0.05


class ServiceManager:
    """The service manager of a gateway.

    ``environment``: for the gateway's process. ``told``: all its notifications. ``kills``: how
    often it was killed.
    """

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="notify-")
        path = str(Path(self._directory.name) / "socket")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._socket.settimeout(_LOOK_SECONDS)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._gateway: GatewayProcess | None = None
        self._heard = time.monotonic()
        self.environment: Mapping[str, str] = {
            "NOTIFY_SOCKET": path,
            "WATCHDOG_USEC": str(int(WATCHDOG_SECONDS * 1e6)),
        }
        self.told: list[str] = []
        self.kills = 0

    def watch(self, gateway: GatewayProcess) -> None:
        """Kill this gateway when it is silent, once."""
        self._heard = time.monotonic()
        self._gateway = gateway

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._socket.close()
        self._directory.cleanup()

    def _watch(self) -> None:
        while not self._stopping.is_set():
            try:
                self.told.append(self._socket.recv(4_096).decode())
                self._heard = time.monotonic()
            except TimeoutError:
                gateway, silence = self._gateway, time.monotonic() - self._heard
                if gateway is not None and silence >= WATCHDOG_SECONDS:
                    self._gateway = None
                    gateway.kill()
                    self.kills += 1  # from here on the test may start it again
