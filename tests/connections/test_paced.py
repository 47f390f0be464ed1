"""gateway.connections.paced: a transport is given no more than it takes, and nothing is lost."""

from __future__ import annotations

import asyncio

import pytest

from gateway.connections.paced import PART, PacedTransport
from gateway.connections.transports import WRITE_HIGH
from tests.connections.fake_transport import FakeTransport

LONG = bytes(range(256)) * (5 * PART // 256) + b"end"


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
