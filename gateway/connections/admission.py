"""Admits clients, gives connections their identity, and closes them when it is no longer valid."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Set
from functools import partial
from typing import Any, Final, TypeAlias

from gateway.apis.table import APIS, DIVIDED
from gateway.auth.login import Login
from gateway.auth.pass_through import PassThrough, PassThroughLogin, principal_claim
from gateway.auth.unknown_users import Credentials
from gateway.config.models import Config, Listener
from gateway.connections.closing import SESSION_EXPIRED, guard, guard_each
from gateway.connections.connection import Connection
from gateway.connections.doubts import Doubts
from gateway.connections.lane import Lane
from gateway.connections.login_connection import LoginConnection
from gateway.connections.logins import Logins
from gateway.connections.volumes import Volumes, passes_through
from gateway.counts import Counts
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import Tree
from gateway.flows import FlowSource
from gateway.identity import ANONYMOUS, Identity
from gateway.rules import api_versions
from gateway.session.session import Session
from gateway.slices import Budget
from gateway.views.access import Access
from gateway.virtual_brokers import Target

HOME_CHANGED: Final = "home namespace of its principal has changed"

MOST_BODIES: Final = 256
"""Bodies of ApiVersions responses that are kept at most: five for each version of Kafka in use."""


MakesConnection: TypeAlias = Callable[[str, int | None, Session], Connection]
"""(listener, node id of the broker that the port stands for, session) -> a connection that was
admitted."""

MakesLogin: TypeAlias = Callable[
    [str, int | None, Login, Callable[[], Connection]], LoginConnection
]
"""(listener, node id, login, what makes the connection that follows) -> a connection that logs
in."""

TreeOf: TypeAlias = Callable[[Listener, ConnectionState], Tree]
"""(listener, state of a client's connection) -> the volumes of the tree, for that client."""


class EarlyVersions:
    """The ApiVersions responses that clients get before they log in, made from earlier responses of
    brokers and cached until those change.

    A client gets the versions of the broker that its port stands for. If these are not known, or if
    it is on a bootstrap port, behind which the broker may be any, it gets the versions that all
    known brokers serve.
    """

    def __init__(self, volumes: Volumes) -> None:
        self._volumes = volumes
        self._bodies: dict[tuple[int, ...], tuple[list[Any], bytes]] = {}

    def body(self, listener: Listener, target: Target, version: int) -> bytes:
        """The response body in ``version``, which the gateway has to be able to read, for a client
        that connects to this target."""
        served = self._served(listener, target)
        key = version, *map(id, served)
        if key not in self._bodies:
            if len(self._bodies) >= MOST_BODIES:
                self._bodies.clear()
            node, *reach = served
            # Kept beside the body, because the key has their ids: no other object gets such an id
            # while they are alive.
            self._bodies[key] = served, api_versions.in_tree(version, node, reach, APIS, DIVIDED)
        return self._bodies[key][1]

    def _served(self, listener: Listener, target: Target) -> list[Any]:
        """The ApiVersionsResponse of the target, and behind it, in a tree, of each cluster that the
        listener's clients can reach. If the target's cluster was never reached, another cluster's
        response stands in for it."""
        volumes = self._volumes
        node = volumes.of_target(listener.name, target).cluster.served_by(target.node_id)
        told = [each.cluster.served for each in volumes if each.cluster.served is not None]
        if node is None:
            node = told[0] if told else api_versions.NOTHING_SERVED
        leaves = volumes.mounts is not None and not passes_through(listener)
        reach = volumes.reach(listener) if leaves else ()
        return [node, *(one.cluster.served for one in reach if one.cluster.served is not None)]


class Admission:
    """Admits the clients of a worker to its volumes. ``tree_of`` is set before the first client
    comes, if the volumes are those of a tree."""

    def __init__(
        self,
        config: Config,
        counts: Counts,
        *,
        volumes: Volumes,
        lanes: Collection[Lane],
        connection: MakesConnection,
        login: MakesLogin,
        connections: Set[Connection],
        doubts: Doubts,
    ) -> None:
        """``connection`` and ``login`` make connections of the worker, whose admitted
        ``connections`` are open; ``lanes`` are the requests that other volumes' clients have under
        way."""
        self.tree_of: TreeOf | None = None
        self._lanes = lanes
        self._make_connection = connection
        self._make_login = login
        self._connections = connections
        self._doubts = doubts
        self._volumes = volumes
        self._audit = volumes.of_listener(config.listeners[0].name).state.audit
        self._early_versions = EarlyVersions(volumes)
        self.logins = Logins(
            config.listeners, config.unauthenticated, self._scram, counts, self.revoke, self.review
        )
        self._pass_through = {
            listener.name: PassThrough(
                self.logins.sasl[listener.name],
                principal_claim(listener.sasl),
                partial(getattr, volumes.of_listener(listener.name).cluster, "api_versions"),
            )
            for listener in config.listeners
            if listener.sasl is not None and passes_through(listener)
        }
        for volume in volumes:
            volume.state.sasl = self.logins.sasl
            volume.state.pass_through = self._pass_through
            volume.state.verify = self.logins.signatures.run

    # -- coming in ---------------------------------------------------------------------------------

    def accept(self, listener: Listener, target: Target) -> asyncio.Protocol:
        """Make the protocol of a client that connects to the port, or the host name (SNI), of a
        target."""
        if listener.sasl is None:
            return self._connection(listener, target, None)
        max_bytes = self.logins.limits.max_bytes
        login: Login
        early = partial(self._early_versions.body, listener, target)
        if listener.name in self._pass_through:
            login = PassThroughLogin(self._pass_through[listener.name], early, max_bytes)
        else:
            login = Login(self.logins.sasl[listener.name], early, max_bytes)
        return self._make_login(
            listener.name,
            target.node_id,
            login,
            lambda: self._connection(listener, target, login),
        )

    def login_failed(self, connection: LoginConnection) -> None:
        """Count and audit a failed login; the client gets the response a little later."""
        login = connection.login
        assert login.failed is not None
        self.logins.count(connection.listener, login.mechanism, "refused")
        self._audit.authentication_failed(
            connection.listener,
            connection.client_address,
            login.mechanism,
            login.user or None,
            login.failed.reason,
        )

    def identified(self, connection: Connection, identity: Identity) -> None:
        """Give a connection this identity, and the access that belongs to it. If the identity has
        become invalid during the login, close the connection."""
        state = connection.session.state
        state.identify(identity, self._access_of(connection, identity))
        self.logins.identified(connection, identity)
        gone = self.logins.why_not(connection.listener, identity)
        if gone is not None:  # it became invalid during the login
            self.revoke(connection, gone)

    def _connection(self, listener: Listener, target: Target, login: Login | None) -> Connection:
        """Make the connection of a client that has logged in, or whose listener needs no login."""
        source = FlowSource(listener.name, ANONYMOUS.principal, "", "", "", "")
        volume = self._volumes.of_target(listener.name, target)
        access = self._volumes.access(volume, listener.name, ANONYMOUS, "")
        state = ConnectionState(volume.state, access, target.addresses, source)
        state.on_gateway_node = target.gateway
        state.node_id = target.node_id
        if login is not None:
            assert login.identity is not None
            state.identity = login.identity
            self.logins.count(listener.name, login.mechanism, "accepted")
            if login.software != api_versions.UNKNOWN_SOFTWARE:
                state.note_software(*login.software)
        if self._volumes.mounts is not None and listener.name not in self._pass_through:
            assert self.tree_of is not None
            state.tree = self.tree_of(listener, state)
            state.marked_ids_only = state.worker.mount != state.tree.own
        connection = self._make_connection(listener.name, target.node_id, Session(state))
        state.ask_broker = connection.ask
        return connection

    def _access_of(self, connection: Connection, identity: Identity) -> Access:
        state, volumes = connection.session.state, self._volumes
        return volumes.access(volumes.of(state.worker), connection.listener, identity, state.host)

    def _scram(self, listener: str) -> Credentials:
        return self._volumes.of_listener(listener).state.catalog.snapshot.scram

    # -- staying -----------------------------------------------------------------------------------

    def review(self) -> None:
        """Close every connection whose identity is no longer valid, and give the others their
        current access. Requests in flight are checked again, within a budget for all connections
        together, and in slices if that is spent."""
        budget = Budget()
        guard_each(list(self._connections), partial(self._review, budget))
        for lane in list(self._lanes):
            guard(lane, partial(lane.see, budget))
            if lane.sent and lane.session.doubted:
                self._doubts.add(lane, lane.session, lane.end)

    def _review(self, budget: Budget, connection: Connection) -> None:
        state = connection.session.state
        why = self.logins.why_not(connection.listener, state.identity)
        if why is not None:
            self.revoke(connection, why)
            return
        access = self._access_of(connection, state.identity)
        if access.view.settings.home != state.view.settings.home:
            self.revoke(connection, HOME_CHANGED)
        elif state.access is not access:
            connection.see(access, budget)

    def revoke(self, connection: Connection, reason: str) -> None:
        """Audit and close a connection whose identity is no longer valid."""
        self._audit.connection_revoked(connection.session.state.source, reason)
        connection.reset(reason)

    def session_expired(self, connection: Connection) -> None:
        """Close a connection that has received a request after its login expired. Requests before
        it have been answered, or have no response, and the broker goes on to carry these out."""
        self._audit.connection_revoked(connection.session.state.source, SESSION_EXPIRED)
        connection.close(SESSION_EXPIRED)

    def reauthenticated(self, connection: Connection) -> None:
        """If the connection's re-authentication is over (KIP-368), apply its result: the new
        identity, or the end of the connection."""
        state = connection.session.state
        reauth = state.reauth
        if reauth is None or not reauth.over:
            return
        if reauth.identity is not None:
            state.reauth = None
            self.logins.count(connection.listener, reauth.mechanism, "renewed")
            self.identified(connection, reauth.identity)
            return
        assert reauth.failed is not None
        self.logins.count(connection.listener, reauth.mechanism, "not renewed")
        self._audit.authentication_failed(
            connection.listener,
            connection.client_address,
            reauth.mechanism,
            reauth.user or None,
            reauth.failed,
            principal=state.identity.principal,
        )
        connection.close(f"re-authentication failed: {reauth.failed}")
