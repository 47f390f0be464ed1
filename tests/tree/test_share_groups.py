"""Share groups (KIP-932) at a listener of a tree: a group keeps to the volume that its name says,
and its members to the topics of that volume, because a broker assigns its own partitions."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.error_codes import INVALID_REQUEST, NOT_COORDINATOR
from tests.session.far import CLICKS_ID, SPELLED, message
from tests.session.test_trees import tree_pair
from tests.tree.referred_pair import ReferredPair, sent

API = "ShareGroupHeartbeat"
GROUPS = ["app", ":la:tracking:app", "/la/tracking/app", "..la.tracking..app"]
OWN = [
    "search:orders",
    ":la:tracking:search:orders",
    "/la/tracking/search/orders",
    "..la.tracking.search..orders",
]


@pytest.fixture
def pair() -> ReferredPair:
    """The volume ``la:tracking``, and ``ny`` behind another gateway."""
    return ReferredPair()


def heartbeat(group: str, *topics: str) -> Any:
    values = {"group_id": group, "member_id": "m", "subscribed_topic_names": list(topics)}
    return message(f"{API}Request", 1, member_epoch=0, **values)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("topic", OWN)
def test_a_member_names_topics_of_its_own_volume(
    pair: ReferredPair, group: str, topic: str
) -> None:
    request = pair.ask(API, 1, heartbeat(group, topic))
    assert (request.group_id, request.subscribed_topic_names) == ("app", ("search..orders",))
    own = pair.home.cluster.index.id_of(b"search..orders")
    assert own is not None
    partitions = [{"topic_id": int.from_bytes(own, "big"), "partitions": [0, 1]}]
    values = {"member_id": "m", "member_epoch": 1, "assignment": {"topic_partitions": partitions}}
    response = pair.reply(API, 1, message(f"{API}Response", 1, **values))
    assert response.error_code == 0
    (assigned,) = response.assignment.topic_partitions
    assert (assigned.topic_id.bytes, assigned.partitions) == (own, (0, 1))


@pytest.mark.parametrize("topic", SPELLED)
@pytest.mark.parametrize("own", [[], ["search:orders"]])
def test_a_topic_of_another_volume_is_a_fatal_error(
    pair: ReferredPair, topic: str, own: list[str]
) -> None:
    """Java's consumer throws the text of INVALID_REQUEST. Nothing is made or forwarded."""
    sent(pair, topic)
    made = dict(pair.made)
    assert pair.ask(API, 1, heartbeat("app", *own, topic)) is None
    response = pair.answer(API, 1)
    assert response.error_code == INVALID_REQUEST
    why = (
        f"Topic '{topic}' is in another volume than the group, and share groups keep to one volume."
    )
    assert response.error_message == why
    assert pair.made == made


@pytest.mark.parametrize("api", ["ShareFetch", "ShareAcknowledge"])
def test_records_of_another_volume_are_not_requested_here(pair: ReferredPair, api: str) -> None:
    """No member is assigned such a topic, so none of these is in the request that a broker gets."""
    sent(pair, SPELLED[0])
    topics = [{"topic_id": CLICKS_ID.int, "partitions": [{"partition_index": 0}]}]
    values = {"group_id": "app", "member_id": "m", "share_session_epoch": 0, "topics": topics}
    request = pair.ask(api, 2, message(f"{api}Request", 2, **values))
    assert request is None or request.topics == ()


@pytest.mark.parametrize(
    ("api", "version", "values"),
    [
        (API, 1, {"member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["x"]}),
        ("ShareFetch", 2, {"member_id": "m"}),
        ("ShareAcknowledge", 2, {"member_id": "m"}),
        ("AlterShareGroupOffsets", 0, {}),
        ("DeleteShareGroupOffsets", 0, {}),
    ],
)
def test_a_group_of_another_volume_has_its_coordinator_elsewhere(
    api: str, version: int, values: dict[str, object]
) -> None:
    """As at a broker that is not the group's coordinator; clients look for that one then."""
    pair = tree_pair("ny")
    request = message(f"{api}Request", version, group_id=":la:tracking:app", **values)
    assert pair.ask(api, version, request) is None
    assert pair.answer(api, version).error_code == NOT_COORDINATOR


def test_descriptions_of_groups_of_another_volume() -> None:
    pair = tree_pair("ny")
    groups = ["/ny/app", ":la:tracking:app"]
    request = message("ShareGroupDescribeRequest", 1, group_ids=groups)
    assert pair.ask("ShareGroupDescribe", 1, request).group_ids == ("app",)
    answered = [{"group_id": "app", "group_state": "Empty"}]
    response = message("ShareGroupDescribeResponse", 1, groups=answered)
    shown = pair.reply("ShareGroupDescribe", 1, response).groups
    assert {each.group_id: each.error_code for each in shown} == {
        "/ny/app": 0,
        ":la:tracking:app": NOT_COORDINATOR,
    }
