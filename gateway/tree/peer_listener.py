"""The port of a worker to which other gateways of the tree send questions.

It is a listener as for clients, with the same handshakes, limits and reloading of files, but it
stands for no broker, and only certificates of configured peers are accepted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from time import monotonic
from typing import Any, Final, TypeAlias

from gateway.audit.audit import NO_AUDIT, Audit
from gateway.config.models import Config, Listener
from gateway.config.tree import Peer
from gateway.config.tree import PeerListener as PeerPort
from gateway.connections.base import BaseConnection
from gateway.connections.closing import NO_PEER, TOO_MANY_OF_PEER, CloseLog, guard
from gateway.connections.incomplete import IncompleteBytes
from gateway.connections.listeners import Listeners
from gateway.connections.tasks import Tasks
from gateway.connections.waiting_clients import SilentClients, UnauthenticatedClients
from gateway.counts import Counts
from gateway.node_ids import NodeIdRanges
from gateway.peers import PEERS
from gateway.referrals.questions import Answer, Question
from gateway.session.streamed import OTHER_LIMIT
from gateway.tls.handshake import FAILED, NO_PRINCIPAL
from gateway.tls.principal_mapping import MECHANISM, identity_of
from gateway.tree.peer_connection import PeerConnection
from gateway.virtual_brokers import ReachAddresses, Target, Volume

log = logging.getLogger(__name__)

MAX_CONNECTIONS: Final = 1_000
"""Open connections of all peers to a worker."""

MAX_OF_ONE: Final = 256
"""Open connections of a peer to a worker. Each of the peer's own workers opens a few."""

ENVELOPE_BYTES: Final = 64 * 1024
"""More than an envelope adds to the request in it."""

STRANGERS_REMEMBERED: Final = 1_000
"""Addresses of gateways that are not peers, each of which is logged once. If there are more, the
list begins afresh."""


AnswersPeer: TypeAlias = Callable[[Peer, Question], Coroutine[Any, Any, Answer]]
"""Answers a question of a peer (``Referred.answer``)."""


class PeerListener:
    """The peers' port of a worker, and their connections. ``tree.listener`` is configured."""

    def __init__(
        self,
        config: Config,
        answer: AnswersPeer,
        *,
        tasks: Tasks,
        counts: Counts,
        audit: Audit = NO_AUDIT,
    ) -> None:
        tree = config.tree
        assert tree is not None and tree.listener is not None
        self.spawn = tasks.spawn
        self.answer = answer
        self._peers = {f"User:{peer.subject}": peer for peer in tree.peers}
        self._audit = audit
        self._counts = counts
        self._close_log = CloseLog(counts)
        self._connections: dict[PeerConnection, Peer | None] = {}
        self._strangers: set[str] = set()
        self._silent = SilentClients()
        self._unauthenticated = UnauthenticatedClients(config.unauthenticated)
        self._most = min(config.max_request_bytes, OTHER_LIMIT) + ENVELOPE_BYTES
        self._incomplete = IncompleteBytes(config.incomplete_requests, self._most)
        listener = _listener(config)
        self._listeners = Listeners(
            [listener],
            {PEERS: _addresses(tree.listener)},
            self._accept,
            rejected=self._rejected,
            limits=config.unauthenticated,
            unauthenticated={PEERS: self._unauthenticated},
            make_room=self._make_room,
            counts=counts,
            tls_key="tree.tls",
        )

    async def start(self) -> None:
        """Bind the port. Raises OSError with the address that cannot be bound, and TlsError."""
        await self._listeners.start()

    def stop(self) -> None:
        """Stop accepting peers, and close all connections at once; questions under way are
        dropped."""
        self._listeners.stop()
        for connection in list(self._connections):
            guard(connection, partial(connection.close, "gateway stops", quietly=True))

    async def drain(self, seconds: float) -> None:
        """Stop accepting peers, and answer the questions under way, for at most ``seconds``."""
        self._listeners.stop()
        deadline = monotonic() + seconds
        while self._connections and monotonic() < deadline:
            for connection in list(self._connections):
                if not connection.closing:
                    connection.finish()
            await asyncio.sleep(0.02)
        if self._connections:
            log.warning("%d questions of peers were not answered in time", len(self._connections))

    def sweep(self) -> None:
        """Use TLS files that have changed, and close connections that were silent for too long; a
        peer connects again when it has a question. Called once a second."""
        self._listeners.reload()
        self._silent.sweep(monotonic())

    @property
    def open(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    def certificates(self) -> dict[str, float]:
        """Seconds until the certificate that peers see expires, while the port listens."""
        return self._listeners.certificates()

    # -- called by connections ---------------------------------------------------------------------

    def admit(self, connection: PeerConnection, transport: asyncio.BaseTransport) -> Peer | None:
        """See :class:`gateway.tree.peer_connection.PeerHub`."""
        principal = identity_of(transport).principal
        peer = self._peers.get(principal)
        self._connections[connection] = peer
        if peer is None:
            self._turn_away(connection, principal.removeprefix("User:"))
            return None
        if sum(each is peer for each in self._connections.values()) > MAX_OF_ONE:
            connection.close(f"{TOO_MANY_OF_PEER}: '{peer.name}' has {MAX_OF_ONE}")
            return None
        self._counts.add("connections", (PEERS,), 1)
        self._silent.add(connection)
        return peer

    def closed(self, connection: PeerConnection) -> None:
        """See :class:`gateway.tree.peer_connection.PeerHub`."""
        self._connections.pop(connection, None)
        self._silent.remove(connection)
        self._incomplete.forget(connection)

    def holds_more(self, connection: PeerConnection, change: int) -> None:
        """See :class:`gateway.tree.peer_connection.PeerHub`."""
        self._incomplete.add(connection, change)

    def asked(self, connection: PeerConnection) -> None:
        """See :class:`gateway.tree.peer_connection.PeerHub`."""
        self._silent.add(connection)

    def note_close(
        self,
        connection: BaseConnection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        """Log and count why a connection closes, with the traceback of ``error``."""
        address = connection.client_address
        self._close_log.note(PEERS, address, reason, quietly=quietly, error=error)

    # -- letting in --------------------------------------------------------------------------------

    def _accept(self, listener: Listener, target: Target) -> PeerConnection:
        return PeerConnection(self, listener.name, self._most)

    def _turn_away(self, connection: PeerConnection, subject: str) -> None:
        """Close a connection whose certificate is signed by the authority of peers, but is not a
        peer's. It is logged once for each address: the other side may try again and again."""
        reason = f"{NO_PEER}: '{subject}'; name it in tree.parents or tree.children"
        known = connection.host in self._strangers
        if len(self._strangers) >= STRANGERS_REMEMBERED:
            self._strangers.clear()
        self._strangers.add(connection.host)
        self._audit.authentication_failed(PEERS, connection.client_address, MECHANISM, None, reason)
        connection.close(reason, quietly=known)

    def _rejected(
        self, listener: Listener, address: str, reason: str, error: Exception | None
    ) -> None:
        """Log and audit a connection that was rejected before its handshake was done."""
        self._close_log.note(listener.name, address, reason, quietly=False, error=error)
        if reason.startswith((FAILED, NO_PRINCIPAL)):
            self._audit.authentication_failed(listener.name, address, MECHANISM, None, reason)

    def _make_room(self, listener: str) -> None:
        if not self._unauthenticated.make_room():
            self._silent.make_room(listener)


def _listener(config: Config) -> Listener:
    """The peers' port as a listener."""
    tree = config.tree
    assert tree is not None and tree.listener is not None
    settings = {
        "name": PEERS,
        "bind": tree.listener.bind,
        "port": tree.listener.port,
        "security_protocol": "SSL",
        "tls": tree.listener_tls,
        "max.connections": MAX_CONNECTIONS,
    }
    return Listener.model_validate(settings)


def _addresses(port: PeerPort) -> ReachAddresses:
    """The addresses behind the peers' port, which stands for no broker: its bootstrap alone."""
    # A target needs addresses, but no peer is shown these.
    made = ReachAddresses(port.bind, port.port, [Volume("", 0, NodeIdRanges.parse(["0"]))])
    made.by_volume.clear()
    return made
