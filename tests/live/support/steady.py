"""Clients that work without a pause while a test changes the clusters."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from kafka import KafkaConsumer, KafkaProducer

from devkit.waiting import wait_until
from gateway.node_ids import MOUNTED_BITS
from tests.live.support import clients

SECONDS = clients.SECONDS
PAUSE = 0.02
LEADERLESS_SECONDS = 2.0
"""How long responses may say that a partition has no leader; clients then retry.

The gateway returns no leader if a cluster took longer than half a second, which on a busy machine a
healthy cluster may.
"""


_BROKER = re.compile(r"\d/(\d+): ")
"""The node id in librdkafka's ``host:port/node``."""


class Steady:
    """A client in a thread of its own, from ``with`` to its end.

    ``acked`` has the values of acknowledged records and ``seen`` of consumed records, by topic;
    ``problems`` are the errors that a client reports, ``assignments`` counts a member's
    assignments, and ``leaderless`` an admin client's responses in which a partition has no leader.
    ``lost_volume`` is the number of a volume of a tree whose brokers may be down.
    """

    def __init__(self, name: str, work: Callable[[Steady], object]) -> None:
        self.acked: defaultdict[str, list[str]] = defaultdict(list)
        self.seen: defaultdict[str, list[str]] = defaultdict(list)
        self.problems: list[str] = []
        self.lost_volume: int | None = None
        self.assignments = 0
        self.leaderless = 0
        self.rounds = 0
        self.name = name
        self.stopping = threading.Event()
        self._work = work
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let it finish its pending work, and end."""
        self.stopping.set()
        self._thread.join(2 * SECONDS)
        assert not self._thread.is_alive(), f"{self.name} does not end"

    def check(self) -> None:
        """Fail if it has reported problems."""
        assert not self.problems, (self.name, self.problems[:5])

    def await_progress(self, what: str, topic: str | None = None) -> None:
        """Wait for twenty more rounds, or twenty more records of a topic."""

        await_progress_of([(self, topic)], what)

    def done(self, topic: str | None = None) -> int:
        """The number of its rounds, or of its records of a topic."""
        if topic is None:
            return self.rounds
        return max(len(self.acked[topic]), len(self.seen[topic]))

    def await_done(self, count: int, what: str, topic: str | None) -> None:
        """Wait until :meth:`done` is ``count``, or it has problems."""
        wait_until(
            lambda: self.problems or self.done(topic) >= count,
            f"{self.name} {topic or ''} after {what}",
            SECONDS,
        )

    def await_seen(self, topic: str, values: Sequence[str]) -> None:
        """Wait until it has consumed all of these records."""
        due = {*values}
        wait_until(lambda: due <= {*self.seen[topic]}, f"{self.name}: all of {topic}", SECONDS)

    def delivered(self, error: object, message: Message) -> None:
        """A delivery report of confluent-kafka."""
        topic = message.topic() or ""
        if error is not None:
            self.problems.append(f"{topic}: {error}")
        else:
            self.acked[topic].append((message.value() or b"").decode())
            self.rounds += 1

    def failed(self, error: object) -> None:
        """Note an error of confluent-kafka's error callback.

        Errors of a lost volume's brokers do not count, because librdkafka connects to any broker it
        knows.
        """
        of_broker = _BROKER.search(str(error))
        if of_broker is None or int(of_broker[1]) >> MOUNTED_BITS != self.lost_volume:
            self.problems.append(f"callback: {error}")

    def _run(self) -> None:
        try:
            self._work(self)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails with it
            self.problems.append(f"ended with {error!r}")


def await_progress_of(running: Iterable[tuple[Steady, str | None]], what: str) -> None:
    """Wait until each client has done twenty more rounds, or had twenty more records of its topic.

    They progress at the same time; the wait for a client ends early if it has problems.
    """
    due = [(one, topic, one.done(topic) + 20) for one, topic in running]
    for one, topic, count in due:
        one.await_done(count, what, topic)


def once_each(*groups: Sequence[str]) -> None:
    """Fail if a topic has a value twice."""
    for values in groups:
        twice = [value for value, count in Counter(values).items() if count > 1]
        assert not twice, f"{len(twice)} values more than once: {twice[:10]}"


def producer(name: str, servers: str, *topics: str, **more: Any) -> Steady:
    """confluent-kafka's producer, which writes each number to all of its topics.

    It waits ``pause`` seconds between numbers. ``ignoring``: errors of its error callback do not
    count.
    """
    quiet, pause = more.pop("ignoring", False), more.pop("pause", PAUSE / 4)

    def work(steady: Steady) -> None:
        settings = {"enable_idempotence": True, "linger_ms": 0, **more}
        errors = {} if quiet else {"error_cb": steady.failed}
        client = Producer({**clients.settings(servers, **settings), **errors})
        number = 0
        while not steady.stopping.is_set():
            for topic in topics:
                client.produce(topic, f"{name}-{number}", on_delivery=steady.delivered)
            number += 1
            time.sleep(pause)
            client.poll(0)
        if left := client.flush(SECONDS):
            steady.problems.append(f"{left} records were never acknowledged")

    return Steady(name, work)


def member(name: str, servers: str, group: str, *topics: str, **more: Any) -> Steady:
    """confluent-kafka's consumer: a member of a group, which commits now and then."""
    quiet = more.pop("ignoring", False)

    def work(steady: Steady) -> None:
        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            steady.assignments += 1

        settings = {"auto_offset_reset": "earliest", "auto_commit_interval_ms": 500, **more}
        errors = {} if quiet else {"error_cb": steady.failed}
        client = Consumer({**clients.settings(servers, group_id=group, **settings), **errors})
        client.subscribe([*topics], on_assign=assigned)
        while not steady.stopping.is_set():
            record = client.poll(0.1)
            if record is None:
                continue
            if (error := record.error()) is not None:
                if not quiet:
                    steady.problems.append(str(error))
                continue
            steady.seen[record.topic() or ""].append((record.value() or b"").decode())
            steady.rounds += 1
        client.close()

    return Steady(name, work)


def admin(name: str, servers: str, *topics: str) -> Steady:
    """confluent-kafka's AdminClient, which describes its topics and their configs."""

    def work(steady: Steady) -> None:
        settings = clients.settings(servers, topic_metadata_refresh_interval_ms=200)
        callbacks: dict[str, Any] = {"error_cb": steady.failed}
        client = AdminClient({**settings, **callbacks})

        def leaderless(topic: str) -> bool:
            found = client.list_topics(topic=topic, timeout=SECONDS).topics[topic]
            if found.error is not None:
                steady.problems.append(f"{topic}: {found.error}")
            return any(partition.leader < 0 for partition in found.partitions.values())

        while not steady.stopping.wait(5 * PAUSE):
            for topic in topics:
                deadline = time.monotonic() + LEADERLESS_SECONDS
                while leaderless(topic):
                    steady.leaderless += 1
                    if time.monotonic() > deadline:
                        steady.problems.append(f"{topic}: a partition has no leader")
                        break
                    time.sleep(5 * PAUSE)
                resource = ConfigResource(ResourceType.TOPIC, topic)
                (future,) = client.describe_configs([resource]).values()
                assert future.result(SECONDS)
            steady.rounds += 1

    return Steady(name, work)


def aiokafka(
    name: str, servers: str, topic: str, group: str, age_ms: int = 500, **more: Any
) -> Steady:
    """aiokafka's producer and a member of a group in an event loop.

    ``age_ms`` is the maximum age of their metadata, ``more`` are settings of both.
    """
    common = {"bootstrap_servers": servers, "metadata_max_age_ms": age_ms, **more}

    async def consume(steady: Steady) -> None:
        reader = AIOKafkaConsumer(topic, group_id=group, auto_offset_reset="earliest", **common)
        await reader.start()
        try:
            while not steady.stopping.is_set():
                for records in (await reader.getmany(timeout_ms=100)).values():
                    steady.seen[topic] += [record.value.decode() for record in records]
        finally:
            await reader.stop()

    async def work(steady: Steady) -> None:
        writer = AIOKafkaProducer(enable_idempotence=True, **common)
        await writer.start()
        reading = asyncio.create_task(consume(steady))
        try:
            while not steady.stopping.is_set():
                value = f"{name}-{steady.rounds}"
                await writer.send_and_wait(topic, value.encode())
                steady.acked[topic].append(value)
                steady.rounds += 1
                await asyncio.sleep(PAUSE)
        finally:
            await writer.stop()
            await reading

    return Steady(name, lambda steady: asyncio.run(work(steady)))


def kafka_python(
    name: str, servers: str, topic: str, group: str, age_ms: int = 500, **more: Any
) -> Steady:
    """kafka-python's producer and a member of a group, in turn; parameters as for aiokafka."""
    common = {"bootstrap_servers": servers, "metadata_max_age_ms": age_ms, **more}

    def work(steady: Steady) -> None:
        with (
            closing(KafkaProducer(**common)) as writer,
            closing(
                KafkaConsumer(topic, group_id=group, auto_offset_reset="earliest", **common)
            ) as reader,
        ):
            while not steady.stopping.is_set():
                value = f"{name}-{steady.rounds}"
                writer.send(topic, value.encode()).get(SECONDS)
                steady.acked[topic].append(value)
                steady.rounds += 1
                for records in reader.poll(timeout_ms=20).values():
                    steady.seen[topic] += [record.value.decode() for record in records]

    return Steady(name, work)
