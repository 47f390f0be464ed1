"""Classic groups subscribed to topics behind other gateways, and their descriptions."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS
from gateway.referrals.questions import Outcome
from gateway.tree.referred_topics import RIGHTS_SECONDS
from tests.scenarios.entities import difference
from tests.session.far import CLICKS, FOREIGN, SPELLED, message
from tests.tree.fake_others import DESCRIBE
from tests.tree.referred_pair import ALICE, BOB, ReferredPair, sent

LATE = RIGHTS_SECONDS + 1
LATER = ":ny:search:later"
EXPECTED = "__kafka_gateway_far.2:search..later"
"""The entry in a subscription for ``search:later`` of ``ny``, which does not exist."""


def join(pair: ReferredPair, version: int, *topics: str) -> Any:
    """The request that the coordinator gets of a member that subscribes to topics."""
    protocols = [{"name": "range", "metadata": {"subscription": list(topics)}}]
    values = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
    return pair.ask("JoinGroup", version, message("JoinGroupRequest", version, **values))


def joined(pair: ReferredPair, version: int, *flat: str) -> Any:
    """The response that the group's leader gets if a member has subscribed to flat names."""
    members = [{"member_id": "m", "metadata": {"subscription": list(flat)}}]
    values = {"protocol_type": "consumer", "members": members}
    return pair.reply("JoinGroup", version, message("JoinGroupResponse", version, **values))


def protocols(*flat: str) -> dict[str, object]:
    return {"protocols": [{"metadata": {"subscription": list(flat)}}]}


def members(*spelled: str) -> dict[str, object]:
    return {"members": [{"metadata": {"subscription": list(spelled)}}]}


@pytest.mark.parametrize("spelled", SPELLED)
@pytest.mark.parametrize("version", [0, 5, 9])
def test_a_subscription_and_its_assignment(pair: ReferredPair, version: int, spelled: str) -> None:
    request = join(pair, version, "search:orders", spelled)
    assert not difference(protocols("search..orders", CLICKS), request)
    assert pair.made == {CLICKS: 3}
    response = joined(pair, version, "search..orders", CLICKS)
    assert not difference(members("search:orders", spelled), response)
    version = min(version, 5)
    shares = {"assignment": {"search:orders": [0], spelled: [1, 2]}}
    flat = {"assignment": {"search..orders": [0], CLICKS: [1, 2]}}
    values = {"group_id": "app", "protocol_type": "consumer"}
    assignments = [{"member_id": "m", "assignment": shares}]
    pair.asked()
    pair.later(LATE)
    request = pair.ask(
        "SyncGroup",
        version,
        message("SyncGroupRequest", version, assignments=assignments, **values),
    )
    assert not difference({"assignments": [{"assignment": flat}]}, request)
    assert pair.asked() == 0, "an assignment needs no right"
    reply = message("SyncGroupResponse", version, protocol_type="consumer", assignment=flat)
    assert not difference({"assignment": shares}, pair.reply("SyncGroup", version, reply))


def test_a_subscription_to_what_does_not_exist_yet(pair: ReferredPair) -> None:
    """Members see each other's subscriptions, so that the group rebalances when the topic
    exists."""
    assert not difference(protocols(EXPECTED), join(pair, 5, ":ny:search:later"))
    assert not pair.made
    assert not difference(members(":ny:search:later"), joined(pair, 5, EXPECTED))


def test_joining_makes_no_shadow_of_what_the_client_may_not_read(pair: ReferredPair) -> None:
    pair.clicks.allowed[ALICE] = DESCRIBE
    assert not difference(protocols(CLICKS), join(pair, 5, FOREIGN))
    assert not pair.made


def test_joining_goes_on_while_the_owner_is_down(pair: ReferredPair) -> None:
    join(pair, 5, FOREIGN)
    joined(pair, 5, CLICKS)
    pair.goes_down()
    pair.later(LATE)
    assert not difference(protocols(CLICKS, EXPECTED), join(pair, 5, FOREIGN, ":ny:search:later"))
    assert not difference(members(FOREIGN, ":ny:search:later"), joined(pair, 5, CLICKS, EXPECTED))


@pytest.mark.parametrize("outcome", [Outcome.UNREACHABLE, Outcome.NO_SUCH_MOUNT, Outcome.DENIED])
def test_a_volume_that_was_never_reached_has_no_number(
    pair: ReferredPair, outcome: Outcome
) -> None:
    """Its topics stay out of the subscription, because no shadow can stand for them."""
    pair.goes_down(outcome)
    assert not difference(protocols("search..orders"), join(pair, 5, "search:orders", FOREIGN))
    assert not pair.made


def test_a_name_that_no_topic_can_have_stays_out(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    pair.asked()
    request = join(pair, 5, "search:orders", ":ny:a b", f":ny:{'x' * 250}", ":ny:search:")
    assert not difference(protocols("search..orders"), request)
    assert pair.asked() == 0


def test_the_leader_sees_what_other_members_subscribed_to(pair: ReferredPair) -> None:
    """Only topics that it may describe are shown, because it assigns their partitions."""
    join(pair, 5, FOREIGN)
    joined(pair, 5, CLICKS)
    pair.be(BOB)
    join(pair, 5, "search:orders")
    assert joined(pair, 5, CLICKS, EXPECTED).error_code == COORDINATOR_LOAD_IN_PROGRESS
    pair.in_background()
    join(pair, 5, "search:orders")
    assert not difference(members(FOREIGN, LATER), joined(pair, 5, CLICKS, EXPECTED))


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("other", [CLICKS, EXPECTED])
def test_until_its_owner_has_said_so_a_leader_is_told_of_no_topic(
    pair: ReferredPair, version: int, other: str
) -> None:
    """It joins again while the owner is asked, so that the group rebalances by the answer: but only
    once, and not if its client would lose its member id by an error (KIP-394)."""
    sent(pair, FOREIGN)
    pair.ny.denies.add(BOB)
    pair.be(BOB)
    join(pair, version, "search:orders")
    response = joined(pair, version, "search..orders", other)
    if version == 5:
        assert response.error_code == COORDINATOR_LOAD_IN_PROGRESS
        assert (response.generation_id, response.leader, response.members) == (-1, "", ())
        join(pair, version, "search:orders")
        response = joined(pair, version, "search..orders", other)
    assert not difference(members("search:orders"), response)
    pair.in_background()
    join(pair, version, "search:orders")
    response = joined(pair, version, "search..orders", other)
    assert response.error_code == 0
    assert not difference(members("search:orders"), response)


@pytest.mark.parametrize("other", [CLICKS, EXPECTED])
def test_nor_while_its_owner_does_not_answer(pair: ReferredPair, other: str) -> None:
    sent(pair, FOREIGN)
    pair.goes_down()
    pair.be(BOB)
    sent(pair, "search:orders")
    join(pair, 5, FOREIGN)
    response = joined(pair, 5, "search..orders", other)
    assert response.error_code == 0
    assert not difference(members("search:orders"), response)


def test_a_leader_does_not_see_what_its_owner_does_not_let_it_describe(pair: ReferredPair) -> None:
    join(pair, 5, FOREIGN)
    joined(pair, 5, CLICKS)
    pair.clicks.allowed[BOB] = 0
    pair.be(BOB)
    join(pair, 5, FOREIGN)  # so that its rights are asked for
    assert joined(pair, 5, CLICKS).error_code == COORDINATOR_LOAD_IN_PROGRESS
    join(pair, 5, FOREIGN)
    assert not difference(members(), joined(pair, 5, CLICKS))


def described(pair: ReferredPair, *flat: str) -> Any:
    """The topics of a member, as a client that describes its group sees them."""
    pair.ask("DescribeGroups", 5, message("DescribeGroupsRequest", 5, groups=["app"]))
    member = {"member_metadata": {"subscription": list(flat)}}
    group = {"group_id": "app", "protocol_type": "consumer", "members": [member]}
    return pair.reply("DescribeGroups", 5, message("DescribeGroupsResponse", 5, groups=[group]))


def shows(response: Any, *spelled: str) -> bool:
    wanted = {"member_metadata": {"subscription": list(spelled)}}
    return not difference({"groups": [{"members": [wanted]}]}, response)


def test_a_described_group(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    assert shows(described(pair, "search..orders", CLICKS), "search:orders", FOREIGN)
    pair.goes_down()
    pair.later(LATE)
    assert shows(described(pair, CLICKS), FOREIGN)


def test_a_described_group_shows_nothing_that_another_principal_saw(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    pair.goes_down()
    pair.be(BOB)
    assert shows(described(pair, CLICKS))
    pair.in_background()
    assert shows(described(pair, CLICKS))


def test_a_described_group_shows_no_name_that_its_owner_may_deny(pair: ReferredPair) -> None:
    """If a topic does not exist, only a client that may describe it is told so."""
    sent(pair, FOREIGN)
    pair.ny.denies.add(BOB)
    for principal, spelled in ((ALICE, [LATER]), (BOB, [])):
        pair.be(principal)
        assert shows(described(pair, EXPECTED))
        pair.in_background()
        assert shows(described(pair, EXPECTED), *spelled)
        pair.later(LATE)
        assert shows(described(pair, EXPECTED), *spelled)
        pair.asked()
        pair.in_background()
        assert pair.asked() == 1, "it is asked for anew"


@pytest.mark.parametrize(("allowed", "shown"), [(DESCRIBE, [FOREIGN]), (0, [])])
def test_a_topic_that_was_not_seen_is_described_as_soon_as_it_is_known(
    pair: ReferredPair, allowed: int, shown: list[str]
) -> None:
    sent(pair, FOREIGN)
    pair.clicks.allowed[BOB] = allowed
    pair.be(BOB)
    assert shows(described(pair, CLICKS))
    pair.in_background()
    assert shows(described(pair, CLICKS), *shown)


def test_a_shadow_of_a_number_that_is_not_known_is_hidden(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    assert shows(described(pair, "__kafka_gateway_far.9.ABEiM0RVZneImaq7zN3u_w"))
    assert shows(described(pair, "__kafka_gateway_far.9:search..later"))
    pair.in_background()
    assert pair.asked() == 1, "nobody is asked for it"


def test_a_shadow_that_cannot_be_made(pair: ReferredPair) -> None:
    pair.home.broker.down = True
    request = message(
        "OffsetCommitRequest",
        9,
        group_id="app",
        topics=[{"name": FOREIGN, "partitions": [{"partition_index": 0}]}],
    )
    assert pair.ask("OffsetCommit", 9, request) is None
    (topic,) = pair.answer("OffsetCommit", 9).topics
    assert [part.error_code for part in topic.partitions] == [COORDINATOR_LOAD_IN_PROGRESS]
