"""The broker's side of a client connection, as callbacks on the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from gateway.connections.guarding import guarded
from gateway.connections.writing import WRITE_HIGH, write
from gateway.exchanges.framing import Buffer

if TYPE_CHECKING:
    from gateway.connections.connection import Connection


LINGER_SECONDS: Final = 60.0
"""Longer than clients let a broker wait for its replicas (Produce: timeout_ms)."""


class BrokerSide(asyncio.Protocol):
    """The broker's side of a connection.

    It may outlive the client's: a producer that wants no responses (acks=0) sends and leaves, but a
    broker reads no further once it cannot write a response, which it has to where acks were raised.
    """

    __slots__ = ("_connection", "_held", "_lingering", "_transport")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._transport: asyncio.Transport | None = None
        self._held = False
        self._lingering: asyncio.TimerHandle | None = None

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected: the client's side goes on."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH)
        self._connection.broker_connected(self)

    def data_received(self, data: bytes) -> None:
        """Responses, or pieces of them."""
        self._connection.broker_data(data)
        if self._lingering is not None:
            self._end_if_paid()

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """The broker went away."""
        self._transport = None
        self._connection.broker_lost(exc)
        self.end_lingering()

    @guarded
    def pause_writing(self) -> None:
        """The broker reads slowly."""
        self._connection.broker_full(True)

    @guarded
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
        """End the broker connection, unless it lingers."""
        if self._transport is not None and self._lingering is None:
            self._transport.close()

    def abort(self) -> None:
        """End it at once, lingering or not."""
        lingering, self._lingering = self._lingering, None
        transport, self._transport = self._transport, None
        if lingering is not None:
            lingering.cancel()
        if transport is not None:
            transport.abort()
        if lingering is not None:
            self._connection.left()

    def fail(self, error: Exception) -> None:
        """A callback has failed: both sides end."""
        self._connection.fail(error)

    @property
    def lingering(self) -> bool:
        """Whether it goes on without its client."""
        return self._lingering is not None

    def linger(self) -> None:
        """The client is gone: take what the broker owes to nobody, then end."""
        self.hold(False)
        loop = asyncio.get_running_loop()
        self._lingering = loop.call_later(LINGER_SECONDS, self.end_lingering)

    @guarded
    def _end_if_paid(self) -> None:
        if not self._connection.session.owing:
            self.end_lingering()

    @guarded
    def end_lingering(self) -> None:
        """End it now, if it lingers."""
        lingering, self._lingering = self._lingering, None
        if lingering is not None:
            lingering.cancel()
            self.close()
            self._connection.left()
