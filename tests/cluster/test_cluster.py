from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from gateway.brokers.connection import BrokerConnection
from gateway.cluster.cluster import Cluster, ClusterUnreachable
from gateway.cluster.listing import ListingReader
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

ORDERS, LOGS, NEW = UUID(int=1), UUID(int=2), UUID(int=3)
# Long enough that nothing is asked unless a test makes it so.
NEVER = 3600.0


@pytest.fixture
def state() -> ClusterState:
    return ClusterState(topics={"orders": ORDERS})


@pytest_asyncio.fixture
async def brokers(state: ClusterState) -> AsyncIterator[list[ScriptedBroker]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(ScriptedBroker(state, node_id)) for node_id in (1, 2, 3)
        ]


@pytest.fixture
def broker(brokers: list[ScriptedBroker]) -> ScriptedBroker:
    """The bootstrap server, where the gateway stays as long as it works."""
    return brokers[0]


@pytest.fixture
def unused_port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        port: int = bound.getsockname()[1]
        yield port


def make(*bootstrap: ScriptedBroker | tuple[str, int], **options: Any) -> Cluster:
    servers = [b.address if isinstance(b, ScriptedBroker) else b for b in bootstrap]
    defaults = {
        "poll_interval": NEVER,
        "min_refresh_interval": 0.0,
        "start_timeout": 0.0,
        "settle_time": 0.0,
    }
    return Cluster("main", servers, **{**defaults, **options})


@asynccontextmanager
async def started(
    *bootstrap: ScriptedBroker | tuple[str, int], **options: Any
) -> AsyncIterator[Cluster]:
    cluster = make(*bootstrap, **options)
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.stop()


class Changes:
    """Counts calls of ``on_change`` and lets a test wait until something holds."""

    def __init__(self, cluster: Cluster) -> None:
        self.count = 0
        self._called = asyncio.Event()
        cluster.on_change.append(self._on_change)

    def _on_change(self) -> None:
        self.count += 1
        self._called.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not holds():
                self._called.clear()
                await self._called.wait()


async def test_discovers_the_cluster(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[1]) as cluster:
        assert cluster.reachable
        assert cluster.brokers == {b.node_id: b.address for b in brokers}
        assert cluster.api_versions == brokers[1].api_versions
        assert cluster.cluster_id == "cluster-a"
        assert cluster.controller_id == 2
        assert cluster.index.id_of(b"orders") == ORDERS.bytes


async def test_no_bootstrap_server_is_an_error() -> None:
    with pytest.raises(ValueError, match="cluster 'main' has no bootstrap servers"):
        Cluster("main", [])


async def test_start_names_every_address_and_why_it_failed(
    broker: ScriptedBroker, unused_port: int
) -> None:
    broker.spoil_next(API_VERSIONS, disconnect)
    cluster = make((HOST, unused_port), broker)
    with pytest.raises(ClusterUnreachable) as failed:
        await cluster.start()
    text = str(failed.value)
    assert text.startswith("cluster 'main' is not reachable: ")
    assert f"{HOST}:{unused_port}: cannot connect: Connection refused" in text
    assert f"{HOST}:{broker.port}: " in text
    assert not cluster.reachable


async def test_start_waits_for_a_cluster_that_is_starting_up(broker: ScriptedBroker) -> None:
    broker.spoil_next(METADATA, disconnect, send_garbage)
    async with started(broker, poll_interval=0.01, start_timeout=120.0) as cluster:
        assert cluster.reachable
        assert len(broker.asked(METADATA)) >= 3


async def test_start_goes_past_a_bootstrap_server_that_is_gone(
    broker: ScriptedBroker, unused_port: int
) -> None:
    async with started((HOST, unused_port), broker) as cluster:
        assert cluster.reachable


@pytest.mark.parametrize("highest", [0, 1, 9])
async def test_an_older_cluster_works_without_ids(broker: ScriptedBroker, highest: int) -> None:
    broker.api_versions[METADATA] = (0, highest)
    async with started(broker) as cluster:
        assert cluster.brokers[1] == broker.address
        assert cluster.index.exists(b"orders")
        assert cluster.index.id_of(b"orders") is None


async def test_refresh_sees_what_is_new(broker: ScriptedBroker, state: ClusterState) -> None:
    async with started(broker) as cluster:
        changes = Changes(cluster)
        state.topics = {"logs": LOGS}
        state.brokers = {9: broker.address}
        await cluster.refresh()
        assert set(cluster.index.names()) == {b"logs"}
        assert cluster.brokers == {9: broker.address}
        assert changes.count == 1

        await cluster.refresh()
        assert changes.count == 1


async def test_one_connection_serves_all_listings(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[0]) as cluster:
        for _ in range(5):
            await cluster.refresh()
    assert [broker.connections for broker in brokers] == [1, 0, 0]


async def test_callers_share_the_listing_after_the_one_under_way(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker) as cluster:
        release = asyncio.Event()
        broker.spoil_next(METADATA, send_when(release))
        first = asyncio.create_task(cluster.refresh())
        await broker.wait_asked(METADATA, 2)

        state.topics["new"] = NEW  # too late for the listing under way
        others = [asyncio.create_task(cluster.refresh()) for _ in range(10)]
        seen: list[bool] = []
        first.add_done_callback(lambda _: seen.append(cluster.index.exists(b"new")))
        others[0].add_done_callback(lambda _: seen.append(cluster.index.exists(b"new")))
        await turns_of_the_loop()
        release.set()
        await asyncio.gather(first, *others)

        assert seen == [False, True]
        assert len(broker.asked(METADATA)) == 3


async def turns_of_the_loop() -> None:
    """Lets every task that can run do so; does not wait for anything that takes time."""
    for _ in range(5):
        await asyncio.wait([asyncio.create_task(_nothing())])


async def _nothing() -> None:
    pass


async def test_listings_are_rate_limited(broker: ScriptedBroker) -> None:
    interval = 0.04
    async with started(broker, min_refresh_interval=interval) as cluster:
        begin = asyncio.get_running_loop().time()
        for _ in range(4):
            await cluster.refresh()
        # The first may go at once; a clock tick of slack.
        assert asyncio.get_running_loop().time() - begin >= 3 * interval - 0.001


async def test_the_more_work_a_listing_is_the_rarer_they_are(
    brokers: list[ScriptedBroker],
) -> None:
    timeout = 0.5  # long enough for a busy machine to answer in
    async with started(brokers[0], request_timeout=timeout) as cluster:
        brokers[0].spoil_next(METADATA, say_nothing)
        begin = asyncio.get_running_loop().time()
        await cluster.refresh()  # takes the time-out, and then another broker
        await cluster.refresh()
        assert asyncio.get_running_loop().time() - begin >= 4 * timeout - 0.001


async def test_nothing_is_listed_that_nobody_asked_for(broker: ScriptedBroker) -> None:
    async with started(broker) as cluster:
        await cluster.refresh()
        other = await BrokerConnection.connect(*broker.address, timeout=120.0)
        request = messages.build(messages.message_class("ApiVersionsRequest", 0))
        for _ in range(50):  # time enough for another listing
            await other.exchange("ApiVersionsRequest", 0, request)
        other.close()
        assert len(broker.asked(METADATA)) == 2


async def test_callers_in_the_pause_between_listings_share_one(broker: ScriptedBroker) -> None:
    async with started(broker, min_refresh_interval=0.05) as cluster:
        await cluster.refresh()
        await asyncio.gather(*(cluster.refresh() for _ in range(10)))
        assert len(broker.asked(METADATA)) == 3


async def test_lists_on_its_own_from_time_to_time(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker, poll_interval=0.01) as cluster:
        changes = Changes(cluster)
        state.topics["new"] = NEW
        await changes.until(lambda: cluster.index.exists(b"new"))


async def test_a_cancelled_caller_disturbs_no_other(broker: ScriptedBroker) -> None:
    async with started(broker) as cluster:
        release = asyncio.Event()
        broker.spoil_next(METADATA, send_when(release))
        cancelled, other = (asyncio.create_task(cluster.refresh()) for _ in range(2))
        await broker.wait_asked(METADATA, 2)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        release.set()
        await other


async def test_what_is_learnt_while_a_listing_is_under_way_stays(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker) as cluster:
        release = asyncio.Event()
        broker.spoil_next(METADATA, send_when(release))
        listing = asyncio.create_task(cluster.refresh())
        await broker.wait_asked(METADATA, 2)
        cluster.index.learn(b"new", NEW.bytes)
        cluster.index.forget(b"orders")
        release.set()
        await listing
        assert set(cluster.index.names()) == {b"new"}

        await cluster.refresh()  # the broker's word, asked for later
        assert set(cluster.index.names()) == {b"orders"}


async def test_what_was_learnt_just_now_outlives_a_broker_that_lags(
    broker: ScriptedBroker,
) -> None:
    async with started(broker, settle_time=NEVER) as cluster:
        cluster.index.learn(b"new", NEW.bytes)
        await cluster.refresh()
        assert set(cluster.index.names()) == {b"new", b"orders"}


async def test_learnt_names_are_told_after_the_next_listing(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker) as cluster:
        changes = Changes(cluster)
        cluster.index.learn(b"new", NEW.bytes)
        state.topics["new"] = NEW
        await cluster.refresh()
        assert changes.count == 1


async def test_a_failing_on_change_stops_nothing(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    def fails() -> None:
        raise RuntimeError("a defect")

    async with started(broker) as cluster:
        cluster.on_change.append(fails)
        changes = Changes(cluster)
        state.topics["new"] = NEW
        await cluster.refresh()
        assert changes.count == 1
        await cluster.refresh()


@pytest.mark.parametrize(
    "fault",
    [
        disconnect,
        send_half,
        send_garbage,
        send_wrong_correlation_id,
        send_size(2**31 - 1),
        say_nothing,
    ],
)
async def test_moves_to_another_broker_when_one_answers_badly(
    brokers: list[ScriptedBroker], fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    async with started(brokers[0], request_timeout=2.0) as cluster:
        brokers[0].spoil_next(METADATA, fault)
        await cluster.refresh()
        assert cluster.reachable
        assert len(brokers[1].asked(METADATA)) == 1
        (line,) = [r for r in caplog.records if r.levelno >= logging.WARNING]
        assert f"{HOST}:{brokers[1].port}" in line.getMessage()


async def test_moves_on_as_brokers_stop(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[0]) as cluster:
        await brokers[0].stop()
        await cluster.refresh()
        await brokers[1].stop()
        await cluster.refresh()
        assert cluster.reachable
        assert len(brokers[2].asked(METADATA)) == 1


async def test_comes_back_through_a_bootstrap_server_when_no_listed_broker_is_left(
    broker: ScriptedBroker, state: ClusterState, unused_port: int
) -> None:
    async with started(broker) as cluster:
        state.brokers = {5: (HOST, unused_port)}
        await cluster.refresh()
        broker.disconnect_all()
        await broker.wait_disconnected()
        await cluster.refresh()
        assert cluster.reachable


async def test_an_unreachable_cluster_keeps_what_was_known_and_fails_at_once(
    brokers: list[ScriptedBroker],
) -> None:
    async with started(brokers[0]) as cluster:
        known = cluster.brokers
        for broker in brokers:
            await broker.stop()
        with pytest.raises(ClusterUnreachable) as failed:
            await cluster.refresh()
        for broker in brokers:
            assert f"{HOST}:{broker.port}: " in str(failed.value)
        assert not cluster.reachable
        assert cluster.brokers == known
        assert cluster.index.exists(b"orders")

        begin = asyncio.get_running_loop().time()
        with pytest.raises(ClusterUnreachable):
            await cluster.refresh()
        assert asyncio.get_running_loop().time() == pytest.approx(begin, abs=0.05)


async def test_all_who_wait_are_told_when_the_cluster_goes_away(
    brokers: list[ScriptedBroker],
) -> None:
    async with started(brokers[0]) as cluster:
        brokers[0].spoil_next(METADATA, say_nothing)
        first = asyncio.create_task(cluster.refresh())
        await brokers[0].wait_asked(METADATA, 2)
        second = asyncio.create_task(cluster.refresh())
        await turns_of_the_loop()
        for broker in brokers:
            await broker.stop()
        with pytest.raises(ClusterUnreachable):
            await first
        await turns_of_the_loop()
        assert second.done()  # and has not waited for the next try
        assert isinstance(second.exception(), ClusterUnreachable)


async def test_comes_back_by_itself_and_logs_one_line_for_each_change(
    brokers: list[ScriptedBroker], state: ClusterState, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gateway.cluster.cluster")
    broker = brokers[0]
    async with started(broker, poll_interval=0.005) as cluster:
        changes = Changes(cluster)
        for other in brokers:
            await other.stop()
        with pytest.raises(ClusterUnreachable):
            while True:  # until a listing has failed
                await cluster.refresh()
        state.topics["new"] = NEW
        # Some tries at a broker that takes connections but is no good yet.
        broker.spoil_next(API_VERSIONS, *[disconnect] * 3)
        await broker.start()
        await changes.until(lambda: cluster.index.exists(b"new"))
        assert cluster.reachable
        await cluster.refresh()
    lines = [record.getMessage() for record in caplog.records]
    assert len([line for line in lines if "is not reachable" in line]) == 1
    assert len([line for line in lines if "answers again" in line]) == 1


async def test_another_cluster_at_the_same_address_is_refused(
    brokers: list[ScriptedBroker], state: ClusterState
) -> None:
    async with started(brokers[0]) as cluster:
        state.cluster_id = "cluster-b"
        state.topics = {"theirs": LOGS}
        with pytest.raises(ClusterUnreachable, match="belongs to cluster cluster-b"):
            await cluster.refresh()
        assert set(cluster.index.names()) == {b"orders"}
        assert cluster.cluster_id == "cluster-a"


async def test_a_broker_that_knows_no_brokers_is_not_believed(
    brokers: list[ScriptedBroker], state: ClusterState
) -> None:
    async with started(brokers[0]) as cluster:
        state.brokers, state.topics = {}, {}
        with pytest.raises(ClusterUnreachable, match="lists no brokers"):
            await cluster.refresh()
        assert cluster.index.exists(b"orders")
        assert len(cluster.brokers) == 3


async def test_a_defect_does_not_end_the_listing(
    broker: ScriptedBroker, state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(reader: ListingReader, version: int, body: bytes) -> None:
        raise RuntimeError("a defect")

    async with started(broker, poll_interval=0.01) as cluster:
        changes = Changes(cluster)
        with monkeypatch.context() as patched:
            patched.setattr(ListingReader, "read", fails)
            with pytest.raises(ClusterUnreachable, match="a defect"):
                await cluster.refresh()
        state.topics["new"] = NEW
        await changes.until(lambda: cluster.index.exists(b"new"))


async def test_any_broker_is_each_in_turn(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[0]) as cluster:
        turns = [cluster.any_broker() for _ in range(6)]
    assert turns == [(b.node_id, HOST, b.port) for b in brokers] * 2


async def test_any_broker_leaves_out_who_lately_refused(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[0]) as cluster:
        cluster.report_connect_failure(2)
        assert {cluster.any_broker()[0] for _ in range(6)} == {1, 3}
        for node_id in (1, 3):
            cluster.report_connect_failure(node_id)
        assert {cluster.any_broker()[0] for _ in range(6)} == {1, 2, 3}


async def test_a_connect_failure_makes_it_look_what_is_new(
    brokers: list[ScriptedBroker], state: ClusterState
) -> None:
    async with started(brokers[0]) as cluster:
        changes = Changes(cluster)
        del state.brokers[2]
        cluster.report_connect_failure(2)
        await changes.until(lambda: 2 not in cluster.brokers)
        cluster.report_connect_failure(2)  # gone since: nothing to note


async def test_before_the_start_nothing_is_known(broker: ScriptedBroker) -> None:
    cluster = make(broker)
    with pytest.raises(ClusterUnreachable, match="has not asked it yet"):
        cluster.any_broker()
    with pytest.raises(ClusterUnreachable, match="has not asked it yet"):
        await cluster.refresh()


async def test_stop_releases_who_waits_and_the_connection(broker: ScriptedBroker) -> None:
    async with started(broker) as cluster:
        broker.spoil_next(METADATA, say_nothing)
        waiting = [asyncio.create_task(cluster.refresh())]
        await broker.wait_asked(METADATA, 2)
        waiting.append(asyncio.create_task(cluster.refresh()))
        await turns_of_the_loop()
        await cluster.stop()
        for answer in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(answer, ClusterUnreachable)
        await broker.wait_disconnected()
        assert not cluster.reachable
        with pytest.raises(ClusterUnreachable, match="stopped"):
            await cluster.refresh()


async def test_stop_before_start_is_fine(broker: ScriptedBroker) -> None:
    await make(broker).stop()
