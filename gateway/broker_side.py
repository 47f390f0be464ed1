"""The broker's side of a client connection, as callbacks on the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from gateway.framing import Buffer
from gateway.writing import WRITE_HIGH, write

if TYPE_CHECKING:
    from gateway.connection import Connection


class BrokerSide(asyncio.Protocol):
    """The broker's side of a connection."""

    __slots__ = ("_connection", "_held", "_transport")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._transport: asyncio.Transport | None = None
        self._held = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected: the client's side goes on."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH)
        self._connection.broker_connected(self)

    def data_received(self, data: bytes) -> None:
        """Responses, or pieces of them."""
        self._connection.broker_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The broker went away."""
        self._transport = None
        self._connection.broker_lost(exc)

    def pause_writing(self) -> None:
        """The broker reads slowly."""
        self._connection.broker_full(True)

    def resume_writing(self) -> None:
        """The broker has caught up."""
        self._connection.broker_full(False)

    def write(self, pieces: list[Buffer]) -> None:
        """Send what the session made."""
        if self._transport is not None:
            write(self._transport, pieces)

    def hold(self, held: bool) -> None:
        """Stop or go on reading."""
        if held is not self._held and self._transport is not None:
            self._held = held
            if held:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        """End the broker connection."""
        if self._transport is not None:
            self._transport.close()
