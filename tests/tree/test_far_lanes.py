"""Parts of requests for volumes behind other gateways, and what is kept if these are down."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.error_codes import (
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.exchanges.tree import VolumeUnreachable
from gateway.referrals.questions import Kind
from gateway.tree import lane_seconds
from protocol.headers import read_request_header
from tests.tree.fake_others import FarTopic
from tests.tree.fake_tree import PATHS
from tests.tree.far_site import (
    ALICE,
    BOB,
    HOST,
    ID,
    NODES,
    OTHER_ID,
    SF_1,
    Site,
    codes,
)
from tests.tree.test_lanes import LA_1, METADATA, wanted

# -- questions -------------------------------------------------------------------------------------


async def test_a_part_becomes_a_question(site: Site) -> None:
    await site.ask("Metadata", 12, {"topics": [{"topic_id": None, "name": ":sf:clicks"}]})
    ((_, request, question),) = [each for each in site.others.questions if each[1].topics]
    assert (question.kind, question.volume, question.target) == (Kind.REQUEST, "la", "sf")
    assert (question.path, question.hops) == ((), 16)
    assert (question.principal, question.host) == ("User:alice", HOST)
    assert question.seconds == lane_seconds.LOOKUP_SECONDS
    assert [topic.name for topic in request.topics] == [":sf:clicks"], "in the client's own words"
    *_, client_id, _ = read_request_header(question.request, 0, len(question.request))
    assert client_id == b"test-client"
    assert set(site.others.changes) == {False}


async def test_a_change_is_asked_for_once_and_has_the_time_of_one(site: Site) -> None:
    topics = [{"name": ":sf:t", "num_partitions": 1, "replication_factor": 1}]
    site.sf.answers["CreateTopics"] = lambda request: {
        "topics": [{"name": each.name, "error_code": 0} for each in request.topics]
    }
    answer = await site.ask("CreateTopics", 7, {"topics": topics})
    assert [(each.name, each.error_code) for each in answer.topics] == [(":sf:t", 0)]
    ((_, _, question),) = site.others.questions
    assert question.seconds == lane_seconds.CHANGE_SECONDS
    assert site.others.changes == [True]


async def test_topics_are_merged_in_the_order_of_the_request(site: Site) -> None:
    answer = await site.metadata(":sf:clicks", "orders", ":sf:none", ":ny:orders", "/sf/search/new")
    assert codes(answer) == [
        (":sf:clicks", 0, 3),
        ("orders", 0, 1),
        (":sf:none", UNKNOWN_TOPIC_OR_PARTITION, 0),
        (":ny:orders", 0, 1),
        ("/sf/search/new", 0, 1),
    ]
    assert {each.leader_id for each in answer.topics[0].partitions} == {SF_1}
    assert answer.cluster_id == "id", "the listener's volume's"
    assert answer.controller_id == LA_1


async def test_a_local_name_asks_nobody_and_waits_for_nobody(site: Site) -> None:
    async def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("a client waits for another gateway")

    site.others.ask = never  # type: ignore[method-assign]
    answer = await site.metadata("orders", ":ny:orders")
    assert [int(topic.error_code) for topic in answer.topics] == [0, 0]
    await site.ask("DescribeCluster", 0, {})
    await site.ask("ApiVersions", 3, {"client_software_name": "n", "client_software_version": "1"})


async def test_mounts_that_the_listener_does_not_reach_are_no_volumes(site: Site) -> None:
    site.listener = site.listener.model_copy(update={"reach": PATHS})
    site.be(ALICE)
    assert site.lanes._far.paths == []
    await site.metadata("orders")
    assert site.others.questions == []


async def test_an_answer_that_cannot_be_read_is_one_that_did_not_come(site: Site) -> None:
    """It must not cost the client its connection, nor the responses of other volumes."""
    await site.metadata(":sf:clicks")
    site.sf.garbled = True
    answer = await site.metadata("orders", ":sf:clicks", ":sf:none")
    assert codes(answer) == [
        ("orders", 0, 1),
        (":sf:clicks", 0, 3),
        (":sf:none", LEADER_NOT_AVAILABLE, 0),
    ]
    with pytest.raises(VolumeUnreachable, match="cannot be read"):
        await site.lanes.ask("sf", METADATA, 12, wanted(":sf:clicks"))


# -- an owner that is down -------------------------------------------------------------------------


@pytest.mark.parametrize("version", [5, 12])
async def test_topics_that_were_seen_stay_without_a_leader(site: Site, version: int) -> None:
    await site.metadata(":sf:clicks", version=version)
    site.goes_down()
    answer = await site.metadata(":sf:never", "orders", "/sf/clicks", ":sf:clicks", version=version)
    assert codes(answer) == [
        (":sf:never", LEADER_NOT_AVAILABLE, 0),
        ("orders", 0, 1),
        ("/sf/clicks", 0, 3),
        (":sf:clicks", 0, 3),
    ]
    parts = answer.topics[2].partitions
    assert {(p.error_code, p.leader_id) for p in parts} == {(LEADER_NOT_AVAILABLE, -1)}
    if version == 12:
        assert answer.topics[2].topic_id == ID


async def test_topics_that_were_seen_stay_by_id(site: Site) -> None:
    await site.metadata(":sf:clicks")
    site.goes_down()
    answer = await site.ask("Metadata", 12, {"topics": [{"topic_id": ID.int, "name": None}]})
    ((topic),) = answer.topics
    assert (topic.name, topic.topic_id, len(topic.partitions)) == (":sf:clicks", ID, 3)


async def test_a_topic_that_was_deleted_is_not_remembered(site: Site) -> None:
    await site.metadata(":sf:clicks")
    del site.sf.topics["clicks"]
    await site.metadata(":sf:clicks")
    site.goes_down()
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", LEADER_NOT_AVAILABLE, 0)]


async def test_a_topic_that_was_made_anew_stays_when_the_old_id_is_gone(site: Site) -> None:
    await site.metadata(":sf:clicks")
    site.sf.topics["clicks"] = FarTopic(OTHER_ID.bytes, 5)
    await site.metadata(":sf:clicks")
    await site.ask("Metadata", 12, {"topics": [{"topic_id": ID.int, "name": None}]})
    site.goes_down()
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", 0, 5)]


async def test_a_topic_that_is_denied_by_now_is_not_shown(site: Site) -> None:
    await site.metadata(":sf:clicks")
    site.sf.topics["clicks"].allowed["User:alice"] = 0
    found = codes(await site.metadata(":sf:clicks"))
    assert found == [(":sf:clicks", TOPIC_AUTHORIZATION_FAILED, 0)]
    site.goes_down()
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", LEADER_NOT_AVAILABLE, 0)]


async def test_nobody_sees_what_another_principal_saw(site: Site) -> None:
    await site.metadata(":sf:clicks")
    site.goes_down()
    site.be(BOB)
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", LEADER_NOT_AVAILABLE, 0)]
    by_id = await site.ask("Metadata", 12, {"topics": [{"topic_id": ID.int, "name": None}]})
    assert [topic.name for topic in by_id.topics] != [":sf:clicks"]
    assert await site.nodes() == NODES
    assert site.lanes.remembered("sf", None, [ID.bytes]) == {}
    assert site.lanes.topic_id(ID.bytes) is None
    site.be(ALICE)
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", 0, 3)]


async def test_what_is_denied_at_a_host_is_not_shown_there(site: Site) -> None:
    site.sf.topics["clicks"].allowed["User:alice 192.0.2.66"] = 0
    await site.metadata(":sf:clicks")
    site.be(ALICE, "192.0.2.66")
    await site.metadata(":sf:clicks")
    site.be(ALICE)
    await site.metadata(":sf:clicks")
    site.goes_down()
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", 0, 3)]
    site.be(ALICE, "192.0.2.66")
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", LEADER_NOT_AVAILABLE, 0)]


DOWN: list[tuple[str, int, dict[str, Any], str, int]] = [
    ("FindCoordinator", 4, {"coordinator_keys": [":sf:app"]}, "coordinators", 15),
    ("CreateTopics", 7, {"topics": [{"name": ":sf:t"}]}, "topics", REQUEST_TIMED_OUT),
    ("DescribeTopicPartitions", 0, {"topics": [{"name": ":sf:t"}]}, "topics", LEADER_NOT_AVAILABLE),
]


@pytest.mark.parametrize(("api", "version", "values", "array", "code"), DOWN)
async def test_other_requests_while_the_owner_is_down(
    site: Site, api: str, version: int, values: dict[str, Any], array: str, code: int
) -> None:
    site.goes_down()
    answer = await site.ask(api, version, values)
    assert [int(each.error_code) for each in getattr(answer, array)] == [code]
