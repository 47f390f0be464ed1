"""What connections need of the worker that they are in."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from gateway.audit.interface import Audit
from gateway.catalog.source import Catalog
from gateway.cluster.cluster import Cluster
from gateway.connections.guarding import Guarded
from gateway.connections.lingering import Lingering
from gateway.exchanges.exchange import Refresh
from gateway.exchanges.worker_state import WorkerState
from gateway.slices import Turns

if TYPE_CHECKING:
    from gateway.connections.admission import Admission
    from gateway.connections.connection import Connection
    from gateway.connections.entrance import Entrance
    from gateway.connections.login_connection import LoginConnection


class Hub(Protocol):
    """One worker's, shared by all of its connections (gateway/processes/server.py)."""

    @property
    def state(self) -> WorkerState:
        """What handlers share."""
        ...

    @property
    def cluster(self) -> Cluster:
        """What is known of the cluster."""
        ...

    @property
    def catalog(self) -> Catalog:
        """The catalog as it is known now."""
        ...

    @property
    def audit(self) -> Audit:
        """Who is told what happened."""
        ...

    @property
    def entrance(self) -> Entrance:
        """How clients come in, and who may stay."""
        ...

    @property
    def admission(self) -> Admission:
        """Logins under way, and sessions that end."""
        ...

    @property
    def lingering(self) -> Lingering:
        """Connections that wait for a broker without their clients."""
        ...

    @property
    def turns(self) -> Turns:
        """Whose slice of long work is next."""
        ...

    @property
    def connections(self) -> Collection[Connection]:
        """Those that are open."""
        ...

    @property
    def busy(self) -> set[Connection]:
        """Those with flows since the last collection."""
        ...

    def arrived(self, login: LoginConnection) -> None:
        """A client of a listener with SASL connected."""
        ...

    def opened(self, connection: Connection, transport: asyncio.BaseTransport) -> None:
        """A client is in: it has said who it is, or nobody asked."""
        ...

    def closed(self, connection: Connection) -> None:
        """A client connection is gone."""
        ...

    def note_close(
        self,
        connection: Connection | LoginConnection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        """Log and count why a connection ends, with the traceback of ``error``."""
        ...

    def spawn(self, owner: Guarded, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the cold part of a connection; if it fails, ``owner`` is ended."""
        ...

    async def connect_broker(self, connection: Connection) -> None:
        """Connect a client to its broker. Raises OSError."""
        ...

    async def connect_login(self, login: LoginConnection) -> None:
        """Connect a client that has not logged in to the broker that is to decide on it. Raises
        OSError."""
        ...

    async def refresh(self, what: Refresh) -> None:
        """Read the cluster's topics, or the catalog, anew; an unreachable one changes nothing."""
        ...
