"""Heartbeats of Streams groups (KIP-1071) by hand: the gateway creates internal topics by its own
CreateTopics, and a real coordinator agrees with their partition counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, namespaces
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import Wire

Names = Callable[[str], str]

MEMBER: Final = "RhXbXv2hTTuGfUsi5pNM8A"
MISSING_INTERNAL_TOPICS: Final = 3
NO_COORDINATOR: Final = (14, 15, 16)
NOTHING: Final = dict.fromkeys(("client_tags", "task_offsets", "task_end_offsets"))

gateway = own_gateway(
    Listener("home", "kstreams is home", home="kstreams"),
    Listener("root", "every namespace", list_namespaces=True),
    namespaces=["kstreams"],
    policies={"namespaces": {"kstreams": {"configs": {"forbidden": ["segment.ms"]}}}},
)


def join(servers: str, group: str, subtopologies: list[dict[str, Any]]) -> Any:
    """Join with this topology, as soon as the group has a coordinator; the response."""
    topology = {"epoch": 0, "subtopologies": subtopologies}
    values = {"topology": topology, "rebalance_timeout": timedelta(minutes=1)}

    def joined() -> Any:
        with Wire(clients.any_broker(servers)) as wire:
            wire.ask("FindCoordinator", 4, key_type=0, coordinator_keys=(group,))
        answer = sent(servers, group, 0, **values)
        return None if int(answer.error_code) in NO_COORDINATOR else answer

    answer = wait_until(joined, "a coordinator", clients.SECONDS)
    assert not answer.error_code, answer
    return answer


def beat(servers: str, group: str, epoch: int) -> Any:
    """A heartbeat of a member; the response."""
    answer = sent(servers, group, epoch)
    assert not answer.error_code, answer
    return answer


def sent(servers: str, group: str, epoch: int, **values: Any) -> Any:
    fields = {"group_id": group, "member_id": MEMBER, "member_epoch": epoch, "process_id": "p"}
    with Wire(clients.any_broker(servers)) as wire:
        return wire.ask("StreamsGroupHeartbeat", 0, **fields, **NOTHING, **values)


def statuses(answer: Any) -> Mapping[int, str]:
    return {int(status.status_code): status.status_detail for status in answer.status}


@pytest.fixture
def lines(servers: str, kafka: KafkaCluster, unique: Names) -> str:
    name = unique("lines")
    clients.create(servers, name, partitions=3)
    clients.await_stored(kafka, f"kstreams..{name}")
    return name


def test_internal_topics_as_a_coordinator_would_make_them(
    gateway: GatewayProcess, servers: str, kafka: KafkaCluster, unique: Names, lines: str
) -> None:
    """They inherit their namespace's configs; the coordinator then misses nothing, and the mark is
    in no topic's configs."""
    group = unique("app")
    namespaces.alter(gateway.bootstrap_servers("root"), "kstreams:", {"retention.ms": "86400000"})
    repartition, changelog = f"{group}-r", f"{group}-c"
    own = [{"key": "cleanup.policy", "value": "compact"}]
    answer = join(
        servers,
        group,
        [
            {
                "subtopology_id": "0",
                "source_topics": [lines],
                "repartition_sink_topics": [repartition],
            },
            {
                "subtopology_id": "1",
                "repartition_source_topics": [{"name": repartition}],
                "state_changelog_topics": [{"name": changelog, "topic_configs": own}],
            },
        ],
    )
    told = statuses(answer)[MISSING_INTERNAL_TOPICS]
    assert told.startswith("Internal topics are missing: ")
    assert {repartition, changelog} == set(told.partition(": ")[2].split(", "))
    flats = [f"kstreams..{name}" for name in (repartition, changelog)]
    clients.await_stored(kafka, *flats)
    epoch = int(answer.member_epoch)
    wait_until(lambda: not statuses(beat(servers, group, epoch)), "a ready group", clients.SECONDS)
    described = [configs(kafka, flat) for flat in flats]
    assert [found["retention.ms"] for found in described] == ["86400000"] * 2
    assert [found["cleanup.policy"] for found in described] == ["delete", "compact"]
    assert not any("gateway.internal.topic" in found for found in described)
    assert [clients.partitions(kafka, flat) for flat in flats] == [3, 3]
    beat(servers, group, -1)


def test_what_a_policy_rejects_is_in_the_status(
    servers: str, kafka: KafkaCluster, unique: Names, lines: str
) -> None:
    group = unique("app")
    changelog = f"{group}-c"
    wanted = {"name": changelog, "topic_configs": [{"key": "segment.ms", "value": "1000000"}]}
    part = {"subtopology_id": "0", "source_topics": [lines]}
    answer = join(servers, group, [{**part, "state_changelog_topics": [wanted]}])
    epoch = int(answer.member_epoch)

    def told() -> str:
        return statuses(beat(servers, group, epoch))[MISSING_INTERNAL_TOPICS]

    wait_until(lambda: "Creation failed" in told(), "a rejection", clients.SECONDS)
    text = told()
    assert text.startswith(
        f"Internal topics are missing: {changelog}; Creation failed: {changelog} ("
    )
    assert "kstreams.." not in text
    assert "gateway.internal.topic" not in text
    assert f"kstreams..{changelog}" not in kafka.topics()
    beat(servers, group, -1)


def configs(kafka: KafkaCluster, flat: str) -> dict[str, str]:
    asked = [ConfigResource(ResourceType.TOPIC, flat)]
    (future,) = clients.admin(kafka.bootstrap_servers).describe_configs(asked).values()
    return {name: entry.value for name, entry in future.result(clients.SECONDS).items()}
