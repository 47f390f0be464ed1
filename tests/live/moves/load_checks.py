"""Checks of what clients under load did to a topic against the topic's records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition

from devkit.waiting import DeadlineError, wait_until
from tests.live.moves.load import PARTITIONS, Sender, TransactionalSender
from tests.live.moves.load_readers import SESSION_SECONDS, GroupReader, Log, parts
from tests.live.support import clients


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
                partition, offset, value = parts(message)
                log[partition].append((offset, value))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, str(error)
                ended.add(message.partition() or 0)
    finally:
        client.close()
    return log


def check_log(log: Log, sender: Sender) -> None:
    """Check that every acknowledged record of a sender is stored exactly once, in order.

    A record that failed may have been written all the same, unless its transaction was aborted.
    """
    acknowledged, failed = set(sender.sent.acknowledged), set(sender.sent.failed)
    for at, records in log.items():
        where = f"{sender.who}, partition {at}"
        split = [value.split(" ") for _, value in records]
        there = [int(number) for who, number in split if who == sender.who]
        wrong = [(one, other) for one, other in pairwise(there) if one >= other]
        assert not wrong, f"{where}: repeated or out of order: {wrong[:10]} and more"
        missing = {n for n in acknowledged if n % PARTITIONS == at} - set(there)
        assert not missing, f"{where}: lost {sorted(missing)[:10]} and more"
        if isinstance(sender, TransactionalSender):
            assert not failed & set(there), f"{where}: aborted records are read"


def check_answered(sender: Sender) -> None:
    """Check that every record has exactly one outcome."""
    sent = sender.sent
    assert sent.answered == sent.count, f"{sender.who}: {sent.answered} of {sent.count} records"
    assert {*sent.acknowledged, *sent.failed, *sent.unknown} == set(range(sent.count))


def read_by(readers: Sequence[GroupReader]) -> Log:
    """The records that the members of a group have read, member by member."""
    return {
        at: [record for reader in readers for record in reader.seen.records[at]]
        for at in range(PARTITIONS)
    }


def await_all_read(servers: str, readers: Sequence[GroupReader], log: Log) -> None:
    """Wait until the members of a group have read a whole log and committed it.

    A record may have been read twice if it could not be committed. Fails with the members' errors,
    or as a member does.
    """

    def done() -> bool:
        for reader in readers:
            reader.check()
        found = {at: sorted(set(records)) for at, records in read_by(readers).items()}
        return found == log and _committed_all(servers, readers[0], log)

    # If a member crashed, or left in the moment in which it was fenced (librdkafka then sends its
    # group nothing), it keeps its partitions to the end of its session.
    seconds = clients.SECONDS + SESSION_SECONDS
    try:
        wait_until(done, "all records", seconds)
    except DeadlineError as error:
        missing = {at: len(set(log[at]) - set(read_by(readers)[at])) for at in log}
        told = [(r.who, r.seen.assignment, r.seen.starts[-1], r.errors[-3:]) for r in readers]
        raise AssertionError(f"{readers[0].group} has not read {missing}: {told}") from error


def _committed_all(servers: str, reader: GroupReader, log: Log) -> bool:
    """Whether a reader's group has committed the last record of each partition."""
    name = reader.seen.starts[-1].name
    asked = ConsumerGroupTopicPartitions(reader.group, [TopicPartition(name, at) for at in log])
    found = clients.done(clients.admin(servers).list_consumer_group_offsets([asked]))
    return all(tp.offset > log[tp.partition][-1][0] for tp in found[reader.group].topic_partitions)


def check_starts(log: Log, reader: GroupReader) -> None:
    """Check that a reader continued after its group's committed offsets, if it knew them."""
    told = [start for start in reader.seen.starts if start.first.keys() & start.committed.keys()]
    assert told
    for start in told:
        for at in start.first.keys() & start.committed.keys():
            following = [offset for offset, _ in log[at] if offset >= start.committed[at]]
            assert start.first[at] == following[0], f"{reader.who}, {start.name}, partition {at}"
