"""Principals of a volume's listeners in another volume: trust, its mapping, and users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import authorized, clients, sasl
from tests.live.support.wire import Wire
from tests.live.tree.authorized_tree import (
    ALICES,
    GUESTS,
    HIDDEN,
    PUBLIC,
    SCRAM,
    authorized_tree,
    scram_user,
)
from tests.live.tree.volumes import NY

ALLOWED, DENIED = 0, 29
"""NONE and TOPIC_AUTHORIZATION_FAILED."""
LEADER_NOT_AVAILABLE = 5

TOPICS = (HIDDEN, PUBLIC, ALICES, GUESTS)


@pytest.fixture(scope="module", params=[False, True], ids=["acls-alone", "everyone-without-acl"])
def gateway(
    request: pytest.FixtureRequest,
    acls_alone: GatewayProcess,
    authorized_pair: tuple[KafkaCluster, KafkaCluster],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    """The gateway; the second time, another gateway that allows everything if there is no ACL."""
    if not request.param:
        yield acls_alone
        return
    secrets = tmp_path_factory.mktemp("secrets")
    with authorized_tree(*authorized_pair, secrets, everyone=True) as process:
        yield process


@pytest.fixture
def open_to_all(gateway: GatewayProcess, request: pytest.FixtureRequest) -> bool:
    """Whether the volume allows every principal it knows everything on resources without ACLs."""
    return bool(request.node.callspec.params["gateway"])


def described(gateway: GatewayProcess, listener: str, user: str) -> list[int]:
    """The error codes of New York's topics for a user of a listener, in the order of TOPICS."""
    with Wire(gateway.bootstrap_servers(listener)) as wire:
        authorized.prove(wire, user)
        names = [f":{NY}:{topic}" for topic in TOPICS]

        def codes() -> dict[str, int] | None:
            answer: Any = wire.ask("Metadata", 9, topics=[{"name": name} for name in names])
            told = {topic.name: int(topic.error_code) for topic in answer.topics}
            return None if LEADER_NOT_AVAILABLE in told.values() else told

        # New York may take longer than the half second for which the gateway waits.
        found = wait_until(codes, "an answer of New York", clients.SECONDS)
    assert found is not None
    return [found[name] for name in names]


def test_without_trust_nobody_has_rights(gateway: GatewayProcess) -> None:
    for user in ("alice", "bob", authorized.ADMIN):
        assert described(gateway, "la", user) == [DENIED] * 4


def test_a_trusted_listener_s_principals_are_what_they_are_called(
    gateway: GatewayProcess, open_to_all: bool
) -> None:
    unlisted = ALLOWED if open_to_all else DENIED
    alice = [unlisted, ALLOWED, ALLOWED, DENIED]
    assert described(gateway, "trusted", "alice") == alice
    assert described(gateway, "trusted", "bob") == [unlisted, ALLOWED, DENIED, DENIED]
    assert described(gateway, "trusted", authorized.ADMIN) == [ALLOWED] * 4


def test_of_a_mapping_only_the_mapped_principals_count(
    gateway: GatewayProcess, open_to_all: bool
) -> None:
    unlisted = ALLOWED if open_to_all else DENIED
    assert described(gateway, "mapped", "alice") == [unlisted, ALLOWED, DENIED, ALLOWED]
    for user in ("bob", authorized.ADMIN):
        assert described(gateway, "mapped", user) == [DENIED] * 4


def test_records_of_another_volume_are_read_and_written_with_trust_alone(
    gateway: GatewayProcess,
) -> None:
    login, topic = authorized.login("alice"), f":{NY}:{ALICES}"
    servers = gateway.bootstrap_servers("trusted")
    clients.produce(servers, topic, ["one"], **login)
    codes = []
    with Wire(gateway.bootstrap_servers("la")) as wire:
        authorized.prove(wire, "alice")
        for name in (topic, f":{NY}:{HIDDEN}", f":{NY}:nothing"):
            data = [{"name": name, "partition_data": [{"index": 0, "records": b""}]}]
            answer: Any = wire.ask("Produce", 9, acks=-1, transactional_id=None, topic_data=data)
            codes.append(int(answer.responses[0].partition_responses[0].error_code))
    assert len(set(codes)) == 1
    assert codes[0] != ALLOWED


def test_a_user_of_one_catalog_is_nobody_in_another(gateway: GatewayProcess) -> None:
    """SCRAM credentials are in the catalog of the listener's volume."""
    scram_user(gateway.bootstrap_servers("ny"), "visitor")
    for listener, accepted in (("ny", True), ("la", False), ("trusted", False), ("narrow", False)):
        with Wire(gateway.bootstrap_servers(listener)) as wire:
            answer = sasl.log_in(wire, SCRAM, "visitor")
            assert (not answer.error_code) == accepted, listener


def test_acls_of_one_volume_are_shown_in_no_other(gateway: GatewayProcess) -> None:
    """The volume of an ACL's pattern stores the ACL."""
    filters = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1}
    with Wire(gateway.bootstrap_servers("la")) as wire:
        authorized.prove(wire, authorized.ADMIN)
        answer: Any = wire.ask("DescribeAcls", 3, **filters, permission_type=1)
    assert [resource.resource_name for resource in answer.resources] == ["own"]
