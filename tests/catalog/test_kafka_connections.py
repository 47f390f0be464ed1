"""Connections to brokers that answer, are silent, or are not there."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka.protocol.metadata import MetadataRequest

from devkit.ports import free_port
from gateway.catalog.kafka_connections import Connections, error_name
from gateway.catalog.partition import LogError

METADATA, API_VERSIONS = 3, 18


class Broker:
    """Answers ApiVersions and Metadata, as long as it is not ``silent``."""

    def __init__(self) -> None:
        self.port = free_port()
        self.silent = False
        self.leader = 1
        self.code = 0
        self.connections = 0
        self.metadata: list[bytes] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
                api, _, correlation_id = struct.unpack_from(">hhi", request)
                if self.silent:
                    continue
                body = self._versions() if api == API_VERSIONS else self._metadata(request)
                answer = struct.pack(">i", correlation_id) + body
                writer.write(struct.pack(">i", len(answer)) + answer)
        except asyncio.IncompleteReadError:
            writer.close()

    def drop(self) -> None:
        """Close every connection."""
        for writer in self._writers:
            writer.transport.abort()

    def _versions(self) -> bytes:
        return struct.pack(">hihhhhhh", 0, 2, METADATA, 4, 4, API_VERSIONS, 0, 0)

    def _metadata(self, request: bytes) -> bytes:
        self.metadata.append(request)
        host = struct.pack(">h", 9) + b"127.0.0.1"
        brokers = struct.pack(">ii", 1, 1) + host + struct.pack(">ih", self.port, -1)
        partition = struct.pack(">ihiiii", 1, 0, 0, self.leader, 0, 0)
        topic = struct.pack(">ihh", 1, self.code, 1) + b"t" + b"\0" + partition
        cluster = struct.pack(">hi", -1, 1)
        return struct.pack(">i", 0) + brokers + cluster + topic


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Broker, Connections]]:
    """A broker, and connections to it."""
    broker = Broker()
    server = await asyncio.start_server(broker.serve, "127.0.0.1", broker.port)
    connections = Connections([("127.0.0.1", broker.port)], "t")
    try:
        yield broker, connections
    finally:
        await connections.close()
        broker.drop()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.01)


QUESTION = MetadataRequest(["t"], allow_auto_topic_creation=False)


async def test_the_leader_is_found_and_asked() -> None:
    async with running() as (broker, connections):
        response = await connections.ask_leader(QUESTION, "ask")
        assert response.topics[0][1] == "t"
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
        # What the silent one may still say belongs to no question.
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
        with pytest.raises(LogError, match="UnknownTopicOrPartitionError"):
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


def test_errors_have_kafkas_names() -> None:
    assert error_name(47) == "InvalidProducerEpoch"
    assert error_name(12345) == "error 12345"
