from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.cluster.listing import all_topics_request
from protocol import messages
from tests.cluster.scripted_broker import (
    API_VERSIONS,
    HOST,
    METADATA,
    ClusterState,
    Fault,
    ScriptedBroker,
    disconnect,
    say_nothing,
    send_garbage,
    send_half,
    send_size,
    send_when,
    send_wrong_correlation_id,
)

pytestmark = pytest.mark.asyncio

TIMEOUT = 120.0  # in tests that do not wait for it


@pytest_asyncio.fixture
async def broker() -> AsyncIterator[ScriptedBroker]:
    state = ClusterState(topics={"orders": UUID(int=7)})
    async with ScriptedBroker(state) as broker:
        yield broker


async def connect(broker: ScriptedBroker, **options: Any) -> BrokerConnection:
    return await BrokerConnection.connect(*broker.address, **{"timeout": TIMEOUT, **options})


async def ask(connection: BrokerConnection) -> Any:
    version = connection.version_for("MetadataRequest")
    return await connection.request("MetadataRequest", version, all_topics_request(version))


async def test_asks_for_api_versions_and_says_who_asks(broker: ScriptedBroker) -> None:
    connection = await connect(broker)
    assert dict(connection.api_versions) == broker.api_versions
    (request,) = broker.requests
    assert (request.api_key, request.version) == (API_VERSIONS, 4)
    assert request.client_id == b"kafka-namespace-gateway"
    assert b"kafka-namespace-gateway" in request.body
    connection.close()


async def test_its_software_version_is_one_that_kafka_accepts(
    broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.2.dev3+g4567")
    connection = await connect(broker)
    request = messages.parse("ApiVersionsRequest", 4, broker.requests[0].body)
    assert request.client_software_version == "1.2.dev3-g4567"
    connection.close()


async def test_a_request_gets_its_response(broker: ScriptedBroker) -> None:
    connection = await connect(broker)
    for _ in range(3):
        response = await ask(connection)
        assert [(topic.name, topic.topic_id) for topic in response.topics] == [
            ("orders", UUID(int=7))
        ]
    assert broker.connections == 1
    assert len({request.correlation_id for request in broker.requests}) == 4
    assert broker.asked(METADATA)[0].version == 13
    connection.close()


async def test_requests_at_the_same_time_take_turns(broker: ScriptedBroker) -> None:
    connection = await connect(broker)
    responses = await asyncio.gather(*(ask(connection) for _ in range(5)))
    assert all(response.topics[0].name == "orders" for response in responses)
    connection.close()


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("highest", [0, 2, 3])
async def test_an_older_broker_is_asked_again_in_its_version(
    broker: ScriptedBroker, highest: int, tells: bool
) -> None:
    broker.api_versions[API_VERSIONS] = (0, highest)
    broker.tells_api_versions = tells
    connection = await connect(broker)
    assert dict(connection.api_versions) == broker.api_versions
    assert [request.version for request in broker.requests] == [4, highest if tells else 0]
    assert (await ask(connection)).topics[0].name == "orders"
    connection.close()


async def test_a_broker_that_rejects_what_it_offers_is_an_error(broker: ScriptedBroker) -> None:
    broker.api_versions[API_VERSIONS] = (9, 12)
    with pytest.raises(BrokerError, match="refuses ApiVersionsRequest v4 and offers v12"):
        await connect(broker)


async def test_an_error_instead_of_versions_is_an_error(broker: ScriptedBroker) -> None:
    broker.api_versions_error = 58
    with pytest.raises(BrokerError, match="ApiVersionsRequest is answered with error 58"):
        await connect(broker)


async def test_chooses_the_highest_version_both_know(broker: ScriptedBroker) -> None:
    broker.api_versions[METADATA] = (4, 9)
    connection = await connect(broker)
    assert connection.version_for("MetadataRequest") == 9
    connection.close()

    broker.api_versions[METADATA] = (4, 99)
    connection = await connect(broker)
    assert connection.version_for("MetadataRequest") == 13
    connection.close()


async def test_no_common_version_is_an_error(broker: ScriptedBroker) -> None:
    broker.api_versions[METADATA] = (50, 60)
    connection = await connect(broker)
    with pytest.raises(BrokerError, match="speaks no version of MetadataRequest"):
        connection.version_for("MetadataRequest")
    with pytest.raises(BrokerError, match="FetchRequest"):
        connection.version_for("FetchRequest")
    assert connection.is_open
    connection.close()


async def test_a_rejected_connection_is_an_error_that_says_so() -> None:
    with socket.socket() as unused:
        unused.bind((HOST, 0))
        with pytest.raises(BrokerError, match="cannot connect: Connection refused"):
            await BrokerConnection.connect(HOST, unused.getsockname()[1], timeout=TIMEOUT)


@pytest.mark.parametrize(("host", "port"), [(HOST, 70_000), ("a" * 100 + ".invalid", 9092)])
async def test_an_address_that_is_none_is_an_error(host: str, port: int) -> None:
    with pytest.raises(BrokerError, match="cannot connect"):
        await BrokerConnection.connect(host, port, timeout=TIMEOUT)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (disconnect, "closed the connection|connection lost"),
        (send_half, "closed the connection instead of answering MetadataRequest"),
        (send_garbage, "the answer to MetadataRequest makes no sense"),
        (send_wrong_correlation_id, "correlation id"),
        (send_size(2**31 - 1), "2147483647 bytes announced, 104857600 allowed"),
        (send_size(-1), "-1 bytes announced"),
        (send_size(3), "3 bytes announced"),
    ],
)
async def test_a_bad_answer_is_an_error_and_ends_the_connection(
    broker: ScriptedBroker, fault: Fault, reason: str
) -> None:
    connection = await connect(broker)
    broker.spoil_next(METADATA, fault)
    with pytest.raises(BrokerError, match=reason):
        await ask(connection)
    assert not connection.is_open
    with pytest.raises(BrokerError):
        await ask(connection)


async def test_an_answer_over_the_limit_is_not_read(broker: ScriptedBroker) -> None:
    connection = await connect(broker, max_response_bytes=64)
    broker.state.topics = {f"topic-{n}": UUID(int=n + 1) for n in range(10)}
    with pytest.raises(BrokerError, match="64 allowed"):
        await ask(connection)
    assert not connection.is_open


async def test_no_answer_in_time_is_an_error(broker: ScriptedBroker) -> None:
    connection = await connect(broker, timeout=0.05)
    broker.spoil_next(METADATA, say_nothing)
    with pytest.raises(BrokerError, match=r"no answer to MetadataRequest within 0.05 s"):
        await ask(connection)
    assert not connection.is_open


@pytest.mark.parametrize("fault", [disconnect, send_garbage, send_wrong_correlation_id])
async def test_a_bad_handshake_leaves_no_connection(broker: ScriptedBroker, fault: Fault) -> None:
    broker.spoil_next(API_VERSIONS, fault)
    with pytest.raises(BrokerError):
        await connect(broker)
    await broker.wait_disconnected()


async def test_a_cancelled_request_ends_the_connection(broker: ScriptedBroker) -> None:
    connection = await connect(broker)
    broker.spoil_next(METADATA, send_when(asyncio.Event()))
    asking = asyncio.create_task(ask(connection))
    await broker.wait_asked(METADATA, 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not connection.is_open


async def test_close_may_be_called_again(broker: ScriptedBroker) -> None:
    connection = await connect(broker)
    connection.close()
    connection.close()
    assert not connection.is_open
    await broker.wait_disconnected()
