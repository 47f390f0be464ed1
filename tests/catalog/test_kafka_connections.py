"""Connections to brokers that respond, are silent, or do not exist."""

from __future__ import annotations

import asyncio
import logging
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.log.kafka_connections import Connections
from gateway.catalog.log.records import LogError
from gateway.config.security import ClientSasl, ClientTls, ClusterSecurity, Secret
from protocol.messages import Request
from tests.auth.sasl_broker import AUTHENTICATE, HANDSHAKE, SaslBroker

METADATA, API_VERSIONS = 3, 18
UNSUPPORTED_VERSION = 35


class Broker:
    """Answers ApiVersions and Metadata, as long as it is not ``silent``; and logins."""

    def __init__(self, sasl: SaslBroker | None = None) -> None:
        self.sasl = sasl
        self.port = free_port()
        self.silent = False
        self.late: asyncio.Event | None = None
        self.leader = 1
        self.code = 0
        self.connections = 0
        self.closed = 0
        self.metadata: list[bytes] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
                api, version, correlation_id = struct.unpack_from(">hhi", request)
                if self.silent:
                    continue
                if api in (HANDSHAKE, AUTHENTICATE):
                    assert self.sasl is not None
                    writer.write(self.sasl.take(struct.pack(">i", size) + request))
                    continue
                body = self._versions(version) if api == API_VERSIONS else self._metadata(request)
                if api == METADATA and self.late is not None:
                    await self.late.wait()
                answer = struct.pack(">i", correlation_id) + body
                writer.write(struct.pack(">i", len(answer)) + answer)
        except asyncio.IncompleteReadError:
            self.closed += 1
            writer.close()

    def drop(self) -> None:
        """Close every connection."""
        for writer in self._writers:
            writer.transport.abort()

    def _versions(self, version: int) -> bytes:
        apis = ((METADATA, 4), (API_VERSIONS, 0), (HANDSHAKE, 1), (AUTHENTICATE, 1))
        served = b"".join(struct.pack(">hhh", api, version, version) for api, version in apis)
        code = UNSUPPORTED_VERSION if version else 0
        return struct.pack(">hi", code, len(apis)) + served

    def _metadata(self, request: bytes) -> bytes:
        self.metadata.append(request)
        host = struct.pack(">h", 9) + b"127.0.0.1"
        brokers = struct.pack(">ii", 1, 1) + host + struct.pack(">ih", self.port, -1)
        partition = struct.pack(">ihiiii", 1, 0, 0, self.leader, 0, 0)
        topic = struct.pack(">ihh", 1, self.code, 1) + b"t" + b"\0" + partition
        cluster = struct.pack(">hi", -1, 1)
        return struct.pack(">i", 0) + brokers + cluster + topic


@asynccontextmanager
async def running(
    sasl: SaslBroker | None = None,
    security: BrokerSecurity | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[tuple[Broker, Connections]]:
    """A broker, and connections to it."""
    broker = Broker(sasl)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", broker.port, ssl=tls)
    connections = Connections([("127.0.0.1", broker.port)], "t", security)
    try:
        yield broker, connections
    finally:
        await connections.close()
        broker.drop()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.01)


QUESTION = Request(
    "MetadataRequest", 9, {"topics": [{"name": "t"}], "allow_auto_topic_creation": False}
)


async def test_the_leader_is_found_and_asked() -> None:
    async with running() as (broker, connections):
        response = await connections.ask_leader(QUESTION, "ask")
        assert response.topics[0].name == "t"
        assert len(broker.metadata) == 2
        await connections.ask_leader(QUESTION, "ask")
        assert len(broker.metadata) == 3


async def test_looking_for_the_leader_makes_no_topic() -> None:
    async with running() as (broker, connections):
        await connections.ask_leader(QUESTION, "ask")
        assert all(request.endswith(b"\0\x01t\0") for request in broker.metadata)


async def test_each_purpose_has_one_connection() -> None:
    async with running() as (broker, connections):
        for purpose in ("ask", "ask", "fetch", "fetch"):
            await connections.ask_leader(QUESTION, purpose)
        assert broker.connections == 2


async def test_two_questions_at_once_share_a_connection_too() -> None:
    async with running() as (broker, connections):
        both = (connections.ask_any(QUESTION, "ask") for _ in range(2))
        await asyncio.gather(*both)
        await connections.ask_any(QUESTION, "ask")
        assert len(connections._open) == 1
        while broker.closed < broker.connections - 1:
            await asyncio.sleep(0.005)


async def test_a_broker_that_is_not_there() -> None:
    port = free_port()
    connections = Connections([("127.0.0.1", port)], "t")
    with pytest.raises(LogError, match="does not answer") as raised:
        await connections.ask_leader(QUESTION, "ask")
    assert "127.0.0.1" not in str(raised.value)
    assert str(port) not in str(raised.value)


async def test_a_broker_that_is_silent() -> None:
    async with running() as (broker, connections):
        await connections.ask_leader(QUESTION, "ask")
        broker.silent = True
        with pytest.raises(LogError, match="no answer in time"):
            await connections.ask_leader(QUESTION, "ask", 0.1)
        broker.silent = False
        await connections.ask_leader(QUESTION, "ask")
        # A late response of the silent broker belongs to no request.
        assert broker.connections == 2


async def test_a_connection_that_is_lost_is_opened_anew() -> None:
    async with running() as (broker, connections):
        await connections.ask_leader(QUESTION, "ask")
        broker.drop()
        await asyncio.sleep(0.05)
        await connections.ask_leader(QUESTION, "ask")
        assert broker.connections == 2


async def test_the_next_broker_is_asked_when_one_is_gone() -> None:
    async with running() as (broker, _):
        servers = [("127.0.0.1", free_port()), ("127.0.0.1", broker.port)]
        connections = Connections(servers, "t")
        await connections.ask_any(QUESTION, "ask")
        await connections.close()


async def test_a_topic_without_a_leader() -> None:
    async with running() as (broker, connections):
        broker.leader = -1
        with pytest.raises(LogError, match="has no leader"):
            await connections.ask_leader(QUESTION, "ask")


async def test_a_topic_that_is_not_there() -> None:
    async with running() as (broker, connections):
        broker.code = 3
        with pytest.raises(LogError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            await connections.ask_leader(QUESTION, "ask")


async def test_who_gives_up_leaves_no_half_answered_connection() -> None:
    async with running() as (broker, connections):
        await connections.ask_leader(QUESTION, "ask")
        broker.silent = True
        asking = asyncio.create_task(connections.ask_leader(QUESTION, "ask"))
        await asyncio.sleep(0.02)
        asking.cancel()
        await asyncio.wait([asking])
        broker.silent = False
        await connections.ask_leader(QUESTION, "ask")
        assert broker.connections == 2


async def test_close_leaves_no_task() -> None:
    async with running() as (_, connections):
        before = {task for task in asyncio.all_tasks() if "serve" not in repr(task)}
        await connections.ask_leader(QUESTION, "ask")
        await connections.ask_leader(QUESTION, "fetch")
        await connections.close()
        await asyncio.sleep(0.01)
        after = {task for task in asyncio.all_tasks() if "serve" not in repr(task)}
        assert after == before


def security_of(
    protocol: Any, directory: Path, known: str = "secret", mechanism: Any = "PLAIN", **tls: Any
) -> BrokerSecurity:
    password = directory / "password"
    password.write_text(known)
    sasl = ClientSasl(mechanism=mechanism, username="gateway", password=Secret(file=password))
    return BrokerSecurity(ClusterSecurity(protocol=protocol, tls=ClientTls(**tls), sasl=sasl))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_each_connection_logs_in(tmp_path: Path, mechanism: str) -> None:
    sasl = SaslBroker({"gateway": "secret"})
    security = security_of("SASL_PLAINTEXT", tmp_path, mechanism=mechanism)
    async with running(sasl, security) as (_, connections):
        for purpose in ("ask", "ask", "fetch"):
            await connections.ask_leader(QUESTION, purpose)
        assert sasl.logins == ["gateway"] * 2


async def test_a_login_that_fails_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sasl = SaslBroker({"gateway": "secret"})
    security = security_of("SASL_PLAINTEXT", tmp_path, "wr0ng")
    async with running(sasl, security) as (broker, connections):
        for _ in range(3):
            with pytest.raises(LogError, match="LoginError") as raised:
                await connections.ask_any(QUESTION, "ask")
            assert str(broker.port) not in str(raised.value)
        (line,) = [r.message for r in caplog.records if r.levelno == logging.WARNING]
        assert line.startswith(
            f"the catalog cannot be reached at 127.0.0.1:{broker.port}: refuses user 'gateway'"
        )
        assert "clusters[0].security.sasl.password" in line
        assert "wr0ng" not in line
        (tmp_path / "password").write_text("secret")
        await connections.ask_any(QUESTION, "ask")
        (tmp_path / "password").write_text("wr0ng")
        await connections.close()
        with pytest.raises(LogError, match="LoginError"):
            await connections.ask_any(QUESTION, "ask")
        assert len([r for r in caplog.records if r.levelno == logging.WARNING]) == 2


async def test_a_session_that_ends_is_left_for_a_new_one(tmp_path: Path) -> None:
    sasl = SaslBroker({"gateway": "secret"}, lifetime_ms=200)
    async with running(sasl, security_of("SASL_PLAINTEXT", tmp_path)) as (broker, connections):
        while len(sasl.logins) < 3:
            await connections.ask_any(QUESTION, "ask")
            await asyncio.sleep(0.01)
        assert broker.connections == 3


async def test_what_is_under_way_is_answered_on_the_connection_that_is_left(
    tmp_path: Path,
) -> None:
    sasl = SaslBroker({"gateway": "secret"}, lifetime_ms=200)
    async with running(sasl, security_of("SASL_PLAINTEXT", tmp_path)) as (broker, connections):
        await connections.ask_any(QUESTION, "ask")
        broker.late = asyncio.Event()
        slow = asyncio.create_task(connections.ask_any(QUESTION, "ask"))
        while len(broker.metadata) < 2:
            await asyncio.sleep(0.005)
        held, broker.late = broker.late, None
        (left,) = connections._open.values()
        while left.connection.is_open:
            await asyncio.sleep(0.005)
        await connections.ask_any(QUESTION, "ask")
        assert broker.connections == 2
        assert not slow.done()
        held.set()
        assert (await slow).topics


async def test_with_tls(tmp_path: Path) -> None:
    ca = Authority(tmp_path / "ca")
    server = ca.server()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(server.certificate, server.key)
    sasl = SaslBroker({"gateway": "secret"})
    security = security_of("SASL_SSL", tmp_path, ca=ca.file)
    async with running(sasl, security, tls) as (_, connections):
        await connections.ask_leader(QUESTION, "ask")
        assert sasl.logins == ["gateway"]


async def test_an_authority_that_is_not_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, other = Authority(tmp_path / "ca").server(), Authority(tmp_path / "other")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(server.certificate, server.key)
    security = security_of("SSL", tmp_path, ca=other.file)
    async with running(None, security, tls) as (_, connections):
        with pytest.raises(LogError, match="SecurityError"):
            await connections.ask_leader(QUESTION, "ask")
    (line,) = [r.message for r in caplog.records if r.name.startswith("gateway")]
    assert "correct clusters[0].security.tls.ca" in line


async def test_brokers_that_are_silent_do_not_take_their_time_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.catalog.log.kafka_connections.ANSWER_SECONDS", 3600.0)
    monkeypatch.setattr("gateway.brokers.staggered.MOST_SECONDS", 0.01)
    async with running() as (one, _), running() as (other, _), running() as (good, _):
        one.silent = other.silent = True
        addresses = [("127.0.0.1", broker.port) for broker in (one, other, good)]
        connections = Connections(addresses, "t")
        async with asyncio.timeout(120):
            assert (await connections.ask_any(QUESTION, "ask")).topics
        await connections.close()
