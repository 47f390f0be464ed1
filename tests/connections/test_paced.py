"""gateway.connections.paced: a transport is given no more than it takes, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from gateway.connections import transports
from gateway.connections.paced import LEAST, MOST, PART, PacedTransport
from gateway.connections.transports import WRITE_HIGH
from gateway.tls.contexts import server_context
from tests.connections.fake_transport import FakeTransport
from tests.tls.pki import Pki
from tests.waiting import eventually

Run = Callable[[Callable[[], Awaitable[None]]], None]

LONG = bytes(range(256)) * (5 * PART // 256) + b"end"
VERY_LONG = LONG * 20
"""More than the buffers of two sockets take."""

PARTS = LONG * 8
"""More than is written in one callback."""


class Filling(FakeTransport):
    """A transport whose peer takes nothing until it is told to. ``ended``: how often this side was
    ended."""

    ended = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        self.unread += len(data)

    def write_eof(self) -> None:
        self.ended += 1

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


class Before(asyncio.Protocol):
    """The protocol of a connection; ``lost``: how often it heard that the connection has ended."""

    def __init__(self) -> None:
        self.lost = 0
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost += 1


async def test_a_client_that_takes_all_gets_it_in_several_rounds() -> None:
    inner = FakeTransport()
    paced = PacedTransport(inner)
    paced.write(PARTS)
    paced.write(b"behind it")
    written = 0
    while written < len(inner.written):
        assert len(inner.written) - written <= MOST + PART
        written = len(inner.written)
        await asyncio.sleep(0)
    assert inner.written == PARTS + b"behind it"
    assert paced.left == 0


async def test_short_pieces_are_written_some_at_a_time() -> None:
    inner = FakeTransport()
    paced = PacedTransport(inner)
    pieces = [bytes([number % 256]) * 10 for number in range(10 * MOST // LEAST)]
    paced.writelines(pieces)
    assert len(inner.written) == 10 * MOST // LEAST
    while paced.left:
        await asyncio.sleep(0)
    assert inner.written == b"".join(pieces)


async def test_an_owner_goes_on_itself_until_it_closes() -> None:
    inner, calls = FakeTransport(), list[int]()

    def write_on() -> None:
        calls.append(paced.left)
        paced.go_on()

    paced = PacedTransport(inner, write_on)
    paced.write(PARTS)
    await asyncio.sleep(0)
    assert len(calls) == 1
    paced.close()
    while paced.left:
        await asyncio.sleep(0)
    assert (len(calls), inner.written, inner.closed) == (1, PARTS, True)


@pytest.mark.parametrize("end", ["close", "write_eof"])
async def test_an_end_comes_behind_what_is_left(end: str) -> None:
    """However much that is: it is written as the client takes it."""
    inner, before = Filling(), Before()
    inner.set_protocol(before)
    paced = PacedTransport(inner)
    paced.write(PARTS)
    written = len(inner.written)
    getattr(paced, end)()
    assert len(inner.written) == written
    assert inner.paused is (end == "close")
    ending = cast(asyncio.Protocol, inner.protocol)
    while paced.left:
        assert not (inner.closed or inner.ended)
        assert paced.is_closing() is (end == "close")
        inner.unread = 0
        ending.data_received(b"a request that is not served")
        ending.resume_writing()
        assert len(inner.written) - written <= MOST + PART
        written = len(inner.written)
        await asyncio.sleep(0)
    assert inner.written == PARTS
    assert (inner.closed, inner.ended) == ((end == "close"), int(end != "close"))
    ending.resume_writing()
    assert inner.ended <= 1
    ending.connection_lost(None)
    assert (before.lost, before.data) == (1, b"")


async def test_a_client_that_closes_its_side_first_gets_what_is_left() -> None:
    inner = Filling()
    paced = PacedTransport(inner)
    paced.write(PARTS)
    paced.write_eof()
    ending = cast(asyncio.Protocol, inner.protocol)
    assert ending.eof_received()
    while paced.left:
        inner.unread = 0
        ending.resume_writing()
        await asyncio.sleep(0)
    assert (inner.written, inner.closed, inner.ended) == (PARTS, True, 0)


async def test_a_client_that_reads_nothing_is_aborted_after_the_usual_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transports, "UNREAD_SECONDS", 0.01)
    inner = Filling()
    paced = PacedTransport(inner)
    paced.write(PARTS)
    written = inner.written
    transports.close(paced)
    transports.close(paced)
    assert not inner.closed
    await eventually(lambda: inner.aborted, "the end")
    assert (inner.written, paced.left) == (written, 0)


async def test_one_side_that_ends_late_is_aborted_after_the_usual_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transports, "HALF_CLOSED_SECONDS", 0.01)
    monkeypatch.setattr(transports, "UNREAD_SECONDS", 0.01)
    inner, ends = Filling(), list[Exception | None]()
    paced = PacedTransport(inner)
    paced.write(PARTS)
    assert transports.half_close(paced, ends.append, True)
    await eventually(lambda: inner.aborted, "the end")
    assert not inner.ended
    cast(asyncio.Protocol, inner.protocol).connection_lost(None)
    assert ends == [None]


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
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        inner = cast(asyncio.Transport, transport)
        inner.set_write_buffer_limits(WRITE_HIGH)
        self.paced = PacedTransport(inner)
        self.paced.write(VERY_LONG)

    def resume_writing(self) -> None:
        assert self.paced is not None
        self.paced.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


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


@pytest.mark.parametrize(("tls", "half"), [(False, False), (True, False), (False, True)])
def test_a_client_gets_all_that_was_written_before_the_end(
    run: Run, tls: bool, half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for constant in ("UNREAD_SECONDS", "HALF_CLOSED_SECONDS"):
        monkeypatch.setattr(transports, constant, 600.0)
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
        if half:
            assert transports.half_close(paced, writing.connection_lost, False)
        else:
            transports.close(paced)
        assert paced.left > len(VERY_LONG) // 4
        assert await reader.read() == VERY_LONG
        writer.close()
        await eventually(lambda: writing.lost, "the end")
        server.close()

    run(test)
