"""Numbers and words without a meaning, in requests: a broker is the oracle of the error codes.

The broker has an authorizer, because without it there are no ACLs; its administrator and the
gateway's send the same requests. UNKNOWN (0) is left out in requests about ACLs, because a broker
then closes the connection.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final, NamedTuple

import pytest

from bench.record_batches import record_batch
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from protocol import messages
from protocol.schema import api_key_of
from tests.live.oracle import comparison
from tests.live.oracle.comparison import Pair, Values
from tests.live.support import authorized, clients
from tests.live.support.fixtures import own_users_gateway
from tests.live.support.secured_brokers import SecuredBrokers
from tests.live.support.wire import Wire
from tests.rules.samples import error_codes

TOPIC: Final = "unknown-numbers"
TIMEOUT: Final = timedelta(seconds=60)
NUMBERS: Final = (-1, 113)
TOPIC_RESOURCE: Final = 2
LITERAL: Final = 3
ANY: Final = 1

gateway = own_users_gateway(gateway_id="unknown-numbers")


class Sides(NamedTuple):
    """Connections of the administrator to a broker and to the gateway, and the topic's id at
    each."""

    pair: Pair
    ids: tuple[uuid.UUID, uuid.UUID]

    def codes(self, name: str, version: int, values: Values) -> tuple[list[int], list[int]]:
        """Every error code of the gateway's response, and of the broker's."""
        broker, through = (
            self._codes(wire, name, version, values, topic_id)
            for wire, topic_id in zip((self.pair.direct, self.pair.through), self.ids, strict=True)
        )
        return through, broker

    @staticmethod
    def _codes(
        wire: Wire, name: str, version: int, values: Values, topic_id: uuid.UUID
    ) -> list[int]:
        body = comparison.request_body(name, version, values, {TOPIC: topic_id})
        answer = wire.exchange(api_key_of(f"{name}Request"), version, body)
        return error_codes(messages.parse(f"{name}Response", version, answer))


def _await_coordinator(servers: str) -> None:
    """Look a group up, because the broker creates the topic of groups at the first lookup."""
    with Wire(servers) as wire:
        wait_until(
            lambda: not int(wire.ask("FindCoordinator", 0, key="app").error_code),
            "a coordinator",
            clients.SECONDS,
        )


@pytest.fixture(scope="module")
def sides(
    secured_brokers: SecuredBrokers, kafka: KafkaCluster, gateway: GatewayProcess
) -> Iterator[Sides]:
    oracle = secured_brokers.kafka
    for cluster in (oracle, kafka):
        clients.create(cluster.bootstrap_servers, TOPIC)
        clients.await_stored(cluster, TOPIC)
        clients.await_led(cluster.bootstrap_servers, TOPIC)
        _await_coordinator(cluster.bootstrap_servers)
    users = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    with Wire(oracle.bootstrap_servers) as direct, Wire(users) as through:
        authorized.prove(through, authorized.ADMIN)
        pair = Pair(kafka, direct, through, oracle.bootstrap_servers, users)
        yield Sides(pair, (comparison.id_of(direct, TOPIC), comparison.id_of(through, TOPIC)))


_ACL: Final[dict[str, object]] = {
    "resource_type": TOPIC_RESOURCE,
    "resource_name": TOPIC,
    "resource_pattern_type": LITERAL,
    "principal": "User:nobody",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_FILTER: Final[dict[str, object]] = {
    "resource_type_filter": ANY,
    "resource_name_filter": None,
    "pattern_type_filter": ANY,
    "principal_filter": "User:nobody",
    "host_filter": None,
    "operation": ANY,
    "permission_type": ANY,
}
_CREDENTIAL: Final[dict[str, object]] = {
    "name": "nobody",
    "iterations": 4096,
    "salt": b"12345678",
    "salted_password": b"1" * 32,
}
_CONFIG: Final[dict[str, object]] = {"name": "retention.ms", "value": "86400000"}


def _of_acls(number: int) -> Iterator[tuple[str, Values]]:
    for field in ("resource_type", "resource_pattern_type", "operation", "permission_type"):
        malformed = {**_ACL, "resource_name": ""}
        yield "CreateAcls", {"creations": [{**_ACL, field: number}]}
        yield "CreateAcls", {"creations": [malformed, {**_ACL, field: number}]}
    for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type"):
        yield "DescribeAcls", {**_FILTER, field: number}
        yield "DeleteAcls", {"filters": [{**_FILTER, field: number}]}
        yield "DeleteAcls", {"filters": [_FILTER, {**_FILTER, field: number}]}


def _of_configs(number: int) -> Iterator[tuple[str, Values]]:
    named = {"resource_name": TOPIC, "configs": [_CONFIG]}
    other, topic = ({"resource_type": kind, **named} for kind in (number, TOPIC_RESOURCE))
    described = {"resource_name": TOPIC, "configuration_keys": None}
    # A broker rejects resources beside such a resource as well (tests/live/fuzz/differences.py).
    yield "DescribeConfigs", {"resources": [{"resource_type": number, **described}]}
    yield "AlterConfigs", {"resources": [other]}
    yield "AlterConfigs", {"resources": [other, topic]}
    changed = {"name": "retention.ms", "value": "1", "config_operation": number}
    absent = {**topic, "resource_name": "no-such-topic"}
    yield "IncrementalAlterConfigs", {"resources": [other]}
    yield "IncrementalAlterConfigs", {"resources": [other, topic]}
    yield "IncrementalAlterConfigs", {"resources": [{**topic, "configs": [changed]}]}
    yield "IncrementalAlterConfigs", {"resources": [{**topic, "configs": [changed]}, absent]}


def _of_others(number: int) -> Iterator[tuple[str, Values]]:
    yield "FindCoordinator", {"key": "app", "coordinator_keys": ("app",), "key_type": number}
    deletion = {"name": "nobody", "mechanism": number}
    upsertion = {**_CREDENTIAL, "mechanism": number}
    yield "AlterUserScramCredentials", {"deletions": [deletion], "upsertions": []}
    yield "AlterUserScramCredentials", {"deletions": [], "upsertions": [upsertion]}
    yield "DescribeCluster", {"endpoint_type": number}
    component = {"entity_type": "user", "match_type": number, "match": "nobody"}
    yield "DescribeClientQuotas", {"components": [component]}
    partition = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    topic = {"name": TOPIC, "partitions": [partition]}
    yield "ListOffsets", {"replica_id": -1, "isolation_level": number, "topics": [topic]}
    partition = {"partition": 0, "partition_max_bytes": 1_000, "current_leader_epoch": -1}
    topic = {"topic": TOPIC, "topic_id": TOPIC, "partitions": [partition]}
    yield (
        "Fetch",
        {
            "replica_id": -1,
            "isolation_level": number,
            "max_bytes": 1_000,
            "session_epoch": -1,
            "topics": [topic],
        },
    )


def _words() -> Iterator[tuple[str, Values]]:
    for word in ("nonsense", ""):
        yield "ListGroups", {"states_filter": (word,)}
        yield "ListGroups", {"types_filter": (word,)}
        yield "ListTransactions", {"state_filters": (word,)}
    component = {"entity_type": "nonsense", "match_type": 0, "match": "nobody"}
    yield "DescribeClientQuotas", {"components": [component]}


def _produced() -> tuple[str, Values]:
    """A Produce request whose acks are not 0, 1 or -1."""
    partition = {"index": 0, "records": record_batch(1, 10)}
    topic = {"name": TOPIC, "topic_id": TOPIC, "partition_data": [partition]}
    return "Produce", {"acks": 5, "timeout": TIMEOUT, "topic_data": [topic]}


CASES: Final[list[tuple[str, Values]]] = [
    *(case for number in NUMBERS for case in _of_acls(number)),
    *(case for number in NUMBERS for case in _of_configs(number)),
    *(case for number in NUMBERS for case in _of_others(number)),
    *_words(),
    _produced(),
]


def _named(case: Any) -> str:
    return case if isinstance(case, str) else ""


@pytest.mark.parametrize(("name", "values"), CASES, ids=_named)
def test_codes_are_those_of_a_broker(sides: Sides, name: str, values: Values) -> None:
    """Codes are compared in every version that both sides serve."""
    versions = sides.pair.versions(name)
    assert versions
    for version in versions:
        got, expected = sides.codes(name, version, values)
        assert expected
        assert got == expected, f"v{version}"
