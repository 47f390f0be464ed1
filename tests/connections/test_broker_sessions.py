"""gateway.connections.broker_sessions: sessions at brokers are renewed before they end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Any, cast

import pytest

from gateway.brokers.errors import LoginError
from gateway.brokers.security import BrokerSecurity
from gateway.cluster.cluster import Cluster
from gateway.config.security import ClientSasl, ClusterSecurity, Secret
from gateway.connections.broker_sessions import SHORTEST_SECONDS, BrokerSessions
from gateway.connections.connection import Connection
from gateway.exchanges.exchange import Exchange
from gateway.session.own_requests import Asked
from protocol.headers import response_body_pos
from tests.auth.sasl_broker import SaslBroker
from tests.cluster.answers import served


class FakeConnection:
    """A client's connection whose broker is ``sasl``; it runs at once what it is told to run."""

    def __init__(self, sasl: SaslBroker) -> None:
        self.sasl = sasl
        self.interludes: list[Callable[[], Awaitable[None]]] = []

    def interject(self, run: Callable[[], Awaitable[None]]) -> None:
        self.interludes.append(run)

    def send_own(self, exchange: Exchange, request: bytes) -> None:
        answer = self.sasl.take(request)
        header_version = exchange.plan.response_header_version
        assert isinstance(exchange.kept, Asked)
        exchange.kept.take(answer[response_body_pos(answer, 4, len(answer), header_version) :])

    def do(self) -> None:
        """Run the interlude."""
        (run,) = self.interludes
        self.interludes.clear()
        asyncio.run(cast(Any, run()))


@pytest.fixture
def password(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("secret")
    return path


class OneCluster(BrokerSessions):
    """Sessions at the brokers of a single cluster."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster


@pytest.fixture
def sessions(password: Path) -> OneCluster:
    sasl = ClientSasl(mechanism="SCRAM-SHA-256", username="gateway", password=Secret(file=password))
    security = BrokerSecurity(ClusterSecurity(protocol="SASL_PLAINTEXT", sasl=sasl))
    cluster = Cluster("main", [("broker", 9092)], security=security)
    cluster.nodes.learn(1, served({36: (0, 2)}))
    return OneCluster(cluster)


def opened(sessions: OneCluster, seconds: float, **options: Any) -> tuple[Any, SaslBroker]:
    broker = SaslBroker({"gateway": "secret"}, **options)
    connection = FakeConnection(broker)
    sessions.opened(cast(Connection, connection), sessions.cluster, seconds)
    return connection, broker


@pytest.mark.parametrize(
    ("seconds", "due"), [(100.0, 49.0), (4.0, SHORTEST_SECONDS), (1.0, SHORTEST_SECONDS)]
)
def test_renewed_when_half_of_it_is_over(sessions: OneCluster, seconds: float, due: float) -> None:
    now = monotonic()
    connection, broker = opened(sessions, seconds, lifetime_ms=50_000)
    sessions.sweep(now + due - 0.5)
    assert connection.interludes == []
    sessions.sweep(now + due + 0.5)
    connection.do()
    assert broker.logins == ["gateway"]


def test_each_is_renewed_once_and_then_again_in_its_time(sessions: OneCluster) -> None:
    connection, broker = opened(sessions, 10.0, lifetime_ms=60_000)
    sessions.sweep(monotonic() + 60)
    sessions.sweep(monotonic() + 60)
    connection.do()
    sessions.sweep(monotonic() + 28)
    assert connection.interludes == []
    sessions.sweep(monotonic() + 30)
    connection.do()
    assert broker.logins == ["gateway"] * 2


def test_a_session_without_an_end_is_left_alone(sessions: OneCluster) -> None:
    connection, _ = opened(sessions, 0.0)
    sessions.sweep(monotonic() + 1e9)
    assert connection.interludes == []


def test_a_renewed_session_without_an_end_is_left_alone(sessions: OneCluster) -> None:
    connection, _ = opened(sessions, 10.0, lifetime_ms=0)
    sessions.sweep(monotonic() + 60)
    connection.do()
    sessions.sweep(monotonic() + 1e9)
    assert connection.interludes == []


def test_a_connection_that_is_gone_is_forgotten(sessions: OneCluster) -> None:
    connection, _ = opened(sessions, 10.0)
    sessions.closed(connection)
    sessions.closed(connection)
    sessions.sweep(monotonic() + 60)
    assert connection.interludes == []


def test_it_is_renewed_with_the_password_of_now(sessions: OneCluster, password: Path) -> None:
    connection, broker = opened(sessions, 10.0)
    broker.users = {"gateway": "another"}
    password.write_text("another")
    sessions.sweep(monotonic() + 60)
    connection.do()
    assert broker.logins == ["gateway"]


def test_a_login_that_fails_ends_the_connection(sessions: OneCluster, password: Path) -> None:
    connection, _ = opened(sessions, 10.0)
    password.write_text("wrong")
    sessions.sweep(monotonic() + 60)
    with pytest.raises(LoginError, match="refuses user 'gateway'"):
        connection.do()
