"""gateway.connections.connection: long requests and responses, between which other clients are
served."""

from __future__ import annotations

import asyncio
import gc

import pytest

from gateway import slices
from gateway.slices import Collector
from protocol import messages
from tests.connections.connected import connected, settled
from tests.pauses import pause_everywhere
from tests.session.long_requests import longest_request, values
from tests.session.pair import Pair, frames, raw_frame, request_frame, response_frame, topic_id
from tests.session.samples import request, response

METADATA = 3


@pytest.fixture(autouse=True)
def pausing_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pause point pause, however fast the machine is."""
    pause_everywhere(monkeypatch)


def long_request() -> bytes:
    return raw_frame(METADATA, 9, longest_request("Metadata", 9, "topics", 2_000))


async def test_a_long_request_is_forwarded_when_it_is_decided() -> None:
    connection, server, client = connected(Pair())
    connection.data_received(long_request())
    await asyncio.sleep(0)
    assert (server.broker.written, client.paused) == (b"", True)
    await settled()
    assert (len(frames(server.broker.written)), client.paused) == (1, False)


async def test_what_the_broker_answers_is_merged_while_others_are_served() -> None:
    connection, server, client = connected(Pair())
    connection.data_received(long_request())
    await settled()
    entity = response("Metadata", 9, "t", topic_id(1), "")
    nothing = type(entity)(**{**values(entity), "topics": ()})
    connection.broker_data(response_frame("Metadata", 9, nothing))
    assert (client.written, server.broker.paused) == (b"", True)
    await settled()
    assert (len(frames(client.written)), server.broker.paused) == (1, False)


async def test_a_client_that_leaves_meanwhile() -> None:
    """No byte of its request reaches the broker."""
    connection, server, _client = connected(Pair())
    connection.data_received(long_request())
    await asyncio.sleep(0)
    connection.connection_lost(None)
    await settled()
    assert server.broker.written == b""


async def test_a_client_that_leaves_before_the_second_slice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No task goes on with its request, or waits for it."""
    monkeypatch.setattr(slices, "COLLECTOR", Collector())
    connection, server, _client = connected(Pair())
    connection.data_received(
        request_frame("ListGroups", 0, request("ListGroups", 0, "", topic_id(1)))
    )
    await settled()
    empty = messages.build(messages.message_class("ListGroupsResponse", 0))
    connection.broker_data(response_frame("ListGroups", 0, empty))
    before, usual = server.broker.written, gc.get_threshold()
    connection.data_received(long_request())
    assert gc.get_threshold() != usual
    connection.connection_lost(None)
    await settled()
    assert (server.broker.written, gc.get_threshold()) == (before, usual)


async def test_a_client_that_leaves_while_its_response_is_restored() -> None:
    connection, _server, client = connected(Pair(topics=["t"]))
    asked = request("OffsetFetch", 7, "t", topic_id(1))
    connection.data_received(request_frame("OffsetFetch", 7, asked))
    entity = response("OffsetFetch", 7, "t", topic_id(1), "")
    long = type(entity)(**{**values(entity), "topics": entity.topics * 2_000})
    connection.broker_data(response_frame("OffsetFetch", 7, long))
    await asyncio.sleep(0)
    connection.connection_lost(None)
    await settled()
    assert client.written == b""


async def test_a_response_that_makes_no_sense_ends_the_connection() -> None:
    connection, server, _client = connected(Pair())
    connection.data_received(long_request())
    await settled()
    frame = response_frame("Metadata", 9, response("Metadata", 9, "t", topic_id(1), ""))
    connection.broker_data(frame[:-1] + b"\x7f")
    await settled()
    assert len(server.reasons) == 1
    assert "not Kafka" in server.reasons[0]
