"""Requests that wait behind others on their connection, and connections that a change ends."""

from __future__ import annotations

import pytest

from gateway.connections.closing import NOT_ANY_MORE
from gateway.session.holding import MAX_BEHIND
from gateway.slices import Budget
from protocol import messages
from tests.connections.connected import connected, settled
from tests.session.allowing import Allowing
from tests.session.pair import Pair, frames, request_frame, response_frame
from tests.session.producing import batch, produce
from tests.session.test_decided_late import ALL, NAME, fetch
from tests.session.test_session import heartbeat, heartbeat_response


def fetched(correlation_id: int) -> bytes:
    entity = messages.build(messages.message_class("FetchResponse", 12))
    return response_frame("Fetch", 12, entity, correlation_id)


def unacknowledged(correlation_id: int) -> bytes:
    entity = produce({NAME: [batch(1)]}, acks=0)
    return request_frame("Produce", 9, entity, correlation_id)


def pair() -> Pair:
    return Pair(topics=["team-a..orders", "plain"], authorizer=Allowing(ALL))


def without_rights(one: Pair) -> object:
    one.authorizer = Allowing([])
    return one.access()


async def test_what_a_client_sent_before_its_end_is_done() -> None:
    """As at a broker, which reads a connection to its end."""
    connection, server, client = connected(pair())
    connection.data_received(fetch(1) + heartbeat(2) + unacknowledged(3))
    await settled()
    connection.connection_lost(None)
    assert not server.broker.closed
    connection._broker.data_received(fetched(1))  # type: ignore[union-attr]
    assert not server.broker.closed
    connection._broker.data_received(heartbeat_response(2))  # type: ignore[union-attr]
    sent = [int.from_bytes(payload[4:8], "big") for payload in frames(server.broker.written)]
    assert sent == [1, 2, 3]
    entity = messages.build(messages.message_class("ProduceResponse", 9))
    connection._broker.data_received(response_frame("Produce", 9, entity, 3))  # type: ignore[union-attr]
    assert (server.broker.closed, server.broker.aborted) == (True, False)
    assert client.written == b""
    assert server.gone == [connection]


async def test_what_a_client_sent_before_a_reset_is_not() -> None:
    """Nor does a broker carry out a request that it has not begun with by then."""
    connection, server, _client = connected(pair())
    connection.data_received(fetch(1) + unacknowledged(2))
    await settled()
    connection.connection_lost(ConnectionResetError())
    assert server.broker.closed
    assert len(frames(server.broker.written)) == 1


async def test_little_is_held_and_reading_goes_on_until_then() -> None:
    connection, server, client = connected(pair())
    connection.data_received(fetch(1) + heartbeat(2))
    await settled()
    assert not client.paused
    connection.data_received(heartbeat(3) * (MAX_BEHIND // len(heartbeat(3)) + 1))
    assert client.paused
    connection.broker_data(fetched(1))
    while len(frames(server.broker.written)) < 10:
        number = int.from_bytes(frames(server.broker.written)[-1][4:8], "big")
        connection.broker_data(heartbeat_response(number))
    assert not client.paused


async def test_a_change_resets_the_connection_of_what_it_does_not_allow() -> None:
    one = pair()
    connection, server, client = connected(one)
    connection.data_received(request_frame("Produce", 9, produce({NAME: [batch(1)]})))
    await settled()
    connection.see(without_rights(one), Budget())  # type: ignore[arg-type]
    assert server.broker.reset
    assert (client.closed, server.reasons) == (True, [NOT_ANY_MORE])


async def test_a_change_resets_what_lingers() -> None:
    one = pair()
    connection, server, _client = connected(one)
    connection.data_received(fetch(1) + unacknowledged(2))
    await settled()
    connection.connection_lost(None)
    connection.see(without_rights(one), Budget())  # type: ignore[arg-type]
    connection._broker.data_received(fetched(1))  # type: ignore[union-attr]
    assert len(frames(server.broker.written)) == 1
    assert server.gone == [connection]


async def test_a_client_whose_held_bytes_are_no_request() -> None:
    connection, server, client = connected(pair())
    connection.data_received(fetch(1) + b"\x00\x00\x00\x01")
    await settled()
    connection.broker_data(fetched(1))
    assert client.closed
    assert server.reasons[0].startswith("client sent what is not Kafka")


async def test_a_long_request_is_checked_again_in_slices() -> None:
    one = pair()
    connection, server, _client = connected(one)
    groups = tuple(["app"] * 2_000)
    cls = messages.message_class("DescribeGroupsRequest", 5)
    frame = request_frame("DescribeGroups", 5, messages.build(cls, groups=groups))
    connection.data_received(frame)
    await settled()
    assert frames(server.broker.written)
    connection.see(without_rights(one), Budget())  # type: ignore[arg-type]
    assert not server.broker.reset
    await settled()
    assert server.broker.reset


@pytest.mark.parametrize("sent", [b"", heartbeat(1)[:3], heartbeat(1)])
async def test_a_port_that_is_only_looked_at_is_not_worth_a_line(sent: bytes) -> None:
    """Load balancers connect and reset."""
    connection, server, _client = connected(pair())
    if sent:
        connection.data_received(sent)
        await settled()
    connection.connection_lost(ConnectionResetError())
    assert server.loud == [bool(sent)]
