"""A peer's connection without sockets: questions in order, and bytes that are no question."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from gateway.config.tree import Peer
from gateway.connections.base import BaseConnection
from gateway.connections.closing import INTERNAL, Guarded
from gateway.connections.connection import DRAINED
from gateway.connections.tasks import Tasks
from gateway.error_codes import INVALID_REQUEST, UNSUPPORTED_VERSION
from gateway.referrals import envelope
from gateway.referrals.questions import Answer, Kind, Outcome, Question
from gateway.tree import peer_connection
from gateway.tree.peer_connection import NOT_KAFKA, PeerConnection, PeerHub
from protocol import messages
from protocol.headers import frame
from tests.connections.connected import settled
from tests.connections.fake_transport import FakeTransport
from tests.session.pair import frames, raw_frame
from tests.waiting import eventually

MOST = 4_096
PEER = Peer(name="la", addresses=("la.example:9300",), principals="all")  # type: ignore[arg-type]
QUESTION = Question(Kind.LOCATE, "la", "ny", ("gw-la",), 3, 0.5, "User:alice", "192.0.2.7")


def asked(correlation_id: int, target: str = "ny") -> bytes:
    """The frame of a question."""
    question = Question(Kind.LOCATE, "la", target, ("gw-la",), 3, 0.5, "User:alice", "192.0.2.7")
    return raw_frame(envelope.API_KEY, 0, envelope.request_body(question), correlation_id)


def answered(data: bytes) -> list[tuple[int, Answer]]:
    """Correlation ids and answers in the bytes written."""
    return [
        (int.from_bytes(payload[:4], "big"), envelope.read_response(payload[5:]))
        for payload in frames(data)
    ]


class FakeHub:
    """The port; it does not answer targets in ``held`` before ``go_on``."""

    def __init__(self) -> None:
        self.peer: Peer | None = PEER
        self.questions: list[Question] = []
        self.reasons: list[str] = []
        self.quiet: list[bool] = []
        self.errors: list[Exception | None] = []
        self.gone: list[BaseConnection] = []
        self.requests = 0
        self.incomplete = 0
        self.held: set[str] = set()
        self.go_on = asyncio.Event()
        self.failure: Exception | None = None
        self.answers = 0
        self._tasks = Tasks()

    def admit(self, connection: PeerConnection, transport: asyncio.BaseTransport) -> Peer | None:
        if self.peer is None:
            connection.close("a stranger")
        return self.peer

    def closed(self, connection: PeerConnection) -> None:
        self.gone.append(connection)

    def holds_more(self, connection: PeerConnection, change: int) -> None:
        self.incomplete += change

    def asked(self, connection: PeerConnection) -> None:
        self.requests += 1

    def spawn(self, owner: Guarded, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._tasks.spawn(owner, work)

    def note_close(
        self,
        connection: BaseConnection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        self.reasons.append(reason)
        self.quiet.append(quietly)
        self.errors.append(error)

    async def answer(self, peer: Peer, question: Question) -> Answer:
        assert peer is PEER
        self.questions.append(question)
        if self.failure is not None:
            raise self.failure
        if question.target in self.held:
            await self.go_on.wait()
        self.answers += 1
        return Answer(Outcome.ANSWERED, mount=question.target, number=self.answers)


def connected(hub: FakeHub | None = None) -> tuple[PeerConnection, FakeHub, FakeTransport]:
    hub, transport = hub or FakeHub(), FakeTransport()
    connection = PeerConnection(cast(PeerHub, hub), "peers", MOST)
    connection.connection_made(transport)
    return connection, hub, transport


async def until(hub: FakeHub, questions: int) -> None:
    """Wait until this number of questions has been put."""
    async with asyncio.timeout(60):
        while len(hub.questions) < questions:
            await asyncio.sleep(0)


# -- questions -------------------------------------------------------------------------------------


async def test_a_question_is_answered() -> None:
    connection, hub, transport = connected()
    connection.data_received(asked(5))
    await settled()
    assert hub.questions == [QUESTION]
    assert answered(transport.taken()) == [(5, Answer(Outcome.ANSWERED, mount="ny", number=1))]
    assert (transport.closed, transport.paused, hub.requests) == (False, False, 1)


async def test_a_question_in_pieces() -> None:
    connection, hub, transport = connected()
    data = asked(5)
    for position in range(len(data)):
        assert not hub.questions
        connection.data_received(data[position : position + 1])
    await settled()
    assert [number for number, _ in answered(transport.taken())] == [5]


async def test_a_long_request_that_is_not_whole_is_counted() -> None:
    hub, size = FakeHub(), 100_000
    connection = PeerConnection(cast(PeerHub, hub), "peers", size)
    connection.connection_made(FakeTransport())
    connection.data_received(size.to_bytes(4, "big") + bytes(50_000))
    assert hub.incomplete == 50_004
    connection.data_received(bytes(10_000))
    assert hub.incomplete == 60_004
    connection.data_received(bytes(size - 60_000))
    assert hub.reasons, "a Produce is not for peers"
    hub, size = FakeHub(), len(asked(1)) - 4
    connection, hub, _ = connected(hub)
    connection.data_received(asked(1)[:-1])
    assert hub.incomplete == 0, "it is short"


async def test_questions_are_answered_one_at_a_time_and_in_order() -> None:
    connection, hub, transport = connected()
    hub.held = {"slow"}
    connection.data_received(asked(1, "slow") + asked(2) + asked(3)[:9])
    await until(hub, 1)
    assert transport.paused, "what a peer sends meanwhile would have no bound"
    assert not transport.written
    hub.go_on.set()
    await settled()
    assert not transport.paused
    connection.data_received(asked(3)[9:])
    await settled()
    found = answered(transport.taken())
    assert [(number, answer.mount) for number, answer in found] == [
        (1, "slow"),
        (2, "ny"),
        (3, "ny"),
    ]


async def test_a_peer_that_does_not_read_its_answers_is_not_asked_for_more() -> None:
    connection, hub, transport = connected()
    connection.pause_writing()
    connection.data_received(asked(1))
    await settled()
    assert transport.paused
    assert not hub.questions
    connection.resume_writing()
    await settled()
    assert [number for number, _ in answered(transport.taken())] == [1]
    assert not transport.paused


# -- ApiVersions -----------------------------------------------------------------------------------


def versions(version: int, body: bytes) -> bytes:
    return raw_frame(18, version, body, 9)


@pytest.mark.parametrize("version", range(5))
async def test_what_peers_may_use(version: int) -> None:
    connection, _, transport = connected()
    software = {"client_software_name": "gateway", "client_software_version": "1.0"}
    body = messages.made("ApiVersionsRequest", version, software)
    connection.data_received(versions(version, body) + asked(1))
    await settled()
    first, second = frames(transport.taken())
    response = messages.parse("ApiVersionsResponse", version, first[4:])
    found = [(one.api_key, one.min_version, one.max_version) for one in response.api_keys]
    assert (response.error_code, found) == (0, [(18, 0, 4), (58, 0, 0)])
    assert envelope.read_response(second[5:]).outcome is Outcome.ANSWERED


@pytest.mark.parametrize("version", [5, 99, 32_767])
async def test_a_version_of_the_future(version: int) -> None:
    """KIP-511: a newer gateway learns which versions are supported here."""
    connection, _, transport = connected()
    header = (18).to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4)
    connection.data_received(frame(header, b"\xff\xff", b"\x00", b"of the future"))
    (payload,) = frames(transport.taken())
    response = messages.parse("ApiVersionsResponse", 0, payload[4:])
    assert response.error_code == UNSUPPORTED_VERSION
    assert [(one.api_key, one.max_version) for one in response.api_keys] == [(18, 4)]
    assert not transport.closed


async def test_a_software_name_that_kafka_rejects() -> None:
    connection, _, transport = connected()
    software = {"client_software_name": "-", "client_software_version": "1.0"}
    connection.data_received(versions(3, messages.made("ApiVersionsRequest", 3, software)))
    (payload,) = frames(transport.taken())
    assert messages.parse("ApiVersionsResponse", 3, payload[4:]).error_code == INVALID_REQUEST


# -- attacks ---------------------------------------------------------------------------------------

_ENVELOPE = envelope.request_body(QUESTION)
_WITHOUT_TAG = messages.made(
    "EnvelopeRequest",
    0,
    {"request_data": b"", "request_principal": None, "client_host_address": b""},
)
_METADATA = messages.made("MetadataRequest", 12, {"topics": None})

JUNK = {
    "another protocol": b"GET / HTTP/1.1\r\nHost: gw\r\n\r\n",
    "2 GiB announced": (2**31 - 1).to_bytes(4, "big"),
    "more than is allowed": (MOST + 1).to_bytes(4, "big"),
    "a negative size": b"\xff\xff\xff\xff",
    "no room for a header": frame(b"\x00\x3a\x00\x00"),
    "a client's Metadata": raw_frame(3, 12, _METADATA),
    "a client's Produce": raw_frame(0, 9, b""),
    "no API of Kafka's": frame((999).to_bytes(2, "big") + bytes(8)),
    "Envelope of another version": frame(b"\x00\x3a\x00\x01" + bytes(4) + b"\xff\xff\x00"),
    "Envelope without its tag": raw_frame(58, 0, _WITHOUT_TAG),
    "Envelope cut short": raw_frame(58, 0, _ENVELOPE[:-1]),
    "Envelope with more behind it": raw_frame(58, 0, _ENVELOPE + b"\x00"),
    "an empty Envelope": raw_frame(58, 0, b""),
    "a client id that leads out of the frame": frame(b"\x00\x3a\x00\x00" + bytes(4) + b"\x7f\xff"),
    "an ApiVersions that cannot be read": raw_frame(18, 3, b"\x05x"),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
async def test_junk_ends_the_connection_and_what_follows_it_is_not_asked(junk: bytes) -> None:
    connection, hub, transport = connected()
    connection.data_received(junk + asked(2))
    connection.data_received(asked(3))
    await settled()
    assert transport.closed
    assert not transport.written
    assert not hub.questions
    (reason,) = hub.reasons
    assert reason.startswith(f"{NOT_KAFKA}: ")


async def test_what_came_before_the_junk_is_answered() -> None:
    connection, hub, transport = connected()
    connection.data_received(asked(1) + JUNK["a client's Metadata"] + asked(2))
    await settled()
    assert [number for number, _ in answered(transport.taken())] == [1]
    assert transport.closed
    assert len(hub.questions) == 1


async def test_an_answer_that_fails_ends_the_connection() -> None:
    connection, hub, transport = connected()
    hub.failure = KeyError("a peer's bytes")
    connection.data_received(asked(1) + asked(2))
    await eventually(lambda: transport.closed, "the connection ends")
    assert hub.reasons == [f"{INTERNAL}: KeyError"]
    assert hub.errors == [hub.failure]
    assert len(hub.questions) == 1


async def test_a_stranger_is_not_heard() -> None:
    hub = FakeHub()
    hub.peer = None
    connection, hub, transport = connected(hub)
    assert transport.closed
    connection.data_received(asked(1))
    await settled()
    assert not hub.questions
    connection.connection_lost(None)
    assert (hub.reasons, hub.gone) == (["a stranger"], [connection])


# -- the end ---------------------------------------------------------------------------------------


async def test_a_peer_that_goes_away_gives_its_question_up() -> None:
    connection, hub, transport = connected()
    hub.held = {"slow"}
    connection.data_received(asked(1, "slow"))
    await until(hub, 1)
    connection.connection_lost(None)
    await settled()
    assert hub.reasons == ["peer closed in the middle of a request"]
    assert (hub.answers, hub.gone, transport.written) == (0, [connection], b"")


@pytest.mark.parametrize(
    ("sent", "error", "reason", "quietly"),
    [
        (b"", None, "peer closed", True),
        (asked(1)[:7], None, "peer closed in the middle of a request", False),
        (b"", OSError("reset"), "peer connection failed: reset", True),
        (asked(1)[:7], OSError("reset"), "peer connection failed: reset", False),
    ],
)
async def test_how_connections_end(
    sent: bytes, error: Exception | None, reason: str, quietly: bool
) -> None:
    """A connection without a question was a probe whether this gateway is up."""
    connection, hub, _ = connected()
    if sent:
        connection.data_received(sent)
    connection.connection_lost(error)
    assert (hub.reasons, hub.quiet) == ([reason], [quietly])
    assert hub.gone == [connection]


async def test_a_drain_closes_what_is_idle() -> None:
    connection, hub, transport = connected()
    connection.finish()
    assert transport.closed
    assert hub.reasons == [DRAINED]


async def test_a_drain_waits_for_the_question_under_way_alone() -> None:
    connection, hub, transport = connected()
    hub.held = {"slow"}
    connection.data_received(asked(1, "slow") + asked(2))
    await until(hub, 1)
    connection.finish()
    assert not transport.closed
    hub.go_on.set()
    await settled()
    assert [number for number, _ in answered(transport.taken())] == [1]
    assert transport.closed
    assert (hub.reasons, len(hub.questions)) == ([DRAINED], 1)


async def test_many_requests_in_one_read_take_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once 256 KB of ApiVersions took the loop over a second."""
    monkeypatch.setattr(peer_connection, "SLICE_SECONDS", 0.0)
    connection, hub, transport = connected()
    version = raw_frame(18, 0, b"")
    connection.data_received(version * 20 + asked(7))
    assert hub.requests < 3
    assert transport.paused
    await settled()
    assert hub.requests == 21
    assert len(frames(transport.written)) == 21
    assert not transport.paused


async def test_a_drain_begins_no_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_connection, "SLICE_SECONDS", 0.0)
    connection, hub, transport = connected()
    connection.data_received(raw_frame(18, 0, b"") * 20)
    connection.finish()
    await settled()
    assert hub.requests < 3
    assert (transport.closed, hub.reasons) == (True, [DRAINED])
