"""docs/moving-in.md, top to bottom: an application moves into a home and back.

It reads each record once. The test does in between the steps that the page leaves to the reader:
starting and stopping the application.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.java import TOOL_SCRIPTS
from devkit.waiting import wait_until
from tests.docs import guide
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.fixtures import own_gateway
from tests.live.support.namespaces import TOPIC_ALREADY_EXISTS

PAGE = "docs/moving-in.md"
OUTSIDE = "127.0.0.1:9192"
INSIDE = "127.0.0.1:9392"
GROUP = "app"

RECORDS = {"crm.calls": (3, 1670), "crm.mails": (1, 200)}
"""The number of partitions of each topic, and of the records in each when the application is
stopped."""
PARTITIONS = sum(partitions for partitions, _ in RECORDS.values())
ALL = sum(partitions * records for partitions, records in RECORDS.values())
LAST = 10
"""How many of these records each partition received after the topics were adopted."""


gateway = own_gateway(
    Listener("outside", "no home"),
    Listener("crm", "crm is home", home="crm"),
    namespaces=["crm"],
)
"""A gateway with the page's listeners."""


def make_home(servers: str) -> None:
    """Create the namespace ``crm``, even if another test has just deleted it."""

    def is_there() -> bool:
        error = namespaces.creation(servers, "crm:").exception(clients.SECONDS)
        return error is None or error.args[0].code() == TOPIC_ALREADY_EXISTS

    wait_until(is_there, "namespace crm", clients.SECONDS, poll=0.2)


def create(kafka: KafkaCluster, topic: str, partitions: int) -> None:
    """Create a topic at the broker.

    If the request arrives twice, the broker responds that the topic exists, although this client is
    the only one that knows its name.
    """
    wanted = [NewTopic(topic, partitions, 1)]
    (created,) = clients.admin(kafka.bootstrap_servers).create_topics(wanted).values()
    error = created.exception(clients.SECONDS)
    assert error is None or error.args[0].code() == TOPIC_ALREADY_EXISTS, error


def produce(kafka: KafkaCluster, first: int, counts: dict[str, int]) -> None:
    """Produce so many records to each partition of each topic; values count up from ``first``."""
    producer = Producer(clients.settings(kafka.bootstrap_servers, enable_idempotence=True))
    for topic, count in counts.items():
        for partition in range(RECORDS[topic][0]):
            for number in range(count):
                producer.produce(topic, str(first + number), partition=partition)
    assert producer.flush(clients.SECONDS) == 0


def read(servers: str, topics: list[str], count: int, protocol: str) -> list[tuple[str, int]]:
    """Run the application until it has read so many records: their topics and offsets."""
    more = {"group_protocol": protocol, "auto_offset_reset": "earliest"}
    with clients.consumer(servers, GROUP, **more) as client:
        client.subscribe(topics)
        records = clients.take(client, count)
        client.commit(asynchronous=False)
    return [(record.topic() or "", record.offset() or 0) for record in records]


def offsets(topic: str, first: int) -> set[tuple[str, int]]:
    """The topic with each offset of its last ``LAST`` records, from ``first`` on."""
    return {(topic, first + number) for number in range(LAST)}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_page(kafka: KafkaCluster, gateway: GatewayProcess, protocol: str) -> None:
    outside, inside = gateway.bootstrap_servers("outside"), gateway.bootstrap_servers("crm")
    addresses = {OUTSIDE: outside, INSIDE: inside}
    make_home(outside)
    assert not {*RECORDS} & kafka.topics()
    for topic, (partitions, _) in RECORDS.items():
        create(kafka, topic, partitions)
    clients.await_stored(kafka, *RECORDS)
    produce(kafka, 0, {topic: records - LAST for topic, (_, records) in RECORDS.items()})
    before = ALL - PARTITIONS * LAST
    assert len(read(outside, [*RECORDS], before, protocol)) == before

    for step in guide.steps(PAGE):
        words = [addresses.get(word, word) for word in step.words]
        if "--state" in words:
            # The application continues by the aliases until it is stopped.
            produce(kafka, before, dict.fromkeys(RECORDS, LAST))
            found = read(outside, [*RECORDS], PARTITIONS * LAST, protocol)
            assert {*found} == offsets("crm.calls", 1660) | offsets("crm.mails", 190)
        if "--undo" in words:
            # At its new address, it continues exactly from where it stopped.
            produce(kafka, ALL, dict.fromkeys(RECORDS, LAST))
            found = read(inside, ["calls", "mails"], PARTITIONS * LAST, protocol)
            assert {*found} == offsets("calls", 1670) | offsets("mails", 200)
        said = _run(words)
        assert said.status == step.status, f"{words}\n{said.out}\n{said.err}"
        printed = [" ".join(line.split()) for line in (said.out + said.err).splitlines()]
        for line in step.shown:
            shown = " ".join(line.replace(OUTSIDE, outside).split())
            assert any(shown in one for one in printed), f"{shown!r} is not in\n{said}"

    produce(kafka, ALL, dict.fromkeys(RECORDS, 1))
    assert len(read(outside, [*RECORDS], PARTITIONS, protocol)) == PARTITIONS
    # Delete everything, so that the page can be followed again.
    clients.done(clients.admin(kafka.bootstrap_servers).delete_topics([*RECORDS]))
    clients.await_gone(kafka, *RECORDS)
    groups = [GROUP, f"crm..{GROUP}"]
    clients.done(clients.admin(kafka.bootstrap_servers).delete_consumer_groups(groups))
    to = ["topics", "--bootstrap-server", outside]
    namespaces.command(*to, "--delete", "--namespace", "crm")  # waits until the namespace is gone


def _run(words: list[str]) -> namespaces.CommandResult:
    program, *rest = words
    if program == "kafka-gateway":
        return namespaces.attempt(*rest)
    ended = java_tools.server().run(TOOL_SCRIPTS[program], rest)
    return namespaces.CommandResult(ended.returncode, ended.stdout, ended.stderr)
