"""Producers under load (tests/live/support/load_process.py), and the outcome of their records.

Every record is ``<who> <number>``, numbered from 0 in the order of sending and sent to partition
``number % partitions``, so records that are lost, repeated or out of order show.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.live.support import clients
from tests.live.support.load_line import Client, Facts, Line, TopicState
from tests.live.support.load_process import Load

PARTITIONS = 2

Name = Callable[[], str]
"""The topic's name as a client knows it now; called again whenever the client starts afresh."""

PATIENT_MS = 240_000
HASTY_MS = 1_500
"""``message.timeout.ms`` of clients that must succeed, and of clients that give up soon."""

_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)

QUICK: Mapping[str, int] = {
    # So that clients see every state of the topic, not only a state every five minutes.
    "topic_metadata_refresh_interval_ms": 150,
    "topic_metadata_propagation_max_ms": 500,
    "retry_backoff_ms": 50,
}


@dataclass(slots=True)
class SendOutcomes(Facts):
    """The outcome of the records, by number.

    ``unknown``: records of a commit without a response, or of a crash. ``spanned``: the number of
    transactions that were committed although the topic was moved meanwhile. ``overtaken``:
    transactions that librdkafka ended by itself (see ``_is_overtaken``).
    """

    count: int = 0
    acknowledged: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)
    spanned: int = 0
    overtaken: int = 0

    @property
    def answered(self) -> int:
        """The number of records whose outcome the client knows."""
        return len(self.acknowledged) + len(self.failed) + len(self.unknown)

    def begin(self) -> None:
        """Note that the next record is about to be sent."""
        self.count += 1

    def acknowledge(self, numbers: Sequence[int], spanned: bool = False) -> None:
        """Note records that are acknowledged."""
        self.acknowledged += numbers
        self.spanned += spanned

    def fail(self, numbers: Sequence[int]) -> None:
        """Note records that failed as far as the client knows, or whose transaction was aborted."""
        self.failed += numbers

    def overtake(self, numbers: Sequence[int]) -> None:
        """Note a transaction that librdkafka ended by itself, without a request to commit."""
        self.fail(numbers)
        self.overtaken += 1

    def lose(self, numbers: Sequence[int]) -> None:
        """Note records whose outcome is unknown."""
        self.unknown += numbers

    def interrupt(self) -> None:
        """Note a crash: records without an outcome may be written or not."""
        told = {*self.acknowledged, *self.failed, *self.unknown}
        self.lose(sorted(set(range(self.count)) - told))


class SendingClient(Client[SendOutcomes]):
    """Sends records and counts outcomes. ``timeout_ms`` is the time limit of a record."""

    _line: Line[SendOutcomes]

    def __init__(self, servers: str, who: str, timeout_ms: int) -> None:
        super().__init__(who)
        self._servers = servers
        self._timeout_ms = timeout_ms
        self._seconds = min(2 * timeout_ms / 1_000, clients.SECONDS)
        self._open: set[int] = set()

    def run(self, line: Line[SendOutcomes]) -> None:
        """Send until the line reports a stop."""
        self._line = line
        self._send()

    @abstractmethod
    def _send(self) -> None:
        """Send until the line reports a stop."""

    def _producer(self, **more: str | int | bool) -> Producer:
        config = clients.settings(
            self._servers,
            message_timeout_ms=self._timeout_ms,
            linger_ms=2,
            enable_idempotence=True,
            **QUICK,
            **more,
        )
        return Producer({**config, "error_cb": self._line.note})

    def _produce(
        self, producer: Producer, name: str, told: Callable[[int, KafkaError | None], None]
    ) -> int:
        number = self._line.facts.count

        def report(error: KafkaError | None, _message: Message) -> None:
            self._open.discard(number)
            told(number, error)

        value = f"{self.who} {number}"
        self._line.tell(SendOutcomes.begin)
        self._open.add(number)
        try:
            producer.produce(name, value, partition=number % PARTITIONS, on_delivery=report)
        except KafkaException as error:  # librdkafka knows already that the topic does not exist
            self._open.discard(number)
            told(number, error.args[0])
        return number


class IdempotentClient(SendingClient):
    """Sends records in turn.

    If a record fails, it starts afresh with the topic's present name, as an application does after
    a change of its configuration.
    """

    PAUSE = 0.004

    def _send(self) -> None:
        line = self._line
        while not line.is_stopping():
            failed_before = len(line.facts.failed)
            name, producer = line.now().name, self._producer()
            while not line.is_stopping() and len(line.facts.failed) == failed_before:
                self._produce(producer, name, self._told)
                producer.poll(0)
                time.sleep(self.PAUSE)
            left = producer.flush(self._seconds)
            # If its topic vanishes, librdkafka may keep records in flight forever (2.16), but it
            # reports their number.
            assert left == len(self._open), f"{self.who}: {left} left, not {len(self._open)}"
            for number in sorted(self._open):
                self._told(number, KafkaError(KafkaError._TIMED_OUT))
            self._open.clear()

    def _told(self, number: int, error: KafkaError | None) -> None:
        if error is None:
            self._line.tell(SendOutcomes.acknowledge, [number])
        else:
            self._line.tell(SendOutcomes.fail, [number])
            self._line.note(error)


class TransactionalClient(SendingClient):
    """Transactions of some records, every fourth of them aborted on purpose."""

    RECORDS = 6
    PAUSE = 0.05

    def __init__(self, servers: str, who: str, timeout_ms: int) -> None:
        super().__init__(servers, who, timeout_ms)
        self._turn = 0

    def _send(self) -> None:
        ended = False
        while not ended:
            # The same id again, because the coordinator then ends the predecessor's open
            # transaction.
            producer = self._producer(transactional_id=self.who, transaction_timeout_ms=PATIENT_MS)
            self._retried(lambda p=producer: p.init_transactions(clients.SECONDS))  # type: ignore[misc]
            ended = self._live(producer)

    def _live(self, producer: Producer) -> bool:
        """Send until the line reports a stop (true), or until the producer cannot continue."""
        name = self._line.now().name
        try:
            while not self._line.is_stopping():
                if not self._transaction(producer, name):
                    producer.purge()
                    producer.flush(self._seconds)
                    return False
        except KafkaException as error:
            self._line.note(error.args[0])
            return False
        return True

    def _transaction(self, producer: Producer, name: str) -> bool:
        """Send a transaction; returns whether the producer may continue under this name."""
        self._turn += 1
        before, numbers = self._line.now().moves, []
        problems: list[KafkaError] = []
        is_aborting = False

        def told(_: int, error: KafkaError | None) -> None:
            # If it aborts on purpose, librdkafka drops unsent records, as it should.
            if error is not None and not (is_aborting and error.code() in _PURGED):
                problems.append(error)
                self._line.note(error)

        producer.begin_transaction()
        for _ in range(self.RECORDS):
            numbers.append(self._produce(producer, name, told))
            fatal = self._attempted(lambda: producer.poll(0))
            if fatal is not None:
                overtaken = _is_overtaken(fatal)
                self._line.tell(SendOutcomes.overtake if overtaken else SendOutcomes.fail, numbers)
                return False
            time.sleep(self.PAUSE)
        if self._turn % 4 == 0 or problems:
            is_aborting = not problems
            return self._abort(producer, numbers) and not problems
        rejected = self._attempted(lambda: producer.commit_transaction(self._seconds))
        if rejected is not None:
            if rejected.txn_requires_abort():
                self._abort(producer, numbers)
            else:
                overtaken = _is_overtaken(rejected)
                self._line.tell(SendOutcomes.overtake if overtaken else SendOutcomes.lose, numbers)
            return False
        assert not problems, f"committed without {problems}"
        self._line.tell(SendOutcomes.acknowledge, numbers, self._line.now().moves > before)
        return True

    def _abort(self, producer: Producer, numbers: list[int]) -> bool:
        """Abort; none of the records may ever be read."""
        self._line.tell(SendOutcomes.fail, numbers)
        return self._attempted(lambda: producer.abort_transaction(self._seconds)) is None

    def _attempted(self, act: Callable[[], object]) -> KafkaError | None:
        """The error that an act ends with.

        confluent-kafka is not called while its exception is handled, because raising another then
        corrupts memory (2.16).
        """
        try:
            self._retried(act)
        except KafkaException as error:
            self._line.note(error.args[0])
            rejected: KafkaError = error.args[0]
            return rejected
        return None

    def _retried(self, act: Callable[[], object]) -> None:
        """Retry an act while its error is retriable, as librdkafka asks of its users."""
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                act()
                return
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise
                self._line.note(error.args[0])


def _is_overtaken(error: KafkaError) -> bool:
    """Whether librdkafka (2.16) has ended a transaction by itself.

    An abort drops records that are being retried and reuses their sequence numbers, although they
    may be written. The broker then rejects a batch of the next transaction, which is fatal to the
    producer before it sends EndTxn.
    """
    return error.fatal() and error.code() == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER


class Sender(Load[SendOutcomes]):
    """A SendingClient in a process of its own."""

    @property
    def sent(self) -> SendOutcomes:
        """The outcome of the client's records."""
        return self.facts


class IdempotentSender(Sender):
    """An IdempotentClient in a process of its own."""

    def __init__(
        self, servers: str, name: Name, who: str, timeout_ms: int, *, may_crash: bool = False
    ) -> None:
        client = IdempotentClient(servers, who, timeout_ms)
        super().__init__(client, SendOutcomes(), lambda: TopicState(name()), may_crash=may_crash)


class TransactionalSender(Sender):
    """A TransactionalClient in a process of its own; ``moves`` returns the number of moves so
    far."""

    def __init__(
        self,
        servers: str,
        name: Name,
        who: str,
        timeout_ms: int,
        moves: Callable[[], int],
        *,
        may_crash: bool = False,
    ) -> None:
        client = TransactionalClient(servers, who, timeout_ms)
        super().__init__(
            client, SendOutcomes(), lambda: TopicState(name(), moves()), may_crash=may_crash
        )
