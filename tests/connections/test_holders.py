"""No client holds up a change for ever, or without a right on its topic."""

from __future__ import annotations

import asyncio

import pytest

from gateway.catalog.entities import Freeze, Namespace
from gateway.connections.closing import UNREAD
from gateway.connections.lane import Lane
from gateway.connections.tasks import Tasks
from gateway.connections.under_way import UnderWay
from gateway.exchanges.exchange import Refresh, Turn
from gateway.processes.taking_part import _concerns
from gateway.session.deciding import Deciding
from gateway.slices import Turns
from tests.connections.connected import FakeServer, connected, settled
from tests.connections.test_under_way import ORDERS, OTHER, PLAIN, Watched, metadata
from tests.session import samples
from tests.session.allowing import Allowing
from tests.session.pair import Pair, frames, request_frame, response_frame, topic_id
from tests.session.producing import batch, produce, produced
from tests.session.test_decided_late import AS_SENT
from tests.session.test_turns import denied

GARBAGE = b"\0\0\0\1\0"


def silent(name: str) -> bytes:
    return request_frame("Produce", 9, produce({name: [batch(1)]}, acks=0))


def apis(server: FakeServer) -> list[int]:
    return [int.from_bytes(one[:2], "big") for one in frames(server.broker.written)]


@pytest.mark.parametrize("acks", [0, 1, -1])
async def test_a_request_that_names_no_topic_leaves_nothing_behind(acks: int) -> None:
    watched = Watched()
    watched.connection.data_received(request_frame("Produce", 9, produce({}, acks=acks)) + GARBAGE)
    await settled()
    assert "not Kafka" in watched.server.reasons[0]
    watched.connection.connection_lost(None)
    watched.ends()
    assert (watched.watch(PLAIN).holders(), watched.watch(OTHER).holders()) == ([], [])


async def test_names_that_do_not_exist_hold_up_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.connections.under_way.MAX_UNKNOWN", 100)
    watched = Watched()
    names = ["team-a:orders", *(f"team-a:none{number}" for number in range(101))]
    watched.connection.data_received(
        request_frame("Produce", 9, produce({name: [batch(1)] for name in names}))
    )
    await settled()
    watched.connection.data_received(GARBAGE)
    watched.connection.connection_lost(None)
    watched.ends()
    assert watched.watch(OTHER).holders() == []
    assert len(watched.watch(ORDERS).holders()) == 1


async def test_metadata_of_what_is_denied_concerns_nobody() -> None:
    watched = Watched()
    watched.pair.authorizer = Allowing([])
    watched.pair.see(watched.pair.view)
    watched.connection.data_received(metadata())
    await settled()
    assert watched.watch(ORDERS).holders() == []


async def test_a_long_request_is_decided_again_and_not_waited_for() -> None:
    watched = Watched()
    await watched.produces()
    asked = produce({f"team-a:t{number}": [batch(1)] for number in range(6_000)})
    watched.connection.data_received(request_frame("Produce", 9, asked))
    waiting = watched.pair.session.waiting
    assert isinstance(waiting, Deciding)
    assert watched.watch(OTHER).holders() == []
    assert waiting.outdated
    before = waiting.exchange
    await settled()
    assert watched.pair.session.waiting is None
    assert before not in watched.pair.session.under_way


async def test_a_client_that_does_not_read_behind_acks_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.connections.noted.TO_READ", 0.0)
    watched = Watched()
    watched.connection.data_received(silent("plain"))
    await settled()
    watched.connection.pause_writing()
    watch = watched.watch(PLAIN)
    for _ in range(3):
        watch.holders()
    assert watched.server.reasons == [UNREAD]
    assert not watched.server.broker.paused, "the response behind it can be read"


async def test_a_client_that_stops_in_the_middle_of_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched()
    frame = request_frame("Produce", 9, produce({"plain": [batch(1) + bytes(150_000)]}))
    watched.connection.data_received(b"")
    await settled()
    watched.connection.data_received(frame[:60_000])
    watch = watched.watch(PLAIN)
    assert len(watch.holders()) == 1
    monkeypatch.setattr("gateway.connections.noted.TO_SEND", 0.0)
    watch.holders()
    assert watched.server.broker.reset


@pytest.mark.parametrize("whole", [True, False])
async def test_the_end_behind_a_request_whose_rest_came_after_the_freeze(whole: bool) -> None:
    """The broker may still carry it out if it has all of it, but does nothing with a part."""
    watched = Watched()
    frame = request_frame("Produce", 9, produce({"plain": [batch(1) + bytes(150_000)]}))
    watched.connection.data_received(b"")
    await settled()
    watched.connection.data_received(frame[:60_000])
    watch = watched.watch(PLAIN)
    watched.connection.data_received(frame[60_000:] if whole else frame[60_000:100_000])
    assert len(watch.holders()) == 1
    watched.connection.connection_lost(ConnectionResetError())
    watched.ends()
    held = ["a client that has closed its connection unanswered"] if whole else []
    assert watch.holders() == held


@pytest.mark.parametrize("answered", [True, False])
async def test_a_request_for_another_volume_is_over_once_it_is_answered(answered: bool) -> None:
    """If it ends otherwise, a broker may still be at work on it."""
    pair = Pair(topics=[PLAIN.decode()])
    under_way = UnderWay(set(), Turns(), Tasks())
    lane = Lane(pair.session, pair.access, "test", changes=True)
    under_way.lanes.add(lane)
    pair.send(request_frame("Produce", 9, produce({"plain": [batch(1)]})))
    lane.sent = True
    watch = under_way.watch(pair.worker, lambda name: name == PLAIN)
    assert watch.holders() == ["client 127.0.0.1:5000 on listener test"]
    if answered:
        pair.answered(response_frame("Produce", 9, produced({PLAIN.decode(): [0]})))
    pair.session.abandon()
    under_way.lane_ended(lane)
    held = [] if answered else ["a client that has closed its connection unanswered"]
    assert watch.holders() == held


async def test_a_client_that_sends_and_does_not_read_is_read_no_more() -> None:
    """Otherwise the gateway's own responses would be kept without bound."""
    pair = Pair(authorizer=Allowing([]))
    connection, _server, client = connected(pair)
    connection.data_received(denied(1))
    await settled()
    connection.pause_writing()
    assert not client.paused, "it may only be slow"
    connection.data_received(denied(2))
    assert client.paused
    connection.resume_writing()
    assert not client.paused


async def test_a_connection_whose_client_does_not_read_closes_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.connections.transports.UNREAD_SECONDS", 0.0)
    watched = Watched()
    await watched.produces()
    transport = watched.connection._transport
    assert transport is not None
    transport.unread = 300_000  # type: ignore[attr-defined]
    watched.connection.data_received(GARBAGE)
    await asyncio.sleep(0.01)
    assert transport.aborted  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "api", ["DeleteGroups", "OffsetDelete", "InitProducerId", "EndTxn", "AddOffsetsToTxn"]
)
async def test_groups_and_transactions_of_a_namespace_that_goes(api: str) -> None:
    pair = Pair(home="team-a", topics=["team-a..orders"])
    connection, server, _ = connected(pair)
    connection.data_received(b"")
    await settled()
    version = 0 if api == "OffsetDelete" else 1
    asked = samples.request(api, version, "orders", topic_id(1))
    connection.data_received(request_frame(api, version, asked, 2))
    await settled()
    assert b"team-a.." in server.broker.written
    for path, count in (("team-a", 1), ("team-b", 0)):
        concerns = _concerns(pair.catalog.snapshot, Freeze("f", "run", 9, (), (path,)), pair.worker)
        watch = UnderWay({connection}, Turns(), Tasks()).watch(pair.worker, concerns)
        assert len(watch.holders()) == count


# -- requests before a client closed its connection -----------------------------------------------


@pytest.mark.parametrize("ends", [False, True])
async def test_the_end_behind_a_request_that_waits_for_news(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(topics=["plain"])
    connection, server, _ = connected(pair)
    connection.data_received(b"")
    await settled()

    async def refreshed(*_: object) -> None:
        pair.log.append([Namespace("team-z")])
        pair.catalog_changed()

    monkeypatch.setattr(server, "_refresh", refreshed)
    connection.data_received(silent("team-z:new") + silent("plain"))
    assert isinstance(pair.session.waiting, Refresh)
    if ends:
        connection.connection_lost(None)
    await settled()
    assert apis(server)[:2] == [0, 0]


@pytest.mark.parametrize("ends", [False, True])
async def test_the_end_while_others_have_their_turn(ends: bool) -> None:
    pair = Pair(topics=["plain"], authorizer=Allowing(["WRITE TOPIC plain"]))
    connection, server, _ = connected(pair)
    connection.data_received(b"")
    await settled()
    pair.worker.turn_seconds = 0.0
    connection.data_received(denied(1) + silent("plain"))
    assert isinstance(pair.session.waiting, Turn)
    if ends:
        connection.connection_lost(None)
    await settled()
    assert apis(server)[:1] == [0]


async def test_the_end_during_an_interlude() -> None:
    pair = Pair(topics=["plain"], policies=AS_SENT)
    connection, server, _ = connected(pair)
    connection.data_received(b"")
    await settled()
    go = asyncio.Event()
    connection.interject(lambda: asyncio.wait_for(go.wait(), 5))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    connection.data_received(silent("plain"))
    connection.connection_lost(None)
    await asyncio.sleep(0)
    go.set()
    await settled()
    assert apis(server)[:1] == [0]
