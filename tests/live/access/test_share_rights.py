"""Rights that a member of a share group loses: its consumer gets the errors that a broker gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
)
from confluent_kafka.admin import ResourceType as Type

from devkit.broker import KafkaCluster
from devkit.broker_security import jaas_config
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import authorized, clients, secured_brokers, share_workers
from tests.live.support.fixtures import own_users_gateway
from tests.live.support.secured_brokers import LITERAL, SecuredBrokers
from tests.live.support.share_workers import SLEEP_MS, Member

pytestmark = pytest.mark.long("kills")
"""Locks of records are outwaited."""

Names = Callable[[str], str]


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    """A broker with ACLs of its own, whose locks are short."""
    with SecuredBrokers(overrides=share_workers.QUICK) as secured:
        yield secured


@pytest.fixture(scope="module")
def kafka(brokers: SecuredBrokers) -> KafkaCluster:
    """The broker, where clients of PLAINTEXT, and so the gateway, are super users."""
    return brokers.kafka


gateway = own_users_gateway()

Right = tuple[Type, str, AclOperation]

QUICK_METADATA: Final = {"metadata.max.age.ms": "1000"}
"""So that the rights that a consumer gets back show soon."""


class Place:
    """Where alice works, as herself, and an administrator gives and takes her rights."""

    def __init__(self, servers: str, admin: AdminClient, password: str, topic: str) -> None:
        self._admin = admin
        self.topic = topic
        login = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": jaas_config("PLAIN", "alice", password),
        }
        more = {**QUICK_METADATA, **login}
        self.member = Member(topic, servers, topic, (topic,), SLEEP_MS, settings=more)
        self._rights: dict[str, Right] = {
            "read": (Type.TOPIC, topic, AclOperation.READ),
            "describe": (Type.TOPIC, topic, AclOperation.DESCRIBE),
            "group": (Type.GROUP, topic, AclOperation.READ),
        }

    def grant(self, *names: str) -> None:
        """Give rights, and wait until they are listed."""
        made = [
            AclBinding(kind, name, LITERAL, "User:alice", "*", what, AclPermissionType.ALLOW)
            for kind, name, what in self._of(names)
        ]
        for future in self._admin.create_acls(made).values():
            future.result(clients.SECONDS)
        for right in self._of(names):
            wait_until(lambda right=right: self._listed(right), "a right", clients.SECONDS)  # type: ignore[misc]

    def revoke(self, *names: str) -> None:
        """Take rights away, and wait until they are not listed any more."""
        for future in self._admin.delete_acls([*map(_filter, self._of(names))]).values():
            future.result(clients.SECONDS)
        for right in self._of(names):
            wait_until(lambda right=right: not self._listed(right), "its end", clients.SECONDS)  # type: ignore[misc]

    def _of(self, names: Iterable[str]) -> list[Right]:
        return [self._rights[name] for name in names]

    def _listed(self, right: Right) -> list[AclBinding]:
        found: list[AclBinding] = self._admin.describe_acls(_filter(right)).result(clients.SECONDS)
        return found


def _filter(right: Right) -> AclBindingFilter:
    kind, name, what = right
    user = "User:alice"
    return AclBindingFilter(kind, name, LITERAL, user, "*", what, AclPermissionType.ALLOW)


@pytest.fixture
def places(gateway: GatewayProcess, brokers: SecuredBrokers, unique: Names) -> tuple[Place, ...]:
    """The broker itself, and the gateway before it; each with a topic, where alice may do all."""
    direct, users = brokers.kafka, gateway.bootstrap_servers(authorized.USERS_LISTENER)
    found = (
        Place(
            direct.servers("SASL_PLAINTEXT"),
            clients.admin(direct.bootstrap_servers),
            secured_brokers.PASSWORDS["alice"],
            unique("plain"),
        ),
        Place(users, authorized.admin(users), authorized.PASSWORDS["alice"], unique("queue")),
    )
    for place in found:
        clients.create(direct.bootstrap_servers, place.topic)
        share_workers.from_the_beginning(direct, place.topic)
        place.grant("read", "describe", "group")
    return found


@pytest.mark.parametrize(
    ("taken", "error"),
    [
        (("read",), "TopicAuthorizationException"),
        (("read", "describe"), "TopicAuthorizationException"),
        (("group",), "GroupAuthorizationException"),
    ],
    ids=["read-of-topic", "all-of-topic", "group"],
)
def test_a_right_that_is_revoked(
    places: tuple[Place, ...],
    kafka: KafkaCluster,
    tmp_path: Path,
    taken: tuple[str, ...],
    error: str,
) -> None:
    """What is read, what fails and why, and what comes when the right is given back, is as at the
    broker. After an error of its group, a consumer is of no more use, and another takes over."""

    def produce(value: str) -> None:
        for place in places:
            share_workers.produce(kafka.bootstrap_servers, place.topic, [value])

    with share_workers.share_workers(tmp_path, *(place.member for place in places)) as workers:
        produce("one")
        for place in places:
            workers.await_values(place.topic, "accept", "one")
        produce("slow")
        for place in places:
            workers.await_values(place.topic, "take", "slow")
            place.revoke(*taken)
        for place in places:
            workers.await_values(place.topic, "failed", "slow")
            workers.await_true(lambda at=place.topic: error in workers.errors(at), error)  # type: ignore[misc]
        produce("two")
        if "group" not in taken:
            for place in places:
                place.grant(*taken)
            for place in places:
                workers.await_values(place.topic, "accept", "slow", "two")
    direct, here = (workers.told(place.topic) for place in places)
    assert here == direct
    assert here["failed", "slow", error] == here["take", "slow", ""] - ("group" not in taken) == 1
    assert here["take", "two", ""] == ("group" not in taken)
    direct_errors, errors = (workers.errors(place.topic) for place in places)
    assert errors == direct_errors
    if "group" in taken:
        others = tmp_path / "others"
        others.mkdir()
        with share_workers.share_workers(others, *(place.member for place in places)) as workers:
            for place in places:
                place.grant(*taken)
                workers.await_values(place.topic, "accept", "slow", "two")
