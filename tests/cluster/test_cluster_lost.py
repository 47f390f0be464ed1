"""gateway.cluster.cluster: brokers that go away, respond badly, or come back."""

from __future__ import annotations

import asyncio
import logging

import pytest

from gateway.cluster.cluster import ClusterUnreachable
from gateway.cluster.listing import ListingReader
from tests.cluster.clusters import LOGS, NEW, Changes, make, started, turns_of_the_loop
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
        # Some tries at a broker that takes connections but does not work yet.
        broker.spoil_next(API_VERSIONS, *[disconnect] * 3)
        await broker.start()
        await changes.until(lambda: cluster.index.exists(b"new"))
        assert cluster.reachable
        await cluster.refresh()
    lines = [record.getMessage() for record in caplog.records]
    assert len([line for line in lines if "is not reachable" in line]) == 1
    assert len([line for line in lines if "answers again" in line]) == 1


async def test_another_cluster_at_the_same_address_is_rejected(
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


async def test_any_broker_leaves_out_who_lately_rejected(brokers: list[ScriptedBroker]) -> None:
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


async def test_a_cluster_is_suspected_until_its_next_listing(
    brokers: list[ScriptedBroker],
) -> None:
    """If a broker was not silent, the cluster may respond."""
    async with started(*brokers) as cluster:
        first, *others = cluster.brokers.values()
        answers = [cluster.answers]
        for address in others:
            cluster.note_silent(address)
        cluster.suspect()
        answers.append(cluster.answers)
        cluster.note_silent(first)
        answers.append(cluster.answers)
        assert cluster.reachable
        await cluster.refresh()
        assert [*answers, cluster.answers] == [True, True, False, True]


async def test_the_only_broker_of_a_cluster_is_not_asked_in_vain_again(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    state.brokers = {broker.node_id: broker.address}
    async with started(broker) as cluster:
        cluster.suspect()
        suspected = not cluster.answers
        await cluster.refresh()
        assert (suspected, cluster.answers) == (True, True)


async def test_a_listing_is_awaited_until_the_broker_has_answered(broker: ScriptedBroker) -> None:
    async with started(broker) as cluster:
        answering = asyncio.Event()
        broker.spoil_next(METADATA, send_when(answering))
        asked = len(broker.asked(METADATA))
        listing = asyncio.create_task(cluster.refresh())
        await broker.wait_asked(METADATA, asked + 1)
        awaited = [cluster.awaited]
        answering.set()
        await listing
        assert [*awaited, cluster.awaited] == [True, False]
