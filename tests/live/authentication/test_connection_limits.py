"""No client takes a listener from the others: silent clients, many of one address, descriptors."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, processes, sasl
from tests.live.support.fixtures import own_gateway
from tests.live.support.sasl import SecuredGateway
from tests.live.support.wire import ConnectionEnded, Wire

HONEST = "127.0.0.2"
"""The address of well-behaved clients; the others come from 127.0.0.1."""

SILENT_SOCKETS = 3_000
LOGINS = 10


def count(gateway: GatewayProcess, metric: str, label: str = "") -> float:
    """The sum of a metric over all values of the label, or for the given value."""
    return sum(
        float(line.rpartition(" ")[2])
        for line in gateway.metrics().splitlines()
        if line.startswith((f"kafka_gateway_{metric}{{", f"kafka_gateway_{metric} "))
        and label in line
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


class Flood:
    """Clients that connect and send nothing, as many and as fast as they can, over and over."""

    def __init__(self, address: str) -> None:
        self._address = _address(address)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.connected = 0

    def _run(self) -> None:
        held: list[socket.socket] = []
        try:
            while not self._stopped.is_set():
                with suppress(OSError):
                    held.append(socket.create_connection(self._address, 5))
                    self.connected += 1
                if len(held) > 1_000:  # this process has few descriptors; the gateway closed these
                    held.pop(0).close()
        finally:
            for each in held:
                each.close()

    def __enter__(self) -> Flood:
        self._thread.start()
        wait_until(lambda: self.connected > SILENT_SOCKETS, "the silent are there", clients.SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_silent_clients_keep_nobody_from_logging_in(
    secured: SecuredGateway, mechanism: str
) -> None:
    """There are 50 places; thousands of silent clients come from a single address."""
    with Flood(secured.sasl) as flood:
        before = flood.connected
        for _ in range(LOGINS):
            with Wire(secured.sasl, source=HONEST) as wire:
                assert not sasl.log_in(wire, mechanism).error_code
                assert sasl.is_served(wire)
        wait_until(lambda: flood.connected > before, "the silent go on", clients.SECONDS)
    reason = "too many unauthenticated connections"
    wait_until(
        lambda: count(secured.process, "connection_closes_total", reason) > SILENT_SOCKETS / 2,
        "the count",
        clients.SECONDS,
    )
    assert secured.process.log().count(reason) < SILENT_SOCKETS / 2, "not every one is logged"


gateway = own_gateway(
    Listener("few", "two at a time", security={"max.connections": 2}),
    Listener("each", "three of an address", security={"max.connections.per.ip": 3}),
    Listener("all", "without limits"),
    namespaces=["team-a"],
)


def _served(wire: Wire) -> bool:
    return bool(wire.ask("Metadata", 4, topics=()).brokers)


def test_so_many_of_one_address(gateway: GatewayProcess) -> None:
    servers = gateway.bootstrap_servers("each")
    with ExitStack() as stack:
        inside = [stack.enter_context(Wire(servers)) for _ in range(3)]
        assert all(map(_served, inside))
        beyond = stack.enter_context(Wire(servers))
        with pytest.raises((ConnectionEnded, OSError)):
            _served(beyond)
        assert _served(stack.enter_context(Wire(servers, source=HONEST)))
        assert all(map(_served, inside))
        inside[0].close()
        wait_until(lambda: _let_in(servers), "room for another one", clients.SECONDS)
    wait_until(
        lambda: count(gateway, "connection_closes_total", "max.connections.per.ip") >= 1,
        "the count",
        clients.SECONDS,
    )


def _let_in(servers: str) -> bool:
    with Wire(servers) as wire:
        try:
            return _served(wire)
        except (ConnectionEnded, OSError):
            return False


def test_so_many_at_a_time(gateway: GatewayProcess) -> None:
    """At the limit, a silent client is closed; if there is none, a new client waits."""
    servers = gateway.bootstrap_servers("few")
    with Wire(servers) as first, Wire(servers) as silent:
        assert _served(first)
        with Wire(servers) as second:
            assert _served(second)
            assert silent.wait_for_end() == b""
            with Wire(servers) as third:
                wait_until(
                    lambda: count(gateway, "accept_delays_total", "max.connections") >= 2,
                    "a client waits",
                    clients.SECONDS,
                )
                assert _served(first)
                assert _served(second)
                second.close()
                assert _served(third)


OUTSIDE = 30
"""Clients that connect while there are no descriptors.

More than the worker may still have open from earlier tests.
"""


@contextmanager
def _descriptors(worker: psutil.Process, most: int) -> Iterator[None]:
    before = worker.rlimit(resource.RLIMIT_NOFILE)
    worker.rlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        worker.rlimit(resource.RLIMIT_NOFILE, before)


def test_a_worker_without_descriptors_is_not_ready(gateway: GatewayProcess) -> None:
    servers = gateway.bootstrap_servers("all")
    (worker,) = processes.workers(gateway)
    with ExitStack() as stack:
        inside = stack.enter_context(Wire(servers))
        assert _served(inside)
        with _descriptors(worker, worker.num_fds()):
            # So many, because some connections may end meanwhile.
            outside = [stack.enter_context(Wire(servers)) for _ in range(OUTSIDE)]
            wait_until(lambda: gateway.get("/readyz")[0] == 503, "not ready", clients.SECONDS)
            assert "file descriptors" in gateway.get("/readyz")[1]
            assert gateway.get("/livez")[0] == 200
            assert count(gateway, "accepting") == 0
            gateway.wait_for_log("accept failed: Too many open files")
            assert _served(inside)
        assert all(map(_served, outside)), "they have waited"
        wait_until(lambda: gateway.get("/readyz")[0] == 200, "ready again", clients.SECONDS)
        assert _served(stack.enter_context(Wire(servers)))
    assert worker.is_running()
