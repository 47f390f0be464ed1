"""How much a request may change.

If the gateway makes the change itself, it applies a broker's limits.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from gateway.error_codes import POLICY_VIOLATION
from tests.live.support.wire import Wire

MINUTE = timedelta(minutes=1)


def created(address: str, prefix: str, count: int, *, validate_only: bool, partitions: int) -> Any:
    """The error codes and texts of creating so many topics, counted."""
    names = [f"{prefix}limit-{number}" for number in range(count)]
    topics = [
        {"name": name, "num_partitions": partitions, "replication_factor": 1} for name in names
    ]
    with Wire(address, seconds=120.0) as wire:
        answer = wire.ask(
            "CreateTopics", 5, topics=topics, timeout=MINUTE, validate_only=validate_only
        )
    return Counter((int(topic.error_code), topic.error_message) for topic in answer.topics)


@pytest.mark.parametrize("validate_only", [True, False])
@pytest.mark.parametrize(
    ("count", "partitions"), [(10_001, 1), (10_001, -1), (5_001, 1), (2, 5001)]
)
def test_too_many_topics(
    kafka: KafkaCluster, gateway: GatewayProcess, count: int, partitions: int, validate_only: bool
) -> None:
    address = kafka.bootstrap_servers.partition(",")[0]
    said = created(address, "", count, validate_only=validate_only, partitions=partitions)
    assert [code for code, _ in said] == [POLICY_VIOLATION]
    through = gateway.bootstrap_servers("colon")
    told = created(through, "team-a:", count, validate_only=validate_only, partitions=partitions)
    assert told == said


def test_too_many_namespaces(gateway: GatewayProcess) -> None:
    """Namespaces count towards the limit as topics do."""
    topics = [
        {"name": f"limit-{number}:", "num_partitions": 1, "replication_factor": 1}
        for number in range(10_001)
    ]
    with Wire(gateway.bootstrap_servers("colon"), seconds=120.0) as wire:
        answer = wire.ask("CreateTopics", 5, topics=topics, timeout=MINUTE, validate_only=False)
    assert {int(topic.error_code) for topic in answer.topics} == {POLICY_VIOLATION}
