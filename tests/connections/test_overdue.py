"""Requests that brokers have not answered when the catalog has been out of date for a while end
there."""

from __future__ import annotations

import pytest

from gateway.connections.closing import OUT_OF_DATE
from gateway.connections.overdue import Overdue
from tests.connections.connected import FakeServer, connected, settled
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce, produced
from tests.session.test_decided_late import FLAT, NAME, a_pair, fetch
from tests.waiting import eventually


class Sent:
    """A connection that has sent ``data``, and the end of the requests that it waits for."""

    def __init__(self, data: bytes) -> None:
        self.pair: Pair = a_pair()
        self.connection, self.server, self.client = connected(self.pair)
        self.overdue = Overdue([self.connection], self.pair.worker)
        self.data = data

    async def goes_out_of_date(self, seconds: float) -> FakeServer:
        self.connection.data_received(self.data)
        await settled()
        self.pair.close_view()
        self.overdue.see(seconds)
        return self.server


def written(acks: int = -1) -> bytes:
    return request_frame("Produce", 9, produce({NAME: [batch(1)]}, acks=acks))


@pytest.mark.parametrize("acks", [0, 1, -1])
async def test_what_may_not_have_left_yet_is_reset(acks: int) -> None:
    sent = Sent(written(acks))
    server = await sent.goes_out_of_date(0.01)
    assert not server.broker.closed
    await eventually(lambda: server.broker.reset, "the end of the connection to the broker")
    assert (sent.client.closed, server.reasons) == (True, [OUT_OF_DATE])


async def test_at_once_where_it_is_late_already() -> None:
    server = await Sent(written()).goes_out_of_date(-1.0)
    assert server.broker.reset


@pytest.mark.parametrize("data", [fetch(2, NAME), b""])
async def test_what_changes_nothing_goes_on(data: bytes) -> None:
    server = await Sent(data).goes_out_of_date(0.0)
    assert not server.broker.closed


async def test_what_is_answered_goes_on() -> None:
    sent = Sent(written())
    server = await sent.goes_out_of_date(3600.0)
    answer = response_frame("Produce", 9, produced({FLAT: [0]}))
    sent.connection.broker_data(answer)
    sent.overdue.see(0.0)
    assert not server.broker.closed


async def test_a_short_gap_ends_nothing() -> None:
    sent, other = Sent(written()), Sent(written())
    short = await sent.goes_out_of_date(0.01)
    sent.overdue.see(None)
    long = await other.goes_out_of_date(0.02)
    await eventually(lambda: long.broker.reset, "the end of the other one")
    assert not short.broker.closed


async def test_the_clients_of_another_volume_go_on() -> None:
    sent = Sent(written())
    sent.overdue = Overdue([sent.connection], a_pair().worker)
    server = await sent.goes_out_of_date(0.0)
    assert not server.broker.closed
