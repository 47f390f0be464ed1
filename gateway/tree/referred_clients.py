"""Clients behind peers: clients of other gateways whose requests this gateway decides.

They have no connection here. Each counts as a client of the listener for its own gateway's volume,
and is known for as long as flows are counted for it, up to a second.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from gateway.config.models import Listener
from gateway.connections.volumes import Volume
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.exchanges.state import ConnectionState
from gateway.flows import Denial, Flow, FlowSource
from gateway.identity import Identity
from gateway.names import DELIMITER
from gateway.peers import PEERS, address_by_peer
from gateway.referrals.questions import Question
from gateway.tree.lanes import LaneHub, Lanes, shows
from protocol.text import text_of

MAX_CLIENT_ID: Final = 10_000
"""Bytes of a client id that are kept: even if each byte that is not UTF-8 becomes a mark of three
bytes, the client id is still short enough for a Kafka string."""

_HEAD: Final = Struct(">hh")
"""API key and version: the first fields of a request's header."""


class ReferredClient(NamedTuple):
    """A client behind the peer with this name, with the principal that it has here, for a
    volume."""

    peer: str
    listener: Listener
    volume: Volume
    principal: str
    host: str


class _Answering:
    """The lanes of a client, and how many of its requests are under way."""

    __slots__ = ("lanes", "under_way")

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.under_way = 0


class ReferredClients:
    """The clients behind peers of a worker, and their flows."""

    def __init__(self, hub: LaneHub) -> None:
        self._hub = hub
        self._known: dict[tuple[str, ...], _Answering] = {}

    async def ask(
        self,
        client: ReferredClient,
        client_id: bytes | None,
        api_key: int,
        version: int,
        body: bytes,
    ) -> bytes:
        """Send a client's request to its volume, and return the response body. Its time limit is
        that of a part among others (:meth:`Lanes.ask` without ``alone``). Raises VolumeUnreachable,
        and ProtocolError for a request that cannot be read."""
        answering = self._answering(client, client_id)
        answering.under_way += 1
        path = client.volume.path
        try:
            return await answering.lanes.ask(path, api_key, version, body, alone=False)
        finally:
            answering.under_way -= 1

    def shows(self, client: ReferredClient, own: str) -> bool:
        """Whether a client may know the brokers of its volume. It always may if the volume is at
        ``own``, the mount path of its listener's volume."""
        if client.volume.path == own:
            return True
        identity = Identity(client.principal)
        access = self._hub.volumes.access(
            client.volume, client.listener.name, identity, client.host
        )
        return shows(access)

    def denied(self, peer: str, question: Question, message: str) -> None:
        """Report to the audit log and the traffic log that a peer may not speak for a principal."""
        state = next(iter(self._hub.volumes)).state
        address = address_by_peer(question.host, peer)
        source = FlowSource(PEERS, question.principal, "", "", "", address, state.place)
        api_key, version = _HEAD.unpack(question.request[: _HEAD.size].ljust(_HEAD.size, b"\0"))
        code, path = CLUSTER_AUTHORIZATION_FAILED, f"{DELIMITER}{question.target}"
        state.denied(Denial(source, api_key, version, "peer", code, path, message))

    def take_flows(self) -> list[Flow]:
        """The flows since the last call."""
        flows: list[Flow] = []
        for key, answering in list(self._known.items()):
            flows += answering.lanes.take_flows()
            if not answering.under_way:
                del self._known[key]
        return flows

    def _answering(self, client: ReferredClient, client_id: bytes | None) -> _Answering:
        shown = text_of((client_id or b"")[:MAX_CLIENT_ID])
        path = client.volume.path
        key = (client.peer, client.listener.name, path, client.principal, client.host, shown)
        found = self._known.get(key)
        if found is None:
            state = self._state(client)
            state.note_client_id(shown.encode())
            lanes = Lanes(self._hub, client.listener, state)
            found = self._known[key] = _Answering(lanes)
        return found

    def _state(self, client: ReferredClient) -> ConnectionState:
        """The state of the connection that the client would have to a node of its volume. Its
        address, in flows, denials and the audit log, names the peer. Its access is looked up again
        for each request."""
        volumes, name, identity = (
            self._hub.volumes,
            client.listener.name,
            Identity(client.principal),
        )
        address = address_by_peer(client.host, client.peer)
        source = FlowSource(name, client.principal, "", "", "", address)
        access = volumes.access(client.volume, name, identity, client.host)
        addresses = self._hub.addresses(name, client.volume.path)
        state = ConnectionState(client.volume.state, access, addresses, source)
        state.identity, state.host = identity, client.host
        return state
