"""A cluster that watches its brokers knows the versions that each serves, and when to ask again."""

from __future__ import annotations

import pytest

from gateway.cluster import node_watch
from tests.cluster.clusters import started
from tests.cluster.scripted_broker import (
    API_VERSIONS,
    METADATA,
    ClusterState,
    ScriptedBroker,
    disconnect,
    say_nothing,
)
from tests.waiting import eventually

pytestmark = pytest.mark.asyncio

OLD, NEW = (0, 12), (0, 13)


@pytest.fixture(autouse=True)
def _pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_watch, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(node_watch, "LONGEST_PAUSE", 0.01)


async def test_each_broker_is_known_from_the_start(brokers: list[ScriptedBroker]) -> None:
    brokers[1].api_versions[METADATA] = OLD
    async with started(brokers[0], watches=True) as cluster:
        assert [cluster.versions_of(node)[METADATA] for node in (1, 2, 3)] == [NEW, OLD, NEW]
        assert cluster.api_versions[METADATA] == cluster.versions_of(None)[METADATA] == OLD
        for _ in range(5):
            await cluster.refresh()
    assert [broker.connections for broker in brokers] == [2, 1, 1]


async def test_without_a_watch_those_that_give_listings_are_known(
    brokers: list[ScriptedBroker],
) -> None:
    brokers[1].api_versions[METADATA] = OLD
    async with started(brokers[1]) as cluster:
        assert cluster.versions_of(2)[METADATA] == cluster.versions_of(1)[METADATA] == OLD
    assert [broker.connections for broker in brokers] == [0, 1, 0]


async def test_one_that_comes_back_is_asked_again(brokers: list[ScriptedBroker]) -> None:
    brokers[1].api_versions[METADATA] = OLD
    async with started(brokers[0], watches=True) as cluster:
        await brokers[1].stop()
        brokers[1].api_versions[METADATA] = NEW
        await eventually(lambda: cluster.versions_of(2) == cluster.api_versions, "doubt")
        assert cluster.versions_of(2)[METADATA] == OLD  # its last response counts
        await brokers[1].start()
        await eventually(lambda: cluster.versions_of(2)[METADATA] == NEW, "its new versions")
        assert cluster.api_versions[METADATA] == NEW


async def test_one_that_comes_back_older_is_asked_again(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[0], watches=True) as cluster:
        await brokers[1].stop()
        brokers[1].api_versions[METADATA] = OLD
        await brokers[1].start()
        await eventually(lambda: cluster.versions_of(2)[METADATA] == OLD, "its new versions")
        assert cluster.versions_of(1)[METADATA] == NEW
        assert cluster.api_versions[METADATA] == OLD


async def test_the_cluster_is_listed_when_a_broker_ends_its_connection(
    brokers: list[ScriptedBroker], state: ClusterState
) -> None:
    async with started(brokers[0], watches=True) as cluster:
        del state.brokers[2]
        brokers[1].disconnect_all()
        await eventually(lambda: 2 not in cluster.brokers, "a listing")


async def test_one_that_has_left_is_forgotten(
    brokers: list[ScriptedBroker], state: ClusterState
) -> None:
    brokers[1].api_versions[METADATA] = OLD
    async with started(brokers[0], watches=True) as cluster:
        del state.brokers[2]
        await cluster.refresh()
        await brokers[1].wait_disconnected()
        assert cluster.versions_of(2) == cluster.api_versions
        assert cluster.api_versions[METADATA] == NEW


async def test_one_that_has_moved_is_another(
    brokers: list[ScriptedBroker], state: ClusterState
) -> None:
    brokers[1].api_versions[METADATA] = OLD
    async with started(brokers[0], watches=True) as cluster:
        state.brokers[2] = brokers[2].address
        await cluster.refresh()
        await eventually(lambda: cluster.versions_of(2)[METADATA] == NEW, "its versions")


async def test_one_that_is_silent_holds_nothing_up(
    brokers: list[ScriptedBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_watch, "MEETING_SECONDS", 0.05)
    brokers[0].api_versions[METADATA] = OLD
    brokers[1].spoil_next(API_VERSIONS, say_nothing)
    async with started(brokers[0], watches=True) as cluster:
        await cluster.refresh()
        await eventually(lambda: cluster.versions_of(3)[METADATA] == NEW, "the third one")
        assert cluster.versions_of(2)[METADATA] == OLD


async def test_one_that_fails_is_tried_again(brokers: list[ScriptedBroker]) -> None:
    brokers[0].api_versions[METADATA] = OLD
    brokers[1].spoil_next(API_VERSIONS, disconnect, disconnect)
    async with started(brokers[0], watches=True) as cluster:
        await eventually(lambda: cluster.versions_of(2)[METADATA] == NEW, "its versions")


async def test_all_connections_end_with_the_cluster(brokers: list[ScriptedBroker]) -> None:
    async with started(brokers[0], watches=True):
        pass
    for broker in brokers:
        await broker.wait_disconnected()


async def test_what_closes_each_connection_soon_is_asked_less_and_less_often(
    brokers: list[ScriptedBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[int] = []

    def pause(count: int) -> float:
        failures.append(count)
        return 0.0

    monkeypatch.setattr(node_watch, "_pause", pause)

    async def closed(count: int) -> None:
        await eventually(lambda: brokers[1].connections == count, "a connection")
        brokers[1].disconnect_all()
        await eventually(lambda: len(failures) == count, "its end")

    async with started(brokers[0], watches=True):
        for count in (1, 2, 3):
            await closed(count)
    assert failures == [1, 2, 3]


async def test_only_so_many_are_watched(
    brokers: list[ScriptedBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_watch, "MOST", 2)
    brokers[0].api_versions[METADATA] = OLD
    async with started(brokers[0], watches=True) as cluster:
        assert [broker.connections for broker in brokers] == [2, 1, 0]
        assert [cluster.versions_of(node)[METADATA] for node in (1, 2, 3)] == [OLD, NEW, OLD]


async def test_new_ones_are_connected_to_one_after_the_other(
    brokers: list[ScriptedBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_watch, "SPACING", 60.0)
    monkeypatch.setattr(node_watch, "MEETING_SECONDS", 0.05)
    async with started(brokers[0], watches=True):
        assert [broker.connections for broker in brokers] == [2, 0, 0]
