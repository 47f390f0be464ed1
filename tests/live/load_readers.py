"""Consumer groups under load (tests/live/load.py): each member in a thread of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.live import clients
from tests.live.load import PARTITIONS, QUICK, Load, Name

_COMMIT_SECONDS = 0.1
_SILENT_SECONDS = 1.0

Log = dict[int, list[tuple[int, str]]]
"""Offsets and values by partition, in order."""


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
                self._leave(client)

    def _consumer(self) -> Consumer:
        config = clients.settings(
            self._servers,
            group_id=self.group,
            group_protocol=self._protocol,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            enable_auto_commit=False,
            fetch_wait_max_ms=100,
            **{key: value for key, value in QUICK.items() if key != "retry_backoff_ms"},
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

    def _leave(self, client: Consumer) -> None:
        """Give all partitions back before closing: a rebalance while closing may wait for ever
        in librdkafka, with the interpreter's lock held by confluent-kafka (2.16)."""
        client.unsubscribe()
        deadline = time.monotonic() + self.ASK_SECONDS
        while self.assignment and time.monotonic() < deadline:
            client.poll(0.05)
        client.close()

    def _is_outdated(self, start: Start, latest: float) -> bool:
        if self._protocol == "classic" or time.monotonic() < latest + _SILENT_SECONDS:
            return False
        return self._name() != start.name

    def _take(self, message: Message, start: Start) -> None:
        partition, offset, value = parts(message)
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


def parts(message: Message) -> tuple[int, int, str]:
    """The partition, the offset and the value of a record."""
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None and offset is not None and value is not None
    return partition, offset, value.decode()
