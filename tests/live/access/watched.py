"""Clients that go on without a break, and note when each record was acknowledged or read, so that
it shows how long a change took to reach them, and whether others noticed it.

Those that shall notice nothing run in a process of their own (:class:`Bystander`), where no other
client's work is in their way. Times are of ``time.monotonic``, which all processes share.
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
"""How long librdkafka is asked for a commit before it is asked again."""

PAUSE = 0.005
"""Seconds between two records."""


class Watched(ABC):
    """One client in a thread. ``times`` are those at which it got on; ``errors`` what it was told
    besides. It goes on after errors, but for those that end a client for good."""

    def __init__(self, settings: Settings) -> None:
        self.times: list[float] = []
        self.errors: list[KafkaError] = []
        self._settings = {**settings, "error_cb": self.errors.append}
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    @property
    def codes(self) -> set[int]:
        """The codes of its errors, but for those of connections and of waiting."""
        return {code for error in self.errors if (code := error.code()) > 0}

    def await_times(self, count: int) -> None:
        """Wait until it has got on so often from now."""
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
        """Go on until it is to stop."""

    def _note(self, error: KafkaError | None) -> None:
        if error is None:
            self.times.append(time.monotonic())
        else:
            self.errors.append(error)


class Writer(Watched):
    """Sends one record after the other to a topic."""

    def __init__(self, settings: Settings, topic: str) -> None:
        super().__init__({**settings, "linger.ms": 0, "message.timeout.ms": 5_000})
        self._topic = topic

    def _run(self) -> None:
        producer = Producer(self._settings)
        while not self._stopping.is_set():
            try:
                producer.produce(self._topic, b"x", on_delivery=lambda error, _: self._note(error))
            except KafkaException as error:  # what librdkafka knows already it does not ask for
                self.errors.append(error.args[0])
            except BufferError:
                self.errors.append(KafkaError(KafkaError._QUEUE_FULL))
            producer.poll(PAUSE)
        producer.purge()
        producer.flush(clients.SECONDS)


class TransactionalWriter(Watched):
    """Small transactions, one after the other, until one fails; ``times`` are of commits."""

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
        """Commit for as long as it takes, but no longer than the test does."""
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
    # Committed or not: the transaction of a client that may not end it stays open for a minute.
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


# -- clients that shall notice nothing --------------------------------------------------------


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
    """Writes to a topic, and reads it without a group's help."""

    def __init__(self, settings: Settings, topic: str, group: str) -> None:
        super().__init__(f"bystander {group}")
        self._settings = settings
        self._topic = topic
        self._group = group

    def run(self, line: Line[Timeline]) -> None:
        """Produce and consume until the line says to stop."""
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
    """A BothWays client."""

    def __init__(self, settings: Settings, topic: str, group: str) -> None:
        super().__init__(BothWays(settings, topic, group), Timeline(), lambda: TopicState(topic))

    def await_time(self, until: float) -> None:
        """Wait until it has got on both ways after a time; fails as its process has."""

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
        """The longest time, of those between, in which nothing was acknowledged, or read."""
        return max(
            _longest_gap(times, start, end) for times in (self.facts.written, self.facts.read)
        )


def _longest_gap(times: list[float], start: float, end: float) -> float:
    within = [start, *(when for when in times if start < when < end), end]
    return max(after - before for before, after in pairwise(within))
