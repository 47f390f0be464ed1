"""Large requests and responses to a slow reader: the gateway holds little and stops reading."""

from __future__ import annotations

import fcntl
import struct
import termios
import uuid
from collections.abc import Callable
from itertools import pairwise

import psutil
import pytest
from confluent_kafka import Producer

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from protocol.headers import request_header_version
from tests.live.support import clients, processes
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import Wire, entity, request_frame, response_body

PRODUCE = 0
FETCH = 1
MEGABYTE = 1024 * 1024
TOTAL = 50 * MEGABYTE
RECORD = 900_000
GROWTH_LIMIT = 8 * MEGABYTE
"""The memory by which the gateway may grow: buffers of a few hundred KB, and malloc's reserves."""

TOPIC, FLAT = "team-a:large", "team-a..large"


gateway = own_gateway(namespaces=["team-a"])
"""A gateway of this file's own, because its memory is measured."""


@pytest.fixture(scope="module")
def address(gateway: GatewayProcess, kafka: KafkaCluster) -> str:
    """The address of the broker that leads a partition with more than fifty megabytes."""
    servers = gateway.bootstrap_servers("colon")
    clients.create(servers, TOPIC)
    clients.await_stored(kafka, FLAT)
    producer = Producer(clients.settings(servers, linger_ms=0))
    for _ in range(TOTAL // RECORD + 2):
        producer.produce(TOPIC, bytes(RECORD))
        producer.poll(0)
    assert producer.flush(clients.SECONDS) == 0
    return clients.leader_address(servers, TOPIC)


@pytest.mark.parametrize("version", [4, 12, 15], ids=["names", "flexible names", "topic ids"])
def test_a_slow_reader_costs_no_memory(gateway: GatewayProcess, address: str, version: int) -> None:
    before = processes.memory(gateway)
    with Wire(address, receive_buffer=256 * 1024) as wire:
        body = _request(version, _topic(address, version))
        header = request_header_version(FETCH, version)
        wire.send(request_frame(FETCH, version, body, 9, header))
        (size,) = struct.unpack(">i", wire.receive(4))
        assert size > TOTAL
        # The reader does not receive until the gateway stops reading.
        wait_until(_steady(lambda: _waiting(wire)), "the gateway to stand still", clients.SECONDS)
        assert processes.memory(gateway) - before < GROWTH_LIMIT
        parts = bytearray()
        most = 0
        while len(parts) < size:
            parts += wire.receive(min(MEGABYTE, size - len(parts)))
            most = max(most, processes.memory(gateway))
    assert most - before < GROWTH_LIMIT
    answer = messages.parse(
        "FetchResponse", version, response_body(FETCH, version, 9, bytes(parts))
    )
    (topic,) = answer.responses
    (partition,) = topic.partitions
    assert int(partition.error_code) == 0
    assert len(partition.records) > TOTAL
    if version < 13:
        assert topic.topic == TOPIC


def test_a_slow_broker_costs_no_memory(
    gateway: GatewayProcess, kafka: KafkaCluster, address: str
) -> None:
    """A Produce request of one partition is forwarded as it arrives, as fast as the broker reads
    it."""
    name = TOPIC.encode()
    body = struct.pack(">hhiih", -1, -1, 30_000, 1, len(name)) + name
    body += struct.pack(">iii", 1, 0, TOTAL) + bytes(TOTAL)
    request = request_frame(PRODUCE, 8, body, 11)
    before = processes.memory(gateway)
    broker = psutil.Process(kafka.process_id(1))
    with Wire(address) as wire:
        # The gateway has connected to the broker now.
        wire.ask("Metadata", 4, topics=[])
        broker.suspend()
        try:
            sent = wire.send_until_stuck(request)
            assert sent < TOTAL
            assert processes.memory(gateway) - before < GROWTH_LIMIT
        finally:
            broker.resume()
        wire.send(request[sent:])
        answer = messages.parse("ProduceResponse", 8, response_body(PRODUCE, 8, 11, wire.frame()))
        assert processes.memory(gateway) - before < GROWTH_LIMIT
    # Zeros are no records, which the broker notices when all of them have arrived.
    (topic,) = answer.responses
    assert topic.name == TOPIC
    assert int(topic.partition_responses[0].error_code) != 0


def _topic(address: str, version: int) -> dict[str, object]:
    if version < 13:
        return {"topic": TOPIC}
    with Wire(address) as wire:
        (found,) = wire.ask("Metadata", 12, topics=[{"name": TOPIC}]).topics
    assert isinstance(found.topic_id, uuid.UUID)
    return {"topic_id": found.topic_id}


def _request(version: int, topic: dict[str, object]) -> bytes:
    partition: dict[str, object] = {"partition": 0, "partition_max_bytes": 2 * TOTAL}
    if version >= 9:
        partition |= {"current_leader_epoch": -1}
    if version >= 12:
        partition |= {"last_fetched_epoch": -1}
    values: dict[str, object] = {
        "max_bytes": 2 * TOTAL,
        "topics": [{**topic, "partitions": [partition]}],
    }
    if version < 15:
        values |= {"replica_id": -1}
    if version >= 7:
        values |= {"session_epoch": -1}
    return messages.write(entity(messages.message_class("FetchRequest", version), values))


def _waiting(wire: Wire) -> int:
    """Bytes that have arrived at this side and were not received yet."""
    answer = fcntl.ioctl(wire.fileno(), termios.FIONREAD, bytes(4))
    return int.from_bytes(answer, "little")


def _steady(measure: Callable[[], int]) -> Callable[[], bool]:
    """Whether a value above zero has been the same for ten measurements in a row."""
    seen: list[int] = []

    def check() -> bool:
        seen.append(measure())
        last = seen[-10:]
        return len(last) == 10 and last[0] > 0 and all(a == b for a, b in pairwise(last))

    return check
