"""How many connections, in all and of an address, and how fast (Kafka's ConnectionQuotas)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.config.models import Listener
from gateway.connections.acceptor import ConnectionQuota, CountedSocket


class Clock:
    """A monotonic clock that the test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def quota(clock: Clock | None = None, **limits: Any) -> ConnectionQuota:
    keys = {key.replace("_", "."): value for key, value in limits.items()}
    listener = Listener.model_validate({"name": "here", "port": 9092, **keys})
    return ConnectionQuota.of(listener, clock or Clock())


def test_without_limits_there_are_none() -> None:
    here = quota()
    for _ in range(10_000):
        assert not here.full
        assert here.seconds_to_wait() == 0
        assert here.take("192.0.2.1")
    assert here.count == 10_000


def test_so_many_at_a_time() -> None:
    here = quota(max_connections=2)
    room: list[int] = []
    here.on_room.append(lambda: room.append(here.count))
    here.take("192.0.2.1")
    assert not here.full
    here.take("192.0.2.2")
    assert here.full
    here.give_back("192.0.2.1")
    assert not here.full
    here.give_back("192.0.2.2")
    assert room == [1]


def test_so_many_of_one_address() -> None:
    here = quota(
        max_connections_per_ip=2, max_connections_per_ip_overrides={"192.0.2.7": 3, "192.0.2.8": 0}
    )
    assert [here.take("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [here.take("192.0.2.7") for _ in range(4)] == [True, True, True, False]
    assert not here.take("192.0.2.8")
    assert here.take("192.0.2.2")
    assert here.count == 6
    here.give_back("192.0.2.1")
    assert here.take("192.0.2.1")
    assert not here.take("192.0.2.1")


def test_so_many_a_second() -> None:
    clock = Clock()
    here = quota(clock, max_connection_creation_rate=10)
    for _ in range(10):
        assert here.seconds_to_wait() == 0
        here.take("192.0.2.1")
    assert here.seconds_to_wait() == pytest.approx(0.1)
    clock.now += 0.05
    assert here.seconds_to_wait() == pytest.approx(0.05)
    clock.now += 0.05
    assert here.seconds_to_wait() == pytest.approx(0, abs=1e-6)
    clock.now += 3_600  # a quiet hour saves up no more than a second's
    for _ in range(10):
        assert here.seconds_to_wait() == 0
        here.take("192.0.2.1")
    assert here.seconds_to_wait() > 0


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def test_a_socket_that_an_event_loop_has_keeps_its_place(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    here = quota()
    here.take("192.0.2.1")
    counted = CountedSocket(sockets[0], here, "192.0.2.1")
    with counted.makefile("rb") as file:  # which holds it as uvloop does
        counted.close()
        sockets[1].send(b"x")
        assert (here.count, file.read(1)) == (1, b"x")
    assert here.count == 0


@pytest.mark.parametrize("end", ["close", "detach"])
def test_a_place_is_given_back_with_the_descriptor(
    sockets: tuple[socket.socket, socket.socket], end: str
) -> None:
    here = quota()
    here.take("192.0.2.1")
    counted = CountedSocket(sockets[0], here, "192.0.2.1")
    sockets[1].send(b"x")
    assert counted.recv(1) == b"x"
    assert here.count == 1
    if end == "detach":
        socket.socket(fileno=counted.detach()).close()
    counted.close()
    assert here.count == 0
    counted.close()
    assert here.count == 0
