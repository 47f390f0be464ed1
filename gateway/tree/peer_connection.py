"""A connection of a peer, another gateway of the tree that sends questions, as callbacks.

A peer sends Kafka's frames, but only ApiVersions and Envelope requests (KIP-590) are served. Its
requests are answered in order, and nothing is read while a request is under way: a peer that wants
several answers at once opens several connections.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final, Protocol

from gateway.config.tree import Peer
from gateway.connections.base import BaseConnection, BaseHub
from gateway.connections.closing import guarded
from gateway.connections.connection import DRAINED
from gateway.connections.transports import WRITE_HIGH, close
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.framing import SMALL
from gateway.referrals import envelope
from gateway.referrals.questions import Answer, Question
from gateway.rules import api_versions
from gateway.rules.api_versions import API_VERSIONS, OWN_VERSIONS
from gateway.session.streamed import MIN_REQUEST
from gateway.slices import SLICE_SECONDS
from protocol.errors import ProtocolError
from protocol.headers import (
    SIZE_PREFIX,
    frame,
    read_request_header,
    response_header,
    response_header_version,
)
from protocol.schema import api_name

NOT_KAFKA: Final = "peer sent what is not for peers"

SERVED: Final = {
    API_VERSIONS: OWN_VERSIONS,
    envelope.API_KEY: (envelope.VERSION, envelope.VERSION),
}
"""Lowest and highest version of the APIs that peers may use."""


class PeerHub(BaseHub, Protocol):
    """The port that a peer has connected to: ``peer_listener.PeerListener``, which makes these
    connections. Tests fill it in, because a connection is tested without TLS and a port."""

    def admit(self, connection: PeerConnection, transport: asyncio.BaseTransport) -> Peer | None:
        """The peer that the connection's certificate belongs to, or None if it belongs to no peer,
        or the peer has too many connections; then the connection has been closed."""
        ...

    def closed(self, connection: PeerConnection) -> None:
        """Stop tracking a connection that is gone, whether or not it was admitted."""
        ...

    def holds_more(self, connection: PeerConnection, change: int) -> None:
        """Note that a connection holds ``change`` bytes more, or fewer, of requests not served
        yet."""
        ...

    def asked(self, connection: PeerConnection) -> None:
        """Note that a peer has sent a request."""
        ...

    async def answer(self, peer: Peer, question: Question) -> Answer:
        """The answer to a peer's question."""
        ...


class PeerConnection(BaseConnection):
    """This gateway's side of the connection. ``peer`` is None until it is known; ``closing``: it
    drains."""

    __slots__ = ("_counted", "_full", "_heard", "_most", "_paused", "_received", "closing", "peer")

    _hub: PeerHub

    def __init__(self, hub: PeerHub, listener: str, most: int) -> None:
        """``most`` is the size of the longest request, in bytes."""
        super().__init__(hub, listener, None)
        self.peer: Peer | None = None
        self.closing = False
        self._most = most
        self._received = bytearray()
        self._counted = 0
        self._full = False
        self._heard = False
        self._paused = False

    # -- the transport -----------------------------------------------------------------------------

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the connection of a peer, as its certificate shows now that TLS is done."""
        self.take_over(transport).set_write_buffer_limits(WRITE_HIGH)
        self.peer = self._hub.admit(self, transport)

    @guarded
    def data_received(self, data: bytes) -> None:
        """Take requests, or pieces of them."""
        if self._transport is not None:
            self._heard = True
            self._received += data
            self._go_on()
            self._count()

    def _count(self) -> None:
        """Report the number of bytes held now, if it is more than a connection costs anyway."""
        held = len(self._received)
        counted = held if held > SMALL else 0
        change, self._counted = counted - self._counted, counted
        if change and self._transport is not None:
            self._hub.holds_more(self, change)

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """Note why the connection has ended: the peer closed it, or this gateway did."""
        if self._transport is None:
            pass  # it was closed here
        elif exc is not None:
            # If it has sent nothing, it only checked whether this gateway is up.
            self.close(f"peer connection failed: {exc}", quietly=not self._heard)
        elif self._received or self._task is not None:
            self.close("peer closed in the middle of a request")
        else:
            self.close("peer closed", quietly=True)
        self._hub.closed(self)

    @guarded
    def pause_writing(self) -> None:
        """Stop serving requests while the peer reads slowly."""
        self._full = True
        self._balance()

    @guarded
    def resume_writing(self) -> None:
        self._full = False
        self._go_on()

    # -- requests ----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Serve requests that have arrived, until a request takes time, or a turn of the loop is
        spent."""
        turn_ends = monotonic() + SLICE_SECONDS
        try:
            while self._ready and (request := self._next()) is not None:
                self._hub.asked(self)
                self._serve(request)
                if self._task is None and self._received and monotonic() > turn_ends:
                    self._task = self._hub.spawn(self, self._go_on_later())
        except ProtocolError as error:
            self.close(f"{NOT_KAFKA}: {error}")
        self._balance()

    async def _go_on_later(self) -> None:
        """Let other connections have their turn, then go on."""
        await asyncio.sleep(0)
        self._begin_next()

    def _begin_next(self) -> None:
        """Go on with requests that have arrived while the task ran, which is done."""
        self._task = None
        if self._transport is None:
            return
        self._go_on()
        self._count()
        if self.closing:
            self.close(DRAINED, quietly=True)

    @property
    def _ready(self) -> bool:
        """Whether the next request may be served."""
        idle = self._task is None and not self._full
        return idle and self.peer is not None and self._transport is not None and not self.closing

    def _next(self) -> bytes | None:
        """The next whole request, without its size. Raises ProtocolError for a size that no request
        has, as soon as the size is there."""
        received = self._received
        if len(received) < SIZE_PREFIX.size:
            return None
        (size,) = SIZE_PREFIX.unpack_from(received)
        if not MIN_REQUEST <= size <= self._most:
            raise ProtocolError(
                f"a request of {size} bytes; {MIN_REQUEST} to {self._most} are allowed"
            )
        end = SIZE_PREFIX.size + size
        if len(received) < end:
            return None
        request = bytes(received[SIZE_PREFIX.size : end])
        del received[:end]
        return request

    def _serve(self, request: bytes) -> None:
        """Respond to a request, or begin to. Raises ProtocolError for an API that is not served."""
        api_key, version, correlation_id, _, start = read_request_header(request, 0, len(request))
        body = request[start:]
        if api_key == API_VERSIONS:
            self._send(api_key, version, correlation_id, _versions(version, body))
        elif api_key == envelope.API_KEY and version == envelope.VERSION:
            question = envelope.read_request(body)
            self._task = self._hub.spawn(self, self._answer(correlation_id, question))
        else:
            raise ProtocolError(f"{api_name(api_key)} version {version} is not served here")

    async def _answer(self, correlation_id: int, question: Question) -> None:
        """Answer a question, in a task. Any exception closes the connection."""
        assert self.peer is not None
        answer = await self._hub.answer(self.peer, question)
        if self._transport is not None:
            body = envelope.response_body(answer)
            self._send(envelope.API_KEY, envelope.VERSION, correlation_id, body)
        self._begin_next()

    def _send(self, api_key: int, version: int, correlation_id: int, body: bytes) -> None:
        assert self._transport is not None
        header = response_header(correlation_id, response_header_version(api_key, version))
        self._transport.write(frame(header, body))

    def _balance(self) -> None:
        """Read from the peer only while its next request could be served."""
        if self._transport is None or self._paused is not self._ready:
            return
        self._paused = not self._paused
        if self._paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # -- the end -----------------------------------------------------------------------------------

    @guarded
    def finish(self) -> None:
        """Drain: begin no more questions, and close once the question under way is answered."""
        self.closing = True
        self._balance()
        if self._task is None:
            self.close(DRAINED, quietly=True)

    def close(self, reason: str, *, quietly: bool = False, error: Exception | None = None) -> None:
        """See :meth:`BaseConnection.close`; a question under way is dropped."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self._hub.note_close(self, reason, quietly=quietly, error=error)
        self._received.clear()
        close(transport)
        if self._task is not None:
            self._task.cancel()


def _versions(version: int, body: bytes) -> bytes:
    """The ApiVersions response; an unknown version gets the form of version 0 (KIP-511). Raises
    ProtocolError for an unreadable body."""
    first, last = OWN_VERSIONS
    if not first <= version <= last:
        return api_versions.unsupported_version()
    try:
        api_versions.client_software(version, body)
    except api_versions.InvalidClientSoftware:
        return api_versions.rejected(version, INVALID_REQUEST)
    return api_versions.between_peers(version, SERVED)
