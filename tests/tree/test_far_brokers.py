"""Brokers, cluster ids and topic ids of volumes behind other gateways, as clients see them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    LEADER_NOT_AVAILABLE,
    TOPIC_AUTHORIZATION_FAILED,
)
from gateway.referrals.questions import Outcome
from gateway.tree import lane_seconds
from gateway.tree.far_lanes import SHOWN_SECONDS
from gateway.views.trust import NOBODY
from protocol.schema import api_key_of
from tests.tree.fake_others import DESCRIBE
from tests.tree.fake_tree import LISTENER
from tests.tree.far_site import (
    ALICE,
    BOB,
    HOST,
    ID,
    NODES,
    OTHER_ID,
    SF_1,
    SF_2,
    Site,
    codes,
)
from tests.tree.test_lanes import LA_1

# -- brokers ---------------------------------------------------------------------------------------


async def test_brokers_appear_after_the_first_answer_and_stay_while_the_owner_is_down(
    site: Site,
) -> None:
    assert await site.nodes() == NODES
    await site.others.settled()
    site.sf.nodes = [1, 2]
    answer = await site.metadata("orders")
    assert [broker.node_id for broker in answer.brokers] == [*NODES, SF_1]
    (broker,) = (each for each in answer.brokers if each.node_id == SF_1)
    assert (broker.host, broker.port, broker.rack) == ("sf.example", 9092, "r-sf")
    await site.metadata(":sf:clicks")
    assert await site.nodes() == [*NODES, SF_1, SF_2]
    site.goes_down()
    site.others.clock.now += 3600
    for _ in range(2):
        assert await site.nodes() == [*NODES, SF_1, SF_2]
        assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", 0, 3)]
        await site.others.settled()
    described = await site.ask("DescribeCluster", 0, {})
    assert [each.broker_id for each in described.brokers] == [*NODES, SF_1, SF_2]


async def test_an_answer_has_the_brokers_that_it_tells_of(site: Site) -> None:
    answer = await site.metadata(":sf:clicks")
    assert [broker.node_id for broker in answer.brokers] == [*NODES, SF_1]


async def test_brokers_are_asked_for_anew_after_a_while(site: Site) -> None:
    await site.nodes()
    await site.others.settled()
    assert len(site.others.asked()) == 1
    await site.nodes()
    await site.others.settled()
    assert site.others.asked() == []
    site.others.clock.now += SHOWN_SECONDS + 1
    await site.nodes()
    await site.nodes()
    await site.others.settled()
    (request,) = site.others.asked()
    assert request.topics == (), "brokers alone"


@pytest.mark.parametrize("how", ["denied", "hidden"])
async def test_brokers_are_not_shown_to_a_principal_that_may_not_see_them(
    site: Site, how: str
) -> None:
    await site.metadata(":sf:clicks")
    if how == "denied":
        site.goes_down(Outcome.DENIED, "User:bob")
    else:
        site.sf.hidden.add("User:bob")
    site.be(BOB)
    for _ in range(2):
        await site.metadata(":sf:clicks")
        assert await site.nodes() == NODES
        await site.others.settled()
    site.be(ALICE)
    assert await site.nodes() == [*NODES, SF_1]


async def test_a_principal_that_is_denied_loses_what_it_saw(site: Site) -> None:
    await site.metadata(":sf:clicks")
    assert await site.nodes() == [*NODES, SF_1]
    site.goes_down(Outcome.DENIED)
    await site.metadata(":sf:clicks")
    assert await site.nodes() == NODES
    site.goes_down()
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", LEADER_NOT_AVAILABLE, 0)]
    site.sf.outcome.clear()
    await site.metadata(":sf:clicks")
    assert await site.nodes() == [*NODES, SF_1]


async def test_old_versions_take_nothing_of_what_newer_ones_told(site: Site) -> None:
    """Version 0 has no racks, no controller and no cluster id."""
    await site.metadata(":sf:clicks")
    volume = site.others.known.of("la", "sf")
    before = volume.brokers, volume.cluster_id, volume.controller_id, volume.version
    await site.ask("Metadata", 0, {"topics": [{"name": ":sf:clicks"}]})
    await site.ask("Metadata", 1, {"topics": [{"name": ":sf:clicks"}]})
    assert (volume.brokers, volume.cluster_id, volume.controller_id, volume.version) == before


# -- a listener of a far volume --------------------------------------------------------------------


async def test_names_cluster_id_and_controller_are_the_far_volumes(of_sf: Site) -> None:
    of_sf.sf.nodes = [1, 2]
    answer = await of_sf.metadata("clicks", ":la:orders")
    assert codes(answer) == [("clicks", 0, 3), (":la:orders", 0, 1)]
    assert (answer.cluster_id, answer.controller_id) == ("id-sf", SF_2)
    of_sf.goes_down()
    answer = await of_sf.metadata("clicks", "other")
    assert codes(answer) == [("clicks", 0, 3), ("other", LEADER_NOT_AVAILABLE, 0)]
    assert (answer.cluster_id, answer.controller_id) == ("id-sf", SF_2)
    described = await of_sf.ask("DescribeCluster", 0, {})
    assert (described.cluster_id, described.controller_id) == ("id-sf", SF_2)


def test_the_volume_that_stands_in_for_a_far_one_does_not_trust_its_listener(of_sf: Site) -> None:
    """It has the listener's users, and none of its rights, because these come only with
    ``trust``."""
    volumes = of_sf.volumes
    assert volumes.own_path(LISTENER) == "sf"
    assert volumes.of_listener(LISTENER) is volumes["la"]
    assert volumes.access(volumes["la"], LISTENER, ALICE, HOST).principal == NOBODY


async def test_all_topics_of_a_far_volume(of_sf: Site) -> None:
    answer = await of_sf.ask("Metadata", 12, {"topics": None})
    assert codes(answer) == [("clicks", 0, 3), ("search:new", 0, 1)]
    of_sf.goes_down()
    answer = await of_sf.ask("Metadata", 12, {"topics": None})
    assert sorted(codes(answer)) == [("clicks", 0, 3), ("search:new", 0, 1)]
    of_sf.be(BOB)
    assert codes(await of_sf.ask("Metadata", 12, {"topics": None})) == []


async def test_another_broker_is_the_controller_until_the_far_one_is_known(of_sf: Site) -> None:
    of_sf.goes_down()
    answer = await of_sf.metadata(":la:orders")
    assert (answer.cluster_id, answer.controller_id) == (None, LA_1)


async def test_a_cluster_id_is_not_shown_to_a_principal_that_is_denied(of_sf: Site) -> None:
    await of_sf.metadata("clicks")
    of_sf.goes_down(Outcome.DENIED, "User:bob")
    of_sf.be(BOB)
    answer = await of_sf.metadata("clicks", ":la:orders")
    assert codes(answer)[0] == ("clicks", TOPIC_AUTHORIZATION_FAILED, 0)
    assert (answer.cluster_id, answer.controller_id) == (None, LA_1)
    described = await of_sf.ask("DescribeCluster", 0, {})
    assert described.error_code == CLUSTER_AUTHORIZATION_FAILED


# -- versions --------------------------------------------------------------------------------------


async def test_versions_are_those_that_the_far_cluster_serves_too(site: Site) -> None:
    fetch = api_key_of("FetchRequest")
    keys = [{"api_key": fetch, "min_version": 4, "max_version": 11}]
    site.sf.answers["ApiVersions"] = lambda _: {"api_keys": keys}
    for cluster in site.clusters.values():
        key = SimpleNamespace(api_key=fetch, min_version=4, max_version=17)
        cluster.served = SimpleNamespace(
            api_keys=[key],
            supported_features=(),
            finalized_features=(),
            finalized_features_epoch=-1,
            zk_migration_ready=False,
        )
    site.lanes.facts()
    await site.others.settled()
    assert [each.api_keys[0].max_version for each in site.lanes._far.served()] == [11]
    (question,) = [each for each in site.others.questions if each[0] == "ApiVersions"]
    assert question[2].seconds == lane_seconds.LOOKUP_SECONDS


# -- ids of topics ---------------------------------------------------------------------------------


async def test_ids_of_one_response_are_one_question(site: Site) -> None:
    far = site.lanes._far
    volume = far.volume("sf")
    for topic_id in (ID, OTHER_ID, ID):
        far.learn_id(volume, topic_id.bytes)
    await site.others.settled()
    (request,) = site.others.asked()
    assert {topic.topic_id for topic in request.topics} == {ID, OTHER_ID}
    assert far.path_of_id(ID.bytes) == far.path_of_id(OTHER_ID.bytes) == "sf"
    far.learn_id(volume, ID.bytes)
    await site.others.settled()
    assert site.others.asked() == [], "it was done just before"


async def test_an_id_that_a_principal_may_not_see_is_not_learned_for_it(site: Site) -> None:
    await site.metadata(":sf:clicks")
    site.sf.topics["clicks"].allowed["User:bob"] = 0
    site.be(BOB)
    far = site.lanes._far
    far.learn_id(far.volume("sf"), ID.bytes)
    await site.others.settled()
    assert far.path_of_id(ID.bytes) is None
    site.sf.topics["clicks"].allowed["User:bob"] = DESCRIBE
    site.others.clock.now += 60
    far.learn_id(far.volume("sf"), ID.bytes)
    await site.others.settled()
    assert far.path_of_id(ID.bytes) == "sf"
