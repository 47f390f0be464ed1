"""DescribeCluster: only brokers, and only brokers with an address here."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.cluster import describe_cluster
from protocol import messages
from protocol.messages import element_class, make


def request(version: int, endpoint_type: int) -> bytes:
    cls = messages.message_class("DescribeClusterRequest", version)
    return messages.write(make(cls, {"endpoint_type": endpoint_type}))


def response(version: int) -> bytes:
    cls = messages.message_class("DescribeClusterResponse", version)
    broker = element_class(cls, "brokers")
    brokers = tuple(make(broker, {"broker_id": n, "host": "h", "port": n}) for n in (1, 2))
    return messages.write(make(cls, {"cluster_id": "c", "controller_id": 2, "brokers": brokers}))


def parsed(version: int, body: bytes) -> Any:
    return messages.parse("DescribeClusterResponse", version, body)


@pytest.mark.parametrize("version", range(3))
def test_brokers_may_be_asked_for(version: int) -> None:
    assert describe_cluster.rejection(version, request(version, 1)) is None


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("endpoint_type", "code"), [(2, 114), (0, 115), (9, 115)])
def test_anything_else_may_not(version: int, endpoint_type: int, code: int) -> None:
    rejection = describe_cluster.rejection(version, request(version, endpoint_type))
    assert rejection is not None
    assert rejection.code == code
    assert rejection.message


@pytest.mark.parametrize("version", range(3))
def test_brokers_without_an_address_are_not_shown(version: int) -> None:
    shown = parsed(version, describe_cluster.drop_brokers(version, response(version), {2}))
    assert [broker.broker_id for broker in shown.brokers] == [1]
    assert (shown.controller_id, shown.cluster_id) == (-1, "c")
    shown = parsed(version, describe_cluster.drop_brokers(version, response(version), {1}))
    assert [broker.broker_id for broker in shown.brokers] == [2]
    assert shown.controller_id == 2
