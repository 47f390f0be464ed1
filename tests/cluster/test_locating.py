"""The address of a broker that came, came back or moved since the last listing."""

from __future__ import annotations

import asyncio

import pytest

from gateway.cluster import locating
from gateway.cluster.locating import locate, located_elsewhere
from tests.cluster.clusters import NEVER, Changes, make, started, turns_of_the_loop
from tests.cluster.scripted_broker import (
    METADATA,
    Answer,
    ClusterState,
    ScriptedBroker,
    say_nothing,
    send,
)

pytestmark = pytest.mark.asyncio

NODE = 9
OLD, NEW = ("old.example", 9092), ("new.example", 9092)


async def test_a_listed_broker_is_where_it_is_listed(broker: ScriptedBroker) -> None:
    async with started(broker) as cluster:
        assert await locate(cluster, 1) == broker.address
        assert len(broker.asked(METADATA)) == 1


async def test_one_that_has_come_since_is_listed_first(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker) as cluster:
        state.brokers[NODE] = NEW
        assert await locate(cluster, NODE) == NEW


async def test_many_that_wait_for_it_share_a_listing(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker) as cluster:
        state.brokers[NODE] = NEW
        found = await asyncio.gather(*(locate(cluster, NODE) for _ in range(50)))
        assert set(found) == {NEW}
        assert len(broker.asked(METADATA)) == 2


async def test_none_is_where_a_new_listing_has_none(broker: ScriptedBroker) -> None:
    async with started(broker) as cluster:
        assert await locate(cluster, NODE) is None
        assert len(broker.asked(METADATA)) == 2


async def test_what_an_answer_names_is_listed_before_anybody_connects(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker) as cluster:
        changes = Changes(cluster)
        state.brokers[NODE] = NEW
        cluster.hear(NODE, *NEW)
        await changes.until(lambda: NODE in cluster.brokers)
        assert cluster.heard.waiting(NODE) is None


async def test_what_an_answer_names_as_listed_is_no_news(broker: ScriptedBroker) -> None:
    async with started(broker) as cluster:
        cluster.hear(1, *broker.address)
        assert await locate(cluster, 1) == broker.address
        assert len(broker.asked(METADATA)) == 1


async def test_one_that_an_answer_names_elsewhere_is_where_the_next_listing_has_it(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    state.brokers[NODE] = OLD
    async with started(broker) as cluster:
        state.brokers[NODE] = NEW
        cluster.hear(NODE, *NEW)
        assert await locate(cluster, NODE) == NEW


async def test_a_late_answer_moves_nothing(broker: ScriptedBroker, state: ClusterState) -> None:
    """Only the listing counts, because it is of this cluster."""
    state.brokers[NODE] = NEW
    async with started(broker) as cluster:
        cluster.hear(NODE, *OLD)
        assert await locate(cluster, NODE) == NEW


async def test_the_broker_that_lists_may_be_late(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async def too_early(answer: Answer) -> None:
        await send(answer)
        state.brokers[NODE] = NEW

    async with started(broker) as cluster:
        broker.spoil_next(METADATA, too_early)
        cluster.hear(NODE, *NEW)
        assert await locate(cluster, NODE) == NEW


async def test_it_is_not_late_for_ever(
    broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locating, "LAG_SECONDS", 0.05)
    async with started(broker) as cluster:
        cluster.hear(NODE, *NEW)
        assert await locate(cluster, NODE) is None


async def test_an_answer_that_each_listing_contradicts_has_one_made(
    broker: ScriptedBroker,
) -> None:
    async with started(broker) as cluster:
        for port in range(1, 50):
            cluster.hear(NODE, "new.example", port)
            await cluster.refresh()
            cluster.hear(2, "elsewhere.example", port)
            await turns_of_the_loop()
        # A listing for each refresh, and two for brokers heard of between them.
        assert len(broker.asked(METADATA)) <= 1 + 49 + 2


async def test_brokers_that_are_fenced_do_not_hide_one_that_is_new(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    async with started(broker) as cluster:
        changes = Changes(cluster)
        for node_id in range(100, 116):  # DescribeCluster v2 names them, Metadata does not
            cluster.hear(node_id, "fenced.example", 9092)
        await cluster.refresh()
        state.brokers[NODE] = NEW
        cluster.hear(NODE, *NEW)
        await changes.until(lambda: NODE in cluster.brokers)


async def test_a_new_broker_is_listed_for_its_client_among_any_number_of_others(
    broker: ScriptedBroker, state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locating, "PAUSE_SECONDS", NEVER)
    async with started(broker) as cluster:
        for node_id in range(100, 150):
            cluster.hear(node_id, "fenced.example", 9092)
            await cluster.refresh()
        state.brokers[NODE] = NEW
        cluster.hear(NODE, *NEW)
        assert await locate(cluster, NODE) == NEW


async def test_connections_to_one_that_does_not_exist_have_few_listings_made(
    broker: ScriptedBroker,
) -> None:
    clock = asyncio.get_running_loop().time
    async with started(broker) as cluster:
        began = clock()
        for _ in range(3):
            assert await asyncio.gather(*(locate(cluster, NODE) for _ in range(50))) == [None] * 50
        took = max(clock() - began, 3 * locating.PAUSE_SECONDS)
        assert len(broker.asked(METADATA)) <= 1 + took / locating.PAUSE_SECONDS


async def test_a_cluster_that_does_not_answer_is_not_waited_for_long(
    broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locating, "LISTING_SECONDS", 0.05)
    async with started(broker, request_timeout=NEVER) as cluster:
        broker.spoil_next(METADATA, say_nothing)
        assert await locate(cluster, NODE) is None


async def test_nothing_is_found_before_the_first_listing(broker: ScriptedBroker) -> None:
    assert await locate(make(broker), NODE) is None


@pytest.mark.parametrize("address", [("", -1), ("", 9092), ("new.example", -1), ("a", 0)])
async def test_what_can_be_no_address_is_nobodys(
    broker: ScriptedBroker, state: ClusterState, address: tuple[str, int]
) -> None:
    state.brokers[NODE] = address
    state.racks[NODE] = "r"
    async with started(broker) as cluster:
        listed = {1, 2, 3}
        assert set(cluster.brokers) == set(cluster.racks) == listed
        assert {cluster.any_broker()[0] for _ in range(8)} == listed
        cluster.hear(NODE, *address)
        assert cluster.heard.waiting(NODE) is None
        assert await locate(cluster, NODE) is None


async def test_one_that_could_not_be_reached_may_have_moved(
    broker: ScriptedBroker, state: ClusterState
) -> None:
    state.brokers[NODE] = OLD
    async with started(broker) as cluster:
        assert await located_elsewhere(cluster, NODE, OLD) is None
        state.brokers[NODE] = NEW
        assert await located_elsewhere(cluster, NODE, OLD) == NEW
        del state.brokers[NODE]
        assert await located_elsewhere(cluster, NODE, NEW) is None
