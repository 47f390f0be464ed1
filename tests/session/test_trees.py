"""Absolute names and ids in the requests of a session: responses repeat the requested name or id,
because Java's client looks a response up by the id that it wrote."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.changes.base.rejected import Rejected
from gateway.changes.namespaces.create_namespaces import check_tiers
from gateway.decision import Denied
from gateway.error_codes import INVALID_TOPIC_EXCEPTION, NOT_COORDINATOR, NOT_LEADER_OR_FOLLOWER
from gateway.rules.access import check_creation
from gateway.views.spelling import Spelling
from gateway.views.view import View
from protocol import messages
from tests.scenarios.entities import entity
from tests.session.pair import Pair
from tests.views.trees import mounts, tree_settings, tree_view

TREE = mounts("la:tracking", "ny")
SPELLED = [":la:tracking:app", "/la/tracking/app", "..la.tracking..app", "app"]


def tree_pair(volume: str = "la:tracking", spelling: Spelling = "colon", *, home: str = "") -> Pair:
    pair = Pair(topics=["orders", "team-a..orders"])
    settings = tree_settings(TREE, volume, "la:tracking", spelling, home=home)
    pair.see(View(settings, pair.catalog.snapshot))
    return pair


def message(name: str, version: int, **values: object) -> Any:
    return entity(messages.message_class(name, version), values)


@pytest.mark.parametrize("spelled", SPELLED)
def test_described_groups_have_the_id_that_was_asked_for(spelled: str) -> None:
    pair = tree_pair()
    sent = pair.ask(
        "DescribeGroups", 5, message("DescribeGroupsRequest", 5, groups=[spelled, "other"])
    )
    assert sent.groups == ("app", "other")
    answered = [{"group_id": "app"}, {"group_id": "other"}]
    got = pair.reply("DescribeGroups", 5, message("DescribeGroupsResponse", 5, groups=answered))
    assert [group.group_id for group in got.groups] == [spelled, "other"]


def test_one_group_under_two_spellings_is_answered_under_each() -> None:
    pair = tree_pair()
    sent = pair.ask(
        "DescribeGroups", 5, message("DescribeGroupsRequest", 5, groups=[*SPELLED, "other"])
    )
    assert sent.groups == ("app", "other")
    answered = [{"group_id": "app", "group_state": "Empty"}, {"group_id": "other"}]
    got = pair.reply("DescribeGroups", 5, message("DescribeGroupsResponse", 5, groups=answered))
    assert [group.group_id for group in got.groups] == [*SPELLED, "other"]
    assert [group.group_state for group in got.groups] == ["Empty"] * 4 + [""]


@pytest.mark.parametrize("key_type", [0, 1])
def test_coordinator_keys(key_type: int) -> None:
    pair = tree_pair("ny")
    keys = ["/ny/app", ":ny:deep/x", "app"]
    sent = pair.ask(
        "FindCoordinator",
        4,
        message("FindCoordinatorRequest", 4, key_type=key_type, coordinator_keys=keys),
    )
    assert sent.coordinator_keys == ("app", "deep/x")
    answered = [{"key": key, "node_id": 1} for key in sent.coordinator_keys]
    got = pair.reply(
        "FindCoordinator", 4, message("FindCoordinatorResponse", 4, coordinators=answered)
    )
    assert [(one.key, one.error_code) for one in got.coordinators] == [
        ("/ny/app", 0),
        (":ny:deep/x", 0),
        ("app", NOT_COORDINATOR),
    ]


def test_fetched_offsets() -> None:
    pair = tree_pair()
    asked = [{"group_id": "/la/tracking/app", "topics": None}, {"group_id": "other"}]
    sent = pair.ask("OffsetFetch", 8, message("OffsetFetchRequest", 8, groups=asked))
    assert [group.group_id for group in sent.groups] == ["app", "other"]
    answered = [{"group_id": "app"}, {"group_id": "other"}]
    got = pair.reply("OffsetFetch", 8, message("OffsetFetchResponse", 8, groups=answered))
    assert [group.group_id for group in got.groups] == ["/la/tracking/app", "other"]


def test_deleted_groups_in_another_volume() -> None:
    pair = tree_pair("ny", "slash")
    asked = message("DeleteGroupsRequest", 2, groups_names=["..ny..app", "/ny/b"])
    assert pair.ask("DeleteGroups", 2, asked).groups_names == ("app", "b")
    answered = [{"group_id": "app"}, {"group_id": "b"}]
    got = pair.reply("DeleteGroups", 2, message("DeleteGroupsResponse", 2, results=answered))
    assert [result.group_id for result in got.results] == ["..ny..app", "/ny/b"]


def test_listed_groups_are_in_the_listeners_spelling() -> None:
    pair = tree_pair("ny", "slash")
    pair.ask("ListGroups", 4, message("ListGroupsRequest", 4))
    answered = [{"group_id": "app"}, {"group_id": ":x"}]
    got = pair.reply("ListGroups", 4, message("ListGroupsResponse", 4, groups=answered))
    assert [group.group_id for group in got.groups] == ["/ny/app", "/ny/:x"]


def test_a_group_and_a_transactional_id_of_one_name() -> None:
    pair = tree_pair()
    asked = message(
        "TxnOffsetCommitRequest", 3, group_id=":la:tracking:app", transactional_id="app", topics=[]
    )
    sent = pair.ask("TxnOffsetCommit", 3, asked)
    assert (sent.group_id, sent.transactional_id) == ("app", "app")


def test_ids_in_a_home_are_its_own() -> None:
    pair = tree_pair(home="team-a")
    sent = pair.ask("DescribeGroups", 5, message("DescribeGroupsRequest", 5, groups=[":ny:app"]))
    assert sent.groups == ("team-a..:ny:app",)
    answered = [{"group_id": "team-a..:ny:app"}]
    got = pair.reply("DescribeGroups", 5, message("DescribeGroupsResponse", 5, groups=answered))
    assert [group.group_id for group in got.groups] == [":ny:app"]


def test_topics_of_another_volume_in_one_request() -> None:
    pair = tree_pair("ny")
    names = [":ny:orders", "/ny/team-a/orders", "orders"]
    asked = message(
        "ListOffsetsRequest",
        7,
        topics=[{"name": name, "partitions": [{"partition_index": 0}]} for name in names],
    )
    sent = pair.ask("ListOffsets", 7, asked)
    assert [topic.name for topic in sent.topics] == ["orders", "team-a..orders"]
    answered = [
        {"name": topic.name, "partitions": [{"partition_index": 0}]} for topic in sent.topics
    ]
    got = pair.reply("ListOffsets", 7, message("ListOffsetsResponse", 7, topics=answered))
    codes = [(topic.name, topic.partitions[0].error_code) for topic in got.topics]
    assert codes == list(zip(names, [0, 0, NOT_LEADER_OR_FOLLOWER], strict=True))


@pytest.mark.parametrize("name", ["/la/", "..la..", "/la/tracking/"])
def test_metadata_of_a_directory_is_that_of_a_namespace(name: str) -> None:
    pair = tree_pair()
    pair.ask("Metadata", 5, message("MetadataRequest", 5, topics=[{"name": name}]))
    got = pair.reply("Metadata", 5, message("MetadataResponse", 5))
    assert [(t.name, t.error_code, t.is_internal, t.partitions) for t in got.topics] == [
        (name, 0, True, ())
    ]


# -- creation --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["..x", ":la:tracking:..x", "/la/tracking/..x"])
def test_no_default_topic_begins_like_a_name_from_the_root(name: str) -> None:
    denied = check_creation(tree_view(TREE, "la:tracking", "la:tracking"), name)
    assert isinstance(denied, Denied)
    assert denied.code == INVALID_TOPIC_EXCEPTION


def test_such_names_are_created_where_there_is_no_tree() -> None:
    assert check_creation(Pair().view, "..x") is None


@pytest.mark.parametrize("path", ["ny", "ny:deep"])
def test_a_namespace_that_a_mount_hides_is_not_made(path: str) -> None:
    # DESIGN: a mount hides the namespace of that name in the volume above, and creating it is
    # rejected.
    tree = mounts("", "ny")
    with pytest.raises(Rejected) as error:
        check_tiers(tree_view(tree, "", ""), path)
    assert error.value.why.code == INVALID_TOPIC_EXCEPTION
    assert "hidden by the cluster mounted at ':ny'" in error.value.why.message
    assert check_tiers(tree_view(tree, "ny", ""), path)
    assert check_tiers(tree_view(tree, "", ""), "nyc:deep") == ["nyc", "nyc:deep"]
