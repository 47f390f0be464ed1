"""Stock clients with a group over two clusters, and the errors for operations that cannot be
done."""

from __future__ import annotations

import itertools
from contextlib import closing

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from kafka import KafkaConsumer

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.tree.group_tools import COUNT, described, fill, java_group, more, shadow_of

NY = ":ny:tracking:"


def test_javas_classic_consumer(tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster) -> None:
    servers = tree.bootstrap_servers("legal")
    topics = ["j1-here", "..ny.tracking.search..j1-there"]
    fill(servers, *topics, partitions=2)
    status, events = java_group(servers, "j1", topics, 4 * COUNT // 2)
    assert status == 0, events[-1]
    offsets = {each["topic"]: each["value"] for each in events if each["event"] == "offset"}
    assert offsets == {f"{topic}-{n}": str(COUNT) for topic in topics for n in (0, 1)}
    shadow = shadow_of(ny, "search..j1-there", 2)
    direct = described(la.bootstrap_servers, "j1")
    assert {key: row[0] for key, row in direct.items()} == {
        (topic, n): str(COUNT) for topic in ("j1-here", shadow) for n in (0, 1)
    }


def test_javas_consumer_of_kip_848(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    """The broker assigns partitions of a shadow, and the member reads those of the topic; another
    start of the group goes on from the offsets."""
    servers = tree.bootstrap_servers("legal")
    topics = ["j2-here", "..ny.tracking.search..j2-there"]
    fill(servers, *topics)
    status, events = java_group(servers, "j2", topics, 2 * COUNT, protocol="consumer")
    assert status == 0, events[-1]
    offsets = {each["topic"]: each["value"] for each in events if each["event"] == "offset"}
    assert offsets == {f"{topic}-0": str(COUNT) for topic in topics}
    shadow = shadow_of(ny, "search..j2-there", 2)
    direct = described(la.bootstrap_servers, "j2")
    assert {key: row[0] for key, row in direct.items()} == {
        (topic, 0): str(COUNT) for topic in ("j2-here", shadow)
    }
    shown = described(servers, "j2")
    assert shown == {(topic, 0): (str(COUNT), "0") for topic in topics}
    more(servers, *topics, count=1)
    status, events = java_group(servers, "j2", topics, 2, protocol="consumer")
    assert status == 0, events[-1]
    records = [each["topic"] for each in events if each["event"] == "record"]
    assert sorted(records) == sorted(topics), "it began behind the offsets"


def test_librdkafkas_consumer_of_kip_848(tree: GatewayProcess) -> None:
    """Two members share two topics of two clusters, one of which comes later."""
    servers = tree.bootstrap_servers("la")
    here, there = "l2-here", f"{NY}l2-there"
    fill(servers, here, partitions=2)
    settings = {"group.protocol": "consumer"}
    with (
        clients.consumer(servers, "l2", **settings) as first,
        clients.consumer(servers, "l2", **settings) as second,
    ):
        for client in (first, second):
            client.subscribe([here, there])
        seen: set[tuple[str | None, int | None, int | None]] = set()

        def read(count: int) -> bool:
            for client in (first, second):
                for record in client.consume(COUNT, timeout=0.5):
                    assert record.error() is None, record.error()
                    seen.add((record.topic(), record.partition(), record.offset()))
            return len(seen) >= count

        wait_until(lambda: read(2 * COUNT), "the records here", clients.SECONDS, poll=0)
        fill(servers, there, partitions=2)
        wait_until(lambda: read(4 * COUNT), "the records there", clients.SECONDS, poll=0)
        held = [{part.topic for part in client.assignment()} for client in (first, second)]
    assert seen == {
        (topic, n, at) for topic in (here, there) for n in (0, 1) for at in range(COUNT)
    }
    assert held[0] | held[1] == {here, there}
    assert all(held)


def test_a_transaction_reads_elsewhere_and_writes_at_home(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    servers = tree.bootstrap_servers("legal")
    topics = ["j3-here", "..ny.tracking..j3-there"]
    fill(servers, *topics)
    clients.create(servers, "j3-out")
    status, events = java_group(
        servers, "j3", topics, 2 * COUNT, transactional_id="j3", output="j3-out"
    )
    assert status == 0, events[-1]
    copied = clients.consume(
        la.bootstrap_servers, "j3-out", 2 * COUNT, "direct", isolation_level="read_committed"
    )
    assert sorted(copied) == sorted(f"{topic} {n}" for topic in topics for n in range(COUNT))
    direct = described(la.bootstrap_servers, "j3")
    shadow = shadow_of(ny, "j3-there", 2)
    assert {key: row[0] for key, row in direct.items()} == {
        ("j3-here", 0): str(COUNT),
        (shadow, 0): str(COUNT),
    }


@pytest.mark.parametrize(
    ("group", "transactional_id", "output", "error"),
    [
        ("j4", "j4", "..ny.tracking..j4-out", "keeps to one volume"),
        ("j4", "..ny.tracking..j4", "..ny.tracking..j4-out", "GroupAuthorizationException"),
        ("..ny.tracking..j4", "j4", "j4-out", "GroupAuthorizationException"),
    ],
)
def test_a_transaction_keeps_to_one_volume(
    tree: GatewayProcess,
    la: KafkaCluster,
    ny: KafkaCluster,
    group: str,
    transactional_id: str,
    output: str,
    error: str,
) -> None:
    servers = tree.bootstrap_servers("legal")
    if "j4-here" not in la.topics():
        fill(servers, "j4-here", "..ny.tracking..j4-there", count=2)
        clients.create(servers, "j4-out", "..ny.tracking..j4-out")
    status, events = java_group(
        servers,
        group + str(len(error)),
        ["j4-here", "..ny.tracking..j4-there"],
        4,
        transactional_id=transactional_id,
        output=output,
    )
    assert status == 1
    failed = [each["topic"] + each["value"] for each in events if each["event"] == "error"]
    assert any(error in each for each in failed), failed


async def test_aiokafka(tree: GatewayProcess, la: KafkaCluster) -> None:
    servers = tree.bootstrap_servers("la")
    topics = ["a1-here", f"{NY}a1-there"]
    fill(servers, *topics)
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    for expected in (COUNT, 0):
        client = AIOKafkaConsumer(*topics, bootstrap_servers=servers, group_id="a1", **settings)
        await client.start()
        try:
            if expected:
                for _ in range(2 * COUNT):
                    await client.getone()
                await client.commit()
            for topic in topics:
                assert await client.committed(AioPartition(topic, 0)) == COUNT
        finally:
            await client.stop()
    assert sorted(row[0] for row in described(la.bootstrap_servers, "a1").values()) == [
        str(COUNT),
        str(COUNT),
    ]


def test_kafka_python(tree: GatewayProcess, la: KafkaCluster) -> None:
    servers = tree.bootstrap_servers("legal")
    topics = ["k1-here", "..ny.tracking..k1-there"]
    fill(servers, *topics)
    settings = {
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "consumer_timeout_ms": 60_000,
    }
    with closing(
        KafkaConsumer(*topics, bootstrap_servers=servers, group_id="k1", **settings)
    ) as client:
        assert len(list(itertools.islice(client, 2 * COUNT))) == 2 * COUNT
        client.commit()
        assert {part.topic for part in client.assignment()} == set(topics)
        for part in client.assignment():
            assert client.committed(part) == COUNT
    assert sorted(row[0] for row in described(la.bootstrap_servers, "k1").values()) == [
        str(COUNT),
        str(COUNT),
    ]
