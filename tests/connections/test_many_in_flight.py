"""The requests that all clients of a worker have in flight together when the catalog changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from gateway.catalog.entities import Freeze
from gateway.connections.closing import NOT_ANY_MORE
from gateway.connections.connection import Connection
from gateway.connections.doubts import Doubts
from gateway.connections.tasks import Tasks
from gateway.connections.under_way import UnderWay, Watch
from gateway.identity import Identity
from gateway.processes.taking_part import _concerns
from gateway.session.session import Session
from gateway.slices import Budget, Turns
from protocol.pausing import FEW
from tests.connections.connected import FakeServer, connected, settled
from tests.connections.rounds import longest_round
from tests.connections.test_admission import Gate
from tests.connections.test_drain import clients
from tests.pauses import pause_everywhere
from tests.session import fetching
from tests.session.allowing import Allowing
from tests.session.long_requests import TRIES
from tests.session.pair import Pair, frames, request_frame, response_frame, topic_id
from tests.session.producing import batch, produce, produced
from tests.session.test_decided_late import on

LONGEST_SECONDS = 0.05
SECONDS = 60

NAMES = [f"t{number}" for number in range(250)]
"""As many names as a short request may have."""

LAST = "last"

MANY = [f"t{number}" for number in range(2 * FEW)]


def fetch(names: Sequence[str]) -> bytes:
    return request_frame("Fetch", 12, fetching.request(12, {name: [0] for name in names}))


def silent(names: Sequence[str]) -> bytes:
    return request_frame("Produce", 9, produce({name: [batch(1)] for name in names}, acks=0))


FETCH = fetch(NAMES)


async def client(pair: Pair, *sent: bytes) -> tuple[Connection, FakeServer]:
    connection, server, _ = connected(pair)
    for one in sent:
        connection.data_received(one)
    await settled()
    assert len(frames(server.broker.written)) == len(sent)
    return connection, server


def may_not(pair: Pair, names: Sequence[str]) -> None:
    """Remove every right on the last of these names."""
    pair.authorizer = Allowing(on(*names[:-1]))


@pytest.mark.parametrize("sent", [FETCH, silent(NAMES), silent(MANY)])
async def test_what_there_is_no_time_for_is_checked_later(sent: bytes) -> None:
    pair = Pair(topics=MANY, authorizer=Allowing(on(*MANY)))
    connection, server = await client(pair, sent)
    pair.authorizer = Allowing([])
    connection.see(pair.access(), Budget(pieces=0, seconds=-1))
    assert not server.broker.reset
    await settled()
    # If a Fetch may no longer be answered, its client gets the error of a session that is gone.
    assert server.reasons == ([] if sent is FETCH else [NOT_ANY_MORE])


async def test_requests_without_a_response_that_are_about_many_names_are_checked_later() -> None:
    pair = Pair(topics=MANY, authorizer=Allowing(on(*MANY)))
    connection, server = await client(pair, silent(MANY))
    may_not(pair, MANY)
    connection.see(pair.access(), Budget())
    assert not server.broker.reset
    await settled()
    assert server.broker.reset


async def test_what_is_allowed_goes_on() -> None:
    pair = Pair(topics=MANY, authorizer=Allowing(on(*MANY)))
    connection, server = await client(pair, silent(MANY))
    pair.authorizer = Allowing(on(*MANY))
    connection.see(pair.access(), Budget(pieces=0, seconds=-1))
    await settled()
    assert not server.broker.reset
    assert not connection.session.doubted


async def test_a_second_change_doubts_nothing_twice() -> None:
    pair = Pair(topics=NAMES, authorizer=Allowing(on(*NAMES)))
    connection, _ = await client(pair, fetch(NAMES), fetch(NAMES))
    for _ in range(3):
        pair.authorizer = Allowing(on(*NAMES))
        connection.see(pair.access(), Budget(pieces=0, seconds=-1))
        assert len(connection.session.doubted or ()) == 2


class Owner:
    """The owner of a session whose check fails, or which is not allowed to go on."""

    def __init__(self, *, fails: bool = False, principal: str = "User:alice") -> None:
        self.fails = fails
        self.state = SimpleNamespace(identity=Identity(principal), host="10.0.0.1")
        self.failed: list[Exception] = []
        self.ended = False

    def check_doubted(self) -> bool:
        if self.fails:
            raise RuntimeError
        return False

    def end(self) -> None:
        self.ended = True

    def fail(self, error: Exception) -> None:
        self.failed.append(error)


async def test_a_check_that_fails_ends_its_connection_alone() -> None:
    doubts = Doubts(Turns(), Tasks())
    failing, other = Owner(fails=True), Owner(fails=False)
    for owner in (failing, other):
        doubts.add(owner, cast(Session, owner), owner.end)
    await settled()
    assert (len(failing.failed), failing.ended) == (1, False)
    assert (other.failed, other.ended) == ([], True)
    doubts.add(failing, cast(Session, failing), failing.end)
    await settled()
    assert len(failing.failed) == 2


async def test_tenants_take_turns_to_be_checked() -> None:
    doubts, ended = Doubts(Turns(), Tasks()), list[str]()
    for principal in ["User:flood"] * 20 + ["User:other"]:
        owner = Owner(principal=principal)
        doubts.add(owner, cast(Session, owner), partial(ended.append, principal))
    await settled()
    assert len(ended) == 21
    assert ended.index("User:other") <= 2


async def shortest(measure: Callable[[], Awaitable[float]]) -> float:
    """The shortest of a few longest rounds: see ``long_requests.best``."""
    longest = inf
    for _ in range(TRIES):
        longest = min(longest, await measure())
        if longest < LONGEST_SECONDS:
            break
    return longest


@pytest.mark.alone
@pytest.mark.parametrize("sent", [FETCH, silent(NAMES)])
async def test_a_change_while_many_clients_have_requests_in_flight(
    sent: bytes, tmp_path: Path
) -> None:
    gate = Gate(tmp_path)
    volume = gate.server.served[0]
    index = [(name.encode(), topic_id(number).bytes) for number, name in enumerate(NAMES, 1)]
    volume.cluster.index.replace(index)
    made = clients(gate, 500)
    for connection in made:
        connection.data_received(sent)
        await settled()
        session = connection.session
        assert session.under_way or session.silent is not None

    def done() -> bool:
        return not any(connection.session.doubted for connection in made)

    async def measure() -> float:
        return await longest_round(volume.catalog_changed, done)

    assert await shortest(measure) < LONGEST_SECONDS
    assert all(connection.session.silent or connection.session.under_way for connection in made)


def produce_all(names: Sequence[str]) -> bytes:
    return request_frame("Produce", 9, produce({name: [batch(1)] for name in names}))


async def under_way(names: Sequence[str], requests: int) -> tuple[Pair, Connection, UnderWay]:
    """A client with this number of Produce requests in flight, each of all these topics."""
    pair = Pair(topics=[*names, LAST])
    connection, _ = await client(pair)
    for number in range(requests):
        connection.data_received(produce_all(names))
        async with asyncio.timeout(SECONDS):
            while len(connection.session.under_way) <= number:
                await settled()
    return pair, connection, UnderWay({connection}, Turns(), Tasks())


THOUSANDS = [f"topic-{number}" for number in range(10_000)]


@pytest.fixture
def pausing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let work pause wherever it may."""
    pause_everywhere(monkeypatch)


@pytest.mark.usefixtures("pausing")
async def test_a_freeze_is_read_once_the_names_under_way_have_been() -> None:
    pair, _, names_under_way = await under_way(MANY, 2)
    looked = 0

    def concerns(name: bytes) -> bool:
        nonlocal looked
        looked += 1
        return name == MANY[-1].encode()

    watch = names_under_way.watch(pair.worker, concerns)
    assert not watch.is_ready
    while not watch.is_ready:
        assert looked < 2 * len(MANY)
        await asyncio.sleep(0)
    assert len(watch.holders()) == 1


@pytest.mark.usefixtures("pausing")
async def test_what_two_connections_left_behind_is_kept_of_both() -> None:
    """Both concern a freeze, whether it is read before their names are, or after that."""
    pair, connection, names_under_way = await under_way(MANY, 1)
    pair.session = pair.another_session(connection.session.state.addresses)
    second, _ = await client(pair, produce_all([LAST]))
    assert len(second.session.under_way) == 1
    assert names_under_way.is_unsure(pair.worker)
    names_under_way.ended(connection)
    names_under_way.ended(second)
    for _ in range(2):
        for topic in (MANY[-1], LAST, "another"):
            assert await held_up(names_under_way, pair, topic.encode()) is (topic != "another")
        await settled()
    assert names_under_way.is_unsure(pair.worker)


async def held_up(names_under_way: UnderWay, pair: Pair, topic: bytes) -> bool:
    """Whether any request holds up a freeze of a topic."""
    watch = names_under_way.watch(pair.worker, lambda name: name == topic)
    while not watch.is_ready:
        await asyncio.sleep(0)
    return bool(watch.holders())


@pytest.mark.usefixtures("pausing")
async def test_a_client_that_ends_with_a_fetch_leaves_nothing_to_be_read() -> None:
    """Thousands of consumers may end at once, and brokers change nothing for them."""
    pair, connection, names_under_way = await under_way(MANY, 1)
    names_under_way.ended(connection)
    await settled()
    pair.session = pair.another_session(connection.session.state.addresses)
    second, _ = await client(pair, fetch(NAMES))
    assert second.session.under_way
    kept = names_under_way._ended[pair.worker.mount]
    names_under_way.ended(second)
    await settled()
    assert names_under_way._ended[pair.worker.mount] is kept


@pytest.mark.parametrize("answered", [0, 1, 2, 3])
async def test_a_freeze_waits_for_the_last_request_of_a_connection_that_concerns_it(
    answered: int,
) -> None:
    pair, connection, names_under_way = await under_way(["a"], 1)
    for topic in (LAST, "a"):
        connection.data_received(produce_all([topic]))
    await settled()
    watch = names_under_way.watch(pair.worker, lambda name: name == LAST.encode())
    for name in ("a", LAST, "a")[:answered]:
        connection.broker_data(response_frame("Produce", 9, produced({name: [0]})))
    assert bool(watch.holders()) is (answered < 2)
    names_under_way.ended(connection)
    connections = cast(set[Connection], names_under_way._connections)
    connections.discard(connection)
    assert bool(watch.holders()) is (answered < 2)


@pytest.mark.alone
async def test_a_freeze_while_a_client_has_very_many_names_under_way() -> None:
    pair, _, names_under_way = await under_way(THOUSANDS, 20)
    frozen = Freeze("f", "run", 9, ("team-a:x",), ("team-b",))

    async def measure() -> float:
        watches: list[Watch] = []

        def read() -> None:
            concerns = _concerns(pair.catalog.snapshot, frozen, pair.worker)
            watches.append(names_under_way.watch(pair.worker, concerns))

        longest = await longest_round(read, lambda: watches[0].is_ready)
        assert watches[0].holders() == []
        return longest

    assert await shortest(measure) < LONGEST_SECONDS


@pytest.mark.alone
async def test_a_connection_that_ends_with_very_many_names_under_way() -> None:
    _, connection, names_under_way = await under_way(THOUSANDS, 20)

    async def measure() -> float:
        return await longest_round(
            lambda: names_under_way.ended(connection),
            lambda: not names_under_way._left,
        )

    assert await shortest(measure) < LONGEST_SECONDS
