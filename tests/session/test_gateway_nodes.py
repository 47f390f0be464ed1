"""Gateways among the brokers of a response, and requests to the node of a gateway."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.apis.table import APIS, put_around
from gateway.catalog.entities import Member
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, NOT_LEADER_OR_FOLLOWER
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.fleet.node_handlers import AROUND
from protocol.schema import api_key_of
from tests.session.pair import Pair, topic_id
from tests.session.samples import request, response

MEMBERS = [
    Member("gw-a", 1, {"test": "a.example:9201"}),
    Member("gw-b", 2, {"test": "b.example:9202"}),
]
GATEWAYS = [(2**30 + 1, "b.example", 9202, None), (2**30 + 2, "b.example", 9202, None)]
"""The gateways that gw-a lists: itself at the other gateway's address."""


def fleet(members: int = 2, *, on_gateway_node: bool = False) -> Pair:
    """A session of a listener that lists gateways."""
    pair = Pair(topics=["team-a..t"], node_ids=["1-9"])
    pair.log.append(MEMBERS[:members])
    put_around(AROUND)
    pair.worker.listed_gateways = GatewayNodes("gw-a", ["test"]).at
    pair.session.state.on_gateway_node = on_gateway_node
    return pair


def versions(api: str) -> list[int]:
    """The versions of an API that the gateway serves."""
    row = APIS[api_key_of(f"{api}Request")]
    return [*range(row.first, row.last + 1)]


def answered(pair: Pair, api: str, version: int) -> Any:
    """The response to a request for topic t, from a broker that fills every field."""
    pair.ask(api, version, request(api, version, "team-a:t", topic_id(1)))
    sent = 4 if pair.asked_as is None else pair.asked_as
    entity = response(api, sent, "team-a..t", topic_id(1), "team-a..t")
    return pair.reply(api, version, entity, sent=sent)


def answered_here(api: str, version: int) -> Any:
    """The response to a request at the node of a gateway, which reaches no broker."""
    pair = fleet(on_gateway_node=True)
    assert pair.ask(api, version, request(api, version, "team-a:t", topic_id(1))) is None
    return pair.answer(api, version)


def nodes(brokers: Any, key: str) -> list[tuple[int, str, int, str | None]]:
    """The nodes of a response."""
    return [(getattr(one, key), one.host, one.port, getattr(one, "rack", None)) for one in brokers]


@pytest.mark.parametrize("version", versions("Metadata"))
def test_metadata_lists_them_behind_the_brokers(version: int) -> None:
    alone, told = answered(fleet(1), "Metadata", version), answered(fleet(), "Metadata", version)
    brokers = nodes(alone.brokers, "node_id")
    assert brokers
    assert nodes(told.brokers, "node_id") == brokers + GATEWAYS
    assert replace(told, brokers=alone.brokers) == alone, "nothing else changes"


@pytest.mark.parametrize("version", versions("DescribeCluster"))
def test_descriptions_list_them_behind_the_brokers(version: int) -> None:
    def described(pair: Pair, code: int = 0) -> Any:
        entity = request("DescribeCluster", version, "t", topic_id(1))
        pair.ask("DescribeCluster", version, entity)
        answer = response("DescribeCluster", version, "t", topic_id(1), "")
        return pair.reply(
            "DescribeCluster",
            version,
            replace(answer, error_code=type(answer.error_code)(code), error_message=None),
        )

    alone, told = described(fleet(1)), described(fleet())
    assert nodes(told.brokers, "broker_id") == nodes(alone.brokers, "broker_id") + GATEWAYS
    assert replace(told, brokers=alone.brokers) == alone
    failed = described(fleet(), CLUSTER_AUTHORIZATION_FAILED)
    assert nodes(failed.brokers, "broker_id") == nodes(alone.brokers, "broker_id")


def test_a_listener_that_lists_none_answers_as_before() -> None:
    pair = fleet()
    pair.worker.listed_gateways = GatewayNodes("gw-a", ["other"]).at
    assert answered(pair, "Metadata", 12) == answered(fleet(1), "Metadata", 12)


@pytest.mark.parametrize("version", versions("ListGroups"))
def test_a_gateways_node_has_no_groups(version: int) -> None:
    told = answered_here("ListGroups", version)
    assert (told.error_code, told.groups) == (0, ())


@pytest.mark.parametrize("version", versions("ListTransactions"))
def test_a_gateways_node_has_no_transactions(version: int) -> None:
    told = answered_here("ListTransactions", version)
    assert (told.error_code, told.transaction_states) == (0, ())


@pytest.mark.parametrize("version", versions("DescribeLogDirs"))
def test_a_gateways_node_has_nothing_on_its_disks(version: int) -> None:
    told = answered_here("DescribeLogDirs", version)
    # If there are none, Java's admin client reports CLUSTER_AUTHORIZATION_FAILED.
    assert [(one.error_code, one.log_dir, one.topics) for one in told.results] == [
        (0, "gateway", ())
    ]


@pytest.mark.parametrize("version", versions("DescribeProducers"))
def test_a_gateways_node_leads_nothing(version: int) -> None:
    told = answered_here("DescribeProducers", version)
    (topic,) = told.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.error_code) == ("team-a:t", NOT_LEADER_OR_FOLLOWER)
    assert "stands for a gateway" in partition.error_message


@pytest.mark.parametrize(
    "api", ["ListGroups", "ListTransactions", "DescribeLogDirs", "DescribeProducers"]
)
def test_other_nodes_answer_for_themselves(api: str) -> None:
    version = versions(api)[-1]
    assert fleet().ask(api, version, request(api, version, "team-a:t", topic_id(1))) is not None
