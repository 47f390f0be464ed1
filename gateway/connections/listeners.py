"""The ports of one worker: each listener's bootstrap port, and one for each broker it may get.

All are bound from the start, so that no port moves when a broker joins. Workers share the ports
(SO_REUSEPORT). A listener whose brokers have names (SNI) has one port.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from gateway.broker_names import BrokerNames
from gateway.config.models import Listener
from gateway.config.security import ListenerTls, Unauthenticated
from gateway.node_ids import NodeIdRanges
from gateway.tls.files import TlsError
from gateway.tls.handshake import Arrival, Handshake
from gateway.tls.listener import TlsListener
from gateway.virtual_brokers import ListenerAddresses

log = logging.getLogger(__name__)

BACKLOG = 1024

Accept = Callable[[Listener, ListenerAddresses, int | None], asyncio.Protocol]
"""(listener, its addresses, the broker that the client connects to) -> the client's side.

With TLS it is called after the handshake."""

Refused = Callable[[Listener, str, str], None]
"""(listener, the client's ``host:port``, why it is not let in): its TLS did not come about."""

Waiting = Callable[[str], int]
"""Connections of a listener that have done their TLS and not yet said who they are."""


class Listeners:
    """What is bound. ``accept`` makes the protocol of each client that connects."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        ranges: NodeIdRanges,
        accept: Accept,
        *,
        refused: Refused,
        limits: Unauthenticated | None = None,
        waiting: Waiting = lambda _: 0,
    ) -> None:
        self._listeners = listeners
        self._ranges = ranges
        self._accept = accept
        self._refused = refused
        self._limits = limits or Unauthenticated()
        self._waiting = waiting
        self._servers: list[asyncio.Server] = []
        self._tls: list[TlsListener] = []
        self._gates: dict[str, _Gate] = {}
        self._outside: dict[str, int] = {}

    async def start(self) -> None:
        """Bind every port.

        Raises OSError with the address that cannot be bound, TlsError and InvalidRules.
        """
        for listener in self._listeners:
            await self._listen(listener)

    def stop(self) -> None:
        """Accept no more, and end what has not done its TLS; open connections stay."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        for gate in self._gates.values():
            gate.abort()

    def reload(self) -> None:
        """New connections get the TLS files as they are now. Called once a second."""
        for tls in self._tls:
            tls.reload()

    def handshaking(self, listener: str) -> int:
        """How many clients of a listener have not done their TLS yet."""
        gate = self._gates.get(listener)
        return 0 if gate is None else len(gate.handshakes)

    def take_outside(self) -> dict[str, int]:
        """Brokers without an address, by listener, since the last call."""
        outside, self._outside = self._outside, {}
        return outside

    async def _listen(self, listener: Listener) -> None:
        addresses = listener_addresses(listener, self._ranges)
        addresses.on_outside = lambda node_id: self._node_outside(listener.name, node_id)
        tls = None
        if listener.tls is not None:
            tls = _tls_of(listener, listener.tls, addresses)
            self._tls.append(tls)
            self._gates[listener.name] = _Gate(listener, self._limits, self._refused, self._waiting)
        await self._bind(listener, tls, listener.port, None, addresses)
        for port, node_id in addresses.ports().items():
            await self._bind(listener, tls, port, node_id, addresses)

    async def _bind(
        self,
        listener: Listener,
        tls: TlsListener | None,
        port: int,
        node_id: int | None,
        addresses: ListenerAddresses,
    ) -> None:
        def plain() -> asyncio.Protocol:
            return self._accept(listener, addresses, node_id)

        def named(name_of: int | None) -> asyncio.Protocol:
            return self._accept(listener, addresses, node_id if name_of is None else name_of)

        def encrypted() -> asyncio.Protocol:
            assert tls is not None
            gate = self._gates[listener.name]
            seconds = self._limits.max_seconds
            return Arrival(
                lambda taken, address: Handshake(tls, gate, named, address).begin(taken, seconds)
            )

        server = await asyncio.get_running_loop().create_server(
            plain if tls is None else encrypted,
            listener.bind,
            port,
            reuse_port=True,
            backlog=BACKLOG,
        )
        self._servers.append(server)

    def _node_outside(self, listener: str, node_id: int) -> None:
        self._outside[listener] = self._outside.get(listener, 0) + 1
        log.warning(
            "broker %d is outside node_ids of listener %s and is not advertised", node_id, listener
        )


def _tls_of(listener: Listener, tls: ListenerTls, addresses: ListenerAddresses) -> TlsListener:
    identifies = listener.security_protocol == "SSL"
    try:
        return TlsListener(listener.name, tls, addresses.names, identifies=identifies)
    except TlsError as error:
        raise TlsError(f"listener {listener.name}: {error.key}", error.reason) from None


class _Gate:
    """The handshakes of one listener."""

    def __init__(
        self, listener: Listener, limits: Unauthenticated, refused: Refused, waiting: Waiting
    ) -> None:
        self._listener = listener
        self._limits = limits
        self._refused = refused
        self._waiting = waiting
        self.handshakes: set[Handshake] = set()

    def enter(self, handshake: Handshake) -> bool:
        count = len(self.handshakes) + self._waiting(self._listener.name)
        if count >= self._limits.max_connections:
            return False
        self.handshakes.add(handshake)
        return True

    def leave(self, handshake: Handshake) -> None:
        self.handshakes.discard(handshake)

    def refused(self, address: str, reason: str) -> None:
        self._refused(self._listener, address, reason)

    def abort(self) -> None:
        for handshake in list(self.handshakes):
            handshake.abort()


def listener_addresses(listener: Listener, ranges: NodeIdRanges) -> ListenerAddresses:
    """What a listener advertises. Raises ValueError for what is no address."""
    host = listener.advertised_host
    if listener.broker_names is None:
        return ListenerAddresses(host, listener.broker_base_port, ranges)
    names = BrokerNames(listener.broker_names, host, ranges)
    return ListenerAddresses(host, listener.port, ranges, names=names)
