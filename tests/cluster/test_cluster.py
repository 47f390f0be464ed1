from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from gateway.brokers.connection import BrokerConnection
from gateway.cluster.cluster import Cluster, ClusterUnreachable
from gateway.cluster.listing import ListingReader
from protocol import messages
from tests.cluster.clusters import (
    LOGS,
    NEVER,
    NEW,
    ORDERS,
    Changes,
    make,
    started,
    turns_of_the_loop,
)
from tests.cluster.scripted_broker import (
    API_VERSIONS,
    HOST,
    METADATA,
    ClusterState,
    ScriptedBroker,
    disconnect,
    say_nothing,
    send_garbage,
    send_when,
)

pytestmark = pytest.mark.asyncio


async def test_discovers_the_cluster(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[1]) as cluster:
        assert cluster.reachable
        assert cluster.brokers == {b.node_id: b.address for b in brokers}
        assert cluster.api_versions == brokers[1].api_versions
        assert cluster.cluster_id == "cluster-a"
        assert cluster.controller_id == 2
        assert cluster.index.id_of(b"orders") == ORDERS.bytes


async def test_an_unknown_error_of_one_topic_hides_no_other(broker: ScriptedBroker) -> None:
    broker.state.topics["logs"] = LOGS
    broker.state.errors["orders"] = 12345
    async with started(broker) as cluster:
        assert cluster.reachable
        broker.state.topics["new"] = NEW
        await cluster.refresh()
        assert cluster.reachable
        assert cluster.index.id_of(b"logs") == LOGS.bytes
        assert cluster.index.id_of(b"new") == NEW.bytes


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
        state.racks = {9: "b"}
        await cluster.refresh()
        assert set(cluster.index.names()) == {b"logs"}
        assert cluster.brokers == {9: broker.address}
        assert cluster.racks == {9: "b"}
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


async def test_listings_are_rate_limited(broker: ScriptedBroker) -> None:
    interval = 0.04
    async with started(broker, min_refresh_interval=interval) as cluster:
        begin = asyncio.get_running_loop().time()
        for _ in range(4):
            await cluster.refresh()
        # The first may go at once; a clock tick of slack.
        assert asyncio.get_running_loop().time() - begin >= 3 * interval - 0.001


async def test_the_more_work_a_listing_is_the_rarer_they_are(
    broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, read = 0.1, ListingReader.read

    def slowly(*args: Any) -> Any:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass  # it works
        return read(*args)

    async with started(broker) as cluster:
        monkeypatch.setattr(ListingReader, "read", slowly)
        begin = asyncio.get_running_loop().time()
        await cluster.refresh()
        await cluster.refresh()
        assert asyncio.get_running_loop().time() - begin >= 4 * seconds


async def test_a_broker_that_was_waited_for_in_vain_is_no_work(
    brokers: list[ScriptedBroker],
) -> None:
    timeout = 0.5  # long enough for a busy machine to answer in
    async with started(brokers[0], request_timeout=timeout) as cluster:
        brokers[0].spoil_next(METADATA, say_nothing)
        begin = asyncio.get_running_loop().time()
        await cluster.refresh()  # takes the time-out, and then another broker
        assert cluster._schedule._not_before < begin + 4 * timeout


async def test_a_broker_that_was_stopped_in_the_middle_of_its_answer_is_no_work(
    broker: ScriptedBroker,
) -> None:
    stopped = 0.3
    async with started(broker) as cluster:
        now = asyncio.get_running_loop().time
        for times in (1, 2):
            goes_on = asyncio.Event()
            broker.spoil_next(METADATA, send_when(goes_on))
            begin = now()
            refreshed = asyncio.create_task(cluster.refresh())
            await broker.wait_asked(METADATA, times + 1)
            asyncio.get_running_loop().call_later(stopped, goes_on.set)
            await refreshed
            if times == 1:
                assert cluster._schedule._not_before < begin + 4 * stopped
        # But a listing that takes as long each time works as long.
        assert cluster._schedule._not_before >= begin + 4 * stopped * 0.9


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
