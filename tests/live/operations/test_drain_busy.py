"""SIGTERM while clients never pause: the gateway ends as soon as its pending requests are done."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import by_hand, clients
from tests.live.support.wire import ConnectionEnded, Wire, request_frame, response_body

Names = Callable[[str], str]

FETCH = 1
LISTENERS = (Listener("colon", "all"),)
NAMESPACES = ["team-a"]

DRAIN = {"drain_seconds": 600.0}
AT_ONCE = 120.0
"""Seconds for ending processes on a busy machine; the drain takes none of them."""

ANSWERED_AFTER = 0.2
"""Seconds after which the broker responds; meanwhile it reads no other request of the
connection."""

_IN_FLIGHT = 5
_MOST, _PAUSE = 300, 0.001
"""Clients that connect in a thread, and the seconds between them."""


class Pipelining(threading.Thread):
    """A client that always has requests in flight: it sends the next request before it reads."""

    def __init__(self, address: str, request: bytes) -> None:
        super().__init__(daemon=True)
        self._wire = Wire(address)
        self._request = request
        self.answered = 0
        self.ended = False

    def run(self) -> None:
        """Send until the gateway closes the connection; responses must be in order."""
        with self._wire as wire, suppress(ConnectionEnded, OSError):
            for number in count():
                with suppress(ConnectionResetError, BrokenPipeError):  # sent requests are answered
                    wire.send(request_frame(FETCH, 4, self._request, number, 1))
                if number >= _IN_FLIGHT:
                    response_body(FETCH, 4, self.answered, wire.frame())
                    self.answered += 1
        self.ended = True


class ArrivingClients(threading.Thread):
    """Clients that connect in turn and stay, until there are enough or the port is closed."""

    def __init__(self, servers: str, stack: ExitStack) -> None:
        super().__init__(daemon=True)
        host, _, port = servers.rpartition(":")
        self._address = (host, int(port))
        self._stack = stack
        self.came = 0

    def run(self) -> None:
        """Connect until the port is closed."""
        with suppress(OSError):
            for self.came in range(_MOST):
                there = socket.create_connection(self._address, timeout=AT_ONCE)
                self._stack.enter_context(there)
                time.sleep(_PAUSE)


def _end(gateway: GatewayProcess) -> None:
    """Send SIGTERM; the gateway must stop cleanly, and soon."""
    process = gateway.process
    os.kill(process.command_pid, signal.SIGTERM)
    wait_until(lambda: not process.running, f"the end of the gateway:\n{gateway.log()}", AT_ONCE)
    assert process.returncode == 0
    assert "still busy" not in gateway.log()


def test_clients_that_never_pause(kafka: KafkaCluster, unique: Names) -> None:
    """Requests that were read are answered, in order, and no more are read."""
    topic = f"team-a:{unique('polled')}"
    with GatewayProcess(kafka.bootstrap_servers, LISTENERS, NAMESPACES, overrides=DRAIN) as gateway:
        servers = gateway.bootstrap_servers("colon")
        clients.create(servers, topic)
        clients.await_stored(kafka, topic.replace(":", ".."))
        address = clients.leader_address(servers, topic)
        busy = [Pipelining(address, by_hand.long_poll(topic, ANSWERED_AFTER)) for _ in range(4)]
        for client in busy:
            client.start()
        wait_until(lambda: all(one.answered > 5 for one in busy), "requests", AT_ONCE)
        assert not any(one.ended for one in busy)
        _end(gateway)
        for client in busy:
            client.join(AT_ONCE)
        assert all(client.ended for client in busy)


def test_clients_that_come_at_the_last_moment(kafka: KafkaCluster) -> None:
    """Connections that were accepted but not read yet when the drain began."""
    with ExitStack() as stack:
        gateway = stack.enter_context(
            GatewayProcess(kafka.bootstrap_servers, LISTENERS, NAMESPACES, overrides=DRAIN)
        )
        servers = gateway.bootstrap_servers("colon")
        coming = [ArrivingClients(servers, stack) for _ in range(3)]
        for client in coming:
            client.start()
        # Polled often, because all of them connect within half a second.
        wait_until(lambda: sum(one.came for one in coming) > 100, "clients", AT_ONCE, poll=_PAUSE)
        assert all(one.is_alive() for one in coming)
        _end(gateway)
        for client in coming:
            client.join(AT_ONCE)
