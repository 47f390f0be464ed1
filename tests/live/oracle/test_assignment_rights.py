"""A member of a KIP-848 group whose DESCRIBE on a topic is revoked, beside a broker with
StandardAuthorizer: the names of a heartbeat are authorized, the partitions of its assignment are
not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import pytest
from confluent_kafka.cimpl import NewPartitions, NewTopic

from devkit.broker import KafkaCluster
from devkit.broker_security import BrokerSecurity
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
from tests.live.support import authorized, by_hand, clients
from tests.live.support.wire import Wire

USER: Final = "alice"
NAME: Final = "kept"
"""Of the group and of the topic."""

DENIED: Final = 29
"""TOPIC_AUTHORIZATION_FAILED."""


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The addresses of the broker and of the gateway."""
    security = BrokerSecurity(
        plain_users=authorized.PASSWORDS, authorizer=True, super_users=authorized.SUPER_USERS
    )
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    with (
        KafkaCluster(security=security) as broker,
        KafkaCluster() as plain,  # the ACLs here would be those of other gateways' clients, too
        authorized.gateway(plain.bootstrap_servers, listener) as gateway,
    ):
        ours = gateway.bootstrap_servers(authorized.USERS_LISTENER)
        yield {"broker": broker.servers("SASL_PLAINTEXT"), "gateway": ours}


def allows(kind: ResourceType, operation: Operation) -> AclBinding:
    entry = AclEntry(f"User:{USER}", "*", operation, Permission.ALLOW)
    return AclBinding(ResourcePattern(kind, PatternType.LITERAL, NAME), entry)


class Member:
    """A member of the group, by hand."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.member_id = str(uuid4())
        self.epoch = 0

    def beat(self, *, names: list[str] | None = None) -> Any:
        """Send a heartbeat over a connection of its own, as after a failure. With ``names`` it has
        all of the member's state."""
        values: dict[str, Any] = {"topic_partitions": None}
        if names is not None:
            values = {"rebalance_timeout": timedelta(minutes=1), "topic_partitions": []}
        with Wire(self.address) as wire:
            authorized.prove(wire, USER)
            answer = wire.ask(
                "ConsumerGroupHeartbeat",
                1,
                group_id=NAME,
                member_id=self.member_id,
                member_epoch=self.epoch,
                instance_id=None,
                rack_id=None,
                subscribed_topic_names=names,
                subscribed_topic_regex=None,
                server_assignor=None,
                **values,
            )
        if not answer.error_code:
            self.epoch = answer.member_epoch
        return answer

    def assigned(self) -> dict[UUID, tuple[int, ...]] | None:
        """What the response to a heartbeat without names assigns."""
        answer = self.beat()
        assert not answer.error_code, answer
        if answer.assignment is None:
            return None
        parts = answer.assignment.topic_partitions
        return {each.topic_id: tuple(sorted(each.partitions)) for each in parts}


@pytest.mark.parametrize("side", ["broker", "gateway"])
def test_the_partitions_of_a_topic_that_may_not_be_described(
    sides: dict[str, str], side: str
) -> None:
    address = sides[side]
    admin = authorized.admin(address)
    create_topics(admin, [NewTopic(NAME, 1, 1)])
    describes = allows(ResourceType.TOPIC, Operation.DESCRIBE)
    authorized.add_acls(address, [allows(ResourceType.GROUP, Operation.READ), describes])
    with Wire(address) as wire:
        authorized.prove(wire, authorized.ADMIN)
        by_hand.await_coordinators(wire, [NAME], [])
    member = Member(address)
    wait_until(lambda: not member.beat(names=[NAME]).error_code, "it joins", clients.SECONDS)
    first = wait_until(lambda: member.beat(names=[NAME]).assignment, "a topic", clients.SECONDS)
    (topic,) = first.topic_partitions
    assert list(topic.partitions) == [0]

    authorized.delete_acl(address, describes)
    wait_until(lambda: member.beat(names=[NAME]).error_code == DENIED, "the loss", clients.SECONDS)
    (growth,) = admin.create_partitions([NewPartitions(NAME, 2)]).values()
    growth.result(clients.SECONDS)
    found = wait_until(member.assigned, "the new partition", clients.SECONDS)
    assert found == {topic.topic_id: (0, 1)}
