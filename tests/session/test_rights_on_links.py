"""The rights on a link and on its topic count apart, in every response that shows a broker's topics
and in every request that names one of the two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from gateway.catalog.entities import CatalogFormat, Link, Namespace, TopicEntry
from gateway.names import LogicalName
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, FarPair, message
from tests.session.pair import Pair
from tests.session.test_links import FLAT, linked
from tests.session.twin_worlds import World

GROUP = "DESCRIBE GROUP app"
OWN, LINK = "team-a:orders", "team-b:shared"
DENIED = 29
FAR_LINK_ID = UUID(int=0x4E)


# -- groups ---------------------------------------------------------------------------------------


def described(api: str, version: int, *allowed: str, flat: str = FLAT, **settings: Any) -> Any:
    """The client's description of a group whose member reads the topic ``flat``."""
    one = linked(GROUP, *allowed, **settings)
    one.ask(api, version, message(f"{api}Request", version, group_ids=["app"]))
    part = {"topic_id": 1, "topic_name": flat, "partitions": [0]}
    read = {"topic_partitions": [part]}
    group: dict[str, object] = {"group_id": "app", "group_state": "Stable"}
    if api == "StreamsGroupDescribe":
        source = {"subtopology_id": "0", "source_topics": [flat]}
        group["topology"] = {"epoch": 1, "subtopologies": [source]}
    else:
        member = {"member_id": "m", "subscribed_topic_names": [flat], "assignment": read}
        group["members"] = [member]
    sent = message(f"{api}Response", version, groups=[group])
    (got,) = one.reply(api, version, sent).groups
    return got


def read_by(api: str, group: Any) -> Sequence[str]:
    """The topics that a described group reads; none if the group is an error."""
    if group.error_code:
        assert group.error_code == DENIED
        return []
    if api == "StreamsGroupDescribe":
        (part,) = group.topology.subtopologies
        return list(part.source_topics)
    (member,) = group.members
    names = [topic.topic_name for topic in member.assignment.topic_partitions]
    assert names == list(member.subscribed_topic_names)
    return names


OF_MEMBERS = ["ConsumerGroupDescribe", "ShareGroupDescribe"]
DESCRIPTIONS = [*((api, 1) for api in OF_MEMBERS), ("StreamsGroupDescribe", 0)]


@pytest.mark.parametrize(("api", "version"), DESCRIPTIONS)
@pytest.mark.parametrize(
    ("allowed", "shown"),
    [([LINK], [LINK]), ([OWN], [OWN]), ([OWN, LINK], [OWN]), ([], []), (["plain"], [])],
)
def test_a_group_is_described_by_any_name_that_may_be_described(
    api: str, version: int, allowed: list[str], shown: list[str]
) -> None:
    rights = [f"DESCRIBE TOPIC {name}" for name in allowed]
    assert read_by(api, described(api, version, *rights)) == shown


@pytest.mark.parametrize("api", OF_MEMBERS)
def test_a_topic_that_a_home_does_not_have_is_left_out(api: str) -> None:
    """Like a topic that does not exist: an error would show that it does."""
    for flat in ("plain", "gone"):
        one = linked("DESCRIBE GROUP team-b:app", home="team-b")
        one.ask(api, 1, message(f"{api}Request", 1, group_ids=["app"]))
        part = {"topic_id": 1, "topic_name": flat, "partitions": [0]}
        member = {"member_id": "m", "assignment": {"topic_partitions": [part]}}
        group = {"group_id": "team-b..app", "members": [member]}
        (got,) = one.reply(api, 1, message(f"{api}Response", 1, groups=[group])).groups
        assert (got.error_code, got.members[0].assignment.topic_partitions) == (0, ())


# -- the disks, reassignments and configs of a cluster --------------------------------------------


def on_disk(one: Pair, *names: str | None) -> list[str]:
    """The topics that DescribeLogDirs shows, by these names or of all (None)."""
    topics = None if names == (None,) else [{"topic": name, "partitions": [0]} for name in names]
    seen = one.ask("DescribeLogDirs", 4, message("DescribeLogDirsRequest", 4, topics=topics))
    asked = {FLAT, "plain"} if seen.topics is None else {topic.topic for topic in seen.topics}
    there = [
        {"name": flat, "partitions": [{"partition_index": 0, "partition_size": 4711}]}
        for flat in sorted(asked & {FLAT, "plain"})
    ]
    directory = {"log_dir": "/d", "topics": there}
    got = one.reply(
        "DescribeLogDirs", 4, message("DescribeLogDirsResponse", 4, results=[directory])
    )
    return [topic.name for topic in got.results[0].topics]


def reassigned(one: Pair, *names: str | None) -> list[str]:
    """As :func:`on_disk`, by ListPartitionReassignments."""
    api = "ListPartitionReassignments"
    topics = None if names == (None,) else [{"name": n, "partition_indexes": [0]} for n in names]
    seen = one.ask(api, 0, message(f"{api}Request", 0, topics=topics))
    asked = {FLAT, "plain"} if seen.topics is None else {topic.name for topic in seen.topics}
    there = [
        {"name": flat, "partitions": [{"partition_index": 0, "replicas": [1]}]}
        for flat in sorted(asked & {FLAT, "plain"})
    ]
    got = one.reply(api, 0, message(f"{api}Response", 0, topics=there))
    return [topic.name for topic in got.topics]


BOTH_APIS = pytest.mark.parametrize("shown", [on_disk, reassigned])


@BOTH_APIS
def test_a_home_with_escape_names_only_what_may_be_described(shown: Any) -> None:
    for allowed, told in ((LINK, [f":{LINK}"]), (OWN, ["orders"])):
        rights = ("DESCRIBE TOPIC team-a:", f"DESCRIBE TOPIC {allowed}")
        one = linked(*rights, home="team-a", escape=True)
        assert shown(one, "orders", f":{LINK}", ":plain") == told


@BOTH_APIS
def test_two_worlds_that_differ_in_a_denied_link_are_equal(shown: Any) -> None:
    denied = ("DENY ALL User:alice TOPIC:LITERAL:team-a:secret",)
    entry = TopicEntry(FLAT, LogicalName("team-a", "orders"))
    for where, name in (("team-a", "secret"), ("hid", "l")):
        link = Link(LogicalName(where, name), FLAT, UUID(int=78).bytes)
        told = []
        for changes in ((entry,), (entry, link)):
            world = World(namespaces=("team-a", "hid"), acls=denied, changes=changes)
            one = world.pair(home="team-a", escape=True)
            told.append(shown(one, "orders", "secret", ":hid:l"))
        assert told == [["orders"], ["orders"]]


@BOTH_APIS
def test_all_topics_are_shown_under_the_link_that_may_be_described(shown: Any) -> None:
    own = Link(LogicalName("team-b", "other"), FLAT, UUID(int=79).bytes)
    for allowed, told in ((LINK, ["shared"]), ("team-b:other", ["other"]), (OWN, [])):
        one = linked("DESCRIBE TOPIC team-b:", f"DESCRIBE TOPIC {allowed}", home="team-b")
        one.log.append([own])
        one.catalog_changed()
        assert shown(one, None) == told


@BOTH_APIS
def test_all_topics_are_shown_under_a_name_of_the_listing(shown: Any) -> None:
    """Without list_subtree a root view lists the default namespace alone: a link there."""
    rights = ("DESCRIBE CLUSTER kafka-cluster", "DESCRIBE_CONFIGS CLUSTER kafka-cluster")
    for there, told in ((False, ["plain"]), (True, ["plain", "l"])):
        one = linked(*rights, list_subtree=False)
        if there:
            one.log.append([Link(LogicalName("", "l"), FLAT, UUID(int=79).bytes)])
            one.catalog_changed()
        assert sorted(shown(one, None)) == sorted(told)
        assert sorted(with_configs(one)) == sorted(told)


def with_configs(one: Pair) -> list[str]:
    """The topics that ListConfigResources shows."""
    api = "ListConfigResources"
    one.ask(api, 1, message(f"{api}Request", 1, resource_types=[2]))
    there = [{"resource_name": flat, "resource_type": 2} for flat in (FLAT, "plain")]
    got = one.reply(api, 1, message(f"{api}Response", 1, config_resources=there))
    return [one.resource_name for one in got.config_resources]


# -- topics of other clusters ---------------------------------------------------------------------


def far_link(*allowed: str) -> FarPair:
    """A group's session whose client has these rights in the other cluster, where ``b:l`` is a
    link to ``search:clicks``."""
    pair = FarPair(authorizer=Allowing(allowed))
    link = Link(LogicalName("b", "l"), "search..clicks", FAR_LINK_ID.bytes)
    entry = TopicEntry("search..clicks", LogicalName("search", "clicks"))
    catalog = pair.other.state.catalog
    catalog.log.append([CatalogFormat(3), Namespace("b"), entry, link])
    catalog.read()
    return pair


@pytest.mark.parametrize(
    ("version", "named"), [(9, {"name": ":ny:b:l"}), (10, {"topic_id": FAR_LINK_ID})]
)
@pytest.mark.parametrize(("allowed", "code"), [("b:l", 0), ("search:clicks", DENIED)])
def test_a_far_link_is_authorized_by_itself(
    version: int, named: dict[str, object], allowed: str, code: int
) -> None:
    """By name and by id, which commits are read by from version 10 (KIP-848)."""
    pair = far_link(f"READ TOPIC {allowed}", f"DESCRIBE TOPIC {allowed}")
    given = {"topic_id": FAR_LINK_ID.int} if "topic_id" in named else named
    topic = {**given, "partitions": [{"partition_index": 0, "committed_offset": 5}]}
    request = message("OffsetCommitRequest", version, group_id="app", topics=[topic])
    sent = pair.ask("OffsetCommit", version, request)
    if code:
        assert sent is None
        got = pair.answer("OffsetCommit", version)
        assert [part.error_code for part in got.topics[0].partitions] == [code]
        return
    (there,) = sent.topics
    shadow = pair.home.cluster.index.id_of(CLICKS.encode())
    assert (there.name == CLICKS) if version < 10 else (there.topic_id.bytes == shadow)
    answered = {"name": CLICKS} if version < 10 else {"topic_id": there.topic_id.int}
    answered = {**answered, "partitions": [{"partition_index": 0}]}
    got = pair.reply(
        "OffsetCommit", version, message("OffsetCommitResponse", version, topics=[answered])
    )
    (told,) = got.topics
    assert {name: getattr(told, name) for name in named} == named


@pytest.mark.parametrize(("allowed", "made"), [("b:l", True), ("search:clicks", False)])
def test_a_subscription_to_a_far_link_makes_a_shadow_by_the_links_rights(
    allowed: str, made: bool
) -> None:
    pair = far_link("DESCRIBE TOPIC b:l", f"READ TOPIC {allowed}")
    protocols = [{"name": "range", "metadata": {"subscription": [":ny:b:l"]}}]
    joining = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
    pair.ask("JoinGroup", 5, message("JoinGroupRequest", 5, **joining))
    assert pair.made == ({CLICKS: 3} if made else {})
