"""Logins under way, and sessions that expire.

Four times a second, logins that take too long are closed, and sessions whose login has expired are
checked (``expired_sessions``). If a user is deleted, the user's connections close with that change
of the catalog, or when the file of the secret is gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from gateway.auth.mechanisms import Mechanisms
from gateway.auth.unknown_users import Credentials
from gateway.config.models import Listener
from gateway.config.security import Unauthenticated
from gateway.connections.base import BaseConnection
from gateway.connections.closing import TOO_LATE, guard
from gateway.connections.connection import Connection
from gateway.connections.expired_sessions import ExpiredSessions
from gateway.connections.signatures import Signatures
from gateway.connections.waiting_clients import UnauthenticatedClients
from gateway.counts import Counts
from gateway.identity import Identity
from gateway.session.expiry import end_of

SWEEP_SECONDS: Final = 0.25
LOOK_SECONDS: Final = 0.5
"""Seconds between checks of the files of users and keys."""

NO_MECHANISM: Final = "(none)"
"""The label for a login that has no mechanism, or whose mechanism no listener has: clients could
choose any name."""


class Logins:
    """The logins and sessions of a worker.

    ``sasl`` are the mechanisms of each listener with SASL, by its name, and ``credentials`` returns
    the SCRAM credentials of a listener's users. ``revoke`` is called to close a connection.
    ``review`` is called if users may have been deleted: it checks every connection with
    :meth:`why_not`.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        limits: Unauthenticated,
        credentials: Callable[[str], Credentials],
        counts: Counts,
        revoke: Callable[[Connection, str], None],
        review: Callable[[], None],
    ) -> None:
        self.limits = limits
        self.sasl: Mapping[str, Mechanisms] = {
            listener.name: Mechanisms(
                listener.sasl, f"listeners[{index}].sasl", partial(credentials, listener.name)
            )
            for index, listener in enumerate(listeners)
            if listener.sasl is not None
        }
        self.signatures = Signatures()
        self._counts = counts
        self._review = review
        self.unauthenticated: Mapping[str, UnauthenticatedClients] = {
            listener.name: UnauthenticatedClients(limits) for listener in listeners
        }
        self._logins: dict[BaseConnection, float] = {}
        self._expired = ExpiredSessions(revoke)
        self._sweeper: asyncio.TimerHandle | None = None
        self._looked = 0.0

    def start(self) -> None:
        """Read users and keys, and begin to sweep. Raises CredentialsError."""
        for mechanisms in self.sasl.values():
            mechanisms.load()
        self._sweep()

    def prepare(self) -> None:
        """Do the work that the first logins would wait for; the catalog has been read by now."""
        for mechanisms in self.sasl.values():
            mechanisms.prepare()

    async def stop(self) -> None:
        """Stop the sweep and the mechanisms, and close the logins under way."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        self.close_logins("gateway stops")
        for mechanisms in self.sasl.values():
            await mechanisms.stop()
        self.signatures.stop()

    # -- logins ------------------------------------------------------------------------------------

    def under_way(self, listener: str) -> int:
        """The number of logins under way at a listener."""
        return sum(login.listener == listener for login in self._logins)

    def arrived(self, login: BaseConnection) -> None:
        """Track a client that begins to log in; if its address has its share of the places, or
        all places of the listener are taken, another client is closed for it."""
        self._logins[login] = time.monotonic() + self.limits.max_seconds
        self.unauthenticated[login.listener].enter(login)

    def spoke(self, login: BaseConnection) -> None:
        """Note that a client that logs in has sent something."""
        self.unauthenticated[login.listener].spoke(login)

    def left(self, login: BaseConnection) -> None:
        """Stop tracking a login that has succeeded or failed, or whose client is gone."""
        if self._logins.pop(login, None) is not None:
            self.unauthenticated[login.listener].leave(login)

    def close_logins(self, reason: str) -> None:
        """Close all logins under way; their clients connect again, to another gateway."""
        for login in list(self._logins):
            guard(login, partial(login.close, reason, quietly=True))

    def count(self, listener: str, mechanism: str, result: str) -> None:
        """Count an authentication: ``accepted``, ``refused``, ``renewed`` or ``not renewed``."""
        self._counts.add("authentications", (listener, mechanism or NO_MECHANISM, result), 1)

    # -- sessions ----------------------------------------------------------------------------------

    def identified(self, connection: Connection, identity: Identity) -> None:
        """Set the end of a connection's session to the end of its identity, and track it."""
        connection.session.ends = ends = end_of(identity)
        self._expired.identified(connection, ends)

    def closed(self, connection: Connection) -> None:
        """Stop tracking a connection that is gone."""
        self._expired.closed(connection)

    def why_not(self, listener: str, identity: Identity) -> str | None:
        """Why an identity's connections have to close, such as a deleted user, or None if they
        stay."""
        mechanisms = self.sasl.get(listener)
        return None if mechanisms is None else mechanisms.why_gone(identity)

    def _sweep(self) -> None:
        self._sweeper = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)
        now = time.monotonic()
        for login, deadline in list(self._logins.items()):
            if deadline > now:
                break  # they are in order of their deadlines
            guard(login, partial(login.close, TOO_LATE))
        self._expired.sweep(now)
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            if any([mechanisms.look_again() for mechanisms in self.sasl.values()]):
                self._review()
