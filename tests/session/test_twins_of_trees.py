"""Two trees that differ only in topics of the other cluster, which the client may not see, give
equal bytes to the members of a group; and disks that homes share reveal nothing at any cluster's
node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.session.allowing import Allowing
from tests.session.far import CLICKS, FOREIGN, LA, NY, TREE, FarPair, message
from tests.session.pair import Pair, request_frame, response_frame
from tests.views.trees import tree_settings

NOTHING = Allowing(())
NAMES = (FOREIGN, "..ny.search..clicks", "/ny/search/clicks", ":ny:search:later", ":ny:hid:x")


def trees(allowed: Allowing) -> tuple[FarPair, FarPair]:
    """A tree in which the topic exists, and a tree in which it does not."""
    one, other = FarPair(authorizer=allowed), FarPair(authorizer=allowed)
    del other.other.broker.topics["search..clicks"]
    other.other.cluster.list()
    return one, other


def joined(pair: FarPair, version: int, names: tuple[str, ...]) -> bytes:
    """The response of a broker that repeats the member's subscription, and knows another member."""
    values = {"group_id": "app", "protocol_type": "consumer"}
    protocols = [{"name": "range", "metadata": {"subscription": list(names)}}]
    asked = message("JoinGroupRequest", version, protocols=protocols, **values)
    sent = pair.ask("JoinGroup", version, asked)
    known = {"subscription": ["search..orders", CLICKS]}
    members = [{"member_id": "m", "metadata": ""}, {"member_id": "n", "metadata": known}]
    reply = message("JoinGroupResponse", version, members=members)
    own = replace(reply.members[0], metadata=sent.protocols[0].metadata)
    reply = replace(reply, members=(own, reply.members[1]))
    pair.answered(response_frame("JoinGroup", version, reply))
    return pair.to_client()


@pytest.mark.parametrize("version", [0, 5, 9])
@pytest.mark.parametrize("names", [NAMES[:1], NAMES[3:], NAMES])
def test_members_are_not_told_of_topics_that_they_may_not_describe(
    version: int, names: tuple[str, ...]
) -> None:
    one, other = trees(NOTHING)
    assert joined(one, version, names) == joined(other, version, names)


@pytest.mark.parametrize("version", [0, 5])
def test_nor_by_what_they_are_assigned(version: int) -> None:
    told = []
    for pair in trees(NOTHING):
        request = message("SyncGroupRequest", version, group_id="app", protocol_type="consumer")
        pair.send(request_frame("SyncGroup", version, request))
        shares = {"assignment": {"search..orders": [0], CLICKS: [1]}}
        values = {"protocol_type": "consumer", "assignment": shares}
        pair.answered(
            response_frame("SyncGroup", version, message("SyncGroupResponse", version, **values))
        )
        told.append(pair.to_client())
    assert told[0] == told[1]


@pytest.mark.parametrize("version", [4, 5])
def test_disks_of_another_cluster_say_nothing_to_a_home(version: int) -> None:
    pair = Pair()
    settings = tree_settings(TREE, NY, LA, home="search")
    pair.see(type(pair.view)(settings, pair.catalog.snapshot))
    pair.ask("DescribeLogDirs", version, message("DescribeLogDirsRequest", version, topics=None))
    disk = {"log_dir": "/var/kafka", "total_bytes": 1000, "usable_bytes": 400}
    reply = message("DescribeLogDirsResponse", version, results=[disk])
    (result,) = pair.reply("DescribeLogDirs", version, reply).results
    assert (result.total_bytes, result.usable_bytes) == (-1, -1)
