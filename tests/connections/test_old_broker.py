"""A broker before 2.8, over a socket: it requires IDEMPOTENT_WRITE if the gateway does not.

It serves Produce to version 8 and InitProducerId to version 4, as Kafka 2.7 does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest

from gateway.connections.broker_side import BrokerSide
from gateway.connections.connection import Connection, Hub
from protocol import messages
from protocol.headers import response_body_pos
from protocol.messages import make
from tests.cluster.scripted_broker import Answer, ClusterState, Fault, ScriptedBroker, send
from tests.connections.connected import FakeServer
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.session.pair import Pair, frames, request_frame
from tests.session.producing import batch, old_batch, produce, produced

PRODUCE, INIT_PRODUCER_ID = 0, 22
CLUSTER_AUTHORIZATION_FAILED = 31
INVALID_RECORD = 87
FLAT = "team-a..orders"


class SocketServer(FakeServer):
    """Connects to a broker of this process."""

    def __init__(self, broker: ScriptedBroker) -> None:
        super().__init__()
        self.address = broker.address

    async def connect_broker(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        side = BrokerSide(connection, place_of(connection))
        await loop.create_connection(lambda: side, *self.address)


class Client:
    """A client of a gateway in front of that broker."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self.broker = broker
        self.server = SocketServer(broker)
        self.transport = FakeTransport()
        pair = Pair()
        self.connection = Connection(cast(Hub, self.server), "test", None, pair.session)
        self.connection.connection_made(self.transport)

    async def ask(self, name: str, version: int, request: Any, answer: Any) -> Any:
        """Send a request, to which the broker responds with ``answer``; returns the client's
        response."""
        frame = request_frame(name, version, request)
        self.broker.spoil_next(int.from_bytes(frame[4:6], "big"), answering(answer))
        self.connection.data_received(frame)
        await self.until(lambda: bool(self.transport.written))
        (payload,) = frames(self.transport.taken())
        at = response_body_pos(payload, 0, len(payload), 1 if name == "InitProducerId" else 0)
        return messages.parse(f"{name}Response", version, payload[at:])

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(120):
            while not condition():
                await asyncio.sleep(0.01)


def answering(entity: Any) -> Fault:
    async def fault(answer: Answer) -> None:
        await send(replace(answer, body=messages.write(entity)))

    return fault


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ScriptedBroker(ClusterState()) as broker:
        made = Client(broker)
        yield made
        made.connection.close("the test is over")


def init_producer_id() -> Any:
    cls = messages.message_class("InitProducerIdRequest", 4)
    return messages.build(cls, transactional_id=None, producer_id=-1, producer_epoch=-1)


async def test_a_new_producer(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    cls = messages.message_class("InitProducerIdResponse", 4)
    rejected = make(cls, {"error_code": CLUSTER_AUTHORIZATION_FAILED})
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            got = await client.ask("InitProducerId", 4, init_producer_id(), rejected)
            assert got.error_code == CLUSTER_AUTHORIZATION_FAILED
    (line,) = [message for message in caplog.messages if "IDEMPOTENT_WRITE" in message]
    assert line.startswith("127.0.0.1:5000: the broker denies idempotent producers")
    assert not client.transport.closed


@pytest.mark.parametrize("version", [3, 8])
async def test_every_batch(client: Client, caplog: pytest.LogCaptureFixture, version: int) -> None:
    asked = produce({"team-a:orders": [batch(1, producer_id=5)]}, version)
    rejected = produced({FLAT: [CLUSTER_AUTHORIZATION_FAILED]}, version)
    got = await client.ask("Produce", version, asked, rejected)
    (topic,) = got.responses
    (partition,) = topic.partition_responses
    assert (topic.name, partition.error_code) == ("team-a:orders", CLUSTER_AUTHORIZATION_FAILED)
    if version >= 8:
        assert "IDEMPOTENT_WRITE on the cluster" in partition.error_message
    assert len([message for message in caplog.messages if "IDEMPOTENT_WRITE" in message]) == 1


async def test_a_client_that_sends_magic_1(client: Client) -> None:
    asked = produce({"team-a:orders": [old_batch(1)]}, 8, acks=1)
    got = await client.ask("Produce", 8, asked, produced({FLAT: [INVALID_RECORD]}, 8))
    assert got.responses[0].partition_responses[0].error_code == INVALID_RECORD
    (flow,) = client.connection.session.state.take_flows()
    assert flow.weak == {"acks1_upgraded": 1, "not_idempotent_observed": 1}


async def test_acks_0_that_fails(client: Client) -> None:
    rejected = produced({FLAT: [CLUSTER_AUTHORIZATION_FAILED]}, 8)
    client.broker.spoil_next(PRODUCE, answering(rejected))
    asked = produce({"team-a:orders": [batch(1)]}, 8, acks=0)
    client.connection.data_received(request_frame("Produce", 8, asked))
    await client.until(lambda: client.transport.closed)
    (reason,) = client.server.reasons
    assert reason.startswith("no answer fits: Produce with acks=0, forwarded as acks=all, failed")
    assert client.transport.written == b""


async def test_a_producer_that_leaves_is_written_to_the_end(client: Client) -> None:
    fine = produced({FLAT: [0]}, 8)
    late = asyncio.Event()

    async def in_time(answer: Answer) -> None:
        await late.wait()
        await send(replace(answer, body=messages.write(fine)))

    client.broker.spoil_next(PRODUCE, in_time, in_time, in_time)
    asked = produce({"team-a:orders": [batch(1)]}, 8, acks=0)
    client.connection.data_received(request_frame("Produce", 8, asked) * 3)
    await client.broker.wait_asked(PRODUCE, 1)
    client.connection.connection_lost(None)
    late.set()
    await client.until(lambda: client.server.gone == [client.connection])
    assert len(client.broker.asked(PRODUCE)) == 3
    await client.broker.wait_disconnected()
