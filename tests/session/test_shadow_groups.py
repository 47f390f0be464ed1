"""Groups subscribed to topics of another cluster, in all protocols, and their descriptions."""

from __future__ import annotations

import pytest

from tests.scenarios.entities import difference
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, FOREIGN, SPELLED, FarPair, message


@pytest.mark.parametrize("version", [0, 5, 9])
def test_a_subscription_and_its_assignment(version: int) -> None:
    pair = FarPair()
    for spelled in SPELLED:
        subscribed = {"subscription": ["search:orders", spelled]}
        protocols = [{"name": "range", "metadata": subscribed}]
        joining = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
        sent = pair.ask("JoinGroup", version, message("JoinGroupRequest", version, **joining))
        flat = {"subscription": ["search..orders", CLICKS]}
        assert not difference({"protocols": [{"metadata": flat}]}, sent)
        assert pair.made == {CLICKS: 3}
        members = [{"member_id": "m", "metadata": flat}]
        values = {"protocol_type": "consumer", "members": members}
        joined = pair.reply("JoinGroup", version, message("JoinGroupResponse", version, **values))
        assert not difference({"members": [{"metadata": subscribed}]}, joined)
        _assign(pair, min(version, 5), spelled)


def _assign(pair: FarPair, version: int, spelled: str) -> None:
    shares = {"assignment": {"search:orders": [0], spelled: [1, 2]}}
    flat = {"assignment": {"search..orders": [0], CLICKS: [1, 2]}}
    values = {"group_id": "app", "protocol_type": "consumer"}
    assignments = [{"member_id": "m", "assignment": shares}]
    request = message("SyncGroupRequest", version, assignments=assignments, **values)
    sent = pair.ask("SyncGroup", version, request)
    assert not difference({"assignments": [{"assignment": flat}]}, sent)
    reply = message("SyncGroupResponse", version, protocol_type="consumer", assignment=flat)
    got = pair.reply("SyncGroup", version, reply)
    assert not difference({"assignment": shares}, got)


def test_a_subscription_to_what_does_not_exist_yet() -> None:
    """Members see each other's subscriptions, so that the group rebalances when the topic
    exists."""
    pair = FarPair()
    subscribed = {"subscription": [":ny:search:later"]}
    protocols = [{"name": "range", "metadata": subscribed}]
    joining = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
    sent = pair.ask("JoinGroup", 5, message("JoinGroupRequest", 5, **joining))
    flat = {"subscription": ["__kafka_gateway_far.2:search..later"]}
    assert not difference({"protocols": [{"metadata": flat}]}, sent)
    assert not pair.made
    members = [{"member_id": "m", "metadata": flat}]
    joined = pair.reply("JoinGroup", 5, message("JoinGroupResponse", 5, members=members))
    assert not difference({"members": [{"metadata": subscribed}]}, joined)


def test_joining_makes_no_shadow_of_what_the_client_may_not_read() -> None:
    pair = FarPair(authorizer=Allowing(["DESCRIBE TOPIC search:clicks"]))
    protocols = [{"name": "range", "metadata": {"subscription": [FOREIGN]}}]
    joining = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
    sent = pair.ask("JoinGroup", 5, message("JoinGroupRequest", 5, **joining))
    assert not difference({"protocols": [{"metadata": {"subscription": [CLICKS]}}]}, sent)
    assert not pair.made


@pytest.mark.parametrize(("allowed", "shown"), [(None, [FOREIGN]), ([], [])])
def test_a_described_group(allowed: list[str] | None, shown: list[str]) -> None:
    pair = FarPair(authorizer=None if allowed is None else Allowing(allowed))
    pair.ask("DescribeGroups", 5, message("DescribeGroupsRequest", 5, groups=["app"]))
    member = {"member_metadata": {"subscription": [CLICKS]}}
    group = {"group_id": "app", "protocol_type": "consumer", "members": [member]}
    got = pair.reply("DescribeGroups", 5, message("DescribeGroupsResponse", 5, groups=[group]))
    wanted = {"member_metadata": {"subscription": shown}}
    assert not difference({"groups": [{"members": [wanted]}]}, got)
