"""Producers under load, each in a thread of its own: what they sent, and what became of it.

Every record is ``<who> <number>``, numbered from 0 in the order of sending and sent to partition
``number % partitions``, so that what was lost, repeated or put out of order shows by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from confluent_kafka import (
    KafkaError,
    KafkaException,
    Message,
    Producer,
)

from tests.live import clients

PARTITIONS = 2

Name = Callable[[], str]
"""The topic's name as a client knows it now; asked again whenever the client starts afresh."""

PATIENT_MS = 60_000
HASTY_MS = 1_500
"""``message.timeout.ms`` of clients that nothing may disturb, and of those that give up soon."""

QUICK: Mapping[str, int] = {
    # So that the clients see every state of the topic, not one in five minutes.
    "topic_metadata_refresh_interval_ms": 150,
    "topic_metadata_propagation_max_ms": 500,
    "retry_backoff_ms": 50,
}


class Load:
    """One client: started by ``with``, stopped by :meth:`stop`, which fails as its thread did.

    ``errors`` are those that the client was told of, as text.
    """

    def __init__(self, who: str) -> None:
        self.who = who
        self.errors: list[str] = []
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, name=who, daemon=True)

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

    def check(self) -> None:
        """Fail as its thread has."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Let it finish what it has begun, and end. Fails as its thread has."""
        self._stopping.set()
        self._thread.join(2 * PATIENT_MS / 1_000)
        assert not self._thread.is_alive(), f"{self.who} does not end"
        self.check()

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as error:  # noqa: BLE001 - told by stop()
            self._failure = error

    def _run(self) -> None:
        raise NotImplementedError

    def _note(self, error: KafkaError | None) -> None:
        self.errors.append(str(error))


@dataclass(slots=True)
class Sent:
    """What became of the records, by number. ``unknown``: a commit of which no answer came."""

    count: int = 0
    acknowledged: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)

    @property
    def answered(self) -> int:
        """How many were told to have been written or not."""
        return len(self.acknowledged) + len(self.failed) + len(self.unknown)


class Sender(Load):
    """Sends, and counts what becomes of it. ``timeout_ms`` is how long a record is tried for."""

    def __init__(self, servers: str, name: Name, who: str, timeout_ms: int) -> None:
        super().__init__(who)
        self.sent = Sent()
        self._servers = servers
        self._name = name
        self._timeout_ms = timeout_ms
        self._seconds = min(2 * timeout_ms / 1_000, clients.SECONDS)
        self._open: set[int] = set()

    def _producer(self, **more: str | int | bool) -> Producer:
        config = clients.settings(
            self._servers,
            message_timeout_ms=self._timeout_ms,
            linger_ms=2,
            enable_idempotence=True,
            **QUICK,
            **more,
        )
        return Producer({**config, "error_cb": self._note})

    def _produce(
        self, producer: Producer, name: str, told: Callable[[int, KafkaError | None], None]
    ) -> int:
        number = self.sent.count

        def report(error: KafkaError | None, _message: Message) -> None:
            self._open.discard(number)
            told(number, error)

        value = f"{self.who} {number}"
        self.sent.count += 1
        self._open.add(number)
        try:
            producer.produce(name, value, partition=number % PARTITIONS, on_delivery=report)
        except KafkaException as error:  # librdkafka knows already that there is no such topic
            self._open.discard(number)
            told(number, error.args[0])
        return number


class IdempotentSender(Sender):
    """One record after the other. After one that failed it starts afresh, as an application does
    that is configured anew, with the name that holds then."""

    PAUSE = 0.004

    def _run(self) -> None:
        while not self._stopping.is_set():
            failed_before = len(self.sent.failed)
            name, producer = self._name(), self._producer()
            while not self._stopping.is_set() and len(self.sent.failed) == failed_before:
                self._produce(producer, name, self._told)
                producer.poll(0)
                time.sleep(self.PAUSE)
            left = producer.flush(self._seconds)
            # What is in flight when its topic vanishes librdkafka may keep for ever (2.16); but
            # it tells how many.
            assert left == len(self._open), f"{self.who}: {left} left, not {len(self._open)}"
            for number in sorted(self._open):
                self._told(number, KafkaError(KafkaError._TIMED_OUT))
            self._open.clear()

    def _told(self, number: int, error: KafkaError | None) -> None:
        if error is None:
            self.sent.acknowledged.append(number)
        else:
            self.sent.failed.append(number)
            self._note(error)


class TransactionalSender(Sender):
    """Transactions of some records, every fourth of them aborted on purpose.

    ``moves`` tells how many moves there were: ``spanned`` counts the transactions that were
    committed although the topic was moved meanwhile.
    """

    RECORDS = 6
    PAUSE = 0.05

    def __init__(
        self, servers: str, name: Name, who: str, timeout_ms: int, moves: Callable[[], int]
    ) -> None:
        super().__init__(servers, name, who, timeout_ms)
        self.spanned = 0
        self._moves = moves
        self._turn = 0

    def _run(self) -> None:
        ended = False
        while not ended:
            # The same id again: what its predecessor left open is ended by the coordinator.
            producer = self._producer(transactional_id=self.who, transaction_timeout_ms=PATIENT_MS)
            self._retried(lambda p=producer: p.init_transactions(clients.SECONDS))  # type: ignore[misc]
            ended = self._live(producer)

    def _live(self, producer: Producer) -> bool:
        """Until it is stopped: true; or until the producer can do nothing more."""
        name = self._name()
        try:
            while not self._stopping.is_set():
                if not self._transaction(producer, name):
                    producer.purge()
                    producer.flush(self._seconds)
                    return False
        except KafkaException as error:
            self._note(error.args[0])
            return False
        return True

    def _transaction(self, producer: Producer, name: str) -> bool:
        """One transaction; returns whether the producer may go on under this name."""
        self._turn += 1
        before, numbers = self._moves(), []
        problems: list[KafkaError] = []

        def told(_: int, error: KafkaError | None) -> None:
            if error is not None:
                problems.append(error)
                self._note(error)

        producer.begin_transaction()
        for _ in range(self.RECORDS):
            numbers.append(self._produce(producer, name, told))
            producer.poll(0)
            time.sleep(self.PAUSE)
        if self._turn % 4 == 0 or problems:
            return self._abort(producer, numbers) and not problems
        refused = self._attempted(lambda: producer.commit_transaction(self._seconds))
        if refused is not None:
            if refused.txn_requires_abort():
                self._abort(producer, numbers)
            else:
                self.sent.unknown += numbers
            return False
        assert not problems, f"committed without {problems}"
        self.sent.acknowledged += numbers
        self.spanned += self._moves() > before
        return True

    def _abort(self, producer: Producer, numbers: list[int]) -> bool:
        """None of the records may ever be read."""
        self.sent.failed += numbers
        return self._attempted(lambda: producer.abort_transaction(self._seconds)) is None

    def _attempted(self, act: Callable[[], object]) -> KafkaError | None:
        """What an act ends with. Nothing more is asked of confluent-kafka while its exception is
        handled: raising another one then corrupts memory (2.16)."""
        try:
            self._retried(act)
        except KafkaException as error:
            self._note(error.args[0])
            refused: KafkaError = error.args[0]
            return refused
        return None

    def _retried(self, act: Callable[[], object]) -> None:
        """As librdkafka asks of its users: an error that is retriable is no outcome."""
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                act()
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise
                self._note(error.args[0])
