"""Members of groups of the consumer protocol (KIP-848) that read topics behind other gateways."""

from __future__ import annotations

from uuid import UUID

import pytest

from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_ID_NOT_FOUND,
    TOPIC_AUTHORIZATION_FAILED,
)
from gateway.tree.referred_topics import RIGHTS_SECONDS
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN
from tests.session.shadow_members import (
    HEARTBEAT,
    accepted,
    answered,
    assigned,
    describing,
    heartbeat,
    id_at_home,
)
from tests.tree.fake_others import FarTopic
from tests.tree.referred_pair import ALICE, BOB, ReferredPair

BOTH = ["search:orders", FOREIGN]
LATE = RIGHTS_SECONDS + 1


@pytest.mark.parametrize("version", [0, 1])
def test_a_subscription_and_its_assignment(pair: ReferredPair, version: int) -> None:
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, BOTH, 0))
    assert sent.subscribed_topic_names == ("search..orders", CLICKS)
    assert pair.made == {CLICKS: 3}
    shadow = id_at_home(pair, CLICKS)
    assert assigned(pair, version, {shadow: [1, 2]}) == {CLICKS_ID: [1, 2]}
    owned = [{"topic_id": CLICKS_ID.int, "partitions": [1, 2]}]
    sent = pair.ask(HEARTBEAT, version, heartbeat(version, None, 1, topic_partitions=owned))
    assert [each.topic_id for each in sent.topic_partitions] == [shadow]
    accepted(pair, version)


def test_a_topic_that_comes_later(pair: ReferredPair) -> None:
    pair.ask(HEARTBEAT, 1, heartbeat(1, ["search:orders", ":ny:search:later"], 0))
    accepted(pair, 1)
    later = UUID(int=5)
    pair.ny.topics["search:later"] = FarTopic(later.bytes, 2)
    pair.later(LATE)
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    ((shadow, partitions),) = pair.made.items()
    assert partitions == 2
    assert {*sent.subscribed_topic_names} == {"search..orders", shadow}
    assert assigned(pair, 1, {id_at_home(pair, shadow): [0]}) == {later: [0]}


def test_members_go_on_while_the_owner_is_down(pair: ReferredPair) -> None:
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    accepted(pair, 1)
    pair.goes_down()
    pair.later(LATE)
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1))
    assert sent.subscribed_topic_names is None
    assert assigned(pair, 1, {id_at_home(pair, CLICKS): [0]}) == {CLICKS_ID: [0]}


def test_what_the_client_may_not_describe_there(pair: ReferredPair) -> None:
    pair.clicks.allowed[ALICE] = 0
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0)) is None
    assert pair.answer(HEARTBEAT, 1).error_code == TOPIC_AUTHORIZATION_FAILED
    assert not pair.made


def test_an_assignment_that_is_not_known_yet(pair: ReferredPair) -> None:
    """A broker sends an assignment once, so a member whose topic has to be looked up asks
    again."""
    pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0))
    shadow = id_at_home(pair, CLICKS)
    accepted(pair, 1)
    pair.be(BOB)
    pair.ask(HEARTBEAT, 1, heartbeat(1, ["search:orders"], 0))
    part = {"topic_id": shadow.int, "partitions": [0]}
    got = answered(pair, 1, {"topic_partitions": [part]})
    assert got.error_code == COORDINATOR_LOAD_IN_PROGRESS
    assert got.assignment is None


def test_a_worker_that_has_never_heard_from_the_owner(pair: ReferredPair) -> None:
    """A member keeps the topic to which its broker has it subscribed. Without the topic the broker
    would give its partitions away."""
    pair.session.state.ask_broker = describing(())
    at_broker = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0)).subscribed_topic_names
    assert {"search..orders", CLICKS} < {*at_broker}
    accepted(pair, 1)
    orders, shadow = id_at_home(pair, "search..orders"), id_at_home(pair, CLICKS)
    pair.forgets()
    pair.goes_down()
    pair.session.state.ask_broker = describing(at_broker)
    owned = [{"topic_id": each.int, "partitions": [0]} for each in (orders, CLICKS_ID)]
    for _ in range(2):
        sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 1, topic_partitions=owned))
        assert {*sent.subscribed_topic_names} == {*at_broker}
        assert [each.topic_id for each in sent.topic_partitions] == [orders, shadow]
        got = assigned(pair, 1, {orders: [0], shadow: [0]})
        assert got == {orders: [0], CLICKS_ID: [0]}
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)).subscribed_topic_names is None
    accepted(pair, 1)
    pair.ny.outcome.clear()
    assert pair.ask(HEARTBEAT, 1, heartbeat(1, None, 1)).subscribed_topic_names is None


def test_a_new_member_does_not_wait_for_an_owner_that_is_down(pair: ReferredPair) -> None:
    pair.goes_down()
    pair.session.state.ask_broker = describing((), code=GROUP_ID_NOT_FOUND)
    sent = pair.ask(HEARTBEAT, 1, heartbeat(1, BOTH, 0, topic_partitions=[]))
    assert sent.subscribed_topic_names[0] == "search..orders"
    assert CLICKS not in sent.subscribed_topic_names
