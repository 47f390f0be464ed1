"""The broker's side of a client connection, as callbacks on the event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final, Protocol, cast

from gateway.brokers.resets import reset
from gateway.connections.broker_room import Place
from gateway.connections.closing import TOO_MANY_LINGERING, guarded
from gateway.connections.tenants import Refused, Tenant
from gateway.connections.transports import WRITE_HIGH, write
from gateway.exchanges.framing import Buffer
from gateway.session.session import Session

LINGER_SECONDS: Final = 60.0
"""Seconds that a connection lingers at most: longer than clients let a broker wait for its replicas
(Produce: timeout_ms)."""

MAX_LINGERING: Final = 1_000
"""Connections of a worker that may linger at once. Each holds a broker connection for up to a
minute, so without a limit clients that connect and leave could hold any number."""


class ClientSide(Protocol):
    """The methods of the client's side that the broker's side calls: ``connection.Connection``,
    which has the broker's side. Tests fill it in, because who lingers is tested without clients."""

    session: Session

    @property
    def tenant(self) -> Tenant: ...
    def broker_connected(self, broker: BrokerSide) -> None: ...
    def broker_data(self, data: bytes) -> None: ...
    def broker_full(self, full: bool) -> None: ...
    def broker_lost(self, exc: Exception | None) -> None: ...
    def lingered(self) -> None: ...
    def reset(self, reason: str) -> None: ...
    def fail(self, error: Exception) -> None: ...


class BrokerSide(asyncio.Protocol):
    """The broker's side of a client connection.

    It may outlive the client's side. A producer that wants no responses (acks=0) sends and leaves,
    but a broker stops reading if it cannot write a response, and it has to write responses if acks
    were raised. A topic that is moved or deleted also waits for the requests that were sent to it:
    a response shows that a broker is done, but the end of a connection does not. ``place`` is the
    connection's place at the broker, which is released with it.
    """

    __slots__ = ("_client", "_held", "_lingering", "_place", "_transport", "_unheard")

    def __init__(self, client: ClientSide, place: Place) -> None:
        self._client = client
        self._place: Place | None = place
        self._unheard = not place.answered
        self._transport: asyncio.Transport | None = None
        self._held = False
        self._lingering: asyncio.TimerHandle | None = None

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH)
        self._client.broker_connected(self)

    def data_received(self, data: bytes) -> None:
        """Take responses, or pieces of them."""
        if self._unheard:
            self._heard()
        self._client.broker_data(data)
        if self._lingering is not None:
            self.end_if_answered()

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._unheard and self._was_refused():
            exc = Refused()
        elif self._place is not None:
            self._place.ended()
        self._client.broker_lost(exc)
        self._leave()
        self.end_lingering()

    def _heard(self) -> None:
        self._unheard = False
        if self._place is not None:
            self._place.heard()

    def _was_refused(self) -> bool:
        """Whether the broker closed the connection without accepting it. If a request without a
        response (acks=0) is under way, the broker may have closed the connection for that, so this
        returns False."""
        place = self._place
        if place is None or not place.is_new or self._client.session.unsettled:
            return False
        place.refused()
        return True

    def used(self) -> None:
        """Note that the connection was in use recently."""
        if self._place is not None:
            self._place.used()

    def _leave(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            place.leave()

    @guarded
    def pause_writing(self) -> None:
        self._client.broker_full(True)

    @guarded
    def resume_writing(self) -> None:
        self._client.broker_full(False)

    def write(self, pieces: list[Buffer]) -> None:
        """Send the session's frames to the broker."""
        if self._transport is not None:
            write(self._transport, pieces)

    def hold(self, held: bool) -> None:
        """Stop reading from the broker, or resume."""
        if held is not self._held and self._transport is not None:
            self._held = held
            if held:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        """Close the broker connection, unless it lingers."""
        if self._transport is not None and self._lingering is None:
            self._leave()
            self._transport.close()

    @guarded
    def reset(self) -> None:
        """Reset the connection, so that the broker drops the requests that it has not begun
        with."""
        if self._transport is not None:
            reset(self._transport)
        self.abort()

    def abort(self) -> None:
        """Close the connection at once, even if it lingers."""
        self._leave()
        lingering, self._lingering = self._lingering, None
        transport, self._transport = self._transport, None
        if lingering is not None:
            lingering.cancel()
        if transport is not None:
            transport.abort()
        if lingering is not None:
            self._client.lingered()

    def fail(self, error: Exception) -> None:
        """Close both sides after a callback has failed."""
        self._client.fail(error)

    @property
    def lingering(self) -> bool:
        """Whether the broker's side goes on without its client."""
        return self._lingering is not None

    def linger(self, *, held: bool = False) -> None:
        """Go on without the client: read the responses that the broker still owes (later, if it is
        ``held``), send the requests that are held behind them, then close."""
        self.hold(held)
        loop = asyncio.get_running_loop()
        self._lingering = loop.call_later(LINGER_SECONDS, self.reset)

    def prove(self) -> bool:
        """Send a request whose response shows that the silent requests before it were carried out;
        see ``Requests.prove``."""
        session = self._client.session
        asked = session.prove()
        if asked:
            self.write(session.to_broker)
            session.to_broker.clear()
        return asked

    @guarded
    def end_if_answered(self) -> None:
        """Close the connection if it lingers and nothing is left to wait for."""
        session = self._client.session
        if session.owing or session.waiting is not None:
            return
        if self._lingering is None or not self.prove():
            self.end_lingering()

    @guarded
    def end_lingering(self) -> None:
        """Close the connection now; does nothing unless it lingers."""
        lingering, self._lingering = self._lingering, None
        if lingering is not None:
            lingering.cancel()
            self.close()
            self._client.lingered()


class Lingering:
    """The connections of a worker that still wait for a broker although their clients have
    gone."""

    def __init__(self, most: int = MAX_LINGERING) -> None:
        self._most = most
        self._clients: dict[ClientSide, None] = {}

    def add(self, client: ClientSide) -> None:
        """Track a connection whose broker's side goes on alone. If there are too many, find the
        principal or address with the most, and reset its oldest."""
        self._clients[client] = None
        if len(self._clients) > self._most:
            whose, _ = Counter(each.tenant for each in self._clients).most_common(1)[0]
            oldest = next(each for each in self._clients if each.tenant == whose)
            oldest.reset(f"{TOO_MANY_LINGERING}: what the client has left behind may not be done")

    def ended(self, client: ClientSide) -> None:
        """Stop tracking a connection; does nothing if it was not tracked."""
        self._clients.pop(client, None)
