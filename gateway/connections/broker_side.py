"""The broker's side of a client connection, as callbacks on the event loop."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from gateway.connections.closing import guarded
from gateway.connections.transports import WRITE_HIGH, write
from gateway.exchanges.framing import Buffer
from gateway.session.session import Session

LINGER_SECONDS: Final = 60.0
"""Longer than clients let a broker wait for its replicas (Produce: timeout_ms)."""

MAX_LINGERING: Final = 1_000
"""At once. Each keeps a connection to a broker for a minute at most, so clients that come and go
could hold as many as they like."""


class ClientSide(Protocol):
    """The client's side, as far as the broker's side calls it (``connection.Connection``)."""

    session: Session

    def broker_connected(self, broker: BrokerSide) -> None: ...
    def broker_data(self, data: bytes) -> None: ...
    def broker_full(self, full: bool) -> None: ...
    def broker_lost(self, exc: Exception | None) -> None: ...
    def lingered(self) -> None: ...
    def fail(self, error: Exception) -> None: ...


class BrokerSide(asyncio.Protocol):
    """The broker's side of a connection.

    It may outlive the client's: a producer that wants no responses (acks=0) sends and leaves, but a
    broker reads no further once it cannot write a response, which it has to where acks were raised.
    """

    __slots__ = ("_client", "_held", "_lingering", "_transport")

    def __init__(self, client: ClientSide) -> None:
        self._client = client
        self._transport: asyncio.Transport | None = None
        self._held = False
        self._lingering: asyncio.TimerHandle | None = None

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH)
        self._client.broker_connected(self)

    def data_received(self, data: bytes) -> None:
        """Responses, or pieces of them."""
        self._client.broker_data(data)
        if self._lingering is not None:
            self._end_if_answered()

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._client.broker_lost(exc)
        self.end_lingering()

    @guarded
    def pause_writing(self) -> None:
        self._client.broker_full(True)

    @guarded
    def resume_writing(self) -> None:
        self._client.broker_full(False)

    def write(self, pieces: list[Buffer]) -> None:
        """Send what the session made."""
        if self._transport is not None:
            write(self._transport, pieces)

    def hold(self, held: bool) -> None:
        """Stop reading, or go on with it."""
        if held is not self._held and self._transport is not None:
            self._held = held
            if held:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        """Close the broker connection, unless it lingers."""
        if self._transport is not None and self._lingering is None:
            self._transport.close()

    def abort(self) -> None:
        """Close it at once, lingering or not."""
        lingering, self._lingering = self._lingering, None
        transport, self._transport = self._transport, None
        if lingering is not None:
            lingering.cancel()
        if transport is not None:
            transport.abort()
        if lingering is not None:
            self._client.lingered()

    def fail(self, error: Exception) -> None:
        """A callback has failed: both sides close."""
        self._client.fail(error)

    @property
    def lingering(self) -> bool:
        """True while the broker's side goes on without its client."""
        return self._lingering is not None

    def linger(self) -> None:
        """The client is gone: read the responses that the broker still owes, then close."""
        self.hold(False)
        loop = asyncio.get_running_loop()
        self._lingering = loop.call_later(LINGER_SECONDS, self.end_lingering)

    @guarded
    def _end_if_answered(self) -> None:
        if not self._client.session.owing:
            self.end_lingering()

    @guarded
    def end_lingering(self) -> None:
        """Close it now, if it lingers."""
        lingering, self._lingering = self._lingering, None
        if lingering is not None:
            lingering.cancel()
            self.close()
            self._client.lingered()


class Lingering:
    """The connections of one worker that wait for a broker after their clients have gone."""

    def __init__(self, most: int = MAX_LINGERING) -> None:
        self._most = most
        self._clients: set[ClientSide] = set()

    def linger(self, client: ClientSide, broker: BrokerSide | None) -> bool:
        """Let the broker's side of a connection that closes linger, if the broker owes responses;
        False: it had to linger, and too many do."""
        if broker is None or broker.lingering or not client.session.owing:
            return True
        if len(self._clients) >= self._most:
            return False
        self._clients.add(client)
        broker.linger()
        return True

    def ended(self, client: ClientSide) -> None:
        """Stop tracking a connection; does nothing if it was not tracked."""
        self._clients.discard(client)
