"""Java's Admin client calls each of its methods with the names of another tenant's things: the
answers are those that it gets where the things do not exist, and the things stay as they were."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import ConfigResource
from confluent_kafka.cimpl import NewTopic

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.topics import create_topics
from devkit.waiting import wait_until
from gateway.acl_model import (
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from tests.live.support import authorized, by_hand, clients, java_tools
from tests.live.support.fixtures import own_users_gateway

OWNER, NEIGHBOUR, CONFINED = "alice", "carol", "bob"

gateway = own_users_gateway(
    namespaces=["team-a", "team-b", "team-c"], homes={CONFINED: "team-b"}, gateway_id="isolating"
)

CHANGING: Final = re.compile(
    r"\d{9,}|correlationId=\d+|TimeoutException: [^}]*|finalizedFeaturesEpoch\S+"
)
"""What differs between two runs of the same calls: times, what a call that timed out waited for,
and the number of changes that a cluster has seen."""

MADE_AT_HOME: Final = frozenset(
    {"fenceProducers", "listTransactions", "createAcls", "deleteAcls", "describeAcls"}
)
"""Methods whose answers differ under a home, because the names are the caller's own there: to fence
an id makes one, with a new producer id, and an ACL is created while it is deleted."""


def grant(servers: str, user: str, namespace: str) -> None:
    """Allow a user everything in a namespace."""
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    entry = AclEntry(f"User:{user}", "*", Operation.ALL, Permission.ALLOW)
    patterns = [ResourcePattern(kind, PatternType.PREFIXED, f"{namespace}:") for kind in kinds]
    authorized.add_acls(servers, [AclBinding(pattern, entry) for pattern in patterns])


class Things:
    """A topic with a record and a config, a group's offset, and a transactional id, of team-a."""

    def __init__(self, servers: str, kafka: KafkaCluster, name: str) -> None:
        self.name = name
        self.topic, self.flat = f"team-a:{name}", f"team-a..{name}"
        self.id = f"team-a..{name}-id"
        self._servers, self._kafka = servers, kafka

    def make(self) -> None:
        """Create them, as their owner."""
        admin = authorized.admin(self._servers, OWNER)
        create_topics(admin, [NewTopic(self.topic, 1, 1, config={"retention.ms": "7777777"})])
        clients.await_stored(self._kafka, self.flat)
        login = authorized.login(OWNER)
        settings = dict(clients.settings(self._servers, **login))
        producer = Producer({**settings, "transactional.id": self.id})
        producer.init_transactions(clients.SECONDS)
        producer.begin_transaction()
        producer.produce(self.topic, b"secret")
        producer.commit_transaction(clients.SECONDS)
        offset = ConsumerGroupTopicPartitions(self.id, [TopicPartition(self.topic, 0, 1)])
        clients.done(admin.alter_consumer_group_offsets([offset]))

    def read(self) -> dict[str, Any] | None:
        """What the brokers have of them; None while the group's coordinator loads."""
        try:
            return self._state()
        except KafkaException:
            return None

    def _state(self) -> dict[str, Any]:
        admin = clients.admin(self._kafka.bootstrap_servers)
        described = admin.list_topics(timeout=clients.SECONDS).topics[self.flat]
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.flat)
        (configs,) = admin.describe_configs([resource]).values()
        wanted = ConsumerGroupTopicPartitions(self.id)
        (offsets,) = admin.list_consumer_group_offsets([wanted]).values()
        committed = offsets.result(clients.SECONDS).topic_partitions
        return {
            "partitions": sorted(described.partitions),
            "retention": configs.result(clients.SECONDS)["retention.ms"].value,
            "offsets": [(each.topic, each.partition, each.offset) for each in committed],
        }


def _written(topic_id: UUID) -> str:
    """An id as Java's Uuid.toString writes it."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def answers(
    directory: Path, servers: str, user: str, things: Things, topic_id: str
) -> dict[str, str]:
    """What each method of the Admin client returns to a user."""
    classes = java.compile_java(java_tools.SOURCES / "AdminOfAnother.java")
    config = authorized.command_config(directory, user)
    args = [str(config), servers, things.topic, topic_id, things.id, things.id]
    result = java.run_java("AdminOfAnother", args, seconds=240, classes=classes)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    found = {each["method"]: each["result"] for each in java_tools.events(result)}
    assert found.pop("missing") == "[]", "methods of Admin that are not called"
    return {
        method: CHANGING.sub("N", text.replace(things.name, "NAME"))
        for method, text in found.items()
    }


@pytest.mark.parametrize(
    "user", [NEIGHBOUR, pytest.param(CONFINED, marks=pytest.mark.long("kills"))]
)
def test_each_method_answers_as_if_nothing_were_there(
    user: str,
    gateway: GatewayProcess,
    kafka: KafkaCluster,
    unique: Callable[[str], str],
    tmp_path: Path,
) -> None:
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    authorized.delete_acls(servers)
    grant(servers, OWNER, "team-a")
    grant(servers, NEIGHBOUR, "team-c")
    grant(servers, CONFINED, "team-b")
    # Not the same names: a call under a home may make something of the caller's own there.
    missing = Things(servers, kafka, unique("missing"))
    nothing = answers(tmp_path, servers, user, missing, _written(uuid4()))
    things = Things(servers, kafka, unique("qzsecret"))
    things.make()
    before = wait_until(things.read, "the offsets of a new coordinator", clients.SECONDS)
    topic_id = by_hand.topic_id(kafka.bootstrap_servers, things.flat)
    found = answers(tmp_path, servers, user, things, _written(topic_id))
    assert things.read() == before
    by_id = {method for method in found if "by id" in method}
    # Some of the calls of a client with a home are outwaited: its topics do not exist.
    own = MADE_AT_HOME if user == CONFINED else frozenset()
    different = {
        method: (nothing[method], found[method])
        for method in found.keys() - by_id - own
        if nothing[method] != found[method]
    }
    assert not different
    # An id is no name: Kafka tells that it is denied, and never whose topic it is.
    assert not [method for method in by_id if "NAME" in found[method]]
