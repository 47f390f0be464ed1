"""Transactions in either cluster of a tree; a transaction across both is rejected."""

from __future__ import annotations

from datetime import timedelta

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire
from tests.live.tree.test_producer_ids import NOT_YET, TRANSACTIONAL, batch, producer_id

TOPIC_AUTHORIZATION_FAILED = 29
POLICY_VIOLATION = 44
OPERATION_NOT_ATTEMPTED = 55
GROUP_AUTHORIZATION_FAILED = 30

OWN, FAR = ("mine", "yours"), (":ny:tracking:mine", ":ny:tracking:yours")
COMMITTED = {"isolation_level": "read_committed"}


@pytest.fixture(scope="module")
def servers(tree: GatewayProcess) -> str:
    """The listener of Los Angeles, with topics in both clusters."""
    found = tree.bootstrap_servers("la")
    clients.create(found, *OWN, *FAR)
    clients.await_led(found, *OWN, *FAR)
    return found


def transactional(servers: str, name: str) -> Producer:
    """A producer whose transactions may begin."""
    producer = Producer(clients.settings(servers, transactional_id=name))
    producer.init_transactions(clients.SECONDS)
    return producer


@pytest.mark.parametrize(("volume", "topics"), [("", OWN), (":ny:tracking:", FAR)])
def test_a_transaction_in_either_cluster(
    servers: str, volume: str, topics: tuple[str, str]
) -> None:
    """Its records and offsets are visible once it is committed, not before."""
    source, target = topics
    clients.produce(servers, source, ["to be read"])
    group = f"{volume}copiers"
    producer = transactional(servers, f"{volume}copier")
    for value in ("aborted", "committed"):
        producer.begin_transaction()
        producer.produce(target, value)
        with clients.consumer(servers, group) as reader:
            reader.subscribe([source])
            clients.take(reader, 1)
            offsets = reader.position([TopicPartition(source, 0)])
            metadata = reader.consumer_group_metadata()
            producer.send_offsets_to_transaction(offsets, metadata, clients.SECONDS)
        end = producer.commit_transaction if value == "committed" else producer.abort_transaction
        end(clients.SECONDS)
    assert clients.consume(servers, target, 1, f"{volume}readers", **COMMITTED) == ["committed"]
    with clients.consumer(servers, group) as reader:
        (found,) = reader.committed([TopicPartition(source, 0)], clients.SECONDS)
    assert found.offset == 1


@pytest.mark.parametrize(("volume", "name"), [("", "java"), (":ny:tracking:", "java-far")])
def test_java_s_transactions_in_either_cluster(servers: str, volume: str, name: str) -> None:
    source, target = f"{volume}{name}-in", f"{volume}{name}-out"
    clients.create(servers, source, target)
    clients.await_led(servers, source, target)
    events = java_tools.round_trip(servers, source, target, f"{volume}{name}", f"{volume}{name}")
    read = [event["value"] for event in events if event["event"] == "read"]
    assert read == ["a", "c"]


def end_offset(cluster: KafkaCluster, topic: str) -> int:
    """A partition's end offset at its own cluster, which does not move unless a record is
    written."""
    with clients.consumer(cluster.bootstrap_servers, "nobody") as client:
        return int(client.get_watermark_offsets(TopicPartition(topic, 0), clients.SECONDS)[1])


def test_librdkafka_s_transaction_that_would_write_to_both_is_rejected(
    servers: str, ny: KafkaCluster
) -> None:
    """The error can be aborted, like a denied WRITE, and the producer continues.

    (If no partition was added before, Kafka has no transaction to abort, whatever topic is denied.)
    """
    clients.create(servers, "both")
    clients.await_led(servers, "both")
    producer = transactional(servers, "both")
    before = end_offset(ny, "mine")
    producer.begin_transaction()
    producer.produce("both", "aborted")
    assert producer.flush(clients.SECONDS) == 0
    producer.produce(FAR[0], "never")
    with pytest.raises(KafkaException) as failed:
        producer.commit_transaction(clients.SECONDS)
    assert failed.value.args[0].txn_requires_abort()
    producer.abort_transaction(clients.SECONDS)
    assert end_offset(ny, "mine") == before
    producer.begin_transaction()
    producer.produce("both", "after it")
    producer.commit_transaction(clients.SECONDS)
    assert clients.consume(servers, "both", 1, "both-readers", **COMMITTED) == ["after it"]


def added(wire: Wire, name: str, transacted: int, *topics: str) -> list[int]:
    """The error codes of adding a partition of each topic to a transaction."""

    def codes() -> list[int] | None:
        answer = wire.ask(
            "AddPartitionsToTxn",
            3,
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=transacted,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[{"name": topic, "partitions": [0]} for topic in topics],
        )
        found = {
            topic.name: int(topic.results_by_partition[0].partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
        }
        return None if NOT_YET & set(found.values()) else [found[topic] for topic in topics]

    result = wait_until(codes, "an answer of the coordinator", clients.SECONDS)
    assert result is not None
    return result


def test_partitions_of_another_volume_are_not_added(servers: str) -> None:
    with Wire(clients.leader_address(servers, OWN[0])) as wire:
        transacted = producer_id(wire, "adding")
        assert added(wire, "adding", transacted, OWN[0], FAR[0]) == [
            OPERATION_NOT_ATTEMPTED,
            TOPIC_AUTHORIZATION_FAILED,
        ]
        assert added(wire, "adding", transacted, OWN[0]) == [0]


@pytest.mark.parametrize("version", [7, 8, 12])
def test_a_transactional_batch_elsewhere_is_rejected_with_a_sentence(
    servers: str, ny: KafkaCluster, version: int
) -> None:
    """On the node of New York, a transactional id of Los Angeles is rejected.

    The test does not add the partition to the transaction before (as KIP-890 allows).
    """
    before = end_offset(ny, "mine")
    at_la, at_ny = (clients.leader_address(servers, name) for name in (OWN[0], FAR[0]))
    name = f"writing-{version}"
    with Wire(at_la) as wire:
        transacted = producer_id(wire, name)
    with Wire(at_ny) as wire:
        records = batch(transacted, "never", 0, TRANSACTIONAL)
        answer = wire.ask(
            "Produce",
            version,
            transactional_id=name,
            acks=-1,
            timeout=timedelta(seconds=30),
            topic_data=[{"name": FAR[0], "partition_data": [{"index": 0, "records": records}]}],
        )
    (partition,) = answer.responses[0].partition_responses
    assert int(partition.error_code) == POLICY_VIOLATION
    if version >= 8:
        assert "volume" in partition.error_message
    assert end_offset(ny, "mine") == before


def test_a_group_of_another_volume_than_the_transactional_id_s(servers: str) -> None:
    with Wire(clients.leader_address(servers, OWN[0])) as wire:
        transacted = producer_id(wire, "offsets")
        answer = wire.ask(
            "AddOffsetsToTxn",
            3,
            transactional_id="offsets",
            producer_id=transacted,
            producer_epoch=0,
            group_id=":ny:tracking:readers",
        )
    assert int(answer.error_code) == GROUP_AUTHORIZATION_FAILED


def test_an_unmarked_batch_is_rejected_in_other_volumes(servers: str, ny: KafkaCluster) -> None:
    """An idempotent producer with a broker's unmarked id may belong to another volume."""
    before = end_offset(ny, "mine")
    with Wire(clients.leader_address(servers, FAR[0])) as wire:
        data = [{"name": FAR[0], "partition_data": [{"index": 0, "records": batch(7, "x", 0)}]}]
        answer = wire.ask(
            "Produce",
            9,
            transactional_id=None,
            acks=-1,
            timeout=timedelta(seconds=30),
            topic_data=data,
        )
    assert int(answer.responses[0].partition_responses[0].error_code) != 0
    assert end_offset(ny, "mine") == before
