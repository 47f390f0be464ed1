"""Clients that write to, or read, an illegal topic name fail at once, as on a broker.

They do not wait for a topic that will never exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import UnknownTopicOrPartitionError
from confluent_kafka import KafkaError, KafkaException, Producer

from devkit import java
from tests.live.support import clients, java_tools

Names = Callable[[str], str]

TOO_LATE = clients.SECONDS
"""Seconds after which clients give up a topic that they only wait for."""

CASES = [
    ("colon", "my orders"),
    ("colon", "o" * 260),
    ("colon", "team-a::x"),
    ("home_a", "o" * 242),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1][:9].replace(' ', '-')}")
def illegal(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Bootstrap servers, and a name that no topic can have there."""
    listener, name = request.param
    return request.getfixturevalue(listener), name


def test_confluent_producer(illegal: tuple[str, str]) -> None:
    servers, name = illegal
    settings = clients.settings(servers, message_timeout_ms=int(2_000 * TOO_LATE))
    errors: list[KafkaError | None] = []
    producer = Producer(settings)
    begun = time.monotonic()
    try:
        producer.produce(name, "x", on_delivery=lambda error, _: errors.append(error))
    except KafkaException as error:  # librdkafka raises it from the second record on
        errors.append(error.args[0])
    assert producer.flush(TOO_LATE) == 0
    assert time.monotonic() - begun < TOO_LATE
    assert [error and error.code() for error in errors] == [KafkaError.TOPIC_EXCEPTION]


async def test_aiokafka_producer(
    illegal: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """aiokafka waits until its timeout for any topic, but logs the error at once."""
    servers, name = illegal
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    try:
        # Its timeout for a topic is also for connections, which may take longer; it is connected
        # now.
        await producer.client.force_metadata_update()
        producer.client._request_timeout_ms = 1_000
        with pytest.raises(UnknownTopicOrPartitionError):
            await producer.send_and_wait(name, b"x")
    finally:
        await producer.stop()
    assert f"'{name}' is not a valid topic name" in caplog.text


def test_java_producer_and_consumer(illegal: tuple[str, str]) -> None:
    servers, name = illegal
    wait = ["--command-property", f"max.block.ms={int(2_000 * TOO_LATE)}"]
    begun = time.monotonic()
    written = java_tools.attempt(
        java.CONSOLE_PRODUCER, servers, "--topic", name, *wait, stdin="x\n"
    )
    assert "InvalidTopicException" in written.stdout + written.stderr
    read = java_tools.attempt(
        java.CONSOLE_CONSUMER, servers, "--topic", name, "--timeout-ms", f"{int(2_000 * TOO_LATE)}"
    )
    assert "InvalidTopicException" in read.stdout + read.stderr
    assert time.monotonic() - begun < 2 * TOO_LATE
