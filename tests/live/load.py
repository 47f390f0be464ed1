"""Clients under load, each in a thread of its own: what they sent and read, and how it ended.

Every record is ``<who> <number>``, numbered from 0 in the order of sending and sent to partition
``number % partitions``, so that what was lost, repeated or put out of order shows by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from devkit.waiting import DeadlineError, wait_until
from tests.live import clients

PARTITIONS = 2

Name = Callable[[], str]
"""The topic's name as a client knows it now; asked again whenever the client starts afresh."""

PATIENT_MS = 60_000
HASTY_MS = 1_500
"""``message.timeout.ms`` of clients that nothing may disturb, and of those that give up soon."""

_QUICK: Mapping[str, int] = {
    # So that the clients see every state of the topic, not one in five minutes.
    "topic_metadata_refresh_interval_ms": 150,
    "topic_metadata_propagation_max_ms": 500,
    "retry_backoff_ms": 50,
}
_COMMIT_SECONDS = 0.1
_SILENT_SECONDS = 1.0

Log = dict[int, list[tuple[int, str]]]
"""Offsets and values by partition, in order."""


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


class _Sender(Load):
    """Counts what it sends. ``timeout_ms`` is how long a record is tried for."""

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
            **_QUICK,
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


class IdempotentSender(_Sender):
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


class TransactionalSender(_Sender):
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


@dataclass(slots=True)
class Start:
    """One life of a reader, by partition: where its group had got to, and where it began."""

    name: str
    committed: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    rebalances: int = 0


class GroupReader(Load):
    """A member of a group that reads committed records and commits them as it goes.

    It starts afresh, with the name that holds then, after an error (a lost connection is none).
    A member by KIP-848 is not told that there is no such topic, here as little as by Kafka: it
    does so when the name is another one and nothing comes any more.

    ``records`` is what it read, in that order; ``assignment`` the partitions that it has.
    """

    ASK_SECONDS = 5.0

    def __init__(
        self, servers: str, name: Name, who: str, group: str, protocol: str = "classic"
    ) -> None:
        super().__init__(who)
        self.group = group
        self.records: Log = {at: [] for at in range(PARTITIONS)}
        self.starts: list[Start] = []
        self.assignment: frozenset[int] = frozenset()
        self._servers = servers
        self._name = name
        self._protocol = protocol

    @property
    def rebalances(self) -> int:
        """How often it was given partitions or lost some, but for its own ends."""
        return sum(start.rebalances for start in self.starts)

    def _run(self) -> None:
        while not self._stopping.is_set():
            start = Start(self._name())
            self.starts.append(start)
            client = self._consumer()
            try:
                client.subscribe(
                    [start.name],
                    on_assign=lambda c, p, s=start: self._got(c, p, s),  # type: ignore[misc]
                    on_revoke=self._revoked,
                )
                self._read(client, start)
            except KafkaException as error:
                self._note(error.args[0])
            finally:
                client.close()

    def _consumer(self) -> Consumer:
        config = clients.settings(
            self._servers,
            group_id=self.group,
            group_protocol=self._protocol,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            enable_auto_commit=False,
            fetch_wait_max_ms=100,
            **{key: value for key, value in _QUICK.items() if key != "retry_backoff_ms"},
        )
        return Consumer({**config, "error_cb": self._note})

    def _read(self, client: Consumer, start: Start) -> None:
        uncommitted, due = 0, time.monotonic()
        latest = due
        while not self._stopping.is_set() and not self._is_outdated(start, latest):
            message = client.poll(0.05)
            if message is not None:
                latest = time.monotonic()
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                self._take(message, start)
                uncommitted += 1
            if uncommitted and time.monotonic() >= due:
                client.commit(asynchronous=False)
                uncommitted, due = 0, time.monotonic() + _COMMIT_SECONDS
        if uncommitted:
            client.commit(asynchronous=False)

    def _is_outdated(self, start: Start, latest: float) -> bool:
        if self._protocol == "classic" or time.monotonic() < latest + _SILENT_SECONDS:
            return False
        return self._name() != start.name

    def _take(self, message: Message, start: Start) -> None:
        partition, offset, value = _parts(message)
        start.first.setdefault(partition, offset)
        self.records[partition].append((offset, value))

    def _got(self, client: Consumer, partitions: list[TopicPartition], start: Start) -> None:
        start.rebalances += 1
        self.assignment |= {found.partition for found in partitions}
        try:
            committed = client.committed(partitions, self.ASK_SECONDS)
        except KafkaException as error:  # it must not come out of a callback of confluent-kafka
            self._note(error.args[0])
            return
        for found in committed:
            if found.error is None and found.partition not in start.first:
                start.committed[found.partition] = max(found.offset, 0)

    def _revoked(self, _client: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignment -= {lost.partition for lost in partitions}
        if not self._stopping.is_set():
            self.starts[-1].rebalances += 1


# -- what there should be -----------------------------------------------------------------------


def stored(servers: str, topic: str) -> Log:
    """The committed records of a topic, read from its beginning to its end without a group."""
    config = clients.settings(
        servers,
        group_id="nobody",
        enable_auto_commit=False,
        enable_partition_eof=True,
        isolation_level="read_committed",
    )
    client = Consumer(config)
    log: Log = {at: [] for at in range(PARTITIONS)}
    ended: set[int] = set()
    try:
        client.assign([TopicPartition(topic, at, 0) for at in range(PARTITIONS)])
        deadline = time.monotonic() + clients.SECONDS
        while len(ended) < PARTITIONS:
            assert time.monotonic() < deadline, f"the end of {topic} was not reached"
            message = client.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                partition, offset, value = _parts(message)
                log[partition].append((offset, value))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, str(error)
                ended.add(message.partition() or 0)
    finally:
        client.close()
    return log


def _parts(message: Message) -> tuple[int, int, str]:
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None and offset is not None and value is not None
    return partition, offset, value.decode()


def check_log(log: Log, sender: _Sender) -> None:
    """Every acknowledged record of a sender is there exactly once, all of them in order.

    A record that failed may have been written all the same, unless its transaction was aborted.
    """
    acknowledged, failed = set(sender.sent.acknowledged), set(sender.sent.failed)
    for at, records in log.items():
        where = f"{sender.who}, partition {at}"
        split = [value.split(" ") for _, value in records]
        there = [int(number) for who, number in split if who == sender.who]
        assert there == sorted(set(there)), f"{where}: repeated or out of order"
        missing = {n for n in acknowledged if n % PARTITIONS == at} - set(there)
        assert not missing, f"{where}: lost {sorted(missing)[:10]} and more"
        if isinstance(sender, TransactionalSender):
            assert not failed & set(there), f"{where}: aborted records are read"


def check_answered(sender: _Sender) -> None:
    """No send was left without an answer, and none was answered twice."""
    sent = sender.sent
    assert sent.answered == sent.count
    assert {*sent.acknowledged, *sent.failed, *sent.unknown} == set(range(sent.count))


def read_by(readers: Sequence[GroupReader]) -> Log:
    """What the members of a group have read, one member after the other."""
    return {
        at: [record for reader in readers for record in reader.records[at]]
        for at in range(PARTITIONS)
    }


def await_all_read(readers: Sequence[GroupReader], log: Log) -> None:
    """Wait until the members of a group have read all of a log, some of it twice perhaps: a
    record comes again when it could not be committed. Fails with what they say, and as they do."""

    def done() -> bool:
        for reader in readers:
            reader.check()
        return {at: sorted(set(records)) for at, records in read_by(readers).items()} == log

    try:
        wait_until(done, "all records", clients.SECONDS)
    except DeadlineError as error:
        d = clients.done(
            clients.admin(readers[0]._servers).describe_consumer_groups([readers[0].group])
        )[readers[0].group]
        print(
            "PHANTOM?",
            [
                (x.member_id, [(p.topic, p.partition) for p in x.assignment.topic_partitions])
                for x in d.members
            ],
        )
        missing = {at: len(set(log[at]) - set(read_by(readers)[at])) for at in log}
        told = [(r.who, r.assignment, r.starts[-1], r.errors[-3:]) for r in readers]
        raise AssertionError(f"{readers[0].group} has not read {missing}: {told}") from error


def check_starts(log: Log, reader: GroupReader) -> None:
    """Whenever a reader started, it went on with the record after those its group had committed,
    as far as it was told of them."""
    told = [start for start in reader.starts if start.first.keys() & start.committed.keys()]
    assert told
    for start in told:
        for at in start.first.keys() & start.committed.keys():
            following = [offset for offset, _ in log[at] if offset >= start.committed[at]]
            assert start.first[at] == following[0], f"{reader.who}, {start.name}, partition {at}"
