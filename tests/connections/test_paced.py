"""gateway.connections.paced: a transport is given no more than it takes, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from gateway.connections.paced import PART, PacedTransport
from gateway.connections.transports import WRITE_HIGH
from gateway.tls.contexts import server_context
from tests.connections.fake_transport import FakeTransport
from tests.tls.pki import Pki
from tests.waiting import eventually

Run = Callable[[Callable[[], Awaitable[None]]], None]

LONG = bytes(range(256)) * (5 * PART // 256) + b"end"
VERY_LONG = LONG * 20
"""More than the buffers of two sockets take."""


class Filling(FakeTransport):
    """A transport whose peer takes nothing until it is told to."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        self.unread += len(data)

    def write_eof(self) -> None:
        self.ended = True

    def can_write_eof(self) -> bool:
        return True


def test_no_more_is_written_than_is_taken() -> None:
    inner = Filling()
    paced = PacedTransport(inner)
    paced.write(LONG[:10])
    paced.writelines([LONG[10 : 3 * PART], b"", memoryview(LONG)[3 * PART :]])
    while paced.get_write_buffer_size():
        assert WRITE_HIGH < inner.unread <= WRITE_HIGH + PART or inner.written == LONG
        assert paced.get_write_buffer_size() == len(LONG) - len(inner.written) + inner.unread
        inner.unread = 0
        paced.go_on()
    assert inner.written == LONG


@pytest.mark.parametrize("end", ["close", "write_eof"])
def test_an_end_comes_behind_what_is_left(end: str) -> None:
    inner = Filling()
    paced = PacedTransport(inner)
    paced.write(LONG)
    assert len(inner.written) < len(LONG)
    getattr(paced, end)()
    assert inner.written == LONG
    assert inner.closed or inner.ended


def test_what_is_left_is_given_up_by_an_abort() -> None:
    inner = Filling()
    paced = PacedTransport(inner)
    paced.write(LONG)
    paced.abort()
    written = inner.written
    inner.unread = 0
    paced.go_on()
    assert (inner.aborted, inner.written) == (True, written)
    assert paced.get_write_buffer_size() == 0


def test_a_client_that_has_gone_is_written_nothing() -> None:
    inner = Filling()
    paced = PacedTransport(inner)
    paced.write(LONG)
    inner.closed = True
    paced.close()


def test_all_else_is_the_transport_itself() -> None:
    inner = Filling(7_000)
    paced = PacedTransport(inner)
    assert paced.get_extra_info("peername") == ("127.0.0.1", 7_000)
    assert paced.get_extra_info("nothing", 1) == 1
    paced.pause_reading()
    assert inner.paused
    paced.resume_reading()
    assert not inner.paused
    assert paced.can_write_eof()
    protocol = asyncio.Protocol()
    paced.set_protocol(protocol)
    assert inner.protocol is protocol
    assert not paced.is_closing()


class Writing(asyncio.Protocol):
    """Writes a very long response to whoever connects."""

    def __init__(self) -> None:
        self.paced: PacedTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        inner = cast(asyncio.Transport, transport)
        inner.set_write_buffer_limits(WRITE_HIGH)
        self.paced = PacedTransport(inner)
        self.paced.write(VERY_LONG)

    def resume_writing(self) -> None:
        assert self.paced is not None
        self.paced.go_on()


@pytest.mark.parametrize("tls", [False, True])
def test_what_a_client_does_not_read_stays_here(run: Run, tls: bool, tmp_path: Path) -> None:
    """Also over TLS, whose transport hands all that it has to the one below, and says that it has
    nothing left."""
    pki = Pki(tmp_path)

    async def test() -> None:
        writing = Writing()
        server = await asyncio.get_running_loop().create_server(
            lambda: writing, "127.0.0.1", 0, ssl=server_context(pki.listener()) if tls else None
        )
        address = server.sockets[0].getsockname()[:2]
        reader, writer = await asyncio.open_connection(
            *address, ssl=pki.client() if tls else None, limit=1_000
        )
        await eventually(lambda: writing.paced, "the connection")
        paced = writing.paced
        assert paced is not None
        before = -1
        while before != paced.left:  # until the sockets are full
            before = paced.left
            await asyncio.sleep(0.2)
        assert len(VERY_LONG) > paced.left > len(VERY_LONG) // 4
        assert paced.get_write_buffer_size() - paced.left <= WRITE_HIGH + 2 * PART
        assert await reader.readexactly(len(VERY_LONG)) == VERY_LONG
        assert paced.left == 0
        paced.abort()
        writer.close()
        server.close()

    run(test)
