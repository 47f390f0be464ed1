"""gateway.brokers.opening: broker connections for clients, against brokers of this process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.brokers import opening
from gateway.brokers.errors import BrokerError
from gateway.brokers.messages import request_frame
from gateway.brokers.opening import MAX_ANSWER, open_transport
from gateway.brokers.security import BrokerSecurity
from gateway.config.security import ClientSasl, ClientTls, ClusterSecurity, Secret
from protocol import messages
from tests.auth.sasl_broker import Outcome, SaslBroker
from tests.brokers.tls_broker import HOST, TlsBroker

pytestmark = pytest.mark.asyncio

VERSIONS = {36: (0, 2)}


class Taker(asyncio.Protocol):
    """Takes the transport over, and sends a single request."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.received = asyncio.get_running_loop().create_future()
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert self.transport is None
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self.received.done():
            self.received.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(exc)

    async def ask(self) -> bytes:
        assert self.transport is not None
        request = messages.build(messages.message_class("ListGroupsRequest", 0))
        self.transport.write(request_frame("ListGroupsRequest", 0, 3, request))
        async with asyncio.timeout(120):
            return cast(bytes, await self.received)

    def close(self) -> None:
        assert self.transport is not None
        self.transport.abort()


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ca")


@pytest_asyncio.fixture
async def plain() -> AsyncIterator[TlsBroker]:
    async with TlsBroker(SaslBroker({"gateway": "secret"}, lifetime_ms=7_000)) as broker:
        yield broker


@pytest_asyncio.fixture
async def encrypted(ca: Authority) -> AsyncIterator[TlsBroker]:
    async with TlsBroker(SaslBroker({"gateway": "secret"}), ca.server()) as broker:
        yield broker


def security_of(
    protocol: Any,
    directory: Path,
    *,
    mechanism: Any = "SCRAM-SHA-256",
    known: str = "secret",
    **tls: Any,
) -> BrokerSecurity:
    password = directory / "password"
    password.write_text(known)
    sasl = ClientSasl(mechanism=mechanism, username="gateway", password=Secret(file=password))
    settings = ClusterSecurity(
        protocol=protocol,
        tls=ClientTls(**tls),
        sasl=sasl if protocol.startswith("SASL_") else None,
    )
    return BrokerSecurity(settings)


async def open_to(
    broker: TlsBroker, security: BrokerSecurity, host: str = HOST, **options: Any
) -> tuple[Taker, float]:
    takers: list[Taker] = []

    def take_over() -> Taker:
        takers.append(Taker())
        return takers[-1]

    async with asyncio.timeout(120):
        seconds = await open_transport(security, host, broker.port, take_over, VERSIONS, **options)
    (taker,) = takers
    return taker, seconds


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_logged_in_first(plain: TlsBroker, tmp_path: Path, mechanism: str) -> None:
    security = security_of("SASL_PLAINTEXT", tmp_path, mechanism=mechanism)
    taker, seconds = await open_to(plain, security)
    assert plain.sasl.logins == ["gateway"]
    assert seconds == 7.0
    assert await taker.ask()
    assert len(plain.echoed) == 1
    taker.close()


async def test_with_tls(encrypted: TlsBroker, ca: Authority, tmp_path: Path) -> None:
    taker, seconds = await open_to(encrypted, security_of("SASL_SSL", tmp_path, ca=ca.file))
    assert encrypted.sasl.logins == ["gateway"]
    assert seconds == 0
    assert await taker.ask()
    taker.close()


async def test_with_tls_alone(encrypted: TlsBroker, ca: Authority, tmp_path: Path) -> None:
    taker, _ = await open_to(encrypted, security_of("SSL", tmp_path, ca=ca.file))
    assert await taker.ask()
    assert encrypted.sasl.asked == []
    taker.close()


async def test_who_logs_in_itself_gets_the_connection_as_it_is(
    plain: TlsBroker, tmp_path: Path
) -> None:
    security = security_of("SASL_PLAINTEXT", tmp_path)
    taker, seconds = await open_to(plain, security, log_in_first=False)
    assert seconds == 0
    assert plain.sasl.asked == []
    taker.close()


async def test_a_wrong_password(plain: TlsBroker, tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"refuses user 'gateway' .*security\.sasl\.password"):
        await open_to(plain, security_of("SASL_PLAINTEXT", tmp_path, known="wrong"))
    await _all_closed(plain)


async def test_an_authority_that_is_not_believed(encrypted: TlsBroker, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other")
    with pytest.raises(
        BrokerError, match=r"not believed .*correct clusters\[0\]\.security\.tls\.ca"
    ):
        await open_to(encrypted, security_of("SSL", tmp_path, ca=other.file))
    await _all_closed(encrypted)


async def test_a_certificate_of_another_host(ca: Authority, tmp_path: Path) -> None:
    credentials = ca.server("elsewhere", ["broker.example"])
    async with TlsBroker(SaslBroker({}), credentials) as broker:
        security = security_of("SSL", tmp_path, ca=ca.file)
        with pytest.raises(BrokerError, match=r"another host's .*verify_hostname"):
            await open_to(broker, security)
        lenient = security_of("SSL", tmp_path, ca=ca.file, verify_hostname=False)
        taker, _ = await open_to(broker, lenient)
        taker.close()


async def test_a_broker_that_speaks_no_tls(plain: TlsBroker, tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"correct clusters\[0\].security.protocol|as clusters"):
        async with asyncio.timeout(120):
            plain.loses = 0
            await open_to(plain, security_of("SSL", tmp_path))


async def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    broker = TlsBroker(SaslBroker({}))
    broker.port = free_port()
    with pytest.raises(BrokerError, match="cannot connect: Connection refused") as raised:
        await open_to(broker, security_of("SASL_PLAINTEXT", tmp_path))
    assert str(broker.port) not in str(raised.value)


@pytest.mark.parametrize("answered", [0, 1, 2])
async def test_a_broker_that_leaves_in_the_middle(
    plain: TlsBroker, tmp_path: Path, answered: int
) -> None:
    plain.loses = answered
    with pytest.raises(BrokerError, match=r"cannot log in: (the broker closed the c|C)onnection"):
        await open_to(plain, security_of("SASL_PLAINTEXT", tmp_path))


async def test_a_broker_that_says_nothing(plain: TlsBroker, tmp_path: Path) -> None:
    plain.silent = True
    security = security_of("SASL_PLAINTEXT", tmp_path)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await open_transport(security, HOST, plain.port, Taker, VERSIONS)
    await _all_closed(plain)


async def test_a_login_takes_as_long_as_clients_wait(
    plain: TlsBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.silent = True
    monkeypatch.setattr(opening, "LOGIN_SECONDS", 0.05)
    with pytest.raises(BrokerError, match=r"no end of the login within 0\.05 s"):
        await open_to(plain, security_of("SASL_PLAINTEXT", tmp_path))
    await _all_closed(plain)


async def test_a_connection_takes_as_long_as_clients_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system has accepted, and the broker does not begin the TLS handshake."""
    monkeypatch.setattr(opening, "CONNECT_SECONDS", 0.05)
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        security = security_of("SSL", tmp_path, verify_hostname=False)
        with pytest.raises(BrokerError, match=r"no connection within 0\.05 s"):
            await open_transport(security, HOST, port, Taker, VERSIONS)


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (b"\xff\xff\xff\xff", "an answer of -1 bytes"),
        ((MAX_ANSWER + 1).to_bytes(4, "big"), f"an answer of {MAX_ANSWER + 1} bytes"),
        (b"\0\0\0\x04\0\0\0\x63", "correlation id 99"),
        (b"\0\0\0\x05\0\0\0\x01\xff", "makes no sense"),
        (b"\0\0\0\x04\0\0\0\x01more", "more in a login than it was asked"),
    ],
)
async def test_a_broker_that_makes_no_sense(
    plain: TlsBroker, tmp_path: Path, spoilt: bytes, reason: str
) -> None:
    plain.sasl.spoil = lambda _: spoilt
    with pytest.raises(BrokerError, match=reason):
        await open_to(plain, security_of("SASL_PLAINTEXT", tmp_path))
    await _all_closed(plain)


async def test_a_broker_that_does_not_know_the_password(plain: TlsBroker, tmp_path: Path) -> None:
    plain.sasl.lies.extend([None, Outcome(b"v=AAAA")])
    with pytest.raises(BrokerError, match="is not to be trusted"):
        await open_to(plain, security_of("SASL_PLAINTEXT", tmp_path))
    await _all_closed(plain)


async def _all_closed(broker: TlsBroker) -> None:
    """Wait until no connection is left open."""
    async with asyncio.timeout(120):
        while broker.closed < broker.connections:
            await asyncio.sleep(0.005)
