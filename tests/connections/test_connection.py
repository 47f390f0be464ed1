"""A connection's callbacks: what happens if the work that a session waits for succeeds or fails."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import time
from typing import Any

import pytest

from gateway.auth.mechanisms import Session
from gateway.config.policies import PolicySettings
from gateway.connections.broker_side import BrokerSide
from gateway.connections.closing import TOO_MANY_LINGERING
from gateway.connections.connection import Connection
from gateway.exchanges.exchange import Refresh, Unanswerable
from gateway.flows import LATENCY_BUCKETS
from gateway.identity import Identity
from gateway.policies.tree import Policies
from gateway.session.in_flight import MAX_IN_FLIGHT
from protocol import messages
from tests.auth.logins import Accepts, authenticate, handshake
from tests.connections.connected import FakeServer, connected, settled
from tests.connections.fake_transport import FakeTransport
from tests.session.pair import Pair, frames, request_frame, response_frame
from tests.session.producing import batch, produce, produced
from tests.session.test_changes import create
from tests.session.test_session import heartbeat, heartbeat_response

ALICE = Identity("User:alice", "ONE", time() + 3_600, "alice")


class Renews(Accepts):
    """A listener whose sessions end an hour later."""

    def session(self, identity: Identity) -> Session:
        return Session(replace(identity, expires=ALICE.expires), 3_600_000)


async def test_a_change_is_answered_when_it_is_done() -> None:
    connection, server, client = connected(Pair())
    connection.data_received(request_frame("CreateTopics", 7, create("org:")))
    assert client.written == b""
    await settled()
    assert server.refreshed == [Refresh.CATALOG]
    assert server.broker.written == b""
    assert client.written
    assert not client.closed
    assert not client.paused


async def test_a_change_that_fails_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair()

    async def fail(*_: object) -> bytes:
        raise RuntimeError("a defect")

    monkeypatch.setattr(pair.worker.changes, "create_topics", fail)
    connection, server, client = connected(pair)
    connection.data_received(request_frame("CreateTopics", 7, create("org:")))
    await settled()
    assert server.reasons == ["a change failed"]
    (error,) = server.errors
    assert isinstance(error, RuntimeError)
    assert client.closed
    assert client.written == b""


async def test_a_change_that_cannot_be_read_is_the_clients_fault() -> None:
    connection, server, client = connected(Pair())
    frame = request_frame("CreateTopics", 7, create("team-a:orders"))
    # The length of the name goes beyond the end of the request.
    connection.data_received(frame.replace(b"\x0eteam-a:orders", b"\x7fteam-a:orders"))
    await settled()
    (reason,) = server.reasons
    assert reason.startswith("client sent what is not Kafka: ")
    assert client.closed


async def test_a_client_that_goes_away_meanwhile_is_not_written_to() -> None:
    connection, server, client = connected(Pair())
    connection.data_received(request_frame("CreateTopics", 7, create("org:")))
    connection.connection_lost(None)
    await settled()
    assert client.written == b""
    assert server.reasons == ["client closed"]
    assert server.gone == [connection]


async def test_what_no_answer_fits_ends_the_connection() -> None:
    pair = Pair()
    pair.catalog.fresh = False
    pair.close_view()
    connection, server, client = connected(pair)
    everything = messages.build(messages.message_class("MetadataRequest", 9), topics=None)
    connection.data_received(request_frame("Metadata", 9, everything))
    await settled()
    (reason,) = server.reasons
    assert reason.startswith("no answer fits: the catalog is out of date")
    assert client.closed


async def test_work_that_no_answer_fits_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = Pair()

    async def fail(*_: object) -> bytes:
        raise Unanswerable("there are no keys")

    monkeypatch.setattr(pair.worker.changes, "create_topics", fail)
    connection, server, client = connected(pair)
    connection.data_received(request_frame("CreateTopics", 7, create("org:")))
    await settled()
    assert server.reasons == ["no answer fits: there are no keys"]
    assert client.closed


async def test_a_re_authentication_is_looked_after_once_it_is_answered() -> None:
    """The connection's fate is decided after its response has been written."""
    pair = Pair()
    pair.worker.sasl = {"test": Renews()}
    pair.session.state.identity = ALICE
    connection, server, client = connected(pair)
    connection.data_received(handshake("ONE"))
    await settled()
    assert server.reauthentications == []
    written = client.taken()
    assert written
    connection.data_received(authenticate(b"alice"))
    await settled()
    assert server.reauthentications == [(connection, True)]


async def test_a_re_authentication_is_applied_before_the_requests_behind_it() -> None:
    """A broker begins another one at most once a second: a handshake that comes sooner gets
    ILLEGAL_SASL_STATE, with its token, and the requests behind it are carried out
    (KafkaChannel.maybeBeginServerReauthentication). So it does not depend on what came in one
    piece with the token before."""
    pair = Pair()
    pair.worker.sasl = {"test": Renews()}
    pair.session.state.identity = ALICE
    connection, server, client = connected(pair)
    once = handshake("ONE") + authenticate(b"alice")
    connection.data_received(once + once + heartbeat(9))
    await settled()
    assert not server.reasons
    assert error_codes(client.taken()) == [0, 0, 34, 34]
    assert server.reauthentications == [(connection, True)]
    assert pair.session.state.identity == replace(ALICE, user=None)
    assert server.broker.taken()
    connection.broker_data(heartbeat_response(9))
    assert len(frames(client.taken())) == 1

    began = pair.session.state.reauth_began
    assert began is not None
    pair.session.state.reauth_began = began - 1.0
    connection.data_received(once)
    await settled()
    assert server.reauthentications == [(connection, True)] * 2


async def test_a_slow_re_authentication_and_another_behind_it() -> None:
    """When the first one is over, its second has passed: the second handshake begins anew."""
    pair = Pair()
    pair.worker.sasl = {"test": Renews()}
    pair.session.state.identity = ALICE
    connection, _, client = connected(pair)
    connection.data_received(handshake("ONE"))
    await settled()
    began = pair.session.state.reauth_began
    assert began is not None
    pair.session.state.reauth_began = began - 1.0
    connection.data_received(authenticate(b"alice") + handshake("ONE") + authenticate(b"bob"))
    await settled()
    assert error_codes(client.taken()) == [0, 0, 0, 58]
    reauth = pair.session.state.reauth
    assert reauth is not None
    assert reauth.failed == "it changed the principal"


def error_codes(written: bytes) -> list[int]:
    """Of responses to SaslHandshake v1 and SaslAuthenticate v2, in turns."""
    return [
        int.from_bytes(payload[4 + number % 2 :][:2], "big")
        for number, payload in enumerate(frames(written))
    ]


@pytest.mark.parametrize(("code", "reason"), [(0, None), (19, "NOT_ENOUGH_REPLICAS")])
async def test_what_acks_0_would_have_hidden_ends_the_connection(
    code: int, reason: str | None
) -> None:
    connection, server, client = connected(Pair())
    asked = produce({"team-a:orders": [batch(1)]}, acks=0)
    connection.data_received(request_frame("Produce", 9, asked))
    await settled()
    connection.session.state.take_flows()
    server.busy.clear()
    connection.broker_data(response_frame("Produce", 9, produced({"team-a..orders": [code]})))
    assert client.written == b""
    assert client.closed is (reason is not None)
    assert server.reasons == (
        []
        if reason is None
        else [
            f"no answer fits: Produce with acks=0, forwarded as acks=all, failed with {reason}"
            " for topic 'team-a:orders'"
        ]
    )
    if reason is not None:
        assert connection in server.busy, "what it counted last is collected, too"
        (flow,) = connection.session.state.take_flows()
        assert flow.errors == {code: 1}


async def sends_and_leaves(
    pair: Pair, count: int = 2
) -> tuple[Connection, FakeServer, BrokerSide, FakeTransport]:
    """Let a producer with acks=0 send and leave."""
    connection, server, client = connected(pair)
    asked = produce({"team-a:orders": [batch(1)]}, acks=0)
    connection.data_received(request_frame("Produce", 9, asked) * count)
    await settled()
    broker = connection._broker
    assert broker is not None
    connection.connection_lost(None)
    assert server.reasons == ["client closed"]
    return connection, server, broker, client


async def test_what_a_producer_left_behind_is_written_to_the_end() -> None:
    connection, server, broker, _ = await sends_and_leaves(Pair())
    answer = response_frame("Produce", 9, produced({"team-a..orders": [0]}))
    assert not server.broker.closed
    broker.data_received(answer)
    assert (server.broker.closed, server.gone) == (False, [])
    broker.data_received(answer)
    assert (server.broker.closed, server.gone) == (True, [connection])
    broker.connection_lost(None)
    assert server.gone == [connection]


@pytest.mark.parametrize(("code", "why"), [(0, "broker closed"), (19, "no answer fits")])
async def test_a_broker_that_fails_meanwhile_ends_it(code: int, why: str) -> None:
    """It is logged, because the client cannot learn it."""
    connection, server, broker, _ = await sends_and_leaves(Pair())
    if code:
        broker.data_received(response_frame("Produce", 9, produced({"team-a..orders": [code]})))
        (flow,) = connection.session.state.take_flows()
        assert flow.errors == {code: 1}
    else:
        broker.connection_lost(None)
    assert server.gone == [connection]
    first, second = server.reasons
    assert first == "client closed"
    assert second.startswith(why)


async def test_a_broker_that_does_not_answer_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.connections.broker_side.LINGER_SECONDS", 0.01)
    connection, server, _, _ = await sends_and_leaves(Pair())
    async with asyncio.timeout(120):
        while not server.broker.closed:
            await asyncio.sleep(0.01)
    assert server.gone == [connection]


async def test_a_stop_waits_for_nobody() -> None:
    connection, server, _, _ = await sends_and_leaves(Pair())
    connection.finish()
    assert not server.broker.closed
    connection.close("gateway stops", quietly=True)
    assert server.broker.closed
    assert server.gone == [connection]


async def test_a_client_that_leaves_nothing_behind_lets_the_broker_go() -> None:
    connection, server, _ = connected(Pair())
    connection.data_received(heartbeat(1))
    await settled()
    connection.connection_lost(None)
    assert server.broker.closed
    assert server.gone == [connection]


async def test_a_broker_s_response_tells_when_all_is_written_though_nobody_takes_it() -> None:
    connection, server, _ = connected(Pair())
    connection.data_received(request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]})))
    await settled()
    broker = connection._broker
    assert broker is not None
    connection.connection_lost(None)
    assert (server.broker.closed, server.gone) == (False, [])
    broker.data_received(response_frame("Produce", 9, produced({"team-a..orders": [0]})))
    assert (server.broker.closed, server.gone) == (True, [connection])


async def test_a_connection_tells_when_its_broker_is_heard() -> None:
    connection, server, _ = connected(Pair())
    connection.data_received(heartbeat(1))
    await settled()
    broker = connection._broker
    assert broker is not None
    assert not server.broker_heard
    broker.data_received(heartbeat_response(1))
    assert server.broker_heard


async def test_a_drain_reads_no_more_and_ends_when_all_is_answered() -> None:
    connection, server, client = connected(Pair())
    produced = [request_frame("Produce", 9, produce({"t": [batch(1)]}), one) for one in (1, 2)]
    connection.data_received(b"".join(produced) + heartbeat(3))
    await settled()
    connection.finish()
    assert client.paused
    connection.data_received(heartbeat(4))
    answer = messages.build(messages.message_class("ProduceResponse", 9))
    connection.broker_data(response_frame("Produce", 9, answer, 1))
    assert not client.closed
    connection.broker_data(response_frame("Produce", 9, answer, 2))
    assert (client.closed, server.reasons) == (True, ["drained"])
    assert len(frames(bytes(server.broker.written))) == 2
    assert len(frames(client.written)) == 2


async def test_a_drain_ends_with_the_change_that_is_under_way() -> None:
    connection, server, client = connected(Pair())
    connection.data_received(heartbeat(1))
    await settled()
    connection.broker_data(heartbeat_response(1))
    client.taken()
    connection.data_received(request_frame("CreateTopics", 7, create("org:")))
    connection.finish()
    assert not client.closed
    await settled()
    assert len(frames(client.written)) == 1
    assert (client.closed, server.reasons) == (True, ["drained"])


async def test_a_drain_ends_with_a_request_that_nobody_answers() -> None:
    """acks=0, with a part that was already forwarded."""
    connection, server, client = connected(Pair())
    asked = request_frame("Produce", 9, produce({"orders": [batch(1)]}, acks=0))
    connection.data_received(asked)
    await settled()
    connection.data_received(asked[:-10])
    connection.finish()
    assert (client.closed, client.paused) == (False, False)
    connection.data_received(asked[-10:] + heartbeat(1))
    assert (client.closed, server.reasons) == (True, ["drained"])
    assert bytes(server.broker.written) == asked * 2


async def test_half_a_request_is_not_waited_for() -> None:
    """The rest never comes, so the broker will never respond."""
    connection, server, _ = connected(Pair())
    asked = produce({"team-a:orders": [batch(1) + bytes(100_000)]}, acks=0)
    connection.data_received(request_frame("Produce", 9, asked)[:2_000])
    await settled()
    assert server.broker.written
    connection.connection_lost(None)
    assert server.reasons == ["client closed in the middle of a request"]
    assert server.broker.closed
    assert server.gone == [connection]


async def test_what_was_sent_whole_before_half_a_request_is_waited_for() -> None:
    connection, server, _ = connected(Pair())
    whole = request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0))
    half = produce({"team-a:orders": [batch(1) + bytes(100_000)]}, acks=0)
    connection.data_received(whole + request_frame("Produce", 9, half)[:2_000])
    await settled()
    broker = connection._broker
    assert broker is not None
    connection.connection_lost(None)
    assert (server.broker.closed, server.gone) == (False, [])
    broker.data_received(response_frame("Produce", 9, produced({"team-a..orders": [0]})))
    assert (server.broker.closed, server.gone) == (True, [connection])


async def test_only_so_many_wait_for_a_broker() -> None:
    """The oldest request ends; the broker does nothing more of it, if it can help it."""
    _, server, broker, _ = await sends_and_leaves(Pair(), count=1)
    other, another_server, _ = connected(Pair())
    another_server.lingering = server.lingering
    other.data_received(request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0)))
    await settled()
    other.connection_lost(None)
    assert server.reasons[-1].startswith(f"{TOO_MANY_LINGERING}: ")
    assert (server.broker.reset, len(server.gone)) == (True, 1)
    assert not broker.lingering
    assert not another_server.broker.closed
    other.broker_data(response_frame("Produce", 9, produced({"team-a..orders": [0]})))
    assert other._broker is not None
    other._broker.end_if_answered()
    assert another_server.broker.closed
    assert another_server.gone == [other]


REQUIRED: dict[str, Any] = {"namespaces": {"team-b": {"producer": {"acks": "require"}}}}


async def test_what_came_before_a_rejection_that_closes_is_sent() -> None:
    """Whether or not both were read at once."""
    pair = Pair(policies=Policies(PolicySettings.model_validate(REQUIRED)))
    connection, server, client = connected(pair)
    fine = request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0))
    connection.data_received(fine)
    await settled()
    broker = connection._broker
    assert broker is not None
    first = server.broker.taken()
    rejected = request_frame("Produce", 9, produce({"team-b:orders": [batch(1)]}, acks=0))
    connection.data_received(fine + rejected)
    assert server.broker.written == first
    (reason,) = server.reasons
    assert reason.startswith("no answer fits: Produce with acks=0 was rejected: ")
    assert (client.closed, server.broker.closed) == (True, False)
    answer = response_frame("Produce", 9, produced({"team-a..orders": [0]}))
    broker.data_received(answer)
    connection.connection_lost(None)
    assert server.gone == []
    broker.data_received(answer)
    assert server.broker.closed
    assert server.gone == [connection]
    flow = {flow.flat: flow for flow in pair.session.state.take_flows()}["team-a..orders"]
    assert (flow.led, len(flow.broker_us) < LATENCY_BUCKETS) == (2, True), (
        "from when they were sent"
    )


async def test_a_rejection_whose_rest_was_answered_before_the_client_is_gone() -> None:
    pair = Pair(policies=Policies(PolicySettings.model_validate(REQUIRED)))
    connection, server, _ = connected(pair)
    fine = request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0))
    rejected = request_frame("Produce", 9, produce({"team-b:orders": [batch(1)]}, acks=0))
    connection.data_received(fine + rejected)
    await settled()
    assert connection._broker is not None
    connection._broker.data_received(
        response_frame("Produce", 9, produced({"team-a..orders": [0]}))
    )
    assert server.broker.closed
    assert server.gone == []
    connection.connection_lost(None)
    assert server.gone == [connection]


async def test_bytes_that_are_no_kafka_end_both_sides() -> None:
    connection, server, client = connected(Pair())
    fine = request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0))
    connection.data_received(fine)
    await settled()
    server.broker.taken()
    connection.data_received(fine + b"\xff" * 20)
    assert (client.closed, server.broker.closed) == (True, True)
    assert server.broker.written == b""


async def test_a_client_that_read_slowly_does_not_hold_back_the_broker() -> None:
    connection, server, _ = connected(Pair())
    asked = request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0))
    connection.data_received(asked)
    await settled()
    # As many as are allowed: each response decides anew which side is read.
    connection.data_received(asked * MAX_IN_FLIGHT)
    connection.pause_writing()
    assert server.broker.paused
    broker = connection._broker
    assert broker is not None
    connection.connection_lost(None)
    assert not server.broker.paused
    broker.data_received(response_frame("Produce", 9, produced({"team-a..orders": [0]})))
    assert not server.broker.paused
