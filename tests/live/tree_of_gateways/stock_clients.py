"""The same work by each of the stock clients, over topics of several volumes.

A work creates topics, changes a config of each, writes to all with an idempotent producer, reads
all as a member of a classic group, and commits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Partition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ResourceType,
)
from confluent_kafka.admin import ConfigResource as Resource

from devkit import java
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools

RETENTION: Final = "retention.ms"


@dataclass
class Worked:
    """A client's results, by topic: the config, the values that it read, the committed offset."""

    configs: dict[str, str] = field(default_factory=dict)
    read: dict[str, list[str]] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)

    def note(self, topic: str, value: str) -> None:
        """Note a record."""
        self.read.setdefault(topic, []).append(value)


Work = Callable[[str, str, Sequence[str], int], Worked]
"""Parameters: an address, a group, the topics, and a number of records for each."""


def expected(topics: Sequence[str], count: int) -> Worked:
    """The expected results of a work; the records are the numbers from 0 on."""
    values = [str(number) for number in range(count)]
    return Worked(retentions(topics), dict.fromkeys(topics, values), dict.fromkeys(topics, count))


def retentions(topics: Sequence[str]) -> dict[str, str]:
    """The config for each topic, different for each."""
    return {topic: str(1_000_000 + number) for number, topic in enumerate(topics)}


def librdkafka(servers: str, group: str, topics: Sequence[str], count: int) -> Worked:
    """The work by confluent-kafka."""
    clients.create(servers, *topics)
    clients.await_led(servers, *topics)
    worked = Worked(altered(servers, retentions(topics)))
    write(servers, topics, count)
    with clients.consumer(servers, group) as client:
        client.subscribe(list(topics))
        for record in clients.take(client, count * len(topics)):
            worked.note(record.topic() or "", (record.value() or b"").decode())
        client.commit(asynchronous=False)
        asked = [Partition(topic, 0) for topic in topics]
        for each in client.committed(asked, timeout=clients.SECONDS):
            worked.committed[each.topic] = each.offset
    return worked


def altered(servers: str, wanted: dict[str, str]) -> dict[str, str]:
    """Change the config of these topics; the values, once they are described as changed."""
    admin = clients.admin(servers)

    def resource(topic: str, value: str) -> Resource:
        change = ConfigEntry(RETENTION, value, incremental_operation=AlterConfigOpType.SET)
        return Resource(ResourceType.TOPIC, topic, incremental_configs=[change])

    changes = [resource(topic, value) for topic, value in wanted.items()]
    for future in admin.incremental_alter_configs(changes).values():
        future.result(clients.SECONDS)
    wait_until(lambda: described(servers, list(wanted)) == wanted, "the configs", clients.SECONDS)
    return described(servers, list(wanted))


def described(servers: str, topics: Sequence[str]) -> dict[str, str]:
    """The config of each topic, as its cluster or a gateway describes it."""
    asked = [Resource(ResourceType.TOPIC, topic) for topic in topics]
    found = clients.admin(servers).describe_configs(asked)
    return {
        one.name: future.result(clients.SECONDS)[RETENTION].value for one, future in found.items()
    }


def write(servers: str, topics: Sequence[str], count: int) -> None:
    """Write to all topics in turn, by a single idempotent producer."""
    problems: list[str] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            problems.append(str(error))

    producer = Producer(clients.settings(servers, enable_idempotence=True, linger_ms=0))
    for number in range(count):
        for topic in topics:
            producer.produce(topic, str(number), partition=0, on_delivery=delivered)
    assert producer.flush(clients.SECONDS) == 0
    assert not problems, problems[:5]


def aiokafka(servers: str, group: str, topics: Sequence[str], count: int) -> Worked:
    """The work by aiokafka."""
    return asyncio.run(_aiokafka(servers, group, topics, count))


async def _aiokafka(servers: str, group: str, topics: Sequence[str], count: int) -> Worked:
    worked = Worked(await _administer(servers, topics))
    producer = AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True)
    await producer.start()
    try:
        sent = [
            await producer.send(topic, str(number).encode(), partition=0)
            for number in range(count)
            for topic in topics
        ]
        await asyncio.gather(*sent)
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(
        *topics, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest",
        enable_auto_commit=False,
    )  # fmt: skip
    await consumer.start()
    try:
        async with asyncio.timeout(clients.SECONDS):
            for _ in range(count * len(topics)):
                record = await consumer.getone()
                worked.note(record.topic, record.value.decode())
        await consumer.commit()
        for topic in topics:
            worked.committed[topic] = await consumer.committed(TopicPartition(topic, 0))
    finally:
        await consumer.stop()
    return worked


async def _administer(servers: str, topics: Sequence[str]) -> dict[str, str]:
    wanted = retentions(topics)
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        created = await admin.create_topics([NewTopic(topic, 1, 1) for topic in topics])
        codes = {name: code for name, code, *_ in created.topic_errors}
        assert codes == dict.fromkeys(topics, 0)
        async with asyncio.timeout(clients.SECONDS):
            while any(each["error_code"] for each in await admin.describe_topics([*topics])):
                await asyncio.sleep(0.05)
        changes = [
            ConfigResource(ConfigResourceType.TOPIC, topic, {RETENTION: value})
            for topic, value in wanted.items()
        ]
        for answer in await admin.alter_configs(changes):
            assert not any(code for code, *_ in answer.resources), answer
        asked = [
            ConfigResource(ConfigResourceType.TOPIC, topic, {RETENTION: ""}) for topic in topics
        ]
        async with asyncio.timeout(clients.SECONDS):
            while (found := _values(await admin.describe_configs(asked))) != wanted:
                await asyncio.sleep(0.05)
        return found
    finally:
        await admin.close()


def _values(answers: Sequence[Any]) -> dict[str, str]:
    """The value of the only requested config of each topic."""
    resources = [resource for answer in answers for resource in answer.resources]
    return {name: entries[0][1] for _, _, _, name, entries in resources}


def java_client(servers: str, group: str, topics: Sequence[str], count: int) -> Worked:
    """The work by Java's clients."""
    classes = java.compile_java(java_tools.SOURCES / "WorkOverVolumes.java")
    arguments = [servers, group, str(count), *topics]
    result = java.run_java("WorkOverVolumes", arguments, seconds=240, classes=classes)
    assert result.returncode == 0, f"{result.stdout[-2_000:]}\n{result.stderr[-2_000:]}"
    worked = Worked()
    for line in result.lines:
        event = json.loads(line)
        topic, value = event["topic"], event["value"]
        if event["event"] == "config":
            worked.configs[topic] = value
        elif event["event"] == "record":
            worked.note(topic, value)
        else:
            worked.committed[topic] = int(value)
    return worked


CLIENTS: Final[dict[str, Work]] = {
    "librdkafka": librdkafka,
    "aiokafka": aiokafka,
    "java": java_client,
}
