"""The empty group id at real brokers.

It serves clients that keep offsets without being members, and each home has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire

NONE, INVALID_GROUP_ID, NOT_FOUND = 0, 24, 69
_LOADING = {14, 15, 16}


def settled(ask: Callable[[], int]) -> int:
    """The error code, once the group's coordinator is available."""
    seen: list[int] = []

    def there() -> bool:
        seen.append(ask())
        return seen[-1] not in _LOADING

    wait_until(there, "the group's coordinator", clients.SECONDS)
    return seen[-1]


def commit(wire: Wire, topic: str, offset: int) -> int:
    """OffsetCommit v2 of partition 0; its error code."""
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    values: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""}
    topics = [{"name": topic, "partitions": [partition]}]
    answer = wire.ask("OffsetCommit", 2, group_id="", topics=topics, **values)
    return int(answer.topics[0].partitions[0].error_code)


def committed(wire: Wire, topic: str) -> int:
    """The offset that OffsetFetch v1 returns for partition 0, or -1 if there is none."""
    asked = [{"name": topic, "partition_indexes": (0,)}]
    (partition,) = wire.ask("OffsetFetch", 1, group_id="", topics=asked).topics[0].partitions
    assert int(partition.error_code) == NONE
    return int(partition.committed_offset)


def test_each_home_has_its_own(
    kafka: KafkaCluster, home_a: str, home_b: str, unique: Callable[[str], str]
) -> None:
    topic = unique("orders")
    for home in (home_a, home_b):
        clients.create(home, topic)
    for namespace in ("team-a", "team-b"):
        clients.await_stored(kafka, f"{namespace}..{topic}")
    with (
        Wire(clients.any_broker(home_a)) as ours,
        Wire(clients.any_broker(home_b)) as theirs,
        Wire(clients.any_broker(kafka.bootstrap_servers)) as direct,
    ):
        found = settled(lambda: int(ours.ask("FindCoordinator", 0, key="").error_code))
        assert found == NONE
        assert settled(lambda: commit(ours, topic, 7)) == NONE
        assert settled(lambda: commit(theirs, topic, 8)) == NONE
        assert (committed(ours, topic), committed(theirs, topic)) == (7, 8)
        assert committed(direct, f"team-a..{topic}") == -1

        (described,) = ours.ask("DescribeGroups", 0, groups=("",)).groups
        assert (described.group_id, int(described.error_code)) == ("", NONE)
        listed = ours.ask("ListGroups", 0).groups
        assert [group.group_id for group in listed].count("") == 1
        # Requests that brokers reject for this group are rejected here, too.
        joined = [wire.ask("Heartbeat", 0, group_id="", member_id="m") for wire in (ours, direct)]
        assert [int(each.error_code) for each in joined] == [INVALID_GROUP_ID] * 2

        (deleted,) = ours.ask("DeleteGroups", 0, groups_names=("",)).results
        assert (deleted.group_id, int(deleted.error_code)) == ("", NONE)
        assert (committed(ours, topic), committed(theirs, topic)) == (-1, 8)
        (deleted,) = theirs.ask("DeleteGroups", 0, groups_names=("",)).results
        assert int(deleted.error_code) == NONE
