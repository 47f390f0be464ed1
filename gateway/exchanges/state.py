"""The state of a connection between requests; rules and handlers read it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from gateway.auth.reauthentication import AnyReauthentication
from gateway.brokers.login_exchange import Ask
from gateway.decision import Denied
from gateway.exchanges.share_session import (
    SHARE_SESSIONS_PER_CONNECTION,
    ShareSession,
    ShareSessionKey,
)
from gateway.exchanges.tree import Tree
from gateway.exchanges.worker_state import WorkerState
from gateway.flows import NO_TOPIC, Flow, FlowSource
from gateway.identity import ANONYMOUS, Identity
from gateway.rules.group_members import MemberKey
from gateway.views.access import READ, Access
from gateway.views.views import Listing
from gateway.virtual_brokers import ListenerAddresses
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.text import text_of

MAX_FLOWS: Final = 1_000
"""Flows per connection between two collections; more topics are counted on the flow of no topic."""

_NAMESPACE: Final = b"\x00"
"""The first byte in the key of a namespace's own flow; no topic's name holds it."""

EARLIER_FLOWS: Final = 100
"""Flows put aside per connection between two collections, because its client id changes."""

DENIED_REMEMBERED: Final = 100
"""Denied names that a connection remembers, to log each once; if there are more, it forgets all."""

PRODUCED_REMEMBERED: Final = 10_000
"""Topics per connection whose name in a Produce request is remembered."""

SESSIONS_PER_CONNECTION: Final = 16
"""Java's client keeps one session per broker connection; a client that opens more loses the
oldest."""


class FetchSession:
    """A fetch session that a broker gave this connection (KIP-227).

    ``spelled`` maps the flat names of all topics ever in the session to the client's spelling, or,
    if ``by_id``, the broker's topic ids to the client's: an incremental response names partitions
    that its own request did not name. ``lead`` is the flat name under which requests without names
    are counted. ``stale``: the catalog has changed since the names were resolved.
    """

    __slots__ = ("by_id", "lead", "spelled", "stale")

    def __init__(self, spelled: dict[bytes, bytes], lead: bytes, by_id: bool) -> None:
        self.spelled = spelled
        self.lead = lead
        self.by_id = by_id
        self.stale = False


class ConnectionState:
    """The state of a client connection. Containers are made when first needed, so that an idle
    connection stays small.

    - ``access``: the rights of the client's ``identity`` in its ``view``, from ``host`` (an IP
      address).
    - ``fetch_sessions``: id -> session given to this connection. ``share_sessions``: the same for
      share groups.
    - ``spelled``: topic that the client subscribed to -> its spelling, for later assignments.
    - ``produced``: flat name -> the name or topic id that the client produced under, and the
      broker's id.
    - ``reauth``: a re-authentication in progress (KIP-368). ``reauth_began``: when the latest one
      began, in seconds of the monotonic clock.
    - ``ask_broker``: sends a request of the gateway's own while the client's wait; None: no broker
      connection belongs to this client alone.
    - ``heard``: hashes of the members of KIP-848 groups that the connection has heard of, whose
      ids may have thousands of bytes.
    - ``left_out``: member of a KIP-848 group -> the shadows that were left out of its assignment,
      because nothing could be said of their topics yet.
    - ``tree``: the other volumes; None without a tree, and for a client confined to its volume.
    - ``marked_ids_only``: idempotent producers must have ids with a cluster's number (in a tree,
      if the node is outside the listener's volume).
    - ``protocol_types``: (the client's group id, member id) -> the protocol type and protocol with
      which the broker let the member join, if the type is not "consumer".
    - ``node_id``: the broker that the client is connected to, or for; None: any broker (bootstrap).
    - ``on_gateway_node``: the client connected to the gateway's own node, so to no certain broker.
    - ``sought``: (key type, key) -> the time at which the client got the coordinator
      (gateway/apis/groups/sought_again.py).
    """

    __slots__ = (
        "_client_id",
        "access",
        "addresses",
        "ask_broker",
        "denied",
        "earlier",
        "fetch_sessions",
        "flows",
        "heard",
        "host",
        "identity",
        "left_out",
        "marked_ids_only",
        "node_id",
        "on_gateway_node",
        "produced",
        "protocol_types",
        "reauth",
        "reauth_began",
        "share_sessions",
        "sought",
        "source",
        "spelled",
        "tree",
        "view",
        "worker",
    )

    def __init__(
        self, worker: WorkerState, access: Access, addresses: ListenerAddresses, source: FlowSource
    ) -> None:
        self.worker = worker
        self.access = access
        self.ask_broker: Ask | None = None
        self.tree: Tree | None = None
        self.marked_ids_only = False
        self.node_id: int | None = None
        self.on_gateway_node = False
        self.view = access.view
        self.identity = ANONYMOUS
        self.host = ""
        self.addresses = addresses
        self.source = source
        source.place = worker.place
        self.flows: dict[tuple[int, int, bytes], Flow] | None = None
        self.earlier: list[Flow] | None = None
        self.denied: set[bytes] | None = None
        self._client_id: bytes | None = None
        self.fetch_sessions: dict[int, FetchSession] | None = None
        self.share_sessions: dict[ShareSessionKey, ShareSession] | None = None
        self.spelled: dict[bytes, bytes] | None = None
        self.protocol_types: dict[tuple[str, str], tuple[str, str]] | None = None
        self.heard: set[int] | None = None
        self.left_out: dict[MemberKey, frozenset[bytes]] | None = None
        self.sought: dict[tuple[int, str], float] | None = None
        self.produced: dict[bytes, tuple[bytes, bytes | None]] | None = None
        self.reauth: AnyReauthentication | None = None
        self.reauth_began: float | None = None

    def stand_for(self, client: ConnectionState) -> None:
        """Stand for another connection's client, in a volume other than its node's volume."""
        self.identity, self.host = client.identity, client.host
        self._client_id = client._client_id

    @property
    def client_id(self) -> bytes | None:
        """The client id of the latest request, under which flows are counted."""
        return self._client_id

    def note_client_id(self, client_id: bytes | None) -> None:
        """Count under this client id from now on."""
        if client_id == self._client_id or not self._may_become():
            return
        self._client_id = client_id
        shown = text_of(client_id) if client_id else ""
        self._become(replace(self.source, client_id=shown))

    def note_software(self, name: str, version: str) -> None:
        """Count under this client software from now on (KIP-511)."""
        if self._may_become():
            self._become(replace(self.source, software_name=name, software_version=version))

    def _may_become(self) -> bool:
        """Whether there is room for another source. A client that changes its id all the time is
        counted under the last of ``EARLIER_FLOWS``."""
        return len(self.earlier or ()) < EARLIER_FLOWS

    def _become(self, source: FlowSource) -> None:
        """Count for another source. The flows so far are put aside: a flow belongs to a
        single source."""
        self.source = source
        if self.flows:
            self.earlier = [*(self.earlier or ()), *self.flows.values()]
            self.flows = None

    def flow(self, api_key: int, version: int, flat: bytes) -> Flow:
        """The flow that counts a topic (``b""``: no topic) through an API; made at first use."""
        flows = self.flows
        if flows is None:
            flows = self.flows = {}
        key = (api_key, version, flat)
        found = flows.get(key)
        if found is None:
            if flat and len(flows) >= MAX_FLOWS:
                return self.flow(api_key, version, b"")
            found = flows[key] = self._new_flow(api_key, version, flat)
        return found

    def flow_of(self, api_key: int, version: int, namespace: str | None) -> Flow:
        """The flow that counts requests about a namespace in which no topic is forwarded, because
        the gateway denied or did them. None, or a namespace that the catalog does not have: the
        flow of no topic, because a client's invented name must not become a label."""
        if namespace is None or (namespace and namespace not in self.view.snapshot.namespaces):
            return self.flow(api_key, version, b"")
        flows = self.flows
        if flows is None:
            flows = self.flows = {}
        key = (api_key, version, _NAMESPACE + namespace.encode())
        counted = flows.get(key)
        if counted is None:
            if len(flows) >= MAX_FLOWS:
                return self.flow(api_key, version, b"")
            counted = flows[key] = Flow(self.source, api_key, version, namespace, "", "")
        return counted

    def topic_of_id(
        self,
        operation: int,
        start: int,
        stop: int,
        topic_id: bytes,
        asked: dict[bytes, bytes],
        edits: list[Edit],
    ) -> bytes | None:
        """The flat name behind a client's topic id at these bytes of a request.

        Adds the broker's own id and the client's to ``asked``, and the replacement to ``edits``.
        None: the view may not see the topic, ``operation`` is denied, or the request has the topic
        under another id already.
        """
        view, index = self.view, self.worker.cluster.index
        flat = view.flat_of_id(topic_id, index)
        own = view.id_to_broker(topic_id, index) if view.has_topic_ids else topic_id
        if flat is None or asked.setdefault(own, topic_id) != topic_id:
            return None
        if self.access.authorizes and self.access.by_id(operation, flat, topic_id) is not None:
            return None
        if own != topic_id:
            edits.append((start, stop, own))
        return flat

    def produced_as(self, flat: bytes, called: bytes) -> bytes:
        """The name or id under which the client first produced to a topic here, else ``called``.

        A producer numbers its batches per name (KIP-98): a broker would take batches under a second
        name of the same topic for repetitions, and acknowledge them without writing them. A topic
        that was deleted and made again is another topic.
        """
        produced, own = self.produced, self.worker.cluster.index.id_of(flat)
        if produced is None or len(produced) >= PRODUCED_REMEMBERED:
            produced = self.produced = {}
        held = produced.get(flat)
        if held is None or (own and held[1] and own != held[1]):
            produced[flat] = (called, own)
            return called
        return held[0]

    def identify(self, identity: Identity, access: Access) -> None:
        """The client is this principal from now on."""
        self.identity = identity
        if identity.principal != self.source.principal:
            self._become(replace(self.source, principal=identity.principal))
        self.see(access)

    def see(self, access: Access) -> None:
        """Go on with another access, hence another view, because the catalog has changed.

        A fetch session is closed with the next Fetch if one of its names or ids now leads to
        another topic, or to a topic that the client may no longer read. The next Fetch resolves the
        names, because the names of all connections together are too many for one turn.
        """
        self.access = access
        self.view = access.view
        for session in (self.fetch_sessions or {}).values():
            session.stale = True
        for share_session in (self.share_sessions or {}).values():
            share_session.stale = True

    def still_reaches(
        self, operation: int, spelled: Iterable[tuple[bytes, bytes]], *, by_id: bool
    ) -> bool:
        """Whether each name that a client requested still leads to the flat name before it (or,
        ``by_id``, to the broker's topic id before it), and ``operation`` (READ or WRITE) is allowed
        on all of them. May take several slices."""
        view, index = self.view, self.worker.cluster.index
        resolve = self.access.to_read if operation == READ else self.access.to_write
        for led_to, asked in eased([*spelled]):
            if by_id:
                flat = view.flat_of_id(asked, index)
                if flat is None or self.access.by_id(operation, flat, asked) is not None:
                    return False
                if view.id_to_broker(asked, index) != led_to:
                    return False
                continue
            found = resolve(asked)
            if isinstance(found, Denied) or found.flat != led_to:
                return False
        return True

    def without_freezes(self) -> ConnectionState:
        """A state that decides like this state if nothing were frozen. Its notes of the client are
        not kept, and its use over several slices does not affect decisions made meanwhile."""
        access = self.access.thawed()
        other = ConnectionState(self.worker, access, self.addresses, self.source)
        other.stand_for(self)
        other.ask_broker, other.tree = self.ask_broker, self.tree
        other.marked_ids_only, other.on_gateway_node = self.marked_ids_only, self.on_gateway_node
        other.reauth, other.reauth_began = self.reauth, self.reauth_began
        other.node_id = self.node_id
        other.fetch_sessions, other.produced = self.fetch_sessions, self.produced
        other.share_sessions = self.share_sessions
        other.spelled, other.protocol_types = self.spelled, self.protocol_types
        other.heard, other.sought = self.heard, self.sought
        return other

    def first_denial(self, resource: bytes) -> bool:
        """Whether this is the first denial of the resource that this connection remembers."""
        denied = self.denied
        if denied is None or len(denied) >= DENIED_REMEMBERED:
            denied = self.denied = set()
        if resource in denied:
            return False
        denied.add(resource)
        return True

    def listing(self) -> Listing:
        """The topics that a listing shows to this client."""
        return self.worker.listings.of(self.access, self.worker.cluster.index)

    def fetch_session(self, session_id: int) -> FetchSession | None:
        """A session of this connection; None for any other id."""
        return None if self.fetch_sessions is None else self.fetch_sessions.get(session_id)

    def fetch_session_closed(self, session_id: int) -> None:
        """Forget a session; its id is not forwarded to the broker again."""
        if self.fetch_sessions is not None:
            self.fetch_sessions.pop(session_id, None)

    def fetch_session_opened(
        self, session_id: int, spelled: dict[bytes, bytes], lead: bytes, *, by_id: bool
    ) -> None:
        """Remember a session that a broker gave this connection (0: no session)."""
        sessions = self.fetch_sessions
        if not session_id or (sessions is not None and session_id in sessions):
            return
        if sessions is None:
            sessions = self.fetch_sessions = {}
        if len(sessions) >= SESSIONS_PER_CONNECTION:
            del sessions[next(iter(sessions))]
        sessions[session_id] = FetchSession(spelled, lead, by_id)

    def share_session(self, key: ShareSessionKey) -> ShareSession | None:
        """A share session of this connection; None if the connection has none of this member."""
        return None if self.share_sessions is None else self.share_sessions.get(key)

    def keep_share_session(self, key: ShareSessionKey, session: ShareSession | None) -> None:
        """Remember a share session as a broker has it now (None: it has ended)."""
        sessions = self.share_sessions
        if session is None:
            if sessions is not None:
                sessions.pop(key, None)
            return
        if sessions is None:
            sessions = self.share_sessions = {}
        if key not in sessions and len(sessions) >= SHARE_SESSIONS_PER_CONNECTION:
            del sessions[next(iter(sessions))]
        sessions[key] = session

    def take_flows(self, held: Iterable[Flow] = ()) -> Collection[Flow]:
        """The flows since the last call; the connection begins new flows.

        Flows that are ``held`` by requests in flight stay here, without their counts: later counts
        are collected later.
        """
        flows, self.flows = self.flows or {}, None
        earlier, self.earlier = self.earlier or [], None
        kept = set(held)
        if not kept:
            return [flow for flow in (*earlier, *flows.values()) if not flow.empty]
        self.earlier = [flow for flow in earlier if flow in kept]
        # Not None even if empty: a connection with earlier flows is collected again, too.
        self.flows = {key: flow for key, flow in flows.items() if flow in kept}
        taken = [flow.moved() if flow in kept else flow for flow in (*earlier, *flows.values())]
        return [flow for flow in taken if not flow.empty]

    def _new_flow(self, api_key: int, version: int, flat: bytes) -> Flow:
        if not flat:
            return Flow(self.source, api_key, version, NO_TOPIC, "", "")
        text = flat.decode(errors="replace")
        name = self.view.snapshot.owner(text)
        return Flow(self.source, api_key, version, name.namespace, str(name), text)
