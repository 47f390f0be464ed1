"""Bytes that are not Kafka's protocol end only their own connection, with a single log line."""

from __future__ import annotations

import random
import struct
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from tests.cluster import scripted_broker
from tests.cluster.scripted_broker import Answer
from tests.live.records.relay import FaultyRelay
from tests.live.support import clients, processes
from tests.live.support.wire import Wire, entity, request_frame, response_body

Names = Callable[[str], str]

PRODUCE = 0
FETCH = 1
METADATA = 3
LIST_GROUPS = 16
API_VERSIONS = 18

_ALL_BY_NONE = struct.pack(">i?", 0, False)  # Metadata v4 without topics: brokers only

TOO_LARGE = 2**31 - 1
GROWTH_LIMIT = 16 * 1024 * 1024

# The bytes sent, and a word of the reason in the log.
BAD_INPUTS = {
    "a text of another protocol": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "request of"),
    "a negative size": (struct.pack(">i", -5) + bytes(20), "request of"),
    "a size of two gigabytes": (struct.pack(">i", TOO_LARGE) + bytes(20), "request of"),
    "a size too small for a header": (struct.pack(">i", 3) + bytes(3), "request of"),
    "an unknown API key": (request_frame(9_999, 0, b""), "9999"),
    "a body that is garbage": (request_frame(METADATA, 4, b"\xff" * 20), "Metadata"),
    "a body that ends early": (request_frame(METADATA, 4, b"\x00\x00\x00\x05\x00"), "Metadata"),
    "a count beyond the frame": (
        request_frame(METADATA, 1, struct.pack(">i", 1_000_000)),
        "Metadata",
    ),
    "a client id beyond the frame": (
        struct.pack(">ihhih", 12, METADATA, 4, 1, 30_000) + bytes(2),
        "client id",
    ),
}


@contextmanager
def _bystander(gateway: GatewayProcess) -> Iterator[Wire]:
    """A connection of another client, which must work before the bad input and after it."""
    with Wire(gateway.bootstrap_servers("colon")) as wire:
        assert wire.ask("Metadata", 4, topics=()).brokers
        yield wire
        assert wire.ask("Metadata", 4, topics=()).brokers


class _Log:
    """The gateway's log from now on, because another client may get an address again later."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self._gateway = gateway
        self._start = len(gateway.log())

    def await_one_line(self, address: str, reason: str) -> None:
        """Wait for a log line about a client; it must be the only line, and contain the reason."""
        wait_until(lambda: self._about(address), f"a line about {address}", clients.SECONDS)
        (line,) = self._about(address)
        assert reason.lower() in line.lower()

    def _about(self, address: str) -> list[str]:
        lines = self._gateway.log()[self._start :].splitlines()
        return [line for line in lines if f" {address} on " in line]


@pytest.mark.parametrize("what", BAD_INPUTS)
def test_a_connection_ends_with_one_line(gateway: GatewayProcess, what: str) -> None:
    data, reason = BAD_INPUTS[what]
    log = _Log(gateway)
    with _bystander(gateway), Wire(gateway.bootstrap_servers("colon")) as wire:
        wire.send(data)
        assert wire.wait_for_end() == b""
        log.await_one_line(wire.local_address, reason)


def test_what_came_before_is_answered_first(gateway: GatewayProcess) -> None:
    """A valid request before garbage may be answered, the garbage never."""
    log = _Log(gateway)
    with _bystander(gateway), Wire(gateway.bootstrap_servers("colon")) as wire:
        assert wire.ask("Metadata", 4, topics=()).brokers
        wire.send(b"\xff" * 64)
        assert wire.wait_for_end() == b""
        log.await_one_line(wire.local_address, "request of")


def test_an_unknown_version_is_answered(gateway: GatewayProcess) -> None:
    """UNSUPPORTED_VERSION if the response can have an error; ApiVersions has its own rule
    (KIP-511)."""
    with _bystander(gateway), Wire(gateway.bootstrap_servers("colon")) as wire:
        wire.send(request_frame(API_VERSIONS, 99, b"\x00", 5, 2))
        answer = wire.frame()
        correlation_id, code = struct.unpack_from(">ih", answer)
        assert (correlation_id, code) == (5, 35)
        assert wire.ask("Metadata", 4, topics=()).brokers


def test_unknown_tagged_fields_are_legal(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    """In the header, in a topic and at the end: they are accepted and break nothing (KIP-482)."""
    topic = f"team-a:{unique('tagged')}"
    servers = gateway.bootstrap_servers("colon")
    clients.create(servers, topic)
    clients.await_stored(kafka, topic.replace(":", ".."))
    name = topic.encode()
    tags = b"\x01\xc8\x01\x03new"  # a single field: tag 200, three bytes
    topics = b"\x02" + bytes([len(name) + 1]) + name + tags
    body = topics + b"\x00\x00\x00" + tags  # no auto-creation, no operations
    head = struct.pack(">hhih", METADATA, 9, 3, -1) + tags
    with Wire(servers) as wire:
        wire.send(struct.pack(">i", len(head) + len(body)) + head + body)
        answer = response_body(METADATA, 9, 3, wire.frame())
        (found,) = messages.parse("MetadataResponse", 9, answer).topics
        assert (found.name, int(found.error_code)) == (topic, 0)


def test_a_client_that_vanishes_in_a_request(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    """Of half a Produce request whose head was already forwarded, no record is stored."""
    topic = f"team-a:{unique('half')}"
    servers = gateway.bootstrap_servers("colon")
    clients.create(servers, topic)
    address = clients.leader_address(servers, topic)
    name = topic.encode()
    body = struct.pack(">hhiih", -1, -1, 10_000, 1, len(name)) + name
    body += struct.pack(">iii", 1, 0, 1_000_000) + bytes(1_000_000)
    sent = request_frame(PRODUCE, 8, body)
    with _bystander(gateway):
        for part in (100, len(sent) // 2):
            log = _Log(gateway)
            with Wire(address) as wire:
                wire.send(sent[:part])
                gone = wire.local_address
            log.await_one_line(gone, "middle of a request")
        clients.produce(servers, topic, ["whole"])
        assert clients.consume(servers, topic, 1, unique("readers")) == ["whole"]


def test_memory_does_not_grow(gateway: GatewayProcess) -> None:
    """A thousand bad connections, many of them with a megabyte before the nonsense."""
    servers = gateway.bootstrap_servers("colon")
    inputs = [data for data, _ in BAD_INPUTS.values()]
    unfinished = struct.pack(">i", 50_000_000) + struct.pack(">hhih", METADATA, 4, 1, -1)
    inputs.append(unfinished + bytes(1_000_000))

    def batch() -> None:
        for data in inputs * 10:
            wire = Wire(servers)
            wire.send(data)
            wire.close()

    with _bystander(gateway):
        batch()
        before = processes.memory(gateway)
        for _ in range(9):
            batch()
        # On a busy machine the gateway may still be working on the last of them.
        wait_until(
            lambda: processes.memory(gateway) - before < GROWTH_LIMIT,
            "a gateway that has not grown",
            clients.SECONDS,
        )


def test_random_bytes(gateway: GatewayProcess) -> None:
    generator = random.Random(37)
    with _bystander(gateway):
        for _ in range(200):
            with Wire(gateway.bootstrap_servers("colon")) as wire:
                wire.send(struct.pack(">i", 64) + generator.randbytes(64))


# -- the broker's side ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def relay() -> Iterator[FaultyRelay]:
    """A relay in front of a broker of this file's own, which is reached only through the relay."""
    with FaultyRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        with KafkaCluster(overrides=advertised) as kafka:
            relay.upstream = kafka.addresses[1]
            yield relay


@pytest.fixture(scope="module")
def relayed(relay: FaultyRelay) -> Iterator[GatewayProcess]:
    """A gateway whose broker is behind the relay; it, too, must stop cleanly."""
    with GatewayProcess(relay.address, (Listener("colon", "all"),), ["team-a"]) as process:
        yield process


def _announce(size: int) -> Callable[[Answer], Awaitable[None]]:
    """A fault that announces so many bytes (signed), followed by a correlation id."""

    async def fault(answer: Answer) -> None:
        answer.writer.write(struct.pack(">ii", size, answer.correlation_id))
        await answer.writer.drain()

    return fault


BROKER_FAULTS = {
    "ends in the middle of a response": (scripted_broker.send_half, "broker"),
    "closes instead of answering": (scripted_broker.disconnect, "broker"),
    "answers another request": (scripted_broker.send_wrong_correlation_id, "broker"),
    "sends a body that is garbage": (scripted_broker.send_garbage, "broker"),
    "announces a negative size": (_announce(-1), "broker"),
    "announces two gigabytes": (_announce(TOO_LARGE), "broker"),
}


def test_a_broker_that_fails_ends_only_the_connection_concerned(
    relay: FaultyRelay, relayed: GatewayProcess
) -> None:
    address = relayed.bootstrap_servers("colon")
    with Wire(address) as bystander:
        for what, (fault, reason) in BROKER_FAULTS.items():
            log = _Log(relayed)
            relay.spoil_next("wire", LIST_GROUPS, fault)
            ended = _ask_in_vain(address, LIST_GROUPS, 0, b"")
            log.await_one_line(ended, reason)
            assert bystander.exchange(METADATA, 4, _ALL_BY_NONE), what
        # On a new connection, a response that the relay does not spoil is forwarded.
        with Wire(address) as later:
            assert int(later.ask("ListGroups", 0).error_code) == 0


def test_a_broker_that_dies_in_the_middle_of_records(
    relay: FaultyRelay, relayed: GatewayProcess, unique: Names
) -> None:
    """The head of a response with a megabyte of records arrives, some of the records, then the
    end."""
    topic = f"team-a:{unique('orders')}"
    address = relayed.bootstrap_servers("colon")
    clients.create(address, topic)
    clients.produce(address, topic, ["x" * 900_000], acks="all")
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    topics = [{"topic": topic, "partitions": [partition]}]
    asked = entity(
        messages.message_class("FetchRequest", 4),
        {"replica_id": -1, "max_bytes": 1 << 20, "topics": topics},
    )
    with Wire(address) as bystander:
        log = _Log(relayed)
        relay.spoil_next("wire", FETCH, scripted_broker.send_half)
        ended = _ask_in_vain(address, FETCH, 4, messages.write(asked), 400_000)
        log.await_one_line(ended, "broker")
        assert bystander.exchange(METADATA, 4, _ALL_BY_NONE)
    assert clients.consume(address, topic, 1, unique("readers")) == ["x" * 900_000]


def _ask_in_vain(address: str, api_key: int, version: int, body: bytes, least: int = 0) -> str:
    """Send a request that the connection does not survive; returns its local address.

    ``least`` bytes of a response must have come before. The first request makes sure that the
    broker has admitted the connection, because the log line differs if the broker closes it before
    that.
    """
    with Wire(address) as wire:
        assert wire.ask("Metadata", 4, topics=()).brokers
        wire.send(request_frame(api_key, version, body))
        assert len(wire.wait_for_end()) >= least
        return wire.local_address
