"""docs/access.md: every row of its truth table, done with clients through a gateway.

``tests/docs/test_access.py`` decides the same rows by the authorizer, without a gateway.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from devkit.broker import KafkaCluster
from tests.docs import access_table
from tests.docs.access_table import ALLOWED, Row
from tests.live.access import actions, table_clients
from tests.live.support import authorized, clients
from tests.live.support.fixtures import own_kafka

ROWS = access_table.rows()
JAVA_ERRORS = {
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorizationException",
}
"""The tools' names of errors."""


kafka = own_kafka()
"""A broker of this file's own, because the table's names are not unique."""


@pytest.fixture(scope="module")
def servers(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[bool, str]]:
    """The addresses of two gateways with the same catalog.

    The key is True for the gateway with ``allow.everyone.if.no.acl.found``.
    """
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    with contextlib.ExitStack() as stack:
        addresses = {}
        for everyone in (False, True):
            gateway = authorized.gateway(
                kafka.bootstrap_servers,
                listener,
                access_table.NAMESPACES,
                homes=access_table.HOMES,
                allow_everyone=everyone,
                gateway_id=f"gateway-{everyone}",
            )
            process = stack.enter_context(gateway)
            addresses[everyone] = process.bootstrap_servers(authorized.USERS_LISTENER)
        actions.make_world(addresses[False])
        yield addresses


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(servers: Mapping[bool, str], row: Row) -> None:
    """Each row's action is done with confluent-kafka."""
    address = servers[row.everyone]
    with actions.only(address, row):
        assert actions.answer(address, row) == row.answer


@pytest.mark.parametrize(
    "row", [row for row in ROWS if table_clients.is_about_records(row)], ids=str
)
async def test_row_with_aiokafka(servers: Mapping[bool, str], row: Row) -> None:
    address = servers[row.everyone]
    with actions.only(address, row):
        assert await table_clients.aiokafka_answer(address, row) == row.answer


@pytest.mark.parametrize("row", [row for row in ROWS if table_clients.is_for_tools(row)], ids=str)
def test_row_with_kafka_s_tools(servers: Mapping[bool, str], row: Row, tmp_path: Path) -> None:
    address = servers[row.everyone]
    with actions.only(address, row):
        result = table_clients.java_answer(address, row, tmp_path)
    assert row.answer in (ALLOWED, *JAVA_ERRORS)
    said = result.stdout + result.stderr
    if row.answer == ALLOWED:
        assert result.returncode == 0, said
    else:
        assert JAVA_ERRORS[row.answer] in said


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_regex_finds_what_may_be_described(servers: Mapping[bool, str], protocol: str) -> None:
    """Whether the client evaluates the regex, by a listing, or the gateway does (KIP-848)."""
    address = servers[False]
    alice = {"group_protocol": protocol, **authorized.login("alice")}
    with (
        actions.only(address, ROWS[1]),  # she may read org:orders, and no other topic
        clients.consumer(address, actions.READERS, **alice) as client,
    ):
        client.subscribe(["^(org:|orders).*"])
        (record,) = clients.take(client, 1)
        assert record.topic() == "org:orders"
        assert {partition.topic for partition in client.assignment()} == {"org:orders"}
