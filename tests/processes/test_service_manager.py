"""gateway.processes.service_manager: messages to a socket as sd_notify(3) describes them."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import exit_codes
from gateway.processes.service_manager import ServiceManager
from gateway.processes.supervisor import Supervisor
from tests.config import config_samples
from tests.processes.test_supervisor import FAST, command
from tests.waiting import eventually

Environment = dict[str, str]


class Manager:
    """A service manager's end of the socket."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind("\0" + name[1:] if name.startswith("@") else name)

    def told(self) -> list[str]:
        """The messages since the last call."""
        states = []
        while True:
            try:
                states.append(self._socket.recv(4_096).decode())
            except BlockingIOError:
                return states

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest) -> Iterator[Manager]:
    """Sockets' paths are short; an abstract socket's name may hold another @."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "@notify")
        made = Manager(path if request.param == "path" else f"@gateway@{path}")
        yield made
        made.close()


def test_what_it_is_told(manager: Manager) -> None:
    told = ServiceManager(manager.name)
    told.ready()
    told.stopping()
    assert manager.told() == ["READY=1", "STOPPING=1"]


async def test_signs_of_life_come_twice_in_its_time(manager: Manager) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    living = asyncio.create_task(ServiceManager(manager.name, 0.2).keep_alive())
    signs: list[str] = []

    def five_came() -> bool:
        signs.extend(manager.told())
        return len(signs) >= 5

    await eventually(five_came, "five")
    took = loop.time() - started
    living.cancel()
    assert set(signs) == {"WATCHDOG=1"}
    assert 0.1 * (len(signs) - 1) <= took + 0.01, "as many as that, and no more"


async def test_none_are_given_where_none_are_waited_for(manager: Manager) -> None:
    await ServiceManager(manager.name).keep_alive()
    await ServiceManager().keep_alive()
    ServiceManager().ready()
    assert manager.told() == []


OWN = str(os.getpid())


@pytest.mark.parametrize(
    ("given", "address", "seconds", "warning"),
    [
        ({}, None, None, ""),
        ({"WATCHDOG_USEC": "5000000"}, None, None, ""),
        ({"NOTIFY_SOCKET": "/run/n"}, "/run/n", None, ""),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "5000000"}, "@n", 5.0, ""),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "250", "WATCHDOG_PID": OWN}, "/n", 0.00025, ""),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "5000000", "WATCHDOG_PID": "1"}, "/n", None, ""),
        ({"NOTIFY_SOCKET": "vsock:2:1"}, None, None, "NOTIFY_SOCKET=vsock:2:1 is neither a path"),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "5s"}, "/n", None, "WATCHDOG_USEC=5s is no"),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "-1"}, "/n", None, "WATCHDOG_USEC=-1 is no"),
        ({"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "0"}, "/n", None, "WATCHDOG_USEC=0 is no"),
    ],
)
def test_what_the_environment_says(
    given: Environment,
    address: str | None,
    seconds: float | None,
    warning: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The variables are taken out, so that workers do not notify."""
    environment = {**given, "HOME": "/home"}
    found = ServiceManager.of(environment)
    assert (found.address, found.watchdog_seconds) == (address, seconds)
    assert environment == {"HOME": "/home"}
    assert bool(caplog.messages) == bool(warning)
    assert warning in caplog.text


def test_one_that_is_gone_is_told_of_once(
    manager: Manager, caplog: pytest.LogCaptureFixture
) -> None:
    told = ServiceManager(manager.name)
    told.ready()
    manager.close()
    told.ready()
    told.ready()
    assert len(caplog.messages) == 1
    assert "cannot be told READY=1: Connection refused" in caplog.text


def test_one_that_does_not_listen_holds_up_nobody(
    manager: Manager, caplog: pytest.LogCaptureFixture
) -> None:
    told = ServiceManager(manager.name)
    while not caplog.messages:
        told.ready()
    assert "Resource temporarily unavailable" in caplog.text
    assert set(manager.told()) == {"READY=1"}


async def test_a_supervisor_tells_it(manager: Manager, tmp_path: Path) -> None:
    supervisor = Supervisor(
        config_samples.config(tmp_path),
        manager=ServiceManager(manager.name, 0.2),
        command=command("serves", tmp_path),
        timing=FAST,
    )
    running = asyncio.create_task(supervisor.run())
    told: list[str] = []

    def has_told(state: str) -> bool:
        told.extend(manager.told())
        return state in told

    await eventually(lambda: has_told("READY=1"), "it is ready")
    assert not supervisor.health().not_live
    told.clear()
    await eventually(lambda: has_told("WATCHDOG=1"), "it is alive")
    supervisor.stop()
    assert await asyncio.wait_for(running, 120) == exit_codes.OK
    assert has_told("STOPPING=1")
