"""The base of client connections, whether they log in or have been admitted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, cast

from gateway.cluster.link import ClusterUnreachable
from gateway.connections.closing import GAVE_WAY, NO_ROOM, Guarded, close_failed
from gateway.connections.tenants import NoRoom, Refused
from gateway.peers import address_text, host_text


class BaseHub(Protocol):
    """The owner of a connection: a worker's ``clients.Clients``, or its port for peers,
    ``peer_listener.PeerListener``."""

    def note_close(
        self,
        connection: BaseConnection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        """Log and count why a connection closes, with the traceback of ``error``."""
        ...

    def spawn(self, owner: Guarded, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work of a connection in a task; if it fails, ``owner`` is closed."""
        ...


class BaseConnection(asyncio.Protocol):
    """The client's side of a connection. ``node_id`` is the broker that its port stands for, or
    None on a bootstrap port.

    ``client_address`` is ``host:port``, and ``host`` is the IP address as ACLs write it.
    """

    __slots__ = (
        "_hub",
        "_task",
        "_transport",
        "client_address",
        "host",
        "listener",
        "node_id",
    )

    def __init__(self, hub: BaseHub, listener: str, node_id: int | None) -> None:
        self._hub = hub
        self.listener = listener
        self.node_id = node_id
        self.client_address = ""
        self.host = ""
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None

    def take_over(self, transport: asyncio.BaseTransport) -> asyncio.Transport:
        """Store the client's transport, and its address."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.client_address = address_text(peer)
        self.host = host_text(peer)
        return self._transport

    def close(self, reason: str, *, quietly: bool = False, error: Exception | None = None) -> None:
        """Close both sides, and log the client and the reason, with the traceback of ``error`` if
        that is the cause."""
        raise NotImplementedError

    def give_way(self, reason: str) -> None:
        """Close the connection to make room for another."""
        self.close(reason, quietly=reason == GAVE_WAY)

    def fail(self, error: Exception) -> None:
        """Close both sides at once after a callback or a task of this connection has failed."""
        transport = self._transport
        close_failed(lambda reason: self.close(reason, error=error), error)
        self._transport = None
        if transport is not None:
            transport.abort()
        self._abort_broker()

    def _abort_broker(self) -> None:
        """Abort the broker's side, if the connection has one and it is open."""

    async def _connect(self, open_broker: Callable[[], Awaitable[None]]) -> None:
        """Connect to the broker; if that fails, close the connection."""
        try:
            await open_broker()
        except (OSError, ClusterUnreachable) as error:
            self._task = None
            if isinstance(error, NoRoom | Refused):
                self.close(f"{NO_ROOM}: {error}", quietly=True)
            else:
                self.close(f"no broker connection: {error}")
