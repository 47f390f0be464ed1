"""An application moves to a listener with a home: its group's offsets are carried there, and back.

Real clients of both protocols continue with the record after the last record that they committed.
The broker holds the same offsets, leader epochs and metadata under both names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from devkit.broker import KafkaCluster
from tests.live.support import clients, namespaces
from tests.live.support.wire import Wire

Names = Callable[[str], str]
Command = Callable[..., namespaces.CommandResult]
Held = dict[tuple[str, int], tuple[int, int, str]]

HOME = "team-a"
PARTITIONS = 3
PROTOCOLS = ("classic", "consumer")
METADATA = "read by a test: é"
COMMITTED = METADATA + "\0"
"""The metadata as librdkafka sends it: with the terminator of a C string."""


class Application:
    """An application with two topics, known to the broker by their flat names, and its group."""

    def __init__(self, kafka: KafkaCluster, admin: str, home: str, unique: Names) -> None:
        self.kafka, self.admin, self.home = kafka, admin, home
        self.group = unique("app")
        self.topics = [unique("calls"), unique("mails")]
        self.sent = 0

    @property
    def inside(self) -> str:
        """The group's name in the home, as the broker knows it."""
        return f"{HOME}..{self.group}"

    def produce(self, count: int) -> None:
        """Produce so many more records to each partition, numbered from 0."""
        producer = Producer(clients.settings(self.kafka.bootstrap_servers, linger_ms=0))
        for topic in self.topics:
            for partition in range(PARTITIONS):
                for number in range(self.sent, self.sent + count):
                    producer.produce(topic, str(number), partition=partition)
        assert producer.flush(clients.SECONDS) == 0
        self.sent += count

    def read(self, servers: str, count: int, **more: str) -> dict[tuple[str, int], list[int]]:
        """Read the next records and commit them with metadata; their numbers by partition."""
        with clients.consumer(servers, self.group, **more) as client:
            client.subscribe(self.topics)
            records = clients.take(client, count)
            found: dict[tuple[str, int], list[int]] = {}
            for record in records:
                key = (record.topic() or "", record.partition() or 0)
                found.setdefault(key, []).append(int(record.value() or b""))
            commit(client, records)
        return found

    def adopt_topics(self) -> None:
        to = ["topics", "--bootstrap-server", self.admin]
        for topic in self.topics:
            namespaces.command(*to, "--adopt", "--topic", topic, "--to-namespace", HOME)

    def adopt(self, *more: str) -> namespaces.CommandResult:
        """Run the command, whatever its exit status."""
        words = ["adopt", "--bootstrap-server", self.admin, "--group", self.group, "--home", HOME]
        return namespaces.attempt(*words, *more)

    def held(self, group: str) -> Held:
        """The offsets that the broker stores for a group: offset, leader epoch and metadata."""
        with Wire(self.kafka.bootstrap_servers) as wire:
            answer = wire.ask("OffsetFetch", 7, group_id=group, topics=None, require_stable=True)
        return {
            (topic.name, one.partition_index): (
                one.committed_offset,
                one.committed_leader_epoch,
                one.metadata,
            )
            for topic in answer.topics
            for one in topic.partitions
        }


def commit(client: Consumer, records: Sequence[Any]) -> None:
    """Commit after the last record of each partition, with its leader epoch and metadata."""
    last: dict[tuple[str, int], TopicPartition] = {}
    for record in records:
        key = (record.topic(), record.partition())
        epoch = record.leader_epoch()
        last[key] = TopicPartition(*key, record.offset() + 1, METADATA, epoch)
    client.commit(offsets=list(last.values()), asynchronous=False)


@pytest.fixture
def app(kafka: KafkaCluster, admin: str, home_a: str, unique: Names) -> Iterator[Application]:
    made = Application(kafka, admin, home_a, unique)
    clients.create(kafka.bootstrap_servers, *made.topics, partitions=PARTITIONS)
    clients.await_stored(kafka, *made.topics)
    made.produce(5)
    yield made
    namespaces.delete(kafka.bootstrap_servers, *made.topics)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("then", PROTOCOLS)
def test_an_application_goes_on_where_it_was(
    app: Application, colon: str, protocol: str, then: str
) -> None:
    """Whichever protocol the application uses before and after; also back, with later offsets."""
    whole = 2 * PARTITIONS
    first = app.read(colon, 5 * whole, group_protocol=protocol)
    app.produce(5)
    app.adopt_topics()
    before = app.held(app.group)
    assert set(before.values()) == {(5, 0, COMMITTED)}
    assert len(before) == whole
    assert len(first) == whole

    shown = app.adopt("--dry-run")
    assert (shown.status, shown.err) == (0, "")
    assert f"{whole} offsets of group '{app.group}' could be carried into home" in shown.out
    assert app.held(app.inside) == {}
    said = app.adopt()
    assert (said.status, said.err) == (0, "")
    assert app.held(app.inside) == before
    assert app.held(app.group) == before
    again = app.adopt()
    assert (again.status, again.err) == (0, "")
    assert "already; nothing was changed" in again.out

    # With latest, an uncommitted partition would be skipped: no record is skipped or read again.
    found = app.read(app.home, 5 * whole, group_protocol=then, auto_offset_reset="latest")
    assert {tuple(sorted(numbers)) for numbers in found.values()} == {(5, 6, 7, 8, 9)}
    assert len(found) == whole

    app.produce(2)
    said = app.adopt("--undo")
    assert (said.status, said.err) == (0, "")
    after = app.held(app.inside)
    assert set(after.values()) == {(10, 0, COMMITTED)}
    assert app.held(app.group) == after
    moved = Application(app.kafka, app.admin, app.home, lambda _: "")
    moved.group, moved.topics = app.group, [f"{HOME}:{topic}" for topic in app.topics]
    found = moved.read(colon, 2 * whole, group_protocol=protocol, auto_offset_reset="latest")
    assert {tuple(sorted(numbers)) for numbers in found.values()} == {(10, 11)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_not_while_it_has_members(app: Application, colon: str, protocol: str) -> None:
    """On either side, members prevent it: nothing is written, and the table is shown."""
    whole = 2 * PARTITIONS
    with clients.consumer(colon, app.group, group_protocol=protocol) as client:
        client.subscribe(app.topics)
        commit(client, clients.take(client, 5 * whole))
        app.adopt_topics()
        said = app.adopt()
        assert said.status == 1
        assert f"group '{app.group}' has active members (state " in said.err
        assert "stop all of them" in said.err
        assert app.held(app.inside) == {}
    assert app.adopt().status == 0
    with clients.consumer(app.home, app.group, group_protocol=protocol) as client:
        client.subscribe(app.topics)
        app.produce(1)
        clients.take(client, whole)
        for more in ([], ["--undo"], ["--force"]):
            said = app.adopt(*more)
            assert said.status == 1
            assert f"group '{app.inside}' has active members" in said.err


def test_other_offsets_are_not_written_over(app: Application, colon: str) -> None:
    whole = 2 * PARTITIONS
    app.read(colon, 5 * whole)
    app.adopt_topics()
    assert app.adopt().status == 0
    app.produce(1)
    app.read(app.home, whole)
    ahead = app.held(app.inside)
    said = app.adopt()
    assert said.status == 1
    assert f"group '{app.inside}' has other offsets: " in said.err
    assert f"--group {app.group} --home {HOME} --force" in said.err
    assert app.held(app.inside) == ahead
    # The bare group has moved on: offsets that are further on are not overwritten.
    app.produce(1)
    with clients.consumer(colon, app.group) as client:
        client.subscribe([f"{HOME}:{topic}" for topic in app.topics])
        commit(client, clients.take(client, 2 * whole))
    bare = app.held(app.group)
    said = app.adopt("--undo")
    assert said.status == 1
    assert "has other offsets, further on than these" in said.err
    assert app.held(app.group) == bare
    said = app.adopt("--force", "--json")
    assert said.status == 0
    told = json.loads(said.out)
    assert (told["carried"], told["refused"]) == (whole, None)
    assert {one["action"] for one in told["offsets"]} == {"overwrite"}
    assert app.held(app.inside) == bare


def test_topics_that_the_home_does_not_reach(app: Application, colon: str) -> None:
    whole = 2 * PARTITIONS
    app.read(colon, 5 * whole)
    said = app.adopt()
    assert said.status == 1
    assert f"offsets on topics that home '{HOME}' does not reach: {app.topics[0]}, " in said.err
    assert app.held(app.inside) == {}
    assert app.adopt("--force").status == 0
    assert app.held(app.inside) == app.held(app.group)
    # The offsets count as soon as the topics exist.
    app.adopt_topics()
    app.produce(1)
    found = app.read(app.home, whole, auto_offset_reset="latest")
    assert set(map(tuple, found.values())) == {(5,)}


def test_what_is_rejected(app: Application, home_a: str, kafka: KafkaCluster) -> None:
    said = app.adopt()
    assert (said.status, "has no committed offsets" in said.err) == (1, True)
    words = ["adopt", "--group", app.group]
    to_home = ["--bootstrap-server", home_a, "--home", HOME]
    said = namespaces.attempt(*words, *to_home)
    assert (said.status, "a home is in force at this address" in said.err) == (1, True)
    missing = ["--bootstrap-server", app.admin, "--home", "no-such-home"]
    said = namespaces.attempt(*words, *missing)
    assert (said.status, "'no-such-home' does not exist" in said.err) == (1, True)
    broker = ["--bootstrap-server", kafka.bootstrap_servers, "--home", HOME]
    said = namespaces.attempt(*words, *broker)
    assert (said.status, "is a Kafka broker, not a gateway" in said.err) == (69, True)


def test_offsets_of_a_transaction(app: Application, colon: str) -> None:
    """Offsets in an open transaction are waited for, because it may still abort."""
    app.read(colon, 5 * 2 * PARTITIONS)
    app.adopt_topics()
    producer = Producer(clients.settings(colon, transactional_id=app.group))
    producer.init_transactions(clients.SECONDS)
    producer.begin_transaction()
    topic = f"{HOME}:{app.topics[0]}"
    with clients.consumer(colon, app.group) as client:
        offsets = [TopicPartition(topic, 0, 3)]
        producer.send_offsets_to_transaction(
            offsets, client.consumer_group_metadata(), clients.SECONDS
        )
        said = app.adopt("--timeout", "2")
        assert said.status == 1
        assert "has offsets in a transaction that is not completed" in said.err
        producer.commit_transaction(clients.SECONDS)
    assert app.adopt().status == 0
    assert app.held(app.inside) == app.held(app.group)
    assert app.held(app.inside)[app.topics[0], 0][0] == 3
