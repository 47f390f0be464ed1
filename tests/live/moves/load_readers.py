"""Consumer groups under load (see load_process.py): their members, and the records they read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.live.moves.load import PARTITIONS, QUICK, Name
from tests.live.support import clients
from tests.live.support.load_line import Client, Facts, Line, TopicState
from tests.live.support.load_process import Load

_COMMIT_SECONDS = 0.1
_SILENT_SECONDS = 1.0

SESSION_SECONDS = 45.0
"""How long a group waits, by Kafka's defaults, for a member that sends no more heartbeats."""

Log = dict[int, list[tuple[int, str]]]
"""Offsets and values by partition, in order."""


@dataclass(slots=True)
class Start:
    """A life of a reader: by partition, its group's committed offset, and where it began."""

    name: str
    committed: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    rebalances: int = 0


@dataclass(slots=True)
class ReadRecords(Facts):
    """The records that a reader has read, in order, its lives, and its present partitions."""

    records: Log = field(default_factory=lambda: {at: [] for at in range(PARTITIONS)})
    starts: list[Start] = field(default_factory=list)
    assignment: frozenset[int] = frozenset()

    @property
    def rebalances(self) -> int:
        """The number of assignments and revocations, except those of its own restarts."""
        return sum(start.rebalances for start in self.starts)

    def start(self, name: str) -> None:
        """Note that the reader starts."""
        self.starts.append(Start(name))

    def take(self, partition: int, offset: int, value: str) -> None:
        """Note a record that was read."""
        self.starts[-1].first.setdefault(partition, offset)
        self.records[partition].append((offset, value))

    def assign(self, partitions: frozenset[int]) -> None:
        """Note partitions that were assigned."""
        self.starts[-1].rebalances += 1
        self.assignment |= partitions

    def revoke(self, partitions: frozenset[int], is_ending: bool) -> None:
        """Note partitions that were revoked."""
        self.starts[-1].rebalances += not is_ending
        self.assignment -= partitions

    def commit(self, partition: int, offset: int) -> None:
        """Note the offset that the group has committed."""
        self.starts[-1].committed[partition] = offset

    def interrupt(self) -> None:
        """Note a crash, after which the reader has no partitions."""
        self.assignment = frozenset()


class ReadingClient(Client[ReadRecords]):
    """A member of a group that reads committed records and commits them as it goes.

    After an error (a lost connection is no error) it starts afresh, with the topic's present name.
    A KIP-848 member gets no error for an unknown topic, here as at Kafka. It starts afresh if the
    name has changed and no records come any more.
    """

    ASK_SECONDS = 5.0

    _line: Line[ReadRecords]

    def __init__(self, servers: str, who: str, group: str, protocol: str) -> None:
        super().__init__(who)
        self._servers = servers
        self._group = group
        self._protocol = protocol

    def run(self, line: Line[ReadRecords]) -> None:
        """Read until the line reports a stop."""
        self._line = line
        while not line.is_stopping():
            name = line.now().name
            line.tell(ReadRecords.start, name)
            client = self._consumer()
            try:
                client.subscribe([name], on_assign=self._got, on_revoke=self._revoked)
                self._read(client, name)
            except KafkaException as error:
                line.note(error.args[0])
            finally:
                self._leave(client)

    def _consumer(self) -> Consumer:
        config = clients.settings(
            self._servers,
            group_id=self._group,
            group_protocol=self._protocol,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            enable_auto_commit=False,
            fetch_wait_max_ms=100,
            **{key: value for key, value in QUICK.items() if key != "retry_backoff_ms"},
        )
        return Consumer({**config, "error_cb": self._line.note})

    def _read(self, client: Consumer, name: str) -> None:
        uncommitted, due = 0, time.monotonic()
        latest = due
        while not self._line.is_stopping() and not self._is_outdated(name, latest):
            message = client.poll(0.05)
            if message is not None:
                latest = time.monotonic()
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                self._line.tell(ReadRecords.take, *parts(message))
                uncommitted += 1
            if uncommitted and time.monotonic() >= due:
                client.commit(asynchronous=False)
                uncommitted, due = 0, time.monotonic() + _COMMIT_SECONDS
        if uncommitted:
            client.commit(asynchronous=False)

    def _leave(self, client: Consumer) -> None:
        """Revoke all partitions before closing, because otherwise librdkafka may hang in a
        rebalance.

        A rebalance while closing may wait forever, while confluent-kafka (2.16) holds the GIL.
        """
        client.unsubscribe()
        deadline = time.monotonic() + self.ASK_SECONDS
        while self._line.facts.assignment and time.monotonic() < deadline:
            client.poll(0.05)
        client.close()

    def _is_outdated(self, name: str, latest: float) -> bool:
        if self._protocol == "classic" or time.monotonic() < latest + _SILENT_SECONDS:
            return False
        return self._line.now().name != name

    def _got(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        self._line.tell(ReadRecords.assign, frozenset(found.partition for found in partitions))
        try:
            committed = client.committed(partitions, self.ASK_SECONDS)
        except KafkaException as error:  # it must not come out of a callback of confluent-kafka
            self._line.note(error.args[0])
            return
        for found in committed:
            if found.error is None and found.partition not in self._line.facts.starts[-1].first:
                self._line.tell(ReadRecords.commit, found.partition, max(found.offset, 0))

    def _revoked(self, _client: Consumer, partitions: list[TopicPartition]) -> None:
        lost = frozenset(lost.partition for lost in partitions)
        self._line.tell(ReadRecords.revoke, lost, self._line.is_stopping())


class GroupReader(Load[ReadRecords]):
    """A ReadingClient in a process of its own."""

    def __init__(
        self,
        servers: str,
        name: Name,
        who: str,
        group: str,
        protocol: str = "classic",
        *,
        may_crash: bool = False,
    ) -> None:
        client = ReadingClient(servers, who, group, protocol)
        super().__init__(client, ReadRecords(), lambda: TopicState(name()), may_crash=may_crash)
        self.group = group

    @property
    def seen(self) -> ReadRecords:
        """The records that the reader has read."""
        return self.facts


def parts(message: Message) -> tuple[int, int, str]:
    """The partition, the offset and the value of a record."""
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None and offset is not None and value is not None
    return partition, offset, value.decode()
