"""ShareWorkers.java while it runs: members of share groups (KIP-932), and what they did."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from devkit import java
from devkit.broker import KafkaCluster
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

LOCK_SECONDS: Final = 5
"""For which a record is locked for a member at the brokers of these tests (Kafka's default: 30)."""

SLEEP_MS: Final = LOCK_SECONDS * 1_600
"""The sleep of a member that is too slow: its lock ends meanwhile, and is looked after."""

QUICK: Final = {
    "group.share.record.lock.duration.ms": str(LOCK_SECONDS * 1_000),
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.heartbeat.interval.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
}
"""Broker settings with which the tests of share groups need not wait for minutes."""

ACKNOWLEDGED: Final = ("accept", "release", "reject", "renew")


class Outcome(NamedTuple):
    """What became of records: the values that were ``accepted`` (or else left out, because the
    broker's answer got lost), and those of the values that were ``given`` to a member, or accepted,
    once more after that."""

    accepted: frozenset[str]
    again: frozenset[str]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a share group. ``sleep_ms``: how long it keeps "slow" records; ``pause_ms``:
    between two polls; ``settings``: further ones of its consumer."""

    name: str
    servers: str
    group: str
    topics: tuple[str, ...]
    sleep_ms: int = 0
    pause_ms: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """Its arguments of ShareWorkers.java."""
        more = [f"{key}={value}" for key, value in self.settings.items()]
        times = [str(self.sleep_ms), str(self.pause_ms)]
        return [self.name, self.servers, self.group, ",".join(self.topics), *times, *more, "end"]


class ShareWorkers(java_tools.RunningProgram):
    """The members, with the events that they have printed so far."""

    def of(self, name: str) -> list[dict[str, Any]]:
        """The events of the members whose names begin so."""
        return [each for each in self.events if each["worker"].startswith(name)]

    def values(self, name: str, event: str) -> set[str]:
        """The values of which members have printed an event."""
        return {each["value"] for each in self.of(name) if each["event"] == event}

    def errors(self, name: str) -> set[str]:
        """The classes of what poll has thrown to members."""
        return {each["error"] for each in self.of(name) if each["event"] == "error"}

    def await_true(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition holds; fails with the last events."""

        def holds() -> bool:
            assert self._process.running, f"the members ended\n{self._process.tail()}"
            return bool(condition())

        try:
            wait_until(holds, what, clients.SECONDS)
        except Exception as error:
            raise AssertionError(f"{error}\n{self._process.tail(60)}") from error

    def await_values(self, name: str, event: str, *values: str) -> None:
        """Wait until members have printed an event of all these values."""
        wanted = {*values}
        self.await_true(lambda: self.values(name, event) >= wanted, f"{event} {values} of {name}")

    def await_more(self, name: str, event: str, count: int) -> None:
        """Wait until members have printed an event for so many values."""
        what = f"{count} times {event} of {name}"
        self.await_true(lambda: len(self.values(name, event)) >= count, what)

    def counts(self, name: str, *ends: str) -> Counter[tuple[str, str, int, str]]:
        """How often each event came for each record and delivery, and with which error; ``ends``
        are cut off values, so that members with values of their own can be compared."""

        def cut(value: str) -> str:
            return functools.reduce(str.removesuffix, ends, value)

        return Counter(
            (each["event"], cut(each["value"]), each["delivery"], each["error"])
            for each in self.of(name)
            if each["event"] not in ("error", "closed")
        )

    def told(self, name: str) -> Counter[tuple[str, str, str]]:
        """:meth:`counts` without the deliveries. If a topic or a right comes and goes, Java's
        consumer may drop what it is given, at the broker itself, too, and the gateway cuts what a
        request brings that waited meanwhile (docs/decisions/share-sessions.md): such a record comes
        at its second delivery."""
        told: Counter[tuple[str, str, str]] = Counter()
        for (event, value, _, error), count in self.counts(name).items():
            told[event, value, error] += count
        return told

    def outcome(self, name: str) -> Outcome:
        """What became of the records of members.

        A member may still be given what it had fetched before it lost its connection, so a record
        that comes later than its acceptance counts only if a broker delivered it anew.
        """
        accepted: dict[str, int] = {}
        again = set()
        for each in self.of(name):
            value, delivery = each["value"], each["delivery"]
            if each["event"] == "accept" and value in accepted:
                again.add(value)
            elif each["event"] == "accept":
                accepted[value] = delivery
            elif each["event"] == "take" and delivery > accepted.get(value, delivery):
                again.add(value)
        return Outcome(frozenset(accepted), frozenset(again))

    def await_end(self) -> None:
        """Wait until the members have left their groups."""
        process: ManagedProcess = self._process
        wait_until(lambda: not process.running, "the end of the members", clients.SECONDS)
        assert process.returncode == 0, process.tail()


@contextmanager
def share_workers(directory: Path, *members: Member) -> Iterator[ShareWorkers]:
    """Start members in one Java; they leave at the end of the ``with``."""
    end, log = directory / f"{members[0].name}.end", directory / f"{members[0].name}.log"
    classes = java.compile_java(java_tools.SOURCES / "ShareWorkers.java")
    arguments = [str(end), *(each for member in members for each in member.arguments())]
    with java.start_java("ShareWorkers", arguments, log, classes=classes) as process:
        workers = ShareWorkers(process)
        yield workers
        end.touch()
        workers.await_end()


def from_the_beginning(kafka: KafkaCluster, *groups: str) -> None:
    """Let share groups (flat names) begin at the first record."""
    for group in groups:
        of_group = ["--entity-type", "groups", "--entity-name", group]
        added = ["--add-config", "share.auto.offset.reset=earliest"]
        java_tools.configs(kafka.bootstrap_servers, "--alter", *of_group, *added)


def lag(kafka: KafkaCluster, group: str, topic: str) -> int:
    """The records of partition 0 that a share group (flat names) has not done with; -1 while no
    broker responds with that. The group's start offset is written behind acknowledgements."""
    asked = [{"group_id": group, "topics": [{"topic_name": topic, "partitions": [0]}]}]
    for address in kafka.bootstrap_servers.split(","):
        with Wire(address) as wire:
            (found,) = wire.ask("DescribeShareGroupOffsets", 1, groups=asked).groups
        if int(found.error_code) == 0:
            (partition,) = found.topics[0].partitions
            if int(partition.error_code) == 0:
                return int(partition.lag)
    return -1


def await_done(
    kafka: KafkaCluster, group: str, topic: str, seconds: float = clients.SECONDS
) -> None:
    """Wait until brokers have every record of partition 0 as acknowledged."""
    what = f"every record of {topic} acknowledged in {group}"
    wait_until(lambda: lag(kafka, group, topic) == 0, what, seconds)


def produce(servers: str, topic: str, values: list[str]) -> None:
    """Produce values, each in a batch of its own: members are given whole batches."""
    clients.produce(servers, topic, values, batch_num_messages=1)
