"""The steps of the demo with real clients, and the results at the clients and the broker.

Nothing here computes a flat name: the flat name of a logical name is read from the broker, whose
listing grows by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devkit.topics import create_topics
from devkit.waiting import progress, wait_until

_SECONDS = 120.0


class TourError(Exception):
    """A client did not see the expected result."""


@dataclass(frozen=True, slots=True)
class ConsumedTopic:
    """The topic that a client consumed, by the client's name for it, and the values."""

    listener: str
    topic: str
    values: tuple[str, ...]


def create_topic(servers: str, topic: str) -> None:
    """Create a topic with a single partition through ``servers``. Raises KafkaException."""
    create_topics(_admin(servers), [NewTopic(topic, 1)], _SECONDS)


def list_topics(servers: str) -> set[str]:
    """The topics that a client of ``servers`` sees, without Kafka's internal ones."""
    topics = _admin(servers).list_topics(timeout=_SECONDS).topics
    return {name for name in topics if not name.startswith("__")}


def list_groups(servers: str) -> set[str]:
    """The consumer groups that ``servers`` lists."""
    admin = _admin(servers)
    answer = admin.list_consumer_groups().result(_SECONDS)
    if answer.errors:
        raise TourError(f"listing groups: {answer.errors}")
    return {group.group_id for group in answer.valid}


def new_topic(broker_topics: Callable[[], set[str]], create: Callable[[], None]) -> str:
    """Run ``create`` and return the only topic that is new on the broker."""
    before = broker_topics()
    create()
    fresh = wait_until(lambda: broker_topics() - before, "a new topic on the broker", _SECONDS)
    if len(fresh) != 1:
        raise TourError(f"one new topic was expected on the broker, these came: {sorted(fresh)}")
    return fresh.pop()


def produce(servers: str, topic: str, values: Sequence[str]) -> None:
    """Produce ``values`` and wait for every acknowledgement."""
    problems: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            problems.append(str(error))
        elif message.topic() != topic:
            problems.append(f"acknowledged for {message.topic()}")

    producer = Producer({**_client(servers), "linger.ms": 0})
    for value in values:
        producer.produce(topic, value.encode(), on_delivery=delivered)
    with progress(f"producing to {topic}"):
        left = producer.flush(_SECONDS)
    if left or problems:
        raise TourError(f"producing to {topic}: {left} unacknowledged, errors: {problems}")


def consume(listener: str, servers: str, topic: str, count: int) -> ConsumedTopic:
    """Consume and commit ``count`` records of ``topic`` as the group ``LISTENER-app``."""
    return consume_all(listener, servers, [topic], count)[0]


def consume_all(
    listener: str, servers: str, topics: Sequence[str], count: int
) -> list[ConsumedTopic]:
    """Consume and commit ``count`` records of these topics as a member of group
    ``LISTENER-app``."""
    consumer = Consumer(
        {
            **_client(servers),
            "group.id": f"{listener}-app",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([*topics])
    values: dict[str, list[str]] = {topic: [] for topic in topics}
    deadline = time.monotonic() + _SECONDS
    try:
        with progress(f"consuming {', '.join(topics)} at {listener}"):
            while (read := sum(map(len, values.values()))) < count:
                if time.monotonic() > deadline:
                    raise TourError(f"{listener}: {read} records of {count} from {topics}")
                message = consumer.poll(0.2)
                if message is not None:
                    topic, value = _value_of(message, topics)
                    values[topic].append(value)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return [ConsumedTopic(listener, topic, tuple(found)) for topic, found in values.items()]


def _client(servers: str) -> dict[str, str | int | float | bool]:
    # Errors only: in a demo that ends, connections end, too.
    return {"bootstrap.servers": servers, "log_level": 3}


def _admin(servers: str) -> AdminClient:
    return AdminClient(_client(servers))


def _value_of(message: Message, topics: Sequence[str]) -> tuple[str, str]:
    """The topic of a message and its value."""
    error, topic = message.error(), message.topic()
    if error is not None:
        raise TourError(f"consuming {topic}: {error}")
    if topic is None or topic not in topics:
        raise TourError(f"consuming {', '.join(topics)}: a record of {topic} came")
    return topic, (message.value() or b"").decode()
