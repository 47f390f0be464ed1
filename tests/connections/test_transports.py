"""gateway.connections.transports: few calls to write, and the last bytes written arrive."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

import pytest

from gateway.connections import transports
from gateway.connections.transports import JOIN_LIMIT, half_close, write
from tests.connections.fake_transport import FakeTransport
from tests.waiting import eventually

ANSWER = b"x" * 100_000


class Answering(asyncio.Protocol):
    """Responds to the first bytes and half-closes, while the client's next bytes are unread."""

    def __init__(self) -> None:
        self.ended = 0
        self.transport: asyncio.Transport | None = None

    def data_received(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.pause_reading()
        self.transport.write(ANSWER)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def end(self, exc: Exception | None) -> None:
        self.ended += 1


async def connected() -> tuple[asyncio.Server, Answering, socket.socket]:
    loop = asyncio.get_running_loop()
    answering = Answering()
    server = await loop.create_server(lambda: answering, "127.0.0.1", 0)
    client = socket.create_connection(server.sockets[0].getsockname()[:2])
    client.setblocking(False)
    return server, answering, client


async def test_the_last_answer_arrives_though_more_was_asked() -> None:
    loop = asyncio.get_running_loop()
    server, answering, client = await connected()
    await loop.sock_sendall(client, b"first")
    await eventually(lambda: answering.transport, "the connection")
    await asyncio.sleep(0.05)
    await loop.sock_sendall(client, b"second" * 1_000)
    assert answering.transport is not None
    assert half_close(answering.transport, answering.end, True)
    got = b""
    while piece := await loop.sock_recv(client, 4_096):
        got += piece
    assert got == ANSWER
    assert not answering.ended
    client.close()
    await eventually(lambda: answering.ended == 1, "the end")
    server.close()


async def test_a_client_that_does_not_look_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transports, "HALF_CLOSED_SECONDS", 0.01)
    server, answering, client = await connected()
    await eventually(lambda: answering.transport, "the connection")
    assert answering.transport is not None
    assert half_close(answering.transport, answering.end, False)
    await eventually(lambda: answering.ended == 1, "the end")
    client.close()
    server.close()


async def test_what_has_no_end_of_one_side_is_left_to_the_caller() -> None:
    transport = FakeTransport()
    assert not half_close(transport, lambda _: None, False)
    assert transport.protocol is None


class CountingTransport(FakeTransport):
    """Counts the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.calls.append("write")
        super().write(data)

    def writelines(self, list_of_data: object) -> None:
        self.calls.append("writelines")
        assert isinstance(list_of_data, list)
        self.written += b"".join(list_of_data)


@pytest.mark.parametrize(
    ("pieces", "call"),
    [
        ([b"one"], "write"),
        ([bytes(JOIN_LIMIT + 1)], "write"),
        ([b"one", b"two"], "write"),
        ([bytes(JOIN_LIMIT), b"two"], "writelines"),
    ],
)
def test_pieces(pieces: list[bytes], call: str) -> None:
    transport = CountingTransport()
    write(transport, list(pieces))
    assert transport.calls == [call]
    assert transport.written == b"".join(pieces)
