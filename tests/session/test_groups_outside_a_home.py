"""A group of a home that has to do with a topic outside it, as clients with that home are told.

A home confines: what is outside does not exist there. So the topic is left out where a broker
leaves out a topic that does not exist: among committed offsets, and in assignments. An error there,
as a broker has for a topic that may not be described, would show that the topic exists. A topology
of Kafka Streams is the application's own text, which a broker shows whatever exists: without one of
its topics it would be another topology, so the group is TOPIC_AUTHORIZATION_FAILED, whether or not
there is such a topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.session import changing
from tests.session.far import message
from tests.session.pair import Pair

HOME = "team-b"
OWN, OUTSIDE = "team-b..in", "team-a..out"
GROUP = "team-b..app"
TOPIC_DENIED = 29
WITHOUT_ACLS: tuple[str, ...] = ()
WITH_ACLS = ("DESCRIBE GROUP team-b:app", "DESCRIBE TOPIC team-b:in")
"""A principal that may describe everything of the group in its home."""

rights = pytest.mark.parametrize("allowed", [WITHOUT_ACLS, WITH_ACLS], ids=["all", "acls"])


def told(
    api: str,
    version: int,
    asked: Mapping[str, object],
    answered: Mapping[str, object],
    allowed: Sequence[str],
    *,
    exists: bool,
) -> Any:
    """The response to a client of the home; ``exists``: whether the cluster has the other topic."""
    topics = [OWN, OUTSIDE] if exists else [OWN]
    one = (
        changing.pair(*allowed, topics=topics, home=HOME)
        if allowed
        else Pair(topics=topics, home=HOME)
    )
    one.ask(api, version, message(f"{api}Request", version, **asked))
    return one.reply(api, version, message(f"{api}Response", version, **answered))


@rights
@pytest.mark.parametrize("version", [2, 7, 8, 9, 10])
def test_committed_offsets_of_all_topics(version: int, allowed: Sequence[str]) -> None:
    """The offsets of a topic that was deleted are gone, too."""

    def of_group(names: Mapping[str, int]) -> dict[str, object]:
        topics = [
            {
                "name": name,
                "topic_id": number,
                "partitions": [{"partition_index": 0, "committed_offset": 5, "metadata": ""}],
            }
            for name, number in names.items()
        ]
        if version < 8:
            return {"topics": topics}
        return {"groups": [{"group_id": GROUP, "topics": topics}]}

    asked: dict[str, object] = {"group_id": "app", "topics": None}
    if version >= 8:
        asked = {"groups": [asked]}
    both, own = of_group({OUTSIDE: 2, OWN: 1}), of_group({OWN: 1})
    there = told("OffsetFetch", version, asked, both, allowed, exists=True)
    assert there == told("OffsetFetch", version, asked, own, allowed, exists=False)
    holder = there if version < 8 else there.groups[0]
    assert holder.error_code == 0
    (topic,) = holder.topics
    assert (topic.topic_id.int if version == 10 else topic.name) == (1 if version == 10 else "in")
    assert topic.partitions[0].committed_offset == 5


@rights
def test_members_of_a_classic_group(allowed: Sequence[str]) -> None:
    """What a member has subscribed to is its own text; clients with the home are told of none of
    it that the home does not have."""

    def group(names: Sequence[str]) -> dict[str, object]:
        member = {
            "member_id": "m",
            "member_metadata": {"subscription": [OWN, OUTSIDE]},
            "member_assignment": {"assignment": {name: [0] for name in names}},
        }
        group = {"group_id": GROUP, "group_state": "Stable", "protocol_type": "consumer"}
        return {"groups": [{**group, "members": [member]}]}

    asked = {"groups": ["app"]}
    there = told("DescribeGroups", 5, asked, group([OWN, OUTSIDE]), allowed, exists=True)
    assert there == told("DescribeGroups", 5, asked, group([OWN]), allowed, exists=False)
    (got,) = there.groups
    assert (got.error_code, got.group_id) == (0, "app")
    (member,) = got.members
    for data in (member.member_metadata, member.member_assignment):
        assert b"\0\x02in" in data
        assert b"out" not in data


@rights
@pytest.mark.parametrize("api", ["ConsumerGroupDescribe", "ShareGroupDescribe"])
def test_members_of_consumer_and_share_groups(api: str, allowed: Sequence[str]) -> None:
    def group(names: Sequence[str]) -> dict[str, object]:
        parts = [{"topic_id": 1, "topic_name": name, "partitions": [0]} for name in names]
        assignment = {"topic_partitions": parts}
        member = {
            "member_id": "m",
            "subscribed_topic_names": [OWN, OUTSIDE],
            "assignment": assignment,
            "target_assignment": assignment,
        }
        return {"groups": [{"group_id": GROUP, "group_state": "Stable", "members": [member]}]}

    asked = {"group_ids": ["app"]}
    there = told(api, 1, asked, group([OUTSIDE, OWN]), allowed, exists=True)
    assert there == told(api, 1, asked, group([OWN]), allowed, exists=False)
    (got,) = there.groups
    assert got.error_code == 0
    (member,) = got.members
    assert tuple(member.subscribed_topic_names) == ("in",)
    assert [part.topic_name for part in member.assignment.topic_partitions] == ["in"]


@rights
@pytest.mark.parametrize(
    "outside",
    [
        {"source_topics": [OWN, OUTSIDE]},
        {"repartition_sink_topics": [OUTSIDE]},
        {"repartition_source_topics": [{"name": OUTSIDE, "topic_configs": []}]},
        {"state_changelog_topics": [{"name": OUTSIDE, "topic_configs": []}]},
    ],
    ids=lambda one: next(iter(one)),
)
def test_the_topology_of_a_streams_group(
    outside: Mapping[str, object], allowed: Sequence[str]
) -> None:
    part = {"subtopology_id": "0", "source_topics": [OWN], **outside}
    topology = {"epoch": 1, "subtopologies": [part]}
    group = {"group_id": GROUP, "group_state": "Stable", "topology": topology}
    asked, api = {"group_ids": ["app"]}, "StreamsGroupDescribe"
    there = told(api, 0, asked, {"groups": [group]}, allowed, exists=True)
    assert there == told(api, 0, asked, {"groups": [group]}, allowed, exists=False)
    (got,) = there.groups
    assert (got.error_code, got.group_id, got.members) == (TOPIC_DENIED, "app", ())
    assert got.topology is None
