"""Moves under load, as producers, transactions and consumer groups on a topic notice them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import KafkaError, Message, Producer

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.moves import load, load_checks, load_readers
from tests.live.support import clients, namespaces
from tests.live.support.fixtures import own_gateway

Names = Callable[[str], str]

MOVES = 50


class MovingTopic:
    """A topic that moves to and fro between two namespaces. ``count`` is its number of moves."""

    def __init__(self, servers: str, unique: Names) -> None:
        self.servers = servers
        self.count = 0
        self.ends = (unique("left"), unique("right"))
        self.first = f"{self.ends[0]}:orders"
        self.flat = f"{self.ends[0]}..orders"
        namespaces.create(servers, *(f"{end}:" for end in self.ends))
        clients.create(servers, self.first, partitions=load.PARTITIONS)

    def name(self) -> str:
        """The topic's present name."""
        return f"{self.ends[self.count % 2]}:orders"

    def move(self, **more: str) -> None:
        """Move the topic to the other namespace."""
        target = {"gateway.namespace": self.ends[(self.count + 1) % 2]}
        namespaces.alter(self.servers, self.name(), target | more)
        self.count += 1


gateway = own_gateway(workers=2)
"""Two workers, because some clients then use the worker that learns of a move from the catalog."""


@pytest.fixture
def moved(servers: str, kafka: KafkaCluster, unique: Names) -> MovingTopic:
    topic = MovingTopic(servers, unique)
    clients.await_stored(kafka, topic.flat)
    return topic


def _in_an_hour() -> str:
    """An end for an alias, later than any test runs."""
    return (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _members(
    stack: ExitStack, moved: MovingTopic, name: load.Name, *, may_crash: bool = False
) -> list[load_readers.GroupReader]:
    """Two members of a classic group and one member of a KIP-848 group, all with partitions."""
    old, new = f"{moved.flat}-classic", f"{moved.flat}-consumer"
    readers = [
        load_readers.GroupReader(moved.servers, name, *member, may_crash=may_crash)
        for member in (
            ("classic-1", old, "classic"),
            ("classic-2", old, "classic"),
            ("consumer-1", new, "consumer"),
        )
    ]
    for reader in readers:
        stack.enter_context(reader)
    sizes = [load.PARTITIONS // 2, load.PARTITIONS // 2, load.PARTITIONS]
    wait_until(
        lambda: [len(reader.seen.assignment) for reader in readers] == sizes,
        "every partition assigned",
        clients.SECONDS,
    )
    return readers


@pytest.mark.alone
def test_with_an_alias_no_client_notices(moved: MovingTopic, kafka: KafkaCluster) -> None:
    """All clients continue under the first name, which is the topic's name and its alias in
    turn."""
    until = _in_an_hour()
    patient = load.PATIENT_MS

    def first() -> str:
        return moved.first

    with ExitStack() as stack:
        readers = _members(stack, moved, first)
        rebalances = [reader.seen.rebalances for reader in readers]
        steady = stack.enter_context(load.IdempotentSender(moved.servers, first, "steady", patient))
        atomic = stack.enter_context(
            load.TransactionalSender(
                moved.servers, first, f"{moved.flat}-atomic", patient, lambda: moved.count
            )
        )
        for _ in range(MOVES):
            time.sleep(random.uniform(0.05, 0.4))
            moved.move(**{"gateway.alias.until": until})
        for sender in (steady, atomic):
            sender.stop()
        log = load_checks.stored(kafka.bootstrap_servers, moved.flat)
        groups = (readers[:2], readers[2:])
        for members in groups:
            load_checks.await_all_read(moved.servers, members, log)
        assert [reader.seen.rebalances for reader in readers] == rebalances
        for reader in readers:
            reader.stop()

    for sender in (steady, atomic):
        assert sender.errors == [], sender.who
    for reader in readers:
        assert reader.errors == [], reader.who
    assert steady.sent.failed == []
    assert atomic.sent.unknown == []
    assert atomic.sent.spanned >= MOVES // 5
    for sender in (steady, atomic):
        load_checks.check_answered(sender)
        load_checks.check_log(log, sender)
    for members in groups:
        assert load_checks.read_by(members) == log
    _check_positions(moved, groups)


@pytest.mark.alone
def test_without_an_alias_clients_fail_loudly_and_go_on_under_the_new_name(
    moved: MovingTopic, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some clients use the new name after an error; one keeps the first name, which comes and goes.

    If a client crashes by a fault of its own, it starts again, and this test reports it.
    """
    hasty, servers = load.HASTY_MS, moved.servers
    with ExitStack() as stack:
        readers = _members(stack, moved, moved.name, may_crash=True)
        senders: list[load.Sender] = [
            load.IdempotentSender(servers, moved.name, "steady", hasty, may_crash=True),
            load.IdempotentSender(servers, lambda: moved.first, "stubborn", hasty, may_crash=True),
            load.TransactionalSender(
                servers,
                moved.name,
                f"{moved.flat}-atomic",
                hasty,
                lambda: moved.count,
                may_crash=True,
            ),
        ]
        for sender in senders:
            stack.enter_context(sender)
        for turn in range(MOVES):
            # Sometimes the name is gone for as long as a producer retries a record.
            time.sleep(random.uniform(0.05, 0.5) if turn % 5 else 2 * hasty / 1_000)
            moved.move()
        time.sleep(2 * hasty / 1_000)
        for sender in senders:
            sender.stop()
        log = load_checks.stored(kafka.bootstrap_servers, moved.flat)
        groups = (readers[:2], readers[2:])
        for members in groups:
            load_checks.await_all_read(moved.servers, members, log)
        for reader in readers:
            reader.stop()

    crashes = [crash for sender in senders for crash in sender.crashes]
    crashes += [crash for reader in readers for crash in reader.crashes]
    with capsys.disabled():  # a test that passes nevertheless must not hide them
        for crash in crashes:
            print(f"\n{crash}")
    for sender in senders:
        assert sender.sent.failed, f"{sender.who} noticed nothing"
        assert sender.errors, sender.who
        assert sender.sent.acknowledged[-1] > sender.sent.failed[0], f"{sender.who} did not go on"
        load_checks.check_answered(sender)
        load_checks.check_log(log, sender)
    for reader in readers:
        assert reader.errors, f"{reader.who} noticed nothing"
        load_checks.check_starts(log, reader)
    _check_positions(moved, groups)


def _check_positions(
    moved: MovingTopic, groups: Sequence[Sequence[load_readers.GroupReader]]
) -> None:
    """Check that a consumer that joins under the topic's present name reads only new records."""
    clients.produce(moved.servers, moved.name(), ["new"])
    for members in groups:
        assert clients.consume(moved.servers, moved.name(), 1, members[0].group) == ["new"]


@pytest.mark.parametrize("moves", [True, False], ids=["moved", "two spellings"])
def test_a_producer_that_uses_two_names_loses_nothing(
    moved: MovingTopic, kafka: KafkaCluster, moves: bool
) -> None:
    """Acknowledged records are stored, even if the producer numbers each name's batches anew.

    The broker would take these batches for repetitions and acknowledge them without writing.
    """
    second = moved.first.replace(":", "..")
    if moves:
        second = f"{moved.ends[1]}:orders"
    acknowledged: list[str] = []
    patient = load.PATIENT_MS
    producer = Producer(
        clients.settings(moved.servers, enable_idempotence=True, message_timeout_ms=patient)
    )

    def send(name: str, value: str) -> None:
        def told(error: KafkaError | None, _: Message) -> None:
            if error is None:
                acknowledged.append(value)

        producer.produce(name, value, partition=0, on_delivery=told)
        assert producer.flush(clients.SECONDS) == 0

    for number in range(3):
        send(moved.first, f"first {number}")
    if moves:
        moved.move(**{"gateway.alias.until": _in_an_hour()})
    for number in range(3):
        send(second, f"second {number}")
    stored = [value for _, value in load_checks.stored(kafka.bootstrap_servers, moved.flat)[0]]
    assert stored[:3] == ["first 0", "first 1", "first 2"]
    assert stored == acknowledged
