"""Accepting clients, as many and as fast as the limits allow; on uvloop and on asyncio's own
loop."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.connections.acceptor import RETRY_SECONDS, descriptors_left
from gateway.connections.closing import TOO_MANY_OF_ONE
from tests.connections.bound_listener import Bound, Client, Run, plain, quietly, secure
from tests.tls.pki import Pki
from tests.waiting import eventually


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path, "localhost")


def limited(**limits: Any) -> Bound:
    """A listener with Kafka's limits: ``max_connections`` is ``max.connections``."""
    return Bound(plain(**{key.replace("_", "."): value for key, value in limits.items()}))


async def waits(bound: Bound, client: Client) -> None:
    """Assert that a client is not accepted yet: the listener has looked, and other clients go
    on."""
    asked = asyncio.ensure_future(client.echo(b"x"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not asked.done()
    asked.cancel()
    await asyncio.wait([asked])


def test_clients_beyond_max_connections_wait(run: Run) -> None:
    async def test() -> None:
        async with limited(max_connections=2) as bound:
            first, second = await bound.connect(None), await bound.connect(None, place=1)
            assert (await first.echo(b"x"), await second.echo(b"y")) == (b"x", b"y")
            third = await bound.connect(None)
            await waits(bound, third)
            assert bound.full == 1, "it was asked for room"
            assert bound.counted() == [("accept_delays", ("here", "max.connections"), 1)]
            await first.close()
            assert await third.reader.readexactly(1) == b"x"
            assert await second.echo(b"y") == b"y"
            assert bound.rejected == []
            assert bound.counted() == []
            assert bound.listeners.accepting
            for each in (second, third):
                await each.close()

    run(test)


def test_clients_beyond_the_rate_wait(run: Run) -> None:
    async def test() -> None:
        async with limited(max_connection_creation_rate=5) as bound:
            began = asyncio.get_running_loop().time()
            clients = [await bound.connect(None) for _ in range(8)]
            for each in clients:
                assert await each.echo(b"x") == b"x"
            assert asyncio.get_running_loop().time() - began >= 0.55
            ((_, labels, count),) = bound.counted()
            assert labels == ("here", "max.connection.creation.rate")
            assert isinstance(count, int)
            assert 1 <= count <= 10, "it sleeps in between"
            for each in clients:
                await each.close()

    run(test)


def test_clients_of_one_address_beyond_its_number_are_closed(run: Run) -> None:
    async def test() -> None:
        overrides = {"127.0.0.2": 3}
        async with limited(
            max_connections_per_ip=1, max_connections_per_ip_overrides=overrides
        ) as bound:
            first, second = await bound.connect(None), await bound.connect(None)
            assert await first.echo(b"x") == b"x"
            await quietly(second.reader.read())
            others = [await connect_from("127.0.0.2", bound) for _ in range(3)]
            for each in others:
                assert await each.echo(b"x") == b"x"
            ((address, reason),) = bound.rejected
            assert (address, reason.partition(":")[0]) == (second.address, TOO_MANY_OF_ONE)
            await first.close()
            await eventually(lambda: bound.accepted[0].lost.is_set(), "the first has left")
            third = await bound.connect(None)
            assert await third.echo(b"x") == b"x"
            for each in (second, third, *others):
                await each.close()

    run(test)


async def connect_from(source: str, bound: Bound) -> Client:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", bound.listener.port, local_addr=(source, 0)
    )
    return Client(reader, writer)


@contextmanager
def no_descriptors(*, below: int = 3) -> Iterator[None]:
    """Let this process open no more descriptors, or only descriptors below this number."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (below, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_without_descriptors_clients_wait(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """The port stays open."""

    async def test() -> None:
        async with limited() as bound:
            client = socket.socket()
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            first = await bound.connect(None)
            assert await first.echo(b"x") == b"x"
            assert bound.listeners.accepting
            with no_descriptors():
                assert not bound.listeners.accepting
                await loop.sock_connect(client, ("127.0.0.1", bound.listener.port))
                await eventually(bound.counted, "accepting fails")
                assert await first.echo(b"y") == b"y"
            await loop.sock_sendall(client, b"z")
            assert await loop.sock_recv(client, 1) == b"z"
            assert bound.listeners.accepting
            client.close()
            await first.close()

    run(test)
    (line,) = caplog.messages
    assert line == "listener here accepts no clients for now: accept failed: Too many open files"
    assert RETRY_SECONDS < 1


def test_accepting_is_tried_again_though_nobody_comes(run: Run) -> None:
    """The last descriptor went to the last client, so only the look for another client failed."""

    async def test() -> None:
        async with limited() as bound:
            client = socket.socket()
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            free = os.open(os.devnull, os.O_RDONLY)
            os.close(free)
            with no_descriptors(below=free + 1):
                await loop.sock_connect(client, ("127.0.0.1", bound.listener.port))
                await eventually(bound.counted, "accepting fails")
                await loop.sock_sendall(client, b"z")
                assert await loop.sock_recv(client, 1) == b"z"
                assert not bound.listeners.accepting
            await eventually(lambda: bound.listeners.accepting, "accepting is well again")
            client.close()

    run(test)


def test_what_takes_a_client_over_fails(run: Run) -> None:
    async def test() -> None:
        bound = limited()

        def accept(*_: object) -> asyncio.Protocol:
            raise RuntimeError("a defect")

        bound.listeners = bound.bind(accept)
        async with bound:
            client = await bound.connect(None)
            await quietly(client.reader.read())
            assert bound.rejected == [(client.address, "internal error: RuntimeError")]
            await client.close()

    run(test)


def test_a_client_that_is_gone_before_its_connection_is_made(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place becomes free again."""

    async def gone(*_: object) -> None:
        raise OSError("gone")

    async def test() -> None:
        async with limited(max_connections=1) as bound:
            loop = asyncio.get_running_loop()
            fails = SimpleNamespace(create_task=loop.create_task, connect_accepted_socket=gone)
            with monkeypatch.context() as patch:
                patch.setattr(
                    "gateway.connections.listeners.asyncio.get_running_loop", lambda: fails
                )
                client = await bound.connect(None)
                await quietly(client.reader.read())
            other = await bound.connect(None)
            assert await other.echo(b"x") == b"x"
            bound.accepted = bound.accepted[1:]
            for each in (client, other):
                await each.close()

    run(test)


RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a close resets the connection."""


@pytest.mark.parametrize("encrypted", [False, True])
def test_every_place_is_given_back(run: Run, pki: Pki, encrypted: bool) -> None:
    """However the client's connection ends."""

    async def test() -> None:
        async with Bound(secure(pki) if encrypted else plain(), max_seconds=1) as bound:
            quota = bound.listeners._quotas["here"]
            for sent in (b"", b"\x16", b"GET / HTTP/1.1\r\n\r\n", bytes(20_000)):
                for linger in (None, RESET):
                    client = await bound.connect(None)
                    client.writer.write(sent)
                    if linger is not None:
                        raw = client.writer.get_extra_info("socket")
                        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    await client.close()
            context = pki.client() if encrypted else None
            for ends_first in (False, True):
                client = await bound.connect(context)
                assert await client.echo(b"x") == b"x"
                if ends_first:
                    bound.accepted[-1].transport.close()
                await client.close()
            silent = await bound.connect(None)
            await eventually(lambda: quota.count == 1, "the others have left")
            if encrypted:
                bound.listeners.stop()  # stopping ends handshakes
            else:
                await silent.close()
            await eventually(lambda: quota.count == 0, "all have left")
            await silent.close()

    run(test)


def test_a_port_that_is_taken(run: Run) -> None:
    async def test() -> None:
        bound = limited()
        with socket.create_server(("127.0.0.1", bound.listener.port)):
            with pytest.raises(OSError, match="in use"):
                await bound.listeners.start()
            bound.listeners.stop()

    run(test)


def test_descriptors_left() -> None:
    assert descriptors_left(10)
    with no_descriptors():
        assert not descriptors_left(1)
    assert not descriptors_left(10_000_000)
