"""gateway.brokers.connection: connections on which both ends are authenticated."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority
from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.security import BrokerSecurity
from gateway.cluster.link import ClusterLink, ClusterUnreachable
from gateway.config.security import ClientSasl, ClientTls, ClusterSecurity, Secret
from protocol import messages
from tests.auth.sasl_broker import SaslBroker
from tests.brokers.tls_broker import HOST, TlsBroker

pytestmark = pytest.mark.asyncio

TIMEOUT = 120.0


def security_of(
    protocol: Any, directory: Path, known: str = "secret", **tls: Any
) -> BrokerSecurity:
    password = directory / "password"
    password.write_text(known)
    sasl = ClientSasl(mechanism="SCRAM-SHA-256", username="gateway", password=Secret(file=password))
    return BrokerSecurity(ClusterSecurity(protocol=protocol, tls=ClientTls(**tls), sasl=sasl))


def users(**options: Any) -> SaslBroker:
    return SaslBroker({"gateway": "secret"}, **options)


async def connect(broker: TlsBroker, security: BrokerSecurity) -> BrokerConnection:
    return await BrokerConnection.connect(HOST, broker.port, timeout=TIMEOUT, security=security)


async def ask(connection: BrokerConnection) -> bytes:
    request = messages.build(messages.message_class("ListGroupsRequest", 0))
    return await connection.exchange("ListGroupsRequest", 0, request)


async def test_logs_in_once_and_asks(tmp_path: Path) -> None:
    async with TlsBroker(users()) as broker:
        connection = await connect(broker, security_of("SASL_PLAINTEXT", tmp_path))
        await ask(connection)
        await ask(connection)
        assert broker.sasl.logins == ["gateway"]
        assert len(broker.echoed) == 2
        assert connection.is_open
        connection.close()


async def test_with_tls(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    async with TlsBroker(users(), ca.server()) as broker:
        connection = await connect(broker, security_of("SASL_SSL", tmp_path, ca=ca.file))
        await ask(connection)
        assert broker.sasl.logins == ["gateway"]
        connection.close()


async def test_a_wrong_password_leaves_no_connection(tmp_path: Path) -> None:
    async with TlsBroker(users()) as broker:
        with pytest.raises(BrokerError, match="refuses user 'gateway'"):
            await connect(broker, security_of("SASL_PLAINTEXT", tmp_path, "wrong"))
        await _closed(broker, 1)


async def test_an_authority_that_is_not_believed(tmp_path: Path) -> None:
    ca, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    async with TlsBroker(users(), ca.server()) as broker:
        with pytest.raises(BrokerError, match=r"cannot connect: its certificate is not believed"):
            await connect(broker, security_of("SSL", tmp_path, ca=other.file))


async def test_a_session_is_not_used_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time
    async with TlsBroker(users(lifetime_ms=2_000_000)) as broker:
        connection = await connect(broker, security_of("SASL_PLAINTEXT", tmp_path))
        with monkeypatch.context() as later:
            later.setattr(loop, "time", lambda: now() + 500)
            assert connection.is_open
            later.setattr(loop, "time", lambda: now() + 1_900)
            assert not connection.is_open
        connection.close()


class TestLink:
    """ClusterLink, which keeps a single connection."""

    async def test_a_session_that_ends_is_no_failure(self, tmp_path: Path) -> None:
        async with TlsBroker(users(lifetime_ms=200)) as broker:
            security = security_of("SASL_PLAINTEXT", tmp_path)
            address = (HOST, broker.port)
            link = ClusterLink("main", [address], timeout=TIMEOUT, security=security)
            while len(broker.sasl.logins) < 3:
                await link.ask(ask)
                await asyncio.sleep(0.01)
            assert not link.lately_failed(address)
            await _closed(broker, 2)
            link.close()

    async def test_one_line_says_all_about_a_login_that_fails(self, tmp_path: Path) -> None:
        async with TlsBroker(users()) as broker:
            security = security_of("SASL_PLAINTEXT", tmp_path, "wrong")
            link = ClusterLink("main", [(HOST, broker.port)], timeout=TIMEOUT, security=security)
            with pytest.raises(ClusterUnreachable) as raised:
                await link.ask(ask)
        text = str(raised.value)
        assert text.startswith(
            f"cluster 'main' is not reachable: {HOST}:{broker.port}: refuses user 'gateway' "
        )
        assert text.endswith(
            "correct clusters[0].security.sasl.username or clusters[0].security.sasl.password"
        )
        assert "wrong" not in text
        assert "\n" not in text

    @pytest.mark.parametrize("loses", [0, 1])
    async def test_a_broker_that_speaks_something_else(self, loses: int) -> None:
        """A TLS listener responds to nothing, a SASL listener only to ApiVersions."""
        async with TlsBroker(users()) as broker:
            broker.loses = loses
            link = ClusterLink("main", [(HOST, broker.port)], timeout=TIMEOUT)
            with pytest.raises(ClusterUnreachable) as raised:
                await link.ask(ask)
        text, hint = str(raised.value), "; is clusters[0].security.protocol what it speaks there?"
        assert hint in text
        # A broker that is full closes a connection before it responds to anything (KIP-402).
        assert text.endswith(hint) is (loses == 1)
        assert ("max.connections.per.ip" in text) is (loses == 0)

    async def test_a_broker_that_is_lost_later_speaks_the_same(self) -> None:
        async with TlsBroker(users()) as broker:
            broker.loses = 2
            link = ClusterLink("main", [(HOST, broker.port)], timeout=TIMEOUT)

            async def twice(connection: BrokerConnection) -> bytes:
                await ask(connection)
                return await ask(connection)

            with pytest.raises(ClusterUnreachable) as raised:
                await link.ask(twice)
        assert "what it speaks" not in str(raised.value)


async def _closed(broker: TlsBroker, count: int) -> None:
    """Wait until this number of connections is closed."""
    async with asyncio.timeout(TIMEOUT):
        while broker.closed < count:
            await asyncio.sleep(0.005)
