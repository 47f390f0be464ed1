"""Members of groups of the consumer protocol (KIP-848) that read topics of another cluster."""

from __future__ import annotations

from uuid import UUID

import pytest

from gateway.apis.groups.member_mark import is_mark
from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    FENCED_MEMBER_EPOCH,
    TOPIC_AUTHORIZATION_FAILED,
)
from tests.scenarios.entities import difference
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN, SPELLED, FarPair, message
from tests.session.shadow_members import (
    HEARTBEAT,
    MovingPair,
    accepted,
    answered,
    assigned,
    heartbeat,
    id_at_home,
)

FLAT = "search..orders"
BOTH = ["search:orders", FOREIGN]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("spelled", SPELLED)
def test_a_subscription_and_its_assignment(version: int, spelled: str) -> None:
    """The broker assigns the partitions of the shadow, the client gets those of the topic."""
    pair = FarPair()
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, ["search:orders", spelled], 0))
    assert sent.subscribed_topic_names == (FLAT, CLICKS)
    assert pair.made == {CLICKS: 3}
    orders, shadow = id_at_home(pair, FLAT), id_at_home(pair, CLICKS)
    assert shadow != CLICKS_ID
    shares = {orders: [0], shadow: [1, 2]}
    assert assigned(pair, version, shares) == {orders: [0], CLICKS_ID: [1, 2]}

    owned = [{"topic_id": each.int, "partitions": [0]} for each in (orders, CLICKS_ID)]
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, None, 1, topic_partitions=owned))
    assert [each.topic_id for each in sent.topic_partitions] == [orders, shadow]
    assert sent.subscribed_topic_names is None
    accepted(pair, version)


def test_two_spellings_are_one_topic() -> None:
    pair = FarPair()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, SPELLED, 0))
    assert sent.subscribed_topic_names == (CLICKS,)


@pytest.mark.parametrize("version", [0, 1])
def test_a_topic_that_comes_later(version: int) -> None:
    """The client does not repeat its subscription, so the gateway adds the shadow to it."""
    pair = FarPair()
    names = ["search:orders", ":ny:search:later"]
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, names, 0))
    assert sent.subscribed_topic_names == (FLAT,)
    accepted(pair, version)
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, None, 1))
    assert sent.subscribed_topic_names is None
    accepted(pair, version)

    pair.other.make("search..later", partitions=2)
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, None, 1))
    ((shadow, partitions),) = pair.made.items()
    assert partitions == 2
    assert {*sent.subscribed_topic_names} == {FLAT, shadow}
    later = pair.other.cluster.index.id_of(b"search..later")
    assert later is not None
    shares = {id_at_home(pair, shadow): [0, 1]}
    assert assigned(pair, version, shares) == {UUID(bytes=later): [0, 1]}


def test_a_topic_that_grows() -> None:
    pair = FarPair()
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    accepted(pair, 1)
    pair.other.broker.topics["search..clicks"].partitions = 5
    pair.other.cluster.list()
    pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert pair.made == {CLICKS: 5}


def test_a_topic_that_is_made_anew() -> None:
    """The member joins again, as one whose topic was moved, and gets the new topic."""
    pair = FarPair()
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    accepted(pair, 1)
    pair.other.broker.topics["search..clicks"].topic_id = UUID(int=7).bytes
    pair.other.cluster.list()
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)) is None
    assert pair.answer(HEARTBEAT, 1).error_code == FENCED_MEMBER_EPOCH
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    assert CLICKS not in sent.subscribed_topic_names
    assert len(sent.subscribed_topic_names) == 2


@pytest.mark.parametrize("at_home", [None, Allowing(["READ GROUP app"])])
def test_what_the_client_may_not_describe_there(at_home: Allowing | None) -> None:
    """As KafkaApis: one such topic rejects the heartbeat."""
    pair = FarPair(authorizer=Allowing([]), at_home=at_home)
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, [FOREIGN], 0)) is None
    assert pair.answer(HEARTBEAT, 1).error_code == TOPIC_AUTHORIZATION_FAILED
    assert not pair.made


def test_a_right_that_is_revoked_there() -> None:
    """The subscription loses the topic, and a member that was assigned it asks again."""
    pair = FarPair()
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    accepted(pair, 1)
    pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    pair.other.authorizer = Allowing([])
    orders, shadow = id_at_home(pair, FLAT), id_at_home(pair, CLICKS)
    parts = [{"topic_id": each.int, "partitions": [0]} for each in (orders, shadow)]
    got = answered(pair, 1, {"topic_partitions": parts})
    assert (got.error_code, got.assignment) == (COORDINATOR_LOAD_IN_PROGRESS, None)
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert sent.subscribed_topic_names == (FLAT,)
    accepted(pair, 1)
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0)) is None
    assert pair.answer(HEARTBEAT, 1).error_code == TOPIC_AUTHORIZATION_FAILED


def test_the_other_cluster_is_down() -> None:
    """A member keeps its assignment, and another joins by what was last known."""
    pair = FarPair()
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    accepted(pair, 1)
    pair.other.broker.down = True
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert sent.subscribed_topic_names is None
    assert assigned(pair, 1, {id_at_home(pair, CLICKS): [0]}) == {CLICKS_ID: [0]}
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0, member_id="n"))
    assert sent.subscribed_topic_names == (FLAT, CLICKS)


@pytest.mark.parametrize(("allowed", "shown"), [(None, True), ([], False)])
@pytest.mark.parametrize("version", [0, 1])
def test_a_described_group(version: int, allowed: list[str] | None, shown: bool) -> None:
    pair = FarPair()
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    accepted(pair, 1)
    pair.other.authorizer = None if allowed is None else Allowing(allowed)
    describe = message("ConsumerGroupDescribeRequest", version, group_ids=["app"])
    pair.ask("ConsumerGroupDescribe", version, describe)
    part = {"topic_id": id_at_home(pair, CLICKS).int, "topic_name": CLICKS, "partitions": [0]}
    assignment = {"topic_partitions": [part]}
    member: dict[str, object] = {"member_id": "m", "subscribed_topic_names": [FLAT, CLICKS]}
    member |= {"assignment": assignment, "target_assignment": assignment}
    group = {"group_id": "app", "members": [member]}
    response = message("ConsumerGroupDescribeResponse", version, groups=[group])
    got = pair.reply("ConsumerGroupDescribe", version, response)
    seen = {"topic_id": CLICKS_ID.int, "topic_name": FOREIGN, "partitions": [0]}
    parts = [seen] if shown else []
    wanted = {"assignment": {"topic_partitions": parts}}
    wanted["target_assignment"] = {"topic_partitions": parts}
    (described,) = got.groups[0].members
    assert list(described.subscribed_topic_names) == (BOTH if shown else ["search:orders"])
    assert not difference({"members": [wanted]}, got.groups[0])
    assert len(described.assignment.topic_partitions) == len(parts)


def test_a_member_goes_on_at_another_worker() -> None:
    """Its broker keeps which name of the client leads to the shadow, and which topic is still to
    come."""
    pair = MovingPair()
    pair.join([*BOTH, ":ny:search:later"])
    assert {FLAT, CLICKS} < {*pair.at_broker}
    pair.goes_on()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert sent.subscribed_topic_names is None
    assert assigned(pair, 1, {id_at_home(pair, CLICKS): [0]}) == {CLICKS_ID: [0]}

    pair.other.make("search..later")
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    (later,) = pair.made.keys() - {CLICKS}
    assert {FLAT, CLICKS, later} <= {*sent.subscribed_topic_names}


def test_a_member_of_many_topics_goes_on_at_another_worker() -> None:
    """What its broker has to keep of them takes several names."""
    pair = MovingPair()
    names = [f"search:a-topic-with-a-name-of-some-length-{number:04}" for number in range(1_000)]
    pair.other.make(*(name.replace(":", "..") for name in names))
    pair.join([f":ny:{name}" for name in names])
    assert sum(map(is_mark, pair.at_broker)) > 2
    assert len(pair.made) == 1_000
    pair.goes_on()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert sent.subscribed_topic_names is None
    shadow = min(pair.made)
    assert len(assigned(pair, 1, {id_at_home(pair, shadow): [0]})) == 1
