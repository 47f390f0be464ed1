"""gateway.brokers.spoken: the protocol of an address, and when it is probed."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.brokers.errors import BrokerError, LoginError, NotSpoken
from gateway.brokers.spoken import Spoken, mismatch, spoken_at
from tests.commands.init.fake_brokers import HOST, FakeBrokers

SECONDS = 30.0


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize("has_tls", [False, True])
@pytest.mark.parametrize("mechanisms", [(), ("PLAIN",), ("SCRAM-SHA-256", "SCRAM-SHA-512")])
async def test_each_protocol(ca: Authority, has_tls: bool, mechanisms: tuple[str, ...]) -> None:
    credentials = ca.server() if has_tls else None
    async with FakeBrokers(mechanisms=mechanisms, credentials=credentials) as brokers:
        found = await spoken_at(HOST, brokers.port, SECONDS)
    assert found == Spoken(has_tls, mechanisms)
    wanted = ("SASL_" if mechanisms else "") + ("SSL" if has_tls else "PLAINTEXT")
    assert found.protocols == (wanted if mechanisms or has_tls else "PLAINTEXT",)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_tls_that_wants_a_certificate(ca: Authority, version: ssl.TLSVersion) -> None:
    """TLS 1.2 rejects the lack of one within the handshake, 1.3 after it."""
    server = ca.server()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.key)
    context.load_verify_locations(ca.file)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = version

    def serve(listening: socket.socket) -> None:
        """Asyncio's own servers send no alert, as brokers do. Two connections: plain and TLS."""
        for _ in range(2):
            accepted, _ = listening.accept()
            with accepted, suppress(OSError), context.wrap_socket(accepted, True) as tls:
                tls.recv(1)

    with socket.create_server((HOST, 0)) as listening:
        serving = asyncio.create_task(asyncio.to_thread(serve, listening))
        found = await spoken_at(HOST, listening.getsockname()[1], SECONDS)
        await serving
    assert found is not None
    assert (found.has_tls, found.mechanisms) == (True, None)
    assert found.protocols == ("SSL", "SASL_SSL")


async def test_a_controller() -> None:
    async with FakeBrokers(is_controller=True) as controller:
        found = await spoken_at(HOST, controller.port, SECONDS)
    assert found == Spoken(False, (), is_broker=False)


async def test_what_is_no_kafka_or_not_there() -> None:
    async with a_web_server() as port:
        assert await spoken_at(HOST, port, SECONDS) is None
    assert await spoken_at(HOST, free_port(), SECONDS) is None


@asynccontextmanager
async def a_web_server() -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    ("protocol", "error", "is_asked"),
    [
        ("PLAINTEXT", NotSpoken("closed the connection"), True),
        ("SASL_SSL", BrokerError("no connection within 5 s"), True),
        ("PLAINTEXT", BrokerError("no connection within 5 s"), False),
        ("SSL", BrokerError("cannot connect: its certificate is not believed"), False),
        ("SASL_PLAINTEXT", LoginError("refuses user 'me'"), False),
    ],
)
async def test_only_where_another_protocol_may_be_the_reason(
    protocol: str, error: BrokerError, is_asked: bool
) -> None:
    async with FakeBrokers(mechanisms=["PLAIN"]) as brokers:
        found = await mismatch(HOST, brokers.port, protocol, error, SECONDS)
        assert bool(brokers.asked("SaslHandshake")) is is_asked
    assert (found is None) is (not is_asked)


async def test_what_is_as_it_was_taken_for_is_no_mismatch(tmp_path: Path) -> None:
    async with FakeBrokers() as brokers:
        lost = NotSpoken("closed the connection")
        assert await mismatch(HOST, brokers.port, "PLAINTEXT", lost, SECONDS) is None


@pytest.mark.parametrize(
    ("spoken", "text"),
    [
        (Spoken(True, ()), "speaks TLS there, and has no login"),
        (Spoken(False, ("PLAIN", "SCRAM-SHA-256")), "a login by PLAIN or SCRAM-SHA-256"),
        (Spoken(True, None), "speaks TLS there, and asks for a certificate"),
    ],
)
def test_in_words(spoken: Spoken, text: str) -> None:
    assert text in str(spoken)
