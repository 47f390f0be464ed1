"""Short forms of confluent-kafka calls that the live tests repeat."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.topics import create_topics
from devkit.waiting import wait_until

SECONDS = 120.0
"""How long a test waits before it fails.

Long, because a step that is immediate on an idle machine may take a minute on a busy machine.
"""

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC_EXCEPTION = 17

Value = TypeVar("Value")
Asked = ParamSpec("Asked")


def settings(servers: str, **more: str | int | bool) -> dict[str, str | int | float | bool]:
    """A client's configuration; underscores in the keys of ``more`` are dots."""
    quick = {"log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}
    return {
        "bootstrap.servers": servers,
        **quick,
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def kept(most: int) -> Callable[[Callable[Asked, Value]], Callable[Asked, Value]]:
    """Cache a function's results for the last ``most`` arguments, also across threads.

    With ``lru_cache`` alone, threads that call at the same time each make a result, and all but one
    result are dropped.
    """

    def decorated(make: Callable[Asked, Value]) -> Callable[Asked, Value]:
        one_for_all, making = lru_cache(maxsize=most)(make), Lock()

        @wraps(make)
        def asked(*args: Asked.args, **more: Asked.kwargs) -> Value:
            with making:
                return one_for_all(*args, **more)  # type: ignore[arg-type]  # all are hashable

        return asked

    return decorated


@kept(8)
def admin(servers: str) -> AdminClient:
    """An admin client of ``servers``, kept because its requests fail when it is collected."""
    return AdminClient(settings(servers))


def together(check: Callable[[str], None], each: Sequence[str]) -> None:
    """Run a check for each name at the same time, because checks mostly wait."""
    with ThreadPoolExecutor(len(each)) as pool:
        for outcome in [pool.submit(check, one) for one in each]:
            outcome.result()


def done(futures: dict[str, Future[Value]]) -> dict[str, Value]:
    """The results of an admin call, by the requested name. Raises KafkaException."""
    return {name: future.result(SECONDS) for name, future in futures.items()}


def accepts(address: str) -> bool:
    """Whether ``host:port`` accepts connections."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except OSError:
        return False
    return True


def create(servers: str, *topics: str, partitions: int = 1, replicas: int = -1) -> None:
    """Create topics through ``servers``, and wait until they are known there.

    A client that requests a topic before that gets an error.
    """
    wanted = [NewTopic(topic, partitions, replicas) for topic in topics]
    assert create_topics(admin(servers), wanted, SECONDS) == set(topics)
    await_known(admin(servers), *topics)


def await_known(by: AdminClient, *topics: str) -> None:
    """Wait until these topics are described to a client.

    A listing would only have its own cluster's topics.
    """

    def described() -> bool:
        found = by.describe_topics(TopicCollection([*topics]), request_timeout=SECONDS)
        return not any(future.exception(SECONDS) for future in found.values())

    if topics:
        wait_until(described, f"{topics}", SECONDS)


def await_stored(kafka: KafkaCluster, *flat: str) -> None:
    """Wait until the broker itself lists these flat names, which it does only after its
    response."""
    wait_until(lambda: kafka.topics() >= {*flat}, f"{flat} on the broker", SECONDS)


def partitions(kafka: KafkaCluster, flat: str) -> int:
    """The number of a topic's partitions on the broker itself."""
    return len(kafka.admin().list_topics(flat, timeout=SECONDS).topics[flat].partitions)


def await_partitions(kafka: KafkaCluster, flat: str, count: int) -> None:
    """Wait until the broker itself has so many partitions of a topic."""
    wait_until(lambda: partitions(kafka, flat) == count, f"{count} of {flat}", SECONDS)


def await_led(servers: str, *topics: str) -> None:
    """Wait until the leader of each topic's first partition knows that it leads it.

    The topic is listed before that, but the leader returns NOT_LEADER_OR_FOLLOWER.
    """
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, 0): latest for topic in topics}

    def led() -> bool:
        found = admin(servers).list_offsets(asked, request_timeout=SECONDS)
        failed = [one.topic for one, future in found.items() if future.exception(SECONDS)]
        for topic in failed:
            # librdkafka caches that a topic was unknown just after its creation (with a plain
            # broker in 18 of 300 cases) until its metadata is requested once more.
            admin(servers).list_topics(topic=topic, timeout=SECONDS)
        return not failed

    wait_until(led, f"leaders of {topics}", SECONDS)


def await_gone(kafka: KafkaCluster, *flat: str) -> None:
    """Wait until the broker itself lists none of these flat names."""
    wait_until(lambda: kafka.topics().isdisjoint(flat), f"the end of {flat}", SECONDS)


def listed(servers: str) -> set[str]:
    """The topics that ``servers`` lists, except (on a broker) Kafka's own."""
    names = admin(servers).list_topics(timeout=SECONDS).topics
    return {name for name in names if not name.startswith("__")}


def error_code(future: Future[object]) -> int:
    """The error that an admin call ends with."""
    error = future.exception(SECONDS)
    assert isinstance(error, KafkaException), f"no Kafka error but {error!r}"
    code: int = error.args[0].code()
    return code


def error_text(future: Future[object]) -> str:
    """The text of the error that an admin call ends with."""
    error = future.exception(SECONDS)
    assert isinstance(error, KafkaException), f"no Kafka error but {error!r}"
    text: str = error.args[0].str()
    return text


def produce(
    servers: str, topic: str, values: Sequence[str], **more: str | int | bool
) -> list[Message]:
    """Produce ``values`` to partition 0; their delivery reports, all without an error."""
    reports: list[Message] = []
    producer = Producer(settings(servers, linger_ms=0, **more))
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda _, report: reports.append(report)
        )
    assert producer.flush(SECONDS) == 0, f"records for {topic} were not acknowledged"
    problems = [str(report.error()) for report in reports if report.error()]
    assert not problems, problems
    assert {report.topic() for report in reports} == ({topic} if values else set())
    return reports


@contextlib.contextmanager
def consumer(servers: str, group: str, **more: str | int | bool) -> Iterator[Consumer]:
    """A consumer from the beginning that commits on request; closed at the end."""
    more = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **more}
    client = Consumer(settings(servers, group_id=group, **more))
    try:
        yield client
    finally:
        client.close()


def take(client: Consumer, count: int, seconds: float = SECONDS) -> list[Message]:
    """The next ``count`` records of a consumer. Fails after ``seconds``, or with its error."""
    records: list[Message] = []
    deadline = time.monotonic() + seconds
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records in {seconds:g} s"
        record = client.poll(0.1)
        if record is not None:
            assert record.error() is None, str(record.error())
            records.append(record)
    return records


def consume(
    servers: str, topic: str, count: int, group: str, **more: str | int | bool
) -> list[str]:
    """``count`` values of ``topic``, read and committed as a member of ``group``."""
    with consumer(servers, group, **more) as client:
        client.subscribe([topic])
        records = take(client, count)
        assert {record.topic() for record in records} == {topic}
        client.commit(asynchronous=False)
    return values(records)


def round_trip(
    settings: dict[str, Any], topic: str, group: str, wanted: Sequence[str] = ("first",)
) -> list[str]:
    """Produce values and read as many records as a member of a group; their values."""
    producer = Producer(settings)
    for value in wanted:
        producer.produce(topic, value)
    assert producer.flush(SECONDS) == 0
    reader = Consumer(settings | {"group.id": group, "auto.offset.reset": "earliest"})
    reader.subscribe([topic])
    try:
        return values(take(reader, len(wanted)))
    finally:
        reader.close()


def values(records: Sequence[Message]) -> list[str]:
    """The records' values as text."""
    return [(record.value() or b"").decode() for record in records]


def leader_address(servers: str, topic: str) -> str:
    """The gateway's address for the broker that leads partition 0 of a topic."""

    def leader() -> str | None:
        with contextlib.suppress(KafkaException, KeyError):
            metadata = admin(servers).list_topics(topic=topic, timeout=SECONDS)
            broker = metadata.brokers[metadata.topics[topic].partitions[0].leader]
            return f"{broker.host}:{broker.port}"
        return None

    address = wait_until(leader, f"the leader of {topic}", SECONDS)
    assert address is not None
    return address


def any_broker(servers: str) -> str:
    """An address that ``servers`` advertises for a broker."""
    brokers = admin(servers).list_topics(timeout=SECONDS).brokers
    broker = brokers[min(brokers)]
    return f"{broker.host}:{broker.port}"
