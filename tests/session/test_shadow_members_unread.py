"""Members of KIP-848 groups at a worker that has read nothing of the other cluster, which is down:
a subscription without its topics would make the broker give their partitions away."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.catalog.snapshot import Snapshot
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN, NY, FakeVolume, codes, message
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
ALL_RIGHTS = Allowing([f"{right} TOPIC search:clicks" for right in ("DESCRIBE", "READ")])


class UnreadPair(MovingPair):
    """A member that goes on at a worker which was started while the other cluster was down."""

    def goes_on_unread(self, authorizer: Allowing | None = None) -> None:
        """Go on at such a worker. It has read no ACLs, so the authorizer allows nothing."""
        unread = FakeVolume(NY, authorizer=authorizer or Allowing([]))
        unread.state.catalog.age = None
        unread.state.catalog.snapshot = Snapshot.of([])
        unread.broker.down = True
        self.goes_on()
        self.read, self.other = self.other, unread
        self._tree.other = unread

    def is_read(self) -> None:
        """Let the other cluster answer, and this worker read its catalog and its topics."""
        self.other = self._tree.other = self.read

    @property
    def _tree(self) -> Any:
        return self.session.state.tree


@pytest.fixture(params=[None, ALL_RIGHTS], ids=["without ACLs", "with ACLs"])
def pair(request: pytest.FixtureRequest) -> UnreadPair:
    made = UnreadPair(authorizer=request.param)
    made.join(BOTH)
    assert {FLAT, CLICKS} < {*made.at_broker}
    return made


def owned(*ids: UUID) -> list[dict[str, Any]]:
    return [{"topic_id": each.int, "partitions": [0]} for each in ids]


def test_a_heartbeat_leaves_the_subscription_as_it_is(pair: UnreadPair) -> None:
    pair.goes_on_unread()
    for _ in range(2):
        sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
        assert sent.subscribed_topic_names is None
        accepted(pair, 1)
    pair.is_read()
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)).subscribed_topic_names is None


@pytest.mark.parametrize("regex", [None, ""], ids=["Java", "librdkafka"])
def test_all_of_the_state_of_a_member(pair: UnreadPair, regex: str | None) -> None:
    """What clients send after their connection has failed. The topic that they own is theirs."""
    orders, shadow = id_at_home(pair, FLAT), id_at_home(pair, CLICKS)
    pair.goes_on_unread()
    more = {"topic_partitions": owned(orders, CLICKS_ID), "subscribed_topic_regex": regex}
    for _ in range(2):
        sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 1, **more))
        assert {*sent.subscribed_topic_names} == {*pair.at_broker}
        assert [each.topic_id for each in sent.topic_partitions] == [orders, shadow]
        got = assigned(pair, 1, {orders: [0], shadow: [0, 1]})
        assert got == {orders: [0], CLICKS_ID: [0, 1]}
    pair.is_read()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert sent.subscribed_topic_names is None


def test_an_expression_beside_the_topic(pair: UnreadPair) -> None:
    pair.home.make("search..users")
    regex = {"subscribed_topic_regex": "search:.*"}
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, [FOREIGN], 0, **regex))
    pair.at_broker = sent.subscribed_topic_names
    assert {FLAT, "search..users", CLICKS} < {*pair.at_broker}
    accepted(pair, 1)
    pair.goes_on_unread()
    pair.home.make("search..more")
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert {FLAT, "search..users", "search..more", CLICKS} < {*sent.subscribed_topic_names}


def test_a_static_member_that_is_started_again(pair: UnreadPair) -> None:
    """It has another member id; the broker gives it the assignment of its instance."""
    pair.instance_id = "i"
    pair.goes_on_unread()
    again = heartbeat(1, BOTH, 0, member_id="n", instance_id="i", topic_partitions=[])
    assert {*pair.ask(HEARTBEAT, 1, again).subscribed_topic_names} == {*pair.at_broker}


def test_a_fenced_member_that_joins_again(pair: UnreadPair) -> None:
    pair.goes_on_unread()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0, topic_partitions=[]))
    assert {*sent.subscribed_topic_names} == {*pair.at_broker}


def test_a_new_member_joins_without_the_topic_and_gets_it_later(pair: UnreadPair) -> None:
    """It waits for no cluster that is down."""
    pair.goes_on_unread()
    new = {"member_id": "n", "topic_partitions": []}
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0, **new)).subscribed_topic_names[0] == FLAT
    answered(pair, 1, None)
    pair.is_read()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1, member_id="n"))
    assert {FLAT, CLICKS} <= {*sent.subscribed_topic_names}


def test_what_is_assigned_meanwhile(pair: UnreadPair) -> None:
    """The member goes on with its other topics, and asks for the rest as soon as the client's id
    for the topic, and its rights, can be known."""
    orders, shadow = id_at_home(pair, FLAT), id_at_home(pair, CLICKS)
    pair.goes_on_unread()
    pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert assigned(pair, 1, {orders: [0], shadow: [1]}) == {orders: [0]}
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)) is not None
    accepted(pair, 1)

    pair.is_read()
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)) is None
    assert pair.answer(HEARTBEAT, 1).error_code == COORDINATOR_LOAD_IN_PROGRESS
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 1, topic_partitions=owned(orders)))
    assert {*sent.subscribed_topic_names} == {*pair.at_broker}
    assert assigned(pair, 1, {orders: [0], shadow: [1]}) == {orders: [0], CLICKS_ID: [1]}
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)) is not None


def test_a_member_that_leaves_does_not_have_to_ask_again(pair: UnreadPair) -> None:
    shadow = id_at_home(pair, CLICKS)
    pair.goes_on_unread()
    pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert assigned(pair, 1, {shadow: [1]}) == {}
    pair.is_read()
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, -1)).member_epoch == -1


def test_the_catalog_is_read_after_the_topics(pair: UnreadPair) -> None:
    """Until then neither the client's name for a topic is known, nor its rights."""
    orders, shadow = id_at_home(pair, FLAT), id_at_home(pair, CLICKS)
    pair.goes_on_unread()
    pair.other.broker.down = False
    pair.other.make("search..clicks", partitions=3)
    pair.other.broker.topics["search..clicks"].topic_id = CLICKS_ID.bytes
    pair.other.cluster.list()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 1, topic_partitions=owned(orders, CLICKS_ID)))
    assert {*sent.subscribed_topic_names} == {*pair.at_broker}
    assert [each.topic_id for each in sent.topic_partitions] == [orders, shadow]
    assert assigned(pair, 1, {orders: [0], shadow: [0]}) == {orders: [0], CLICKS_ID: [0]}


def test_a_topic_that_the_last_listing_lacks() -> None:
    """It was made just before its cluster went down, and another worker has seen it."""
    pair = MovingPair()
    pair.other.make("search..new")
    pair.join(["search:orders", ":ny:search:new"])
    (new,) = pair.made
    pair.other.broker.topics.pop("search..new")
    pair.other.clock.forward(seconds=60)
    pair.other.cluster.list()
    pair.other.broker.down = True
    pair.goes_on()
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert sent.subscribed_topic_names is None
    accepted(pair, 1)
    pair.other.broker.down = False
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert FLAT in sent.subscribed_topic_names
    assert new not in sent.subscribed_topic_names


def test_a_right_that_is_known_to_be_revoked(pair: UnreadPair) -> None:
    """The last known rights count while the cluster is down (:mod:`gateway.tree.far_topics`)."""
    pair.goes_on()
    pair.other.broker.down = True
    pair.other.authorizer = Allowing([])
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert CLICKS not in sent.subscribed_topic_names


@pytest.mark.parametrize("code", [COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR])
def test_a_broker_that_cannot_tell_now(pair: UnreadPair, code: int) -> None:
    """The heartbeat asks the broker for the same error, and changes nothing if it is over."""
    pair.code = code
    pair.goes_on_unread()
    complete = {"topic_partitions": [], "subscribed_topic_regex": ""}
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 1, **complete))
    assert sent.subscribed_topic_names is None


def test_a_version_without_marks(pair: UnreadPair) -> None:
    pair.goes_on_unread()
    sent = pair.ask(HEARTBEAT, 0, heartbeat(0, BOTH, 1, topic_partitions=[]))
    assert sent.subscribed_topic_names is None


@pytest.mark.parametrize("version", [9, 10])
def test_offsets_wait_for_the_rights(pair: UnreadPair, version: int) -> None:
    """Without rights clients give up."""
    pair.goes_on_unread()
    named: dict[str, Any] = {"topic_id": CLICKS_ID.int} if version == 10 else {"name": FOREIGN}
    topics = [{**named, "partitions": [{"partition_index": 0, "committed_offset": 5}]}]
    request = message("OffsetCommitRequest", version, group_id="app", topics=topics)
    assert pair.ask("OffsetCommit", version, request) is None
    assert codes(pair.answer("OffsetCommit", version)) == [COORDINATOR_LOAD_IN_PROGRESS]
