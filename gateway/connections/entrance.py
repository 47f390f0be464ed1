"""How clients come in: accepted, told who they are, and sent away when their right to stay ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Final

from gateway.auth.login import Login
from gateway.auth.pass_through import PassThrough, PassThroughLogin, principal_claim
from gateway.config.models import Config, Listener
from gateway.connections.admission import Admission
from gateway.connections.connection import Connection
from gateway.connections.early_versions import EarlyVersions
from gateway.connections.guarding import guard
from gateway.connections.hub import Hub
from gateway.connections.login_connection import LoginConnection
from gateway.exchanges.state import ConnectionState
from gateway.flows import FlowSource
from gateway.identity import ANONYMOUS, Identity
from gateway.rules.api_versions import UNKNOWN_SOFTWARE
from gateway.session.own_requests import ask
from gateway.session.session import Session
from gateway.views.access import Access
from gateway.views.views import Views, home_of
from gateway.virtual_brokers import ListenerAddresses

HOME_CHANGED: Final = "home namespace of its principal has changed"


class Entrance:
    """One worker's. ``views`` is what clients see once they are in."""

    def __init__(self, hub: Hub, config: Config, views: Views) -> None:
        self._hub = hub
        self._principals = config.principals
        self._views = views
        self._early_versions = EarlyVersions(lambda: hub.cluster.served)
        self.admission = Admission(
            config.listeners,
            config.unauthenticated,
            lambda: hub.catalog.snapshot.scram,
            self.revoke,
            lambda: self.review(hub.connections),
        )
        self.pass_through = {
            listener.name: PassThrough(
                self.admission.sasl[listener.name],
                principal_claim(listener.sasl),
                lambda: hub.cluster.api_versions,
            )
            for listener in config.listeners
            if listener.sasl is not None and listener.sasl.pass_through
        }

    # -- coming in ---------------------------------------------------------------------------------

    def accept(
        self, listener: Listener, addresses: ListenerAddresses, node_id: int | None
    ) -> asyncio.Protocol:
        """The client's side of a new connection to the port of a broker (None: of any)."""
        if listener.sasl is None:
            return self._connection(listener, addresses, node_id, None)
        accepts = self.admission.sasl[listener.name]
        max_bytes = self.admission.limits.max_bytes
        login: Login
        if listener.name in self.pass_through:
            through = self.pass_through[listener.name]
            login = PassThroughLogin(through, self._early_versions.body, max_bytes)
        else:
            login = Login(accepts, self._early_versions.body, max_bytes)
        return LoginConnection(
            self._hub,
            listener.name,
            node_id,
            login,
            lambda: self._connection(listener, addresses, node_id, login),
        )

    def login_failed(self, connection: LoginConnection) -> None:
        """A client did not prove who it is; it is told a little later."""
        login = connection.login
        assert login.failed is not None
        self.admission.count(connection.listener, login.mechanism, "refused")
        self._hub.audit.authentication_failed(
            connection.listener,
            connection.client_address,
            login.mechanism,
            login.user or None,
            login.failed.reason,
        )

    def identified(self, connection: Connection, identity: Identity) -> None:
        """A client has said who it is, or was not asked: from here on it is that principal's."""
        state = connection.session.state
        state.identify(identity, self._access_of(connection.listener, identity, state.host))
        self.admission.identified(connection, identity)
        gone = self.admission.why_not(connection.listener, identity)
        if gone is not None:  # while it was logging in
            self.revoke(connection, gone)

    def _connection(
        self,
        listener: Listener,
        addresses: ListenerAddresses,
        node_id: int | None,
        login: Login | None,
    ) -> Connection:
        """A connection of a client that has logged in, or need not."""
        source = FlowSource(listener.name, ANONYMOUS.principal, "", "", "", "")
        access = self._access_of(listener.name, ANONYMOUS, "")
        state = ConnectionState(self._hub.state, access, addresses, source)
        if login is not None:
            assert login.identity is not None
            state.identity = login.identity
            self.admission.count(listener.name, login.mechanism, "accepted")
            if login.software != UNKNOWN_SOFTWARE:
                state.note_software(*login.software)
        connection = Connection(self._hub, listener.name, node_id, Session(state))
        if listener.name in self.pass_through:
            state.ask_broker = partial(ask, connection.send_own)
        return connection

    def _access_of(self, listener: str, identity: Identity, host: str) -> Access:
        home = home_of(self._principals, self._hub.catalog.snapshot, identity.principal)
        view = self._views.of(listener, home)
        return self._views.access(view, identity.principal, host)

    # -- staying -----------------------------------------------------------------------------------

    def review(self, connections: Iterable[Connection]) -> None:
        """See who may stay, and what they may do from now on."""
        for connection in list(connections):
            guard(connection, partial(self._review, connection))

    def _review(self, connection: Connection) -> None:
        state = connection.session.state
        why = self.admission.why_not(connection.listener, state.identity)
        if why is not None:
            self.revoke(connection, why)
            return
        access = self._access_of(connection.listener, state.identity, state.host)
        if access.view.settings.home != state.view.settings.home:
            self.revoke(connection, HOME_CHANGED)
        elif state.access is not access:
            connection.session.see(access)

    def revoke(self, connection: Connection, reason: str) -> None:
        """Close a connection whose right to be there has ended."""
        self._hub.audit.connection_revoked(connection.session.state.source, reason)
        connection.close(reason)

    def reauthenticated(self, connection: Connection) -> None:
        """A re-authentication has gone on, and perhaps ended (KIP-368)."""
        state = connection.session.state
        reauth = state.reauth
        if reauth is None or not reauth.over:
            return
        if reauth.identity is not None:
            state.reauth = None
            self.admission.count(connection.listener, reauth.mechanism, "renewed")
            self.identified(connection, reauth.identity)
            return
        assert reauth.failed is not None
        self.admission.count(connection.listener, reauth.mechanism, "not renewed")
        self._hub.audit.authentication_failed(
            connection.listener,
            connection.client_address,
            reauth.mechanism,
            reauth.user or None,
            reauth.failed,
            principal=state.identity.principal,
        )
        connection.close(f"re-authentication failed: {reauth.failed}")
