"""A bound listener for tests: a protocol that takes its connections over, and its clients."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, cast

from devkit.ports import free_ports
from gateway.config.models import Listener
from gateway.config.reach import addresses_of
from gateway.config.security import Unauthenticated
from gateway.connections.listeners import Accept, Listeners
from gateway.connections.waiting_clients import UnauthenticatedClients
from gateway.counts import Counts, Row
from gateway.node_ids import NodeIdRanges
from gateway.tls.principal_mapping import identity_of
from gateway.virtual_brokers import Target, Volume
from tests.tls.pki import Pki
from tests.waiting import eventually

RANGES = NodeIdRanges.parse(["1-2", "7"])
NO_TREE = (Volume("", 0, RANGES),)
NAMES = "b{node_id}.gw.localhost"

Test = Callable[[], Coroutine[Any, Any, None]]
Run = Callable[[Test], None]


class Echo(asyncio.Protocol):
    """The protocol that takes a connection over: it sends back the bytes that it gets."""

    def __init__(self, node_id: int | None, volume: str, *, gateway: bool = False) -> None:
        self.node_id = node_id
        self.volume = volume
        self.gateway = gateway
        self.principal = ""
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the client's principal, which is known by now."""
        self.transport = cast(asyncio.Transport, transport)
        self.principal = identity_of(transport).principal

    def data_received(self, data: bytes) -> None:
        """Send the bytes back."""
        self.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        self.lost.set()


class Bound:
    """A bound listener, and its clients' connections."""

    def __init__(
        self, listener: Listener, volumes: Sequence[Volume] = NO_TREE, **limits: Any
    ) -> None:
        self.listener = listener
        self.volumes = volumes
        self.accepted: list[Echo] = []
        self.rejected: list[tuple[str, str]] = []
        self.errors: list[Exception | None] = []
        self.full = 0
        self.counts = Counts()
        self.unauthenticated = UnauthenticatedClients(Unauthenticated(**limits))
        self.listeners = self.bind(self._accept, **limits)

    def bind(self, accept: Accept, **limits: Any) -> Listeners:
        """The listener, whose connections ``accept`` takes over."""
        return Listeners(
            [self.listener],
            {
                self.listener.name: addresses_of(
                    self.listener, self.volumes, self.listener.volume or ""
                )
            },
            accept,
            rejected=self._rejected,
            limits=Unauthenticated(**limits),
            unauthenticated={self.listener.name: self.unauthenticated},
            make_room=self._make_room,
            counts=self.counts,
        )

    def counted(self) -> list[Row]:
        """The rows counted since the last call."""
        return list(self.counts.take())

    def _rejected(
        self, listener: Listener, address: str, reason: str, error: Exception | None
    ) -> None:
        self.rejected.append((address, reason))
        self.errors.append(error)

    def _make_room(self, name: str) -> None:
        assert name == self.listener.name
        self.full += 1

    def _accept(self, listener: Listener, target: Target) -> Echo:
        assert listener is self.listener
        self.accepted.append(Echo(target.node_id, target.volume, gateway=target.gateway))
        return self.accepted[-1]

    async def __aenter__(self) -> Bound:
        await self.listeners.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.listeners.stop()
        for each in self.accepted:
            each.transport.abort()
        await eventually(
            lambda: all(each.lost.is_set() for each in self.accepted), "connections end"
        )

    async def connect(
        self, context: ssl.SSLContext | None, name: str = "localhost", *, place: int | None = None
    ) -> Client:
        """A client of the bootstrap port, or of a broker's port by its place. Raises OSError."""
        port = self.listener.port
        if place is not None:
            port = self.listener.broker_base_port + place
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname=None if context is None else name
        )
        return Client(reader, writer)


class Client:
    """A client that can send and get an echo; ``address`` is its own ``host:port``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        host, port = writer.get_extra_info("sockname")
        self.address = f"{host}:{port}"

    async def echo(self, data: bytes) -> bytes:
        """Send and receive. Raises OSError, and EOFError if the connection has ended."""
        self.writer.write(data)
        return await self.reader.readexactly(len(data))

    async def close(self) -> None:
        """Close the connection, whatever the other side does."""
        self.writer.close()
        await quietly(self.writer.wait_closed())


async def quietly(waiting: Awaitable[object]) -> None:
    """Wait for an awaitable that may fail."""
    with suppress(OSError):
        await waiting


def plain(**settings: Any) -> Listener:
    """A listener on free ports, without TLS unless ``tls`` is given."""
    ports = free_ports(2 + RANGES.size)
    if settings.pop("in_fleet", False):
        settings["gateway_port"] = ports[-1]
    return Listener(name="here", port=ports[0], broker_base_port=ports[1], **settings)


def secure(pki: Pki, **settings: Any) -> Listener:
    """A listener with TLS; ``settings`` are its TLS settings."""
    return plain(security_protocol="SSL", tls=pki.listener(**settings))


def by_name(pki: Pki, **settings: Any) -> Listener:
    """A listener whose brokers have names."""
    (port,) = free_ports(1)
    return Listener(
        name="here",
        port=port,
        advertised_host="gw.localhost",
        security_protocol="SSL",
        tls=pki.listener(),
        broker_names=NAMES,
        **settings,
    )
