"""A client's long request, and how long another client waits meanwhile on the same worker.

The longest wait shows whether a request can hold up a worker. Also, how brokers respond to the
longest regular expressions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    INVALID_REGULAR_EXPRESSION,
    NOT_COORDINATOR,
)
from protocol import messages
from protocol.schema import api_key_of
from tests.live.support import clients
from tests.live.support.wire import ConnectionEnded, Wire, entity

pytestmark = pytest.mark.alone

Names = Callable[[str], str]

METADATA = 3

MINUTE = timedelta(minutes=1)

STALL_SECONDS = 0.75
"""The longest wait of another client, on a machine that may be busy.

A callback takes 5 to 30 ms of CPU. Each of these requests stopped a worker for seconds when it was
handled in a single callback.
"""

REQUESTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "Metadata": ("Metadata", 9, {"topics": [{"name": f"no:{n}"} for n in range(99_000)]}),
    "validate_only": (
        "CreateTopics",
        5,
        {
            "topics": [
                {"name": f"no:{n}", "num_partitions": 1, "replication_factor": 1}
                for n in range(10_000)
            ],
            "timeout": MINUTE,
            "validate_only": True,
        },
    ),
    "refused by the broker": (
        "CreateTopics",
        5,
        {
            "topics": [
                {"name": f"team-a:{n}", "num_partitions": 2, "replication_factor": 1}
                for n in range(5_000)
            ],
            "timeout": MINUTE,
            "validate_only": True,
        },
    ),
    "IncrementalAlterConfigs": (
        "IncrementalAlterConfigs",
        1,
        {
            "resources": [
                {
                    "resource_type": 2,
                    "resource_name": "team-a:none",
                    "configs": [
                        {"name": f"k{n}", "config_operation": 0, "value": "v"}
                        for n in range(100_000)
                    ],
                }
            ]
        },
    ),
    "OffsetFetch": (
        "OffsetFetch",
        7,
        {
            "group_id": "g",
            "topics": [{"name": f"no:{n}", "partition_indexes": (0,)} for n in range(49_000)],
        },
    ),
    "DeleteTopics": (
        "DeleteTopics",
        5,
        {"topic_names": tuple(f"no:{n}" for n in range(99_000)), "timeout": MINUTE},
    ),
}


class Bystander(threading.Thread):
    """A client that sends small requests without a break; ``longest`` is its longest wait."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(daemon=True)
        self._wire = wire
        self._ended = threading.Event()
        self.longest = 0.0
        self.asked = 0

    def run(self) -> None:
        """Send requests until :meth:`end`."""
        while not self._ended.is_set():
            began = time.monotonic()
            self._wire.ask("Heartbeat", 4, group_id="none", member_id="none", generation_id=1)
            self.longest = max(self.longest, time.monotonic() - began)
            self.asked += 1

    def end(self) -> None:
        """Stop sending requests."""
        self._ended.set()
        self.join()


@contextmanager
def bystander(address: str) -> Iterator[Bystander]:
    """Another client of the same worker, the only worker of this gateway."""
    with Wire(address) as wire:
        thread = Bystander(wire)
        thread.start()
        try:
            yield thread
        finally:
            thread.end()


@pytest.mark.parametrize("request_of", REQUESTS)
def test_a_long_request_holds_up_nobody(request_of: str, gateway: GatewayProcess) -> None:
    api, version, values = REQUESTS[request_of]
    address = gateway.bootstrap_servers("colon")
    key, body = api_key_of(f"{api}Request"), body_of(api, version, values)
    there = coordinator(address, values["group_id"]) if "group_id" in values else address
    with Wire(there, seconds=120.0) as wire:
        with bystander(address) as other:
            answered = wire.exchange(key, version, body)
        answer = messages.parse(f"{api}Response", version, answered)
    assert other.asked > 20
    assert other.longest < STALL_SECONDS
    (asked,) = (many for many in values.values() if isinstance(many, list | tuple))
    told = answer.topics if hasattr(answer, "topics") else answer.responses
    assert len(told) == len(asked)


def test_several_long_requests_take_turns(gateway: GatewayProcess) -> None:
    """Four clients at once do not delay a fifth client four times as long."""
    address = gateway.bootstrap_servers("colon")
    body = body_of("Metadata", 9, {"topics": [{"name": f"no:{n}"} for n in range(30_000)]})
    answers: list[bytes] = []

    def ask() -> None:
        with Wire(address, seconds=120.0) as wire:
            answers.append(wire.exchange(METADATA, 9, body))

    with bystander(address) as other:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert other.longest < STALL_SECONDS
    told = [messages.parse("MetadataResponse", 9, answer).topics for answer in answers]
    assert [len(topics) for topics in told] == [30_000] * 4


def body_of(api: str, version: int, values: dict[str, Any]) -> bytes:
    """A request's body, made before time is measured, because this process has a single GIL."""
    return messages.write(entity(messages.message_class(f"{api}Request", version), values))


def coordinator(address: str, group: str) -> str:
    """The coordinator's address of a group, as the server at an address reports it."""
    with Wire(address) as wire:

        def found() -> Any:
            answer = wire.ask("FindCoordinator", 3, key=group)
            return None if answer.error_code else answer

        answer = wait_until(found, f"a coordinator of {group}", clients.SECONDS)
    return f"{answer.host}:{answer.port}"


def heartbeat(wire: Wire, group: str, pattern: str) -> int:
    """The error code of a member that joins with an expression; a coordinator may be loading."""

    def answered() -> Any:
        answer = wire.ask(
            "ConsumerGroupHeartbeat",
            1,
            group_id=group,
            member_id="a-member-of-the-group",
            member_epoch=0,
            rebalance_timeout=MINUTE,
            subscribed_topic_regex=pattern,
            topic_partitions=(),
        )
        loading = answer.error_code in (COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR)
        return None if loading else answer

    return int(wait_until(answered, "a coordinator that is loaded", clients.SECONDS).error_code)


def test_the_longest_expression_is_a_brokers(
    kafka: KafkaCluster, gateway: GatewayProcess, unique: Names
) -> None:
    """A broker closes the connection if a string exceeds 32,767 bytes; so does the gateway."""
    longest, longer, invalid = "a" * 32_767, "a" * 32_768, "(" * 10
    group, through = unique("group"), unique("through")
    with Wire(coordinator(kafka.bootstrap_servers.partition(",")[0], group)) as broker:
        rejected, taken = heartbeat(broker, group, invalid), heartbeat(broker, group, longest)
        with pytest.raises(ConnectionEnded):
            heartbeat(broker, group, longer)
    assert (rejected, taken) == (INVALID_REGULAR_EXPRESSION, 0)
    with Wire(coordinator(gateway.bootstrap_servers("colon"), through)) as wire:
        assert heartbeat(wire, through, invalid) == rejected
        assert heartbeat(wire, through, longest) == taken
        with pytest.raises(ConnectionEnded):
            heartbeat(wire, through, longer)
