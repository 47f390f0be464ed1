"""A change waits only for the clients' requests that name its topics."""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic

import pytest

from gateway.catalog.freezes import UNDER_WAY
from gateway.connections.closing import UNREAD
from gateway.connections.connection import Connection
from gateway.connections.tasks import Tasks
from gateway.connections.under_way import UnderWay, Watch
from gateway.session.deciding import Deciding
from gateway.slices import Turns
from protocol import messages
from protocol.headers import read_request_header
from protocol.messages import element_class, make
from protocol.pausing import FEW
from tests.connections.connected import connected, settled
from tests.session import fetching
from tests.session.pair import Pair, frames, request_frame, response_frame
from tests.session.producing import batch, produce, produced

ORDERS, OTHER, PLAIN = b"team-a..orders", b"team-b..x", b"plain"


class Watched:
    """A connection that has sent one Produce, and what tracks its requests."""

    def __init__(self) -> None:
        self.pair = Pair(topics=[ORDERS.decode(), OTHER.decode(), PLAIN.decode()])
        self.connection, self.server, _ = connected(self.pair)
        self.open: set[Connection] = {self.connection}
        self.under_way = UnderWay(self.open, Turns(), Tasks())

    async def produces(self, acks: int = -1) -> None:
        asked = produce({"team-a:orders": [batch(1)]}, acks=acks)
        self.connection.data_received(request_frame("Produce", 9, asked))
        await settled()

    def watch(self, topic: bytes = ORDERS) -> Watch:
        return self.under_way.watch(self.pair.worker, lambda name: name == topic)

    def is_answered(self) -> None:
        answer = response_frame("Produce", 9, produced({ORDERS.decode(): [0]}))
        self.connection.broker_data(answer)

    def ends(self) -> None:
        """End as ``Clients.closed`` does."""
        self.under_way.ended(self.connection)
        self.open.discard(self.connection)


async def begun() -> None:
    """Wait until the tasks that were spawned have begun."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_produce_is_waited_for_until_it_is_answered() -> None:
    watched = Watched()
    await watched.produces()
    watch = watched.watch()
    assert watch.holders() == ["client 127.0.0.1:5000 on listener test"]
    assert watched.watch(OTHER).holders() == []
    watched.is_answered()
    assert watch.holders() == []


async def test_many_changes_at_once_read_the_names_in_slices() -> None:
    watched = Watched()
    await watched.produces()
    names = [ORDERS, *([OTHER] * FEW)]
    watches = watched.under_way.watch_each(
        watched.pair.worker, [partial(bytes.__eq__, name) for name in names]
    )
    assert not any(watch.is_ready for watch in watches)
    await begun()
    assert all(watch.is_ready for watch in watches)
    assert [len(watch.holders()) for watch in watches] == [1, *([0] * FEW)]


async def test_what_comes_after_the_freeze_is_not_waited_for() -> None:
    watched = Watched()
    await watched.produces()
    watch = watched.watch()
    await watched.produces()
    watched.is_answered()
    assert watch.holders() == []


async def test_another_volume_s_clients_are_not_waited_for() -> None:
    watched = Watched()
    await watched.produces()
    other = Pair().worker
    assert watched.under_way.watch(other, lambda _: True).holders() == []


async def test_a_connection_that_ended_unanswered_counts_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched()
    await watched.produces()
    watch = watched.watch()
    watched.ends()
    assert len(watch.holders()) == 1
    assert watched.watch(OTHER).holders() == []
    assert watched.under_way.is_unsure(watched.pair.worker)
    later = monotonic() + UNDER_WAY / 1000 + 1
    monkeypatch.setattr("gateway.connections.under_way.monotonic", lambda: later)
    assert watch.holders() == []
    assert watched.watch().holders() == []
    assert not watched.under_way.is_unsure(watched.pair.worker)


async def test_one_that_ended_with_all_answered_leaves_nothing() -> None:
    watched = Watched()
    await watched.produces()
    watch = watched.watch()
    watched.is_answered()
    watched.ends()
    assert (watch.holders(), watched.watch().holders()) == ([], [])


async def test_behind_acks_0_the_gateway_asks_the_broker() -> None:
    """And the client's requests wait for the response, so that it proves all requests before it."""
    watched = Watched()
    silent = request_frame("Produce", 9, produce({PLAIN.decode(): [batch(1)]}, acks=0))
    watched.connection.data_received(silent)
    await settled()
    assert watched.watch(ORDERS).holders() == []
    watched.server.broker.taken()
    watch = watched.watch(PLAIN)
    assert len(watch.holders()) == 1
    await begun()
    (payload,) = frames(watched.server.broker.taken())
    api_key, version, correlation_id, _, _ = read_request_header(payload, 0, len(payload))
    assert (api_key, version) == (18, 0)
    watched.connection.data_received(silent)
    assert watched.server.broker.taken() == b""
    assert len(watch.holders()) == 1, "it is asked once"
    answer = messages.build(messages.message_class("ApiVersionsResponse", 0))
    watched.connection.broker_data(response_frame("ApiVersions", 0, answer, correlation_id))
    await settled()
    (payload,) = frames(watched.server.broker.taken())
    assert read_request_header(payload, 0, len(payload))[0] == 0, "what waited is sent"
    assert watch.holders() == []


async def test_a_client_that_leaves_after_acks_0_is_proven_first() -> None:
    watched = Watched()
    silent = request_frame("Produce", 9, produce({PLAIN.decode(): [batch(1)]}, acks=0))
    watched.connection.data_received(silent)
    await settled()
    watched.server.broker.taken()
    broker = watched.connection._broker
    assert broker is not None
    watched.connection.connection_lost(None)
    (payload,) = frames(watched.server.broker.taken())
    correlation_id = read_request_header(payload, 0, len(payload))[2]
    assert not watched.server.broker.closed
    answer = messages.build(messages.message_class("ApiVersionsResponse", 0))
    broker.data_received(response_frame("ApiVersions", 0, answer, correlation_id))
    assert watched.server.broker.closed
    assert watched.server.gone == [watched.connection]
    watched.ends()
    assert watched.watch(PLAIN).holders() == []


def fetching_plain() -> bytes:
    entity = fetching.request(12, {"plain": [0]}, session_epoch=-1)
    return request_frame("Fetch", 12, entity, 2)


async def test_a_produce_of_no_topics_holds_up_nobody() -> None:
    watched = Watched()
    watched.connection.data_received(request_frame("Produce", 9, produce({}, acks=0)))
    await settled()
    watched.connection.data_received(fetching_plain())
    await begun()
    assert watched.watch(ORDERS).holders() == []


async def test_a_fetch_behind_acks_0_does_not_keep_it_unproven() -> None:
    """It waits for the broker's response to the requests before it, so a freeze waits for a round
    trip."""
    watched = Watched()
    silent = request_frame("Produce", 9, produce({PLAIN.decode(): [batch(1)]}, acks=0))
    watched.connection.data_received(silent)
    await settled()
    watched.server.broker.taken()
    watched.connection.data_received(fetching_plain())
    await begun()
    watch = watched.watch(PLAIN)
    assert len(watch.holders()) == 1
    (payload,) = frames(watched.server.broker.taken())
    api_key, _, correlation_id, _, _ = read_request_header(payload, 0, len(payload))
    assert api_key == 18
    answer = messages.build(messages.message_class("ApiVersionsResponse", 0))
    watched.connection.broker_data(response_frame("ApiVersions", 0, answer, correlation_id))
    assert watch.holders() == []
    (payload,) = frames(watched.server.broker.taken())
    assert read_request_header(payload, 0, len(payload))[0] == 1


def metadata() -> bytes:
    request = messages.message_class("MetadataRequest", 9)
    topic = make(element_class(request, "topics"), {"name": "team-a:orders"})
    return request_frame("Metadata", 9, messages.build(request, topics=(topic,)), 1)


@pytest.mark.parametrize("reads", [True, False])
async def test_a_client_that_does_not_read_is_closed(
    reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while, because its request may be there, in front of a broker that is not read."""
    monkeypatch.setattr("gateway.connections.noted.TO_READ", 0.0)
    watched = Watched()
    if reads:
        watched.connection.data_received(metadata())
    else:
        watched.connection.data_received(
            request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}))
        )
    await settled()
    watched.connection.pause_writing()
    assert watched.server.broker.paused
    watch = watched.watch()
    assert (len(watch.holders()), len(watch.holders())) == (1, 1)
    assert watched.server.reasons == [UNREAD]
    if reads:
        assert watched.server.broker.closed
        watched.ends()
    else:
        assert not watched.server.broker.paused, "the response is read"
        broker = watched.connection._broker
        assert broker is not None
        answer = response_frame("Produce", 9, produced({ORDERS.decode(): [0]}))
        broker.data_received(answer)
        assert watched.server.broker.closed
    assert watch.holders() == []


@pytest.mark.parametrize("end", [None, ConnectionResetError()])
async def test_a_client_that_ends_while_its_request_is_decided(end: Exception | None) -> None:
    """A lingering connection is over when the broker has responded, and so is a long request:
    decided and sent if the client has closed its connection in order, dropped after a reset."""
    watched = Watched()
    await watched.produces()
    asked = produce({f"team-a:t{n}": [batch(1)] for n in range(6_000)})
    watched.connection.data_received(request_frame("Produce", 9, asked))
    assert isinstance(watched.pair.session.waiting, Deciding)
    watched.server.broker.taken()
    watched.connection.connection_lost(end)
    if end is None:
        await settled()
    await begun()
    broker = watched.connection._broker
    assert broker is not None
    broker.data_received(response_frame("Produce", 9, produced({ORDERS.decode(): [0]})))
    await settled()
    assert watched.pair.session.waiting is None
    sent = frames(watched.server.broker.taken())
    assert len(sent) == (1 if end is None else 0)
    if sent:
        broker.data_received(response_frame("Produce", 9, produced({})))
    assert not broker.lingering
    assert watched.watch(OTHER).holders() == []


async def test_a_reset_client_whose_request_waits_for_the_catalog() -> None:
    watched = Watched()
    await watched.produces()
    unknown = request_frame("Produce", 9, produce({"team-z:unknown": [batch(1)]}))
    watched.connection.data_received(unknown)
    assert watched.pair.session.waiting is not None
    watched.connection.connection_lost(ConnectionResetError())
    await begun()
    broker = watched.connection._broker
    assert broker is not None
    broker.data_received(response_frame("Produce", 9, produced({ORDERS.decode(): [0]})))
    await begun()
    assert not watched.pair.session.mid_request
    assert not broker.lingering
