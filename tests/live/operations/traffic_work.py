"""Clients of several libraries that produce and read known numbers of records.

Each has a client id of its own, and counts acknowledged or received records.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import TracebackType
from typing import Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition

from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.support import clients

PARTITIONS = 2
_SMALL_FETCH = 4_000


def create(servers: str, *topics: str) -> None:
    """Create topics by a client that then closes its connections."""
    admin = AdminClient(clients.settings(servers, client_id="creator"))
    create_topics(admin, [NewTopic(topic, PARTITIONS) for topic in topics])


def values(count: int) -> list[bytes]:
    """Record values of several sizes, ``count`` in all."""
    return [b"%d " % number + b"x" * (number * 37 % 500) for number in range(count)]


# -- producers: each returns how many of its records were acknowledged -----------------------------


class _Told:
    """Counts acknowledged records; an error fails the flush that waits for it."""

    def __init__(self) -> None:
        self.count = 0
        self.problems: list[str] = []

    def __call__(self, error: object, _message: object) -> None:
        if error is None:
            self.count += 1
        else:
            self.problems.append(str(error))


def confluent(
    servers: str,
    topic: str,
    count: int,
    name: str,
    until: Callable[[], None] = lambda: None,
    **more: str | int | bool,
) -> int:
    """Produce by confluent-kafka; ``until`` is called before its connections are closed."""
    told = _Told()
    producer = Producer(clients.settings(servers, client_id=name, **more))
    for value in values(count):
        producer.produce(topic, value, on_delivery=told)
    assert producer.flush(clients.SECONDS) == 0
    until()
    assert told.problems == []
    return told.count


def transactions(servers: str, topic: str, committed: int, aborted: int, name: str) -> int:
    """Produce an aborted and a committed transaction by confluent-kafka.

    The first is aborted after all of its records were written. Both are in partition 0, so each has
    a control record there.
    """
    told = _Told()
    producer = Producer(clients.settings(servers, client_id=name, transactional_id=name))
    producer.init_transactions(clients.SECONDS)
    for count, end in (
        (aborted, producer.abort_transaction),
        (committed, producer.commit_transaction),
    ):
        producer.begin_transaction()
        for value in values(count):
            producer.produce(topic, value, partition=0, on_delivery=told)
        assert producer.flush(clients.SECONDS) == 0
        end(clients.SECONDS)
    assert told.problems == []
    return told.count


def aiokafka(
    servers: str,
    topic: str,
    count: int,
    name: str,
    acks: int | str,
    until: Callable[[], None] = lambda: None,
) -> int:
    """Produce by aiokafka; ``until`` as for ``confluent``."""

    async def produce() -> int:
        producer = AIOKafkaProducer(bootstrap_servers=servers, client_id=name, acks=acks)
        await producer.start()
        try:
            sent = [await producer.send(topic, value) for value in values(count)]
            told = len(await asyncio.wait_for(asyncio.gather(*sent), clients.SECONDS))
            await asyncio.to_thread(until)
            return told
        finally:
            await producer.stop()

    return asyncio.run(produce())


def kafka_python(servers: str, topic: str, count: int, name: str, acks: int | str) -> int:
    """Produce by kafka-python."""
    settings = {"client_id": name, "acks": acks, "enable_idempotence": False}
    with closing(KafkaProducer(bootstrap_servers=servers, **settings)) as producer:
        sent = [producer.send(topic, value) for value in values(count)]
        return len([future.get(clients.SECONDS) for future in sent])


class Endless:
    """An idempotent producer that runs in a thread, whatever happens to its connections.

    ``acknowledged``: the number of its written records, in the end all that it has sent.
    """

    def __init__(self, servers: str, topic: str, name: str) -> None:
        settings = {"enable_idempotence": True, "linger_ms": 1}
        self._producer = Producer(clients.settings(servers, client_id=name, **settings))
        self._topic = topic
        self._told = _Told()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged records so far."""
        return self._told.count

    def await_more(self, count: int) -> None:
        """Wait until so many more records have been acknowledged."""
        wanted = self.acknowledged + count
        wait_until(lambda: self.acknowledged >= wanted, f"{count} more records", clients.SECONDS)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(clients.SECONDS)
        del self._producer
        if error is None:
            assert (left, self._told.problems) == (0, [])

    def _run(self) -> None:
        for number in itertools.count():
            if self._stopping.is_set():
                return
            self._producer.produce(self._topic, b"%d" % number, on_delivery=self._told)
            self._producer.poll(0.002)


# -- consumers: each reads a topic from its beginning, and returns how many records it received ----


@contextmanager
def reader(servers: str, topic: str, name: str, **more: str | int | bool) -> Iterator[Consumer]:
    """A consumer of confluent-kafka with all partitions from their beginnings, in small fetches."""
    more = {"enable_auto_commit": False, "max_partition_fetch_bytes": _SMALL_FETCH, **more}
    client = Consumer(clients.settings(servers, group_id=name, client_id=name, **more))
    try:
        places = [TopicPartition(topic, at, OFFSET_BEGINNING) for at in range(PARTITIONS)]
        client.assign(places)
        yield client
    finally:
        client.close()


def read(servers: str, topic: str, count: int, name: str, **more: str | int | bool) -> int:
    """Read by confluent-kafka."""
    with reader(servers, topic, name, **more) as client:
        return len(clients.take(client, count))


def read_aiokafka(servers: str, topic: str, count: int, name: str) -> int:
    """Read by aiokafka."""

    async def consume() -> int:
        settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        client = AIOKafkaConsumer(bootstrap_servers=servers, client_id=name, **settings)
        await client.start()
        try:
            client.assign([AioPartition(topic, at) for at in range(PARTITIONS)])
            async with asyncio.timeout(clients.SECONDS):
                return len([await client.getone() for _ in range(count)])
        finally:
            await client.stop()

    return asyncio.run(consume())


def read_kafka_python(servers: str, topic: str, count: int, name: str) -> int:
    """Read by kafka-python."""
    settings = {
        "client_id": name,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "consumer_timeout_ms": int(1000 * clients.SECONDS),
        "max_partition_fetch_bytes": _SMALL_FETCH,
    }
    with closing(KafkaConsumer(bootstrap_servers=servers, **settings)) as client:
        client.assign([PythonPartition(topic, at) for at in range(PARTITIONS)])
        return len(list(itertools.islice(client, count)))
