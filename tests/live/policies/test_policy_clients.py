"""The errors that stock clients report when a policy rejects a topic (KIP-108)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AioTopic
from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewTopic

from devkit import java
from devkit.broker import KafkaCluster
from tests.live.support import clients
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import Wire

Names = Callable[[str], str]

POLICY_VIOLATION = 44


POLICIES = {
    "namespaces": {"org": {"partitions": {"max": 3}}, "org:named": {"name_pattern": "[a-z]+"}}
}
gateway = own_gateway(namespaces=["org:named"], policies=POLICIES)


def rejection_text(name: str, partitions: int = 4) -> str:
    return (
        f"Topic '{name}' has {partitions} partitions, and at most 3 are allowed here"
        " (policies: partitions.max, set by namespace 'org')."
    )


def test_kafka_topics(servers: str, unique: Names) -> None:
    name = f"org:{unique('java')}"
    create = ["--bootstrap-server", servers, "--create", "--topic", name, "--partitions"]
    ended = java.run_java(java.TOPICS, [*create, "4"])
    assert ended.returncode != 0
    said = ended.stdout + ended.stderr
    assert f"PolicyViolationException: {rejection_text(name)}" in said
    assert java.run_java(java.TOPICS, [*create, "3"]).returncode == 0


def test_confluent_kafka(servers: str, unique: Names, kafka: KafkaCluster) -> None:
    """If a topic is rejected, the other topics of the request are still created."""
    stem = unique("rd")
    wanted = [NewTopic(f"org:{stem}-{n}", n, 1) for n in (2, 3, 4)]
    futures = clients.admin(servers).create_topics(wanted)
    with pytest.raises(KafkaException) as rejected:
        futures[f"org:{stem}-4"].result(clients.SECONDS)
    error = rejected.value.args[0]
    assert error.code() == POLICY_VIOLATION
    assert error.str() == rejection_text(f"org:{stem}-4")
    for n in (2, 3):
        futures[f"org:{stem}-{n}"].result(clients.SECONDS)
    clients.await_stored(kafka, f"org..{stem}-2", f"org..{stem}-3")
    assert f"org..{stem}-4" not in kafka.topics()


async def test_aiokafka(servers: str, unique: Names) -> None:
    name = f"org:named:{unique('x')}"
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        answer = await admin.create_topics([AioTopic(name, 4, 1)])
    finally:
        await admin.close()
    ((topic, code, message, *_),) = answer.topic_errors
    assert (topic, code) == (name, POLICY_VIOLATION)
    assert rejection_text(name) in message
    assert "name_pattern, set by namespace 'org:named'" in message


@pytest.mark.parametrize("version", [0, 1])
def test_by_hand(servers: str, unique: Names, version: int) -> None:
    """The message is there from v1 on, which can also request validation alone."""
    name = f"org:{unique('hand')}"
    topic = {"name": name, "num_partitions": 4, "replication_factor": 1}
    with Wire(servers) as wire:
        answer = wire.ask("CreateTopics", version, topics=[topic], timeout=timedelta(seconds=30))
        (one,) = answer.topics
        assert int(one.error_code) == POLICY_VIOLATION
        assert getattr(one, "error_message", None) == (rejection_text(name) if version else None)
        if version:
            fine = {**topic, "num_partitions": 3}
            values = {"topics": [fine], "timeout": timedelta(seconds=30), "validate_only": True}
            (one,) = wire.ask("CreateTopics", version, **values).topics
            assert int(one.error_code) == 0
