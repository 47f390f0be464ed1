"""Many members of share groups whose responses are longer than all of the gateway's room for them:
each gets what it gets direct at the broker, one after the other."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, Final

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, share_workers
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import Wire

Names = Callable[[str], str]

MEMBERS: Final = 12
RECORDS: Final = 9
SIZE: Final = 400_000
"""Bytes of a record. All of them are what the gateway requests at a time (4 MiB)."""

ROOM: Final = 1024 * 1024

GROUP: Final = 32
"""The resource type of a group's configs."""

NOT_YET: Final = (14, 15, 16)
"""Codes while brokers make and load the topic of groups' states."""

gateway = own_gateway(
    Listener("colon", "every namespace"),
    namespaces=["team-a"],
    collected_responses={"max_bytes": ROOM, "max_bytes_per_ip": ROOM},
)


class Member:
    """A member of a share group of its own, by hand."""

    def __init__(self, servers: str, group: str, topic: str) -> None:
        self._wire = Wire(servers.split(",")[0], receive_buffer=64 * 1024)
        self._topic = topic
        self._who = {"group_id": group, "member_id": str(uuid.uuid4())}
        self._epoch = 0
        (found,) = self._wire.ask("Metadata", 12, topics=[{"name": topic}]).topics
        self._id = found.topic_id

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def join(self) -> None:
        """Wait for an assignment."""
        epoch = 0

        def assigned() -> bool:
            nonlocal epoch
            named = [self._topic] if epoch == 0 else None
            beat = self._wire.ask(
                "ShareGroupHeartbeat",
                1,
                **self._who,
                member_epoch=epoch,
                subscribed_topic_names=named,
            )
            if beat.error_code in NOT_YET:
                keys = [self._who["group_id"]]
                self._wire.ask("FindCoordinator", 4, key_type=0, coordinator_keys=keys)
                return False
            assert beat.error_code == 0, beat
            epoch = beat.member_epoch
            return beat.assignment is not None and bool(beat.assignment.topic_partitions)

        wait_until(assigned, "an assignment", clients.SECONDS)

    def fetch(self) -> Any:
        """The response to a ShareFetch."""
        topics = [{"topic_id": self._id, "partitions": [{"partition_index": 0}]}]
        response = self._wire.ask(
            "ShareFetch",
            2,
            **self._who,
            share_session_epoch=self._epoch,
            max_wait=timedelta(seconds=5),
            min_bytes=1,
            max_bytes=50 * 1024 * 1024,
            max_records=500,
            batch_size=500,
            topics=topics if self._epoch == 0 else [],
        )
        assert response.error_code == 0, response
        self._epoch += 1
        return response

    def records(self) -> tuple[int, int]:
        """All records, in one response or several: how many, and in how many bytes of batches."""
        count = size = 0

        def all_came() -> bool:
            nonlocal count, size
            for topic in self.fetch().responses:
                for each in topic.partitions:
                    size += len(each.records or b"")
                    count += sum(
                        one.last_offset - one.first_offset + 1 for one in each.acquired_records
                    )
            return count >= RECORDS

        wait_until(all_came, "the records", clients.SECONDS)
        return count, size


def from_the_beginning(kafka: KafkaCluster, groups: list[str]) -> None:
    """Let share groups (flat names) begin at the first record, once the broker goes by that."""
    key = "share.auto.offset.reset"
    named = [{"resource_type": GROUP, "resource_name": group} for group in groups]
    earliest = {"name": key, "config_operation": 0, "value": "earliest"}
    changes = [{**each, "configs": [earliest]} for each in named]
    asked = [{**each, "configuration_keys": [key]} for each in named]
    with Wire(kafka.addresses[1]) as wire:
        changed = wire.ask("IncrementalAlterConfigs", 1, resources=changes).responses
        assert not any(each.error_code for each in changed)

        def known() -> bool:
            found = wire.ask("DescribeConfigs", 4, resources=asked).results
            return all(one.value == "earliest" for each in found for one in each.configs)

        wait_until(known, "the groups' configs", clients.SECONDS)


def test_members_wait_for_room(gateway: GatewayProcess, kafka: KafkaCluster, unique: Names) -> None:
    colon, direct = gateway.bootstrap_servers("colon"), kafka.bootstrap_servers
    topic, group = unique("queue"), unique("workers")
    clients.create(colon, f"team-a:{topic}")
    clients.await_led(colon, f"team-a:{topic}")
    flat = f"team-a..{topic}"
    share_workers.produce(direct, flat, [str(n) * SIZE for n in range(RECORDS)])
    places = [(colon, f"{group}-{n}", f"team-a:{topic}") for n in range(MEMBERS)]
    places.append((direct, f"{group}-direct", flat))
    from_the_beginning(kafka, [name for _, name, _ in places])
    with ExitStack() as stack:
        members = [stack.enter_context(Member(*place)) for place in places]
        pool = stack.enter_context(ThreadPoolExecutor(len(members)))
        [*pool.map(Member.join, members)]
        *here, there = pool.map(Member.records, members)
    assert there[0] == RECORDS
    assert there[1] > RECORDS * SIZE > 3 * ROOM
    assert here == [there] * MEMBERS
