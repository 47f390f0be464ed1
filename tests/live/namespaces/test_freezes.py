"""A move waits for pending requests under the name that it takes from its clients."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from protocol.schema import api_key_of
from tests.live.support import clients, namespaces, processes
from tests.live.support.fixtures import own_gateway, own_kafka
from tests.live.support.wire import ConnectionEnded, Wire, entity, request_frame

Names = Callable[[str], str]

kafka = own_kafka()
gateway = own_gateway(workers=2)

LEADER_NOT_AVAILABLE = 5
ALL_ACKS = -1
TOPIC = 2
"""A resource type of IncrementalAlterConfigs (KIP-339)."""

STREAMS = 6
"""Enough connections that both workers have some, except once in 32 times."""

KEPT_BACK = 10
"""Bytes of a request that are sent late."""

BEFORE = request_frame(api_key_of("MetadataRequest"), 4, b"\x00\x00\x00\x00\x00")
"""A Metadata request without topics."""


def _batch(value: bytes) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1_000_000)
    assert builder.append(0, 1_700_000_000_000, None, value, []) is not None
    return bytes(builder.build())


def _produce(topic: str, value: bytes, acks: int = ALL_ACKS) -> bytes:
    partition = {"index": 0, "records": _batch(value)}
    values = {
        "acks": acks,
        "topic_data": [{"name": topic, "partition_data": [partition]}],
        "transactional_id": None,
    }
    body = messages.write(entity(messages.message_class("ProduceRequest", 9), values))
    return request_frame(api_key_of("ProduceRequest"), 9, body, header_version=2)


def _code(wire: Wire, topic: str) -> int:
    """The error code of a produced record."""
    wire.send(_produce(topic, b"more"))
    answer = messages.parse("ProduceResponse", 9, wire.frame()[5:])
    return int(answer.responses[0].partition_responses[0].error_code)


class Mover:
    """A client that has requested a move and waits for the response.

    It has a connection of its own, because requests behind a change wait for it.
    """

    def __init__(self, wire: Wire, topic: str, target: str) -> None:
        self._wire = wire
        change = {"name": "gateway.namespace", "config_operation": 0, "value": target}
        resource = {"resource_type": TOPIC, "resource_name": topic, "configs": [change]}
        message = messages.message_class("IncrementalAlterConfigsRequest", 1)
        body = messages.write(entity(message, {"resources": [resource]}))
        key = api_key_of("IncrementalAlterConfigsRequest")
        wire.send(request_frame(key, 1, body, header_version=2))

    @property
    def is_answered(self) -> bool:
        """Whether the response has arrived."""
        return bool(select.select([self._wire], [], [], 0)[0])

    def code(self) -> int:
        """The error code of the response."""
        answer = messages.parse("IncrementalAlterConfigsResponse", 1, self._wire.frame()[5:])
        return int(answer.responses[0].error_code)


class Streams:
    """Producers of a topic that have sent all of a request but its end."""

    def __init__(self, wires: list[Wire], topic: str, acks: int) -> None:
        self._wires = wires
        self._request = _produce(topic, bytes(150_000), acks)
        self._acks = acks
        for wire in wires:
            wire.send(BEFORE + self._request[:-KEPT_BACK])
        for wire in wires:  # the worker has both if it answers the first
            wire.frame()

    def end(self) -> list[int]:
        """Send the rest; the error codes of the responses, if there are any."""
        for wire in self._wires:
            wire.send(self._request[-KEPT_BACK:])
        if not self._acks:
            return []
        answers = [messages.parse("ProduceResponse", 9, one.frame()[5:]) for one in self._wires]
        return [int(one.responses[0].partition_responses[0].error_code) for one in answers]


@pytest.fixture
def namespace(colon: str, unique: Names, request: pytest.FixtureRequest) -> str:
    """A new namespace's prefix, or an empty prefix if acks=0 must not be raised."""
    if getattr(request, "param", None) == "":
        return ""
    path = unique("from")
    namespaces.create(colon, f"{path}:")
    return f"{path}:"


@pytest.fixture
def moving(colon: str, kafka: KafkaCluster, namespace: str, unique: Names) -> tuple[str, str, str]:
    """A topic, the namespace to move it to, and its name there."""
    target, topic = unique("to"), unique("x")
    namespaces.create(colon, f"{target}:")
    namespaces.create_topic(colon, kafka, f"{namespace}{topic}")
    clients.await_led(colon, f"{namespace}{topic}")
    return f"{namespace}{topic}", target, f"{target}:{topic}"


@contextmanager
def _streams(servers: str, topic: str, acks: int = ALL_ACKS) -> Iterator[Streams]:
    with ExitStack() as stack:
        wires = [stack.enter_context(Wire(servers)) for _ in range(STREAMS)]
        yield Streams(wires, topic, acks)


@pytest.mark.parametrize(
    ("acks", "namespace"), [(ALL_ACKS, None), (0, None), (0, "")], indirect=["namespace"]
)
def test_a_move_waits_for_what_is_under_way(
    acks: int, colon: str, kafka: KafkaCluster, moving: tuple[str, str, str], unique: Names
) -> None:
    """No record is written to a topic after the response to its move.

    Meanwhile requests with its name get a retriable error, and changes of other topics succeed.
    """
    old, target, new = moving
    elsewhere = unique("other")
    namespaces.create(colon, f"{elsewhere}:")
    namespaces.create_topic(colon, kafka, f"{elsewhere}:y")
    clients.await_led(colon, f"{elsewhere}:y")
    with _streams(colon, old, acks) as streams, Wire(colon) as wire, Wire(colon) as asking:
        move = Mover(asking, old, target)
        wait_until(lambda: _code(wire, old) == LEADER_NOT_AVAILABLE, "the freeze", clients.SECONDS)
        assert _code(wire, f"{elsewhere}:y") == 0
        namespaces.alter(colon, f"{elsewhere}:y", {"gateway.namespace": target})
        assert not move.is_answered
        assert streams.end() == ([0] * STREAMS if acks else [])
        assert move.code() == 0
    assert len(clients.consume(colon, new, STREAMS, unique("readers"))) == STREAMS


def test_names_are_thawed_when_the_maker_of_a_freeze_was_killed(
    colon: str, kafka: KafkaCluster, gateway: GatewayProcess, moving: tuple[str, str, str]
) -> None:
    old, target, _ = moving
    with _streams(colon, old), Wire(colon) as wire, Wire(colon) as asking:
        Mover(asking, old, target)
        wait_until(lambda: _code(wire, old) == LEADER_NOT_AVAILABLE, "the freeze", clients.SECONDS)
        for worker in processes.workers(gateway):
            os.kill(worker.pid, signal.SIGKILL)

    def is_thawed() -> bool:
        if not clients.accepts(colon):
            return False
        try:
            with Wire(colon) as wire:
                return _code(wire, old) == 0
        except (ConnectionEnded, OSError):  # by a worker that has just been killed
            return False

    wait_until(is_thawed, "the end of the freeze", clients.SECONDS)
    processes.forget_killed(kafka)  # otherwise the next test's move waits for the killed workers
