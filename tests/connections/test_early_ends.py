"""Clients that send and leave before there is a connection to their broker: a broker carries out
requests that came before the end of a connection, and drops requests that came before a reset."""

from __future__ import annotations

import asyncio
from struct import unpack_from
from typing import cast

import pytest

from gateway.apis.table import put_around
from gateway.brokers.errors import BrokerError
from gateway.connections import connection as connection_module
from gateway.connections.clients import CUT_OFF
from gateway.connections.connection import Connection
from gateway.exchanges.tree import Tree, VolumeUnreachable
from gateway.session.session import Session
from gateway.tree.splitting import AROUND
from protocol import messages
from tests.connections.connected import connected, settled
from tests.scenarios.entities import entity
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce, produced
from tests.waiting import eventually

pytestmark = pytest.mark.asyncio

MID_REQUEST = "client closed in the middle of a request"


class Slow:
    """A client whose broker takes the connection only when a test says so."""

    def __init__(self, pair: Pair | None = None) -> None:
        self.pair = pair or Pair(topics=["team-a..orders"])
        self.accepts = asyncio.Event()
        self.refuses = False
        self.connection, self.server, self.client = connected(self.pair)
        connects = self.server.connect_broker

        async def slowly(connection: Connection) -> None:
            await self.accepts.wait()
            if self.refuses:
                raise OSError("refused")
            await connects(connection)

        self.server.connect_broker = slowly  # type: ignore[method-assign]

    def sends(self, *frames: bytes) -> None:
        self.connection.data_received(b"".join(frames))

    async def connected(self) -> None:
        """Let the broker take the connection, or refuse it."""
        self.accepts.set()
        await settled()

    @property
    def written(self) -> bytes:
        return self.server.broker.written

    @property
    def gone(self) -> bool:
        return self.server.gone == [self.connection]


def silent(correlation_id: int = 7) -> bytes:
    return request_frame(
        "Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0), correlation_id
    )


def asked(correlation_id: int = 7) -> bytes:
    return request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}), correlation_id)


async def test_what_was_sent_before_the_end_is_done() -> None:
    slow = Slow()
    slow.sends(asked(1), asked(2))
    await asyncio.sleep(0)
    slow.connection.connection_lost(None)
    assert not slow.server.gone
    await slow.connected()
    assert slow.written.count(b"team-a..orders") == 2
    assert not slow.server.broker.closed
    for number in (1, 2):
        answer = response_frame("Produce", 9, produced({"team-a..orders": [0]}), number)
        assert slow.connection._broker is not None
        slow.connection._broker.data_received(answer)
    assert slow.server.broker.closed
    assert slow.gone


async def test_the_broker_is_asked_whether_silent_requests_are_done() -> None:
    slow = Slow()
    slow.sends(silent())
    slow.connection.connection_lost(None)
    await slow.connected()
    assert b"team-a..orders" in slow.written
    assert not slow.gone, "one of the gateway's own is behind it"


async def test_a_client_that_has_only_asked_for_versions_leaves_nothing() -> None:
    """Most clients send no more before they know their broker. If such a client gives up while it
    waits for a full broker, it must not take a place there."""
    slow = Slow()
    request = messages.build(messages.message_class("ApiVersionsRequest", 0))
    slow.sends(request_frame("ApiVersions", 0, request))
    await asyncio.sleep(0)
    slow.connection.connection_lost(None)
    assert slow.gone
    await slow.connected()
    assert slow.written == b""
    assert not slow.server.broker.closed, "there never was one"


@pytest.mark.parametrize("part", [1, 4, 5, 6, 40, -3])
async def test_half_a_request_is_not_waited_for(part: int) -> None:
    slow = Slow()
    slow.sends(asked()[:part])
    await asyncio.sleep(0)
    slow.connection.connection_lost(None)
    assert slow.gone
    assert slow.server.reasons[-1] == MID_REQUEST
    assert slow.server.loud == [True]
    await slow.connected()
    assert slow.written == b""


@pytest.mark.parametrize("part", [0, 1, 4, 40, -3])
async def test_half_a_request_behind_a_whole_one(part: int) -> None:
    slow = Slow()
    slow.sends(asked(1), asked(2)[:part])
    await asyncio.sleep(0)
    slow.connection.connection_lost(None)
    assert not slow.gone
    assert slow.server.loud == [bool(part)]
    await slow.connected()
    (size,) = unpack_from(">i", slow.written)
    assert b"team-a..orders" in slow.written[: 4 + size]
    answer = response_frame("Produce", 9, produced({"team-a..orders": [0]}), 1)
    assert slow.connection._broker is not None
    slow.connection._broker.data_received(answer)
    assert slow.gone


async def test_a_client_is_read_before_it_has_a_broker_connection() -> None:
    """An end is noticed only while the client is read."""
    slow = Slow()
    request = asked()
    slow.sends(request)
    assert not slow.client.paused
    sent = len(request)
    while sent < connection_module.MAX_EARLY:
        assert not slow.client.paused
        slow.sends(request)
        sent += len(request)
    assert slow.client.paused, "it holds enough"
    assert slow.server.held == sent
    await slow.connected()
    assert slow.server.held == 0
    assert slow.written.count(b"team-a..orders") >= 1


async def test_what_comes_before_the_broker_connection_stays_in_order() -> None:
    slow = Slow()
    frames = b"".join(asked(number) for number in range(1, 4))
    for at in range(0, len(frames), 7):
        slow.sends(frames[at : at + 7])
        await asyncio.sleep(0)
    await slow.connected()
    assert slow.written.count(b"team-a..orders") == 3
    for number in range(1, 4):
        answer = response_frame("Produce", 9, produced({"team-a..orders": [0]}), number)
        assert slow.connection._broker is not None
        slow.connection._broker.data_received(answer)
        assert unpack_from(">ii", slow.client.taken())[1] == number


async def test_what_was_sent_before_a_reset_is_not_done() -> None:
    slow = Slow()
    slow.sends(asked())
    await asyncio.sleep(0)
    slow.connection.connection_lost(ConnectionResetError())
    assert slow.gone
    await slow.connected()
    assert slow.written == b""


async def test_a_broker_that_cannot_be_reached() -> None:
    slow = Slow()
    slow.refuses = True
    slow.sends(asked())
    slow.connection.connection_lost(None)
    await slow.connected()
    assert slow.server.reasons[-1] == "no broker connection: refused"
    assert slow.gone


async def test_what_is_revoked_meanwhile_is_not_done() -> None:
    slow = Slow()
    slow.sends(asked())
    slow.connection.connection_lost(None)
    slow.connection.reset(CUT_OFF)
    assert slow.gone
    await slow.connected()
    assert slow.written == b""


async def test_too_many_of_them_end() -> None:
    first, second = Slow(), Slow()
    second.server.lingering = first.server.lingering
    for slow in (first, second):
        slow.sends(asked())
        slow.connection.connection_lost(None)
    assert (first.gone, second.gone) == (True, False)
    await second.connected()
    assert b"team-a..orders" in second.written


class Volumes:
    """A tree whose volumes respond only when a test says so."""

    own = "la"

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.answered = False
        self.answer: bytes | None = None

    async def ask(self, path: str, *request: object, alone: bool = True) -> bytes:
        await self.answers.wait()
        self.answered = True
        if self.answer is None:
            raise VolumeUnreachable(path)
        return self.answer


def in_tree() -> tuple[Slow, Volumes]:
    slow, volumes = Slow(), Volumes()
    put_around(AROUND)
    slow.pair.session.state.tree = cast(Tree, volumes)
    slow.server.heard = lambda connection: None  # type: ignore[attr-defined]
    return slow, volumes


async def test_in_a_tree_it_is_decided_before_there_is_a_connection() -> None:
    slow, _ = in_tree()
    slow.sends(asked())
    slow.connection.connection_lost(None)
    assert not slow.gone
    await slow.connected()
    assert b"team-a..orders" in slow.written


async def test_what_needs_no_broker_connection_is_done_as_well() -> None:
    slow, volumes = in_tree()
    request = messages.message_class("AlterUserScramCredentialsRequest", 0)
    slow.sends(request_frame("AlterUserScramCredentials", 0, messages.build(request)))
    slow.connection.connection_lost(None)
    assert not slow.gone
    volumes.answers.set()
    await settled()
    assert volumes.answered
    assert slow.gone
    assert slow.written == b""


@pytest.mark.parametrize("before", [(), (asked(1),)], ids=["alone", "behind a request"])
async def test_what_is_not_kafka_leaves_no_broker_connection(before: tuple[bytes, ...]) -> None:
    slow = Slow()
    slow.sends(*before, b"\xff\xff\xff\xff")
    slow.connection.connection_lost(None)
    await slow.connected()
    assert slow.gone
    assert slow.server.broker.closed


async def test_a_failure_meanwhile_leaves_no_broker_connection() -> None:
    """A request is being worked on while there is a broker connection already."""
    slow = Slow()

    async def fails(session: Session, work: object) -> bytes | None:
        raise BrokerError("lost")

    slow.server.perform = fails  # type: ignore[method-assign]
    request = messages.message_class("CreateTopicsRequest", 5)
    topic = {"name": "team-a:new", "num_partitions": 1, "replication_factor": 1}
    topic |= {"assignments": [], "configs": []}
    made = entity(request, {"topics": [topic], "timeout_ms": 1_000, "validate_only": False})
    slow.sends(request_frame("CreateTopics", 5, made))
    slow.connection.connection_lost(None)
    await slow.connected()
    assert slow.gone
    assert slow.server.broker.closed


async def test_what_was_left_ends_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may fail to respond, request after request."""
    monkeypatch.setattr(connection_module, "LINGER_SECONDS", 0.01)
    slow, volumes = in_tree()
    request = messages.message_class("AlterUserScramCredentialsRequest", 0)
    slow.sends(request_frame("AlterUserScramCredentials", 0, messages.build(request)))
    slow.connection.connection_lost(None)
    await eventually(lambda: slow.gone, "an end")
    assert not volumes.answered


@pytest.mark.parametrize("stays", [True, False], ids=["stays", "leaves"])
async def test_a_drain_waits_for_what_needs_no_broker_connection(stays: bool) -> None:
    slow, volumes = in_tree()
    response = messages.message_class("AlterUserScramCredentialsResponse", 0)
    volumes.answer = messages.write(messages.build(response))
    request = messages.message_class("AlterUserScramCredentialsRequest", 0)
    slow.sends(request_frame("AlterUserScramCredentials", 0, messages.build(request)))
    if not stays:
        slow.connection.connection_lost(None)
    await asyncio.sleep(0)
    slow.connection.finish()
    assert not slow.client.closed or not stays
    assert not slow.gone
    volumes.answers.set()
    await settled()
    assert volumes.answered
    assert slow.client.closed
    assert bool(slow.client.written) is stays


async def test_a_drain_waits_for_the_broker_connection_of_what_was_decided() -> None:
    slow, _ = in_tree()
    slow.sends(asked())
    slow.connection.finish()
    assert not slow.client.closed
    await slow.connected()
    assert b"team-a..orders" in slow.written
    answer = response_frame("Produce", 9, produced({"team-a..orders": [0]}), 7)
    assert slow.connection._broker is not None
    slow.connection._broker.data_received(answer)
    assert slow.client.written
    assert slow.client.closed


async def test_a_drain_does_not_wait_for_what_nobody_has_decided() -> None:
    slow = Slow()
    slow.sends(asked())
    slow.connection.finish()
    assert slow.client.closed
    await slow.connected()
    assert slow.written == b""


async def test_a_drain_waits_for_what_a_client_has_left() -> None:
    slow = Slow()
    slow.sends(silent())
    slow.connection.connection_lost(None)
    slow.connection.finish()
    await slow.connected()
    assert b"team-a..orders" in slow.written
    assert not slow.server.broker.closed
