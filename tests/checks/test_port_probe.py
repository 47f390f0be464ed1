"""gateway.checks.listeners: which ports cannot be bound."""

from __future__ import annotations

import socket

import pytest

from devkit.ports import free_port, free_ports
from gateway.checks.listeners import probe
from gateway.config_file.rules import PortClaim

KEY = ("listeners", 0, "port")


def claim(first: int, last: int | None = None, host: str = "127.0.0.1") -> PortClaim:
    return PortClaim(host, first, last or first, "port of the test", KEY)


def test_free_ports_are_free_afterwards() -> None:
    ports = free_ports(3)
    claims = [claim(ports[0], ports[2])]
    assert probe(claims) == []
    assert probe(claims) == []


@pytest.mark.parametrize("shared", [False, True])
def test_ports_that_someone_listens_on(shared: bool) -> None:
    ports = free_ports(3)
    with socket.socket() as other:
        if shared:  # as another gateway's workers do
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", ports[1]))
        other.listen()
        (problem,) = probe([claim(ports[0], ports[2])])
    assert problem.key == KEY
    assert problem.text == (
        f"the port of the test ({ports[0]}-{ports[2]}) cannot be bound on '127.0.0.1': "
        f"port {ports[1]}: address already in use; free them or choose others"
    )


def test_two_claims_that_are_one_address_under_two_names() -> None:
    port = free_port()
    (problem,) = probe([claim(port, host="127.0.0.1"), claim(port, host="localhost")])
    assert "on 'localhost'" in problem.text


def test_connections_that_still_close_do_not_count() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = server.accept()
            accepted.close()  # the side that closes first waits in TIME_WAIT
    assert probe([claim(port)]) == []


def test_an_address_of_another_machine() -> None:
    (problem,) = probe([claim(free_port(), host="192.0.2.1")])
    assert "cannot assign requested address" in problem.text


def test_many_ports_are_told_in_short() -> None:
    ports = free_ports(10)
    (problem,) = probe([claim(ports[0], ports[9], host="192.0.2.1")])
    assert f"ports {ports[0]}, " in problem.text
    assert f"{ports[7]}, ...: " in problem.text
