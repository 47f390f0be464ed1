"""A sweep of connections whose login is over: it does not wait for requests that a broker would not
have read yet, and closes an idle client only after a broker would."""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import pytest

from gateway.connections.closing import SESSION_EXPIRED
from gateway.connections.connection import Connection
from gateway.connections.expired_sessions import IDLE_SECONDS, ExpiredSessions
from gateway.session.expiry import NEVER

ENDS, SWEEP = 100.0, 0.25


class Request:
    """A request that came at ``arrived``."""

    def __init__(self, arrived: float = ENDS - 1.0) -> None:
        self.arrived = arrived


class Swept:
    """Some connections, swept since ``ENDS - 1``; ``closed`` are the connections that it has
    closed."""

    def __init__(self) -> None:
        self.closed: list[Connection] = []
        self.sessions = ExpiredSessions(self._revoke)
        self.now = ENDS - 1.0

    def _revoke(self, connection: Connection, reason: str) -> None:
        assert reason == SESSION_EXPIRED
        self.closed.append(connection)
        self.sessions.closed(connection)

    def connection(self, *under_way: Request, ends: float = ENDS) -> Any:
        """A connection whose login ends at ``ends``, with these requests under way."""
        made = _Client(_Session(under_way, ends))
        self.sessions.identified(cast(Connection, made), ends)
        return made

    def until(self, now: float) -> None:
        """Sweep up to ``now``."""
        while self.now + SWEEP <= now:
            self.now += SWEEP
            self.sessions.sweep(self.now)
        self.now = now
        self.sessions.sweep(now)


class _Session:
    def __init__(self, under_way: tuple[Request, ...], ends: float) -> None:
        self.queue = deque(under_way)
        self.waiting: object | None = None
        self.ends = ends

    @property
    def first(self) -> Request | None:
        return self.queue[0] if self.queue else None


class _Client:
    """A connection with a session; ``failed`` is the reason with which it was failed."""

    def __init__(self, session: _Session) -> None:
        self.session = session
        self.failed: Exception | None = None

    def fail(self, error: Exception) -> None:
        self.failed = error


@pytest.fixture
def swept() -> Swept:
    return Swept()


def test_an_idle_client_may_come_back(swept: Swept) -> None:
    """As at a broker, which does not check a connection on which no bytes come."""
    swept.connection(ends=NEVER)
    first, second = swept.connection(), swept.connection(ends=ENDS + 5.0)
    swept.until(ENDS + IDLE_SECONDS - SWEEP)
    assert swept.closed == []
    swept.until(ENDS + IDLE_SECONDS + SWEEP)
    assert swept.closed == [first]
    swept.until(ENDS + 2 * IDLE_SECONDS)
    assert swept.closed == [first, second]


def test_one_that_has_come_back_has_a_new_end(swept: Swept) -> None:
    client = swept.connection()
    swept.until(ENDS + 10.0)
    client.session.ends = ENDS + 500.0
    swept.sessions.identified(client, ENDS + 500.0)
    swept.until(ENDS + 500.0 + IDLE_SECONDS - SWEEP)
    assert swept.closed == []
    swept.until(ENDS + 500.0 + IDLE_SECONDS + SWEEP)
    assert swept.closed == [client]


def test_one_that_is_coming_back_is_not_idle(swept: Swept) -> None:
    client = swept.connection()
    swept.until(ENDS + 10.0)
    client.session.waiting = object()
    swept.until(ENDS + IDLE_SECONDS + 10.0)
    client.session.waiting = None
    swept.until(ENDS + IDLE_SECONDS + 20.0)
    assert swept.closed == []
    swept.until(ENDS + 2 * IDLE_SECONDS + SWEEP)
    assert swept.closed == [client]


def test_what_is_held_back_is_waited_for(swept: Swept) -> None:
    """However long a broker holds a JoinGroup; then the client has as long as any idle client."""
    client = swept.connection(Request())
    swept.until(ENDS + 2 * IDLE_SECONDS)
    client.session.queue.popleft()
    swept.until(ENDS + 3 * IDLE_SECONDS - SWEEP)
    assert swept.closed == []
    swept.until(ENDS + 3 * IDLE_SECONDS + 2 * SWEEP)
    assert swept.closed == [client]


def test_what_was_sent_ahead_is_not(swept: Swept) -> None:
    """Otherwise a thousand waiting Fetches could be sent at once, and read on one by one."""
    client = swept.connection(Request(), Request(), Request())
    swept.until(ENDS + 10.0)
    assert swept.closed == []
    client.session.queue.popleft()
    swept.until(ENDS + 10.0 + SWEEP)
    assert swept.closed == [client]


def test_what_was_answered_before_the_end_does_not_count(swept: Swept) -> None:
    client = swept.connection(Request(), Request())
    swept.until(ENDS - SWEEP)
    client.session.queue.popleft()
    swept.until(ENDS + 10.0)
    assert swept.closed == []


def test_what_is_decided_late_had_come_before(swept: Swept) -> None:
    client = swept.connection()
    client.session.waiting = object()
    swept.until(ENDS + 10.0)
    client.session.waiting = None
    client.session.queue.append(Request())
    swept.until(ENDS + 20.0)
    assert swept.closed == []


def test_the_gateways_own_requests_are_no_clients(swept: Swept) -> None:
    """A login that passes through, or the renewal of the gateway's own login."""
    client = swept.connection(Request())
    swept.until(ENDS + 10.0)
    client.session.queue.append(Request(ENDS + 10.0))
    client.session.queue.popleft()
    swept.until(ENDS + 20.0)
    assert swept.closed == []


def test_one_that_fails_is_none_of_the_others_concern(swept: Swept) -> None:
    failing, other = swept.connection(Request(), Request()), swept.connection(Request(), Request())
    swept.until(ENDS)
    other.session.queue.popleft()
    failing.session.ends = "what cannot be compared"
    failing.session.queue = deque([Request()])
    swept.until(ENDS + SWEEP)
    assert swept.closed == [other]
    assert isinstance(failing.failed, TypeError)


def test_one_that_is_gone_is_forgotten(swept: Swept) -> None:
    clients = [swept.connection(), swept.connection(Request())]
    swept.until(ENDS)
    for client in clients:
        swept.sessions.closed(client)
    swept.until(ENDS + 2 * IDLE_SECONDS)
    assert swept.closed == []
