"""Whose connections are counted together at a broker, and why one is not let in."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from gateway.identity import ANONYMOUS

Tenant = tuple[str, str]
"""A principal and, without a login, which all share one, the client's address."""


def tenant_of(principal: str, host: str) -> Tenant:
    """Whose connections are counted together."""
    return principal, host if principal == ANONYMOUS.principal else ""


class NoRoom(ConnectionRefusedError):
    """A tenant has its share of a broker's connections, or nobody can give way."""


class Refused(ConnectionResetError):
    """A broker has closed a new connection without a byte."""

    def __init__(self, text: str = "the broker closed it before it answered") -> None:
        super().__init__(text)


class RoomClient(Protocol):
    """A client's connection that has a broker connection, or is about to."""

    @property
    def tenant(self) -> Tenant: ...

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, so that it may be closed without harm."""
        ...

    @property
    def awaits_answer(self) -> bool:
        """Whether a broker that has let it in would have answered something soon."""
        ...

    def give_way(self, reason: str) -> None: ...
    def fail(self, error: Exception) -> None: ...


class Wanted(NamedTuple):
    """A tenant whose connection a broker has refused, with nobody here to give way: other workers
    have the broker's connections. ``mine`` are those that it has here."""

    cluster: str
    node_id: int
    tenant: Tenant
    mine: int
