"""The ports of a worker: each listener's bootstrap port, and a port for each broker it may get.

All ports are bound from the start, so that no port moves when a broker joins. Workers share the
ports (SO_REUSEPORT). If the brokers of a listener have host names (SNI), it has a single port.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gateway.config.models import Listener
from gateway.config.reach import addresses_of
from gateway.config.security import ListenerTls, Unauthenticated
from gateway.connections.acceptor import (
    Acceptor,
    ConnectionQuota,
    Delays,
    descriptors_left,
    listening_sockets,
)
from gateway.connections.closing import internal_error
from gateway.connections.waiting_clients import UnauthenticatedClients
from gateway.counts import Counts
from gateway.node_ids import NodeIdRanges
from gateway.tls.contexts import TlsError
from gateway.tls.handshake import Gate, Handshake
from gateway.tls.listener import TlsListener
from gateway.virtual_brokers import ListenerAddresses, ReachAddresses, Target, Volume

log = logging.getLogger(__name__)

Accept = Callable[[Listener, Target], asyncio.Protocol]
"""(listener, the target that the client connects to) -> the client's side of the connection.

With TLS it is called after the handshake.
"""

Rejected = Callable[[Listener, str, str, Exception | None], None]
"""(listener, the client's ``host:port``, why it is rejected, the exception if a defect of the
gateway was the cause)."""

MakeRoom = Callable[[str], object]
"""Closes a silent connection of the listener of this name."""


class Listeners:
    """The listeners' ports.

    ``addresses`` are the addresses of each listener, by its name. ``accept`` makes the protocol of
    each client that connects. ``tls_key`` is the configuration key of the listeners' TLS files.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        addresses: Mapping[str, ReachAddresses],
        accept: Accept,
        *,
        rejected: Rejected,
        limits: Unauthenticated,
        unauthenticated: Mapping[str, UnauthenticatedClients],
        make_room: MakeRoom,
        counts: Counts,
        tls_key: str = "listeners[].tls",
    ) -> None:
        self._listeners = listeners
        self._tls_key = tls_key
        self._addresses = addresses
        self._accept = accept
        self._rejected = rejected
        self._limits = limits
        self._unauthenticated = unauthenticated
        self._make_room = make_room
        self._counts = counts
        self._quotas = {one.name: ConnectionQuota.of(one) for one in listeners}
        self._delays = {one.name: Delays(one.name, counts) for one in listeners}
        self._acceptors: list[Acceptor] = []
        self._tls: list[TlsListener] = []
        self._reloading: asyncio.Task[None] | None = None
        self._handshakes: dict[str, _Handshakes] = {}
        self._connecting: set[asyncio.Task[object]] = set()

    async def start(self) -> None:
        """Bind every port, also again after :meth:`stop`.

        Raises OSError with the address that cannot be bound, TlsError and InvalidRules.
        """
        for listener in self._listeners:
            await self._listen(listener)

    def stop(self) -> None:
        """Stop accepting clients, and abort their unfinished TLS handshakes; open connections
        stay."""
        for acceptor in self._acceptors:
            acceptor.stop()
        self._acceptors.clear()
        self._tls.clear()
        for handshakes in self._handshakes.values():
            handshakes.abort()

    def reload(self) -> None:
        """Begin to use the current TLS files for new connections. Called once a second."""
        if self._reloading is None and (touched := [tls for tls in self._tls if tls.touched]):
            loop = asyncio.get_running_loop()
            self._reloading = loop.create_task(self._reload(touched))

    async def _reload(self, touched: Sequence[TlsListener]) -> None:
        """Read TLS files in a thread, because decrypting a key may take seconds."""
        try:
            for tls in touched:
                await asyncio.to_thread(tls.reload)
        except Exception:
            log.exception("the TLS files of listeners could not be read again")
        finally:
            self._reloading = None

    def addresses(self, listener: str, path: str) -> ListenerAddresses:
        """The addresses of a listener for the brokers of a volume in its reach."""
        return self._addresses[listener].by_volume[path]

    def brokers_of(self, listener: str, path: str) -> ListenerAddresses | None:
        """The addresses of a listener for the brokers of a volume, or None if there is no such
        listener, or it does not reach the volume."""
        addresses = self._addresses.get(listener)
        return None if addresses is None else addresses.by_volume.get(path)

    @property
    def accepting(self) -> bool:
        """Whether the system lets clients be accepted, and connected to a broker."""
        return not any(each.failing for each in self._acceptors) and descriptors_left()

    def certificates(self) -> dict[str, float]:
        """Seconds until the certificate of each listener with TLS expires, while they listen."""
        return {tls.name: tls.seconds_left for tls in self._tls}

    async def _listen(self, listener: Listener) -> None:
        addresses = self._addresses[listener.name]
        for path, each in addresses.by_volume.items():
            volume = f" of :{path}" if each.number else ""
            each.on_outside = partial(self._node_outside, listener.name, volume)
        tls = None
        if listener.tls is not None:
            # In a thread, because decrypting its key may take seconds.
            tls = await asyncio.to_thread(_tls_of, listener, listener.tls, addresses, self._tls_key)
            self._tls.append(tls)
            unauthenticated = self._unauthenticated[listener.name]
            self._handshakes[listener.name] = _Handshakes(listener, unauthenticated, self._rejected)
        await self._bind(listener, tls, listener.port, addresses.bootstrap, addresses)
        for port, target in addresses.ports().items():
            await self._bind(listener, tls, port, target, addresses)

    async def _bind(
        self,
        listener: Listener,
        tls: TlsListener | None,
        port: int,
        target: Target,
        addresses: ReachAddresses,
    ) -> None:
        accept = partial(self._accept, listener)

        def named(virtual: int | None) -> asyncio.Protocol:
            return accept(target if virtual is None else addresses.broker(virtual))

        def take(accepted: socket.socket, peer: object) -> None:
            if tls is None:
                self._connect(accept(target), accepted)
            else:
                handshake = Handshake(tls, self._handshakes[listener.name].gate, named, peer)
                handshake.begin(accepted, self._limits.max_seconds)

        sockets = await listening_sockets(listener.bind, port)
        for each in sockets:
            acceptor = Acceptor(
                each,
                self._quotas[listener.name],
                self._delays[listener.name],
                take=take,
                make_room=partial(self._make_room, listener.name),
                rejected=partial(self._rejected, listener),
            )
            self._acceptors.append(acceptor)
            acceptor.start()

    def _connect(self, protocol: asyncio.Protocol, accepted: socket.socket) -> None:
        """Let a protocol take over a client's socket, which the event loop owns from here on."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.connect_accepted_socket(lambda: protocol, accepted))
        self._connecting.add(task)
        task.add_done_callback(partial(self._connected, accepted))

    def _connected(self, accepted: socket.socket, task: asyncio.Task[object]) -> None:
        self._connecting.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        accepted.close()
        log.debug("a client was gone before its connection was made", exc_info=error)

    def _node_outside(self, listener: str, volume: str, node_id: int) -> None:
        self._counts.add("nodes_outside_ranges", (listener,), 1)
        log.warning(
            "broker %s is outside node_ids of listener %s and is not advertised",
            f"{node_id}{volume}",
            listener,
        )


def _tls_of(
    listener: Listener, tls: ListenerTls, addresses: ReachAddresses, key: str
) -> TlsListener:
    identifies = listener.security_protocol == "SSL"
    try:
        return TlsListener(listener.name, tls, addresses.names, identifies=identifies, key=key)
    except TlsError as error:
        raise TlsError(f"listener {listener.name}: {error.key}", error.reason) from None


class _Handshakes:
    """The TLS handshakes of a listener."""

    def __init__(
        self, listener: Listener, unauthenticated: UnauthenticatedClients, rejected: Rejected
    ) -> None:
        self._listener = listener
        self._unauthenticated = unauthenticated
        self._rejected = rejected
        self._in_progress: set[Handshake] = set()
        self.gate = Gate(
            self._enter, unauthenticated.spoke, self._leave, self._reject, self._failed
        )

    def abort(self) -> None:
        for handshake in list(self._in_progress):
            handshake.abort()

    def _enter(self, handshake: Handshake) -> None:
        self._in_progress.add(handshake)
        self._unauthenticated.enter(handshake)

    def _leave(self, handshake: Handshake) -> None:
        self._in_progress.discard(handshake)
        self._unauthenticated.leave(handshake)

    def _reject(self, address: str, reason: str) -> None:
        self._rejected(self._listener, address, reason, None)

    def _failed(self, address: str, error: Exception) -> None:
        self._rejected(self._listener, address, internal_error(error), error)


def listener_addresses(listener: Listener, ranges: NodeIdRanges) -> ListenerAddresses:
    """The addresses that a listener advertises for a cluster's brokers, if there is no tree.
    Raises ValueError for an invalid address."""
    return addresses_of(listener, [Volume("", 0, ranges)]).bootstrap.addresses
