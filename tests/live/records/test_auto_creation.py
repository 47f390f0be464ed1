"""Producers that rely on auto-creation, in a namespace.

They are as quick as at a broker, and the namespace's rules apply. The broker of the live tests has
auto.create.topics.enable=true.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaProducer

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import by_hand, clients, java_tools, namespaces
from tests.live.support.wire import Wire

Names = Callable[[str], str]
Produce = Callable[[str, str], None]

MUCH_LONGER = 20.0
"""Seconds that the first record may take longer than at a broker, on a busy machine.

A client that waits for a topic in vain does so for 30 s or more.
"""

UNKNOWN_TOPIC = by_hand.UNKNOWN_TOPIC_OR_PARTITION


def _confluent(servers: str, topic: str) -> None:
    clients.produce(servers, topic, ["first"])


def _aiokafka(servers: str, topic: str) -> None:
    async def produce() -> None:
        async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
            await producer.send_and_wait(topic, b"first")

    asyncio.run(produce())


def _kafka_python(servers: str, topic: str) -> None:
    with closing(KafkaProducer(bootstrap_servers=servers)) as producer:
        assert producer.send(topic, b"first").get(clients.SECONDS).topic == topic


def _java(servers: str, topic: str) -> None:
    java_tools.console_produce(servers, topic, ["first"])


def _seconds(produce: Produce, servers: str, topic: str) -> float:
    began = time.monotonic()
    produce(servers, topic)
    return time.monotonic() - began


@pytest.mark.parametrize("produce", [_confluent, _aiokafka, _kafka_python, _java])
def test_the_first_record_creates_the_topic(
    produce: Produce, home_a: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("new")
    direct = _seconds(produce, kafka.bootstrap_servers, topic)
    at_home = _seconds(produce, home_a, topic)
    assert at_home < direct + MUCH_LONGER
    flat = f"team-a..{topic}"
    assert {topic, flat} <= kafka.topics()
    assert clients.consume(kafka.bootstrap_servers, flat, 1, unique("direct")) == ["first"]


@pytest.mark.parametrize("name", ["team-b:{}", "team-b..{}", "org:apache:kafka:{}"])
def test_in_any_namespace(name: str, colon: str, kafka: KafkaCluster, unique: Names) -> None:
    topic = name.format(unique("new"))
    clients.produce(colon, topic, ["first"])
    assert namespaces.flat(topic) in kafka.topics()


def test_it_is_as_the_namespace_says(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    """Child namespaces inherit configs, partitions, and whether topics are created at all."""
    root = unique("settings")
    settings = {"gateway.auto.create.topics.enable": "true", "gateway.num.partitions": "3"}
    namespaces.create(colon, f"{root}:deep:", configs={"retention.ms": "360000"})
    namespaces.alter(colon, f"{root}:", settings)
    told = namespaces.describe(colon, f"{root}:deep:")
    assert {key: told[key] for key in settings} == {
        key: (value, namespaces.DEFAULT) for key, value in settings.items()
    }
    topic = f"{root}:deep:new"
    clients.produce(colon, topic, ["first"])
    assert namespaces.describe(colon, topic)["retention.ms"] == ("360000", namespaces.INHERITED)
    partitions = clients.admin(colon).list_topics(topic, clients.SECONDS).topics[topic].partitions
    assert len(partitions) == 3

    namespaces.alter(colon, f"{root}:deep:", {"gateway.auto.create.topics.enable": "false"})
    off = f"{root}:deep:off"
    assert by_hand.metadata_codes(colon, 12, [off], allowed=True) == {off: UNKNOWN_TOPIC}
    _await_creation(colon, kafka, f"{root}:marker")
    assert namespaces.flat(off) not in kafka.topics()


def test_many_clients_ask_for_one_new_topic(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    topic = f"team-a:{unique('wanted')}"

    def ask(_: int) -> None:
        with Wire(colon) as wire:

            def is_there() -> bool:
                values = {"topics": [{"name": topic}], "allow_auto_topic_creation": True}
                (found,) = wire.ask("Metadata", 12, **values).topics
                assert int(found.error_code) in (0, UNKNOWN_TOPIC)
                return int(found.error_code) == 0

            wait_until(is_there, f"{topic} in Metadata", clients.SECONDS)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(ask, range(20)))
    assert namespaces.flat(topic) in kafka.topics()


def test_names_that_topics_were_moved_from_stay_empty(
    colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """If a producer has not noticed a move, neither old name may become a new, empty topic."""
    topic = unique("moved")
    names = [f"{namespace}:{topic}" for namespace in ("team-a", "team-b", "org:apache:kafka")]
    namespaces.create_topic(colon, kafka, names[0])
    for old, new in itertools.pairwise(names):
        namespaces.alter(colon, old, {"gateway.namespace": new.rpartition(":")[0]})
    codes = by_hand.metadata_codes(colon, 12, names, allowed=True)
    assert codes == {names[0]: UNKNOWN_TOPIC, names[1]: UNKNOWN_TOPIC, names[2]: 0}
    _await_creation(colon, kafka, f"team-a:{unique('marker')}")
    stored = {flat for flat in kafka.topics() if topic in flat}
    assert stored == {namespaces.flat(names[0])}


@pytest.mark.parametrize("version", [0, 3, 4, 12])
def test_a_slip_of_the_pen_makes_no_topic(
    legal: str, kafka: KafkaCluster, unique: Names, version: int
) -> None:
    name = f"{unique('nowhere')}..orders"
    namespace = name.removesuffix("..orders")
    codes = by_hand.metadata_codes(legal, version, [name], allowed=True)
    assert codes == {name: UNKNOWN_TOPIC}
    rejected = clients.admin(legal).create_topics([NewTopic(name, 1)])[name]
    assert clients.error_code(rejected) == namespaces.INVALID_TOPIC_EXCEPTION
    assert f"kafka-topics --create --topic {namespace}: " in clients.error_text(rejected)
    _await_creation(legal, kafka, f"team-a:{unique('marker')}")
    assert name not in kafka.topics()


def test_a_name_outside_of_namespaces_says_so(
    colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    name = f"{unique('nowhere')}..orders"
    namespaces.create(colon, f":{name}")
    clients.await_stored(kafka, name)
    clients.produce(colon, f":{name}-2", ["first"])
    assert f"{name}-2" in kafka.topics()


def test_clusters_that_have_such_names(kafka: KafkaCluster, unique: Names) -> None:
    """With clusters[].allow_namespace_like_topics, the gateway serves such names."""
    name = unique("nowhere") + "..orders"
    with GatewayProcess(
        kafka.bootstrap_servers,
        [Listener("legal", "every namespace", spelling="legal")],
        [],
        overrides=namespaces.namespace_like(kafka.bootstrap_servers),
    ) as gateway:
        servers = gateway.bootstrap_servers("legal")
        namespaces.create(servers, name)
        clients.produce(servers, f"{name}-2", ["first"])
    clients.await_stored(kafka, name, f"{name}-2")


def _await_creation(servers: str, kafka: KafkaCluster, name: str) -> None:
    """Request a topic until it is created: topics requested before it would exist by then."""
    clients.produce(servers, name, ["first"])
    clients.await_stored(kafka, namespaces.flat(name))
