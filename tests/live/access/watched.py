"""Clients that run without a break, and record when each record was acknowledged or read.

So tests see how long a change took to reach them, and whether other clients noticed it. Clients
that must notice nothing run in a process of their own (:class:`Bystander`), because another
client's work would delay them. Times are of ``time.monotonic``, which all processes share.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from devkit.waiting import DeadlineError, wait_until
from tests.live.support import clients
from tests.live.support.load_line import Client, Facts, Line, TopicState
from tests.live.support.load_process import Load

Settings = Mapping[str, Any]

COMMIT_SECONDS = 1.0
"""Seconds of each attempt of librdkafka to commit."""

PAUSE = 0.005
"""Seconds between records."""


class Watched(ABC):
    """A client in a thread, which continues after errors unless they end a client for good.

    ``times``: when it made progress. ``errors``: every other event that it reported.
    """

    def __init__(self, settings: Settings) -> None:
        self.times: list[float] = []
        self.errors: list[KafkaError] = []
        self._settings = {**settings, "error_cb": self.errors.append}
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    @property
    def codes(self) -> set[int]:
        """The codes of brokers' errors, without librdkafka's own, such as timeouts."""
        return {code for error in self.errors if (code := error.code()) > 0}

    def await_times(self, count: int) -> None:
        """Wait until it has made progress ``count`` times from now."""
        wanted = len(self.times) + count

        def has() -> bool:
            if self._failure is not None:
                raise self._failure
            return len(self.times) >= wanted

        wait_until(has, f"{self}: {self.errors}", clients.SECONDS)

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
        self._thread.join(2 * clients.SECONDS)
        if kind is None:
            assert not self._thread.is_alive()
            if self._failure is not None:
                raise self._failure

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as error:  # noqa: BLE001 - told at the end
            self._failure = error

    @abstractmethod
    def _run(self) -> None:
        """Run until ``_stopping`` is set."""

    def _note(self, error: KafkaError | None) -> None:
        if error is None:
            self.times.append(time.monotonic())
        else:
            self.errors.append(error)


class Writer(Watched):
    """A producer that writes records to a topic without a break."""

    def __init__(self, settings: Settings, topic: str) -> None:
        super().__init__({**settings, "linger.ms": 0, "message.timeout.ms": 5_000})
        self._topic = topic

    def _run(self) -> None:
        producer = Producer(self._settings)
        while not self._stopping.is_set():
            try:
                producer.produce(self._topic, b"x", on_delivery=lambda error, _: self._note(error))
            except KafkaException as error:  # librdkafka rejects it without a request
                self.errors.append(error.args[0])
            except BufferError:
                self.errors.append(KafkaError(KafkaError._QUEUE_FULL))
            producer.poll(PAUSE)
        producer.purge()
        producer.flush(clients.SECONDS)


class TransactionalWriter(Watched):
    """A producer of small transactions, until a transaction fails; ``times`` are of commits."""

    def __init__(self, settings: Settings, topic: str, transactional_id: str) -> None:
        super().__init__({**settings, "transactional.id": transactional_id})
        self._topic = topic

    def _run(self) -> None:
        producer = Producer(self._settings)
        try:
            producer.init_transactions(clients.SECONDS)
            while not self._stopping.is_set():
                producer.begin_transaction()
                producer.produce(self._topic, b"x", on_delivery=self._delivered)
                self._commit(producer)
                self.times.append(time.monotonic())
        except KafkaException as error:
            self.errors.append(error.args[0])

    def _commit(self, producer: Producer) -> None:
        """Commit for as long as it takes, but no longer than the test runs."""
        while True:
            try:
                return producer.commit_transaction(COMMIT_SECONDS)
            except KafkaException as error:
                late = error.args[0].code() == KafkaError._TIMED_OUT
                if self._stopping.is_set() or not late:
                    raise

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.errors.append(error)


READING: Mapping[str, str | bool] = {
    "auto.offset.reset": "latest",
    "enable.auto.commit": False,
    # A transaction that the client may not end stays open for a minute.
    "isolation.level": "read_uncommitted",
}


class Reader(Watched):
    """A member of a group of its own that reads a topic from its end."""

    def __init__(self, settings: Settings, topic: str, group: str) -> None:
        super().__init__({**settings, **READING, "group.id": group})
        self._topic = topic

    def _run(self) -> None:
        client = Consumer(self._settings)
        client.subscribe([self._topic])
        try:
            while not self._stopping.is_set():
                message = client.poll(0.05)
                if message is not None:
                    self._note(message.error())
        finally:
            client.close()


# -- clients that must notice nothing ---------------------------------------------------------


@dataclass(slots=True)
class Timeline(Facts):
    """The times at which records were acknowledged and read."""

    written: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)

    def write(self, when: float) -> None:
        """A record was acknowledged."""
        self.written.append(when)

    def take(self, when: float) -> None:
        """A record was read."""
        self.read.append(when)


class BothWays(Client[Timeline]):
    """A client that writes to a topic, and reads it without a group."""

    def __init__(self, settings: Settings, topic: str, group: str) -> None:
        super().__init__(f"bystander {group}")
        self._settings = settings
        self._topic = topic
        self._group = group

    def run(self, line: Line[Timeline]) -> None:
        """Produce and consume until the line reports a stop."""
        settings = {**self._settings, "error_cb": line.note}
        producer = Producer({**settings, "linger.ms": 0})
        consumer = Consumer({**settings, **READING, "group.id": self._group})
        consumer.subscribe([self._topic])

        def report(error: KafkaError | None, _: Message) -> None:
            line.note(error) if error else line.tell(Timeline.write, time.monotonic())

        try:
            while not line.is_stopping():
                producer.produce(self._topic, b"x", on_delivery=report)
                producer.poll(0)
                message = consumer.poll(PAUSE)
                if message is not None:
                    error = message.error()
                    line.note(error) if error else line.tell(Timeline.take, time.monotonic())
            producer.flush(clients.SECONDS)
        finally:
            consumer.close()


class Bystander(Load[Timeline]):
    """A BothWays client in a process of its own."""

    def __init__(self, settings: Settings, topic: str, group: str) -> None:
        super().__init__(BothWays(settings, topic, group), Timeline(), lambda: TopicState(topic))

    def await_time(self, until: float) -> None:
        """Wait until it has written and read after a time; fails if its process fails."""

        def has() -> bool:
            self.check()
            both = (self.facts.written, self.facts.read)
            return all(times and times[-1] > until for times in both)

        seconds = clients.SECONDS + max(0.0, until - time.monotonic())
        try:
            wait_until(has, self.who, seconds)
        except DeadlineError as error:
            facts = self.facts
            late = [until - times[-1] for times in (facts.written, facts.read) if times]
            raise AssertionError(f"{self.who} is {late} s late: {facts.errors[-3:]}") from error

    def longest_gap(self, start: float, end: float) -> float:
        """The longest time, from ``start`` to ``end``, without an acknowledgement, or without a
        record."""
        return max(
            _longest_gap(times, start, end) for times in (self.facts.written, self.facts.read)
        )


def _longest_gap(times: list[float], start: float, end: float) -> float:
    within = [start, *(when for when in times if start < when < end), end]
    return max(after - before for before, after in pairwise(within))
