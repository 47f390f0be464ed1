"""Tenants, whose connections are counted together at a broker and whose long requests wait in the
same line, and why a connection is rejected."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from gateway.exchanges.state import ConnectionState
from gateway.identity import ANONYMOUS
from gateway.peers import network_of
from gateway.rotation import Line

Tenant = tuple[str, str]
"""A principal, and the client's address if the principal is ANONYMOUS, which all clients without a
login share."""


def tenant_of(principal: str, host: str) -> Tenant:
    """The tenant of a client with this principal and IP address."""
    return principal, host if principal == ANONYMOUS.principal else ""


def line_of(state: ConnectionState) -> Line:
    """The line in which the long requests of a client wait, by its principal and IP address."""
    network = network_of(state.host)
    return Line(tenant_of(state.identity.principal, network), network)


class NoRoom(ConnectionRefusedError):
    """A tenant has its share of a broker's connections, or no idle connection can give way."""


class Refused(ConnectionResetError):
    """A broker has closed a new connection without a byte."""

    def __init__(self, text: str = "the broker closed it before it answered") -> None:
        super().__init__(text)


class RoomClient(Protocol):
    """A client's connection that has a broker connection, or is about to: a
    ``connection.Connection``, or a ``login_connection.LoginConnection`` whose broker decides on the
    login."""

    @property
    def tenant(self) -> Tenant: ...

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, so that the connection may be closed without harm."""
        ...

    @property
    def awaits_answer(self) -> bool:
        """Whether a broker that has accepted the connection would have answered soon."""
        ...

    def give_way(self, reason: str) -> None: ...
    def fail(self, error: Exception) -> None: ...


class Wanted(NamedTuple):
    """A tenant that needs room at a broker that has closed its new connection. No connection of
    this worker can give way, so other workers have the broker's connections. ``mine`` is the number
    of connections that the tenant has here."""

    cluster: str
    node_id: int
    tenant: Tenant
    mine: int
