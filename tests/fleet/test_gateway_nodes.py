"""The nodes of gateways at a listener."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Member, Removal
from gateway.catalog.snapshot import Snapshot
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.rules.tree_brokers import Broker

FIRST = 2**30
BOTH = Snapshot().apply(
    [
        Member("gw-b", 2, {"all": "[::1]:9301", "other": "b.example:9302"}),
        Member("gw-a", 1, {"all": "a.example:9201"}),
    ],
    2,
)


def test_those_of_the_listener_in_the_order_of_their_numbers() -> None:
    nodes = GatewayNodes("gw-c", ["all"])
    assert nodes.at(BOTH, "all") == (
        Broker(FIRST + 1, "a.example", 9201, None),
        Broker(FIRST + 2, "::1", 9301, None),
    )


@pytest.mark.parametrize(
    ("own_id", "hosts"),
    [
        ("gw-a", ["b", "b", "c"]),
        ("gw-b", ["a", "c", "c"]),
        ("gw-c", ["a", "b", "a"]),
    ],
)
def test_a_gateway_is_at_the_next_ones_address_to_its_own_clients(
    own_id: str, hosts: list[str]
) -> None:
    members = [
        Member(f"gw-{one}", number, {"all": f"{one}:9201"})
        for number, one in enumerate("abc", start=1)
    ]
    nodes = GatewayNodes(own_id, ["all"]).at(Snapshot().apply(members, 3), "all")
    assert [one.node_id - FIRST for one in nodes] == [1, 2, 3]
    assert [one.host for one in nodes] == hosts


def test_one_alone_is_not_listed() -> None:
    nodes = GatewayNodes("gw-b", ["all", "other", "third"])
    assert nodes.at(BOTH, "other") == ()
    assert nodes.at(BOTH, "third") == ()
    assert nodes.at(Snapshot(), "all") == ()


def test_those_that_are_left_out() -> None:
    nodes = GatewayNodes("gw-a", ["all"])
    third = BOTH.apply([Member("gw-c", 3, {"all": "c.example:9401"})], 3)
    nodes.leave_out({"gw-b"})
    assert [one.host for one in nodes.at(third, "all")] == ["c.example", "c.example"]
    nodes.leave_out({"gw-b", "gw-c"})
    assert nodes.at(third, "all") == ()
    nodes.leave_out(set())
    assert [one.host for one in nodes.at(third, "all")] == ["::1", "::1", "c.example"]


@pytest.mark.parametrize(
    ("hung", "hosts"),
    [
        pytest.param({"gw-b"}, ["c", "c", "c"], id="its-node-is-at-the-next-that-lives"),
        pytest.param({"gw-c"}, ["b", "b", "b"], id="or-the-first-that-lives"),
        pytest.param({"gw-b", "gw-c"}, ["a", "b", "c"], id="all-others-hang-and-each-is-itself"),
        pytest.param(set(), ["b", "b", "c"], id="none-hangs"),
    ],
)
def test_nodes_of_gateways_that_hang(hung: set[str], hosts: list[str]) -> None:
    members = [
        Member(f"gw-{one}", number, {"all": f"{one}:9201"})
        for number, one in enumerate("abc", start=1)
    ]
    snapshot = Snapshot().apply(members, 3)
    nodes = GatewayNodes("gw-a", ["all"])
    nodes.at(snapshot, "all")
    nodes.lead_past(hung)
    found = nodes.at(snapshot, "all")
    assert [one.node_id - FIRST for one in found] == [1, 2, 3]
    assert [one.host for one in found] == hosts


def test_a_listener_without_a_gateway_port_lists_none() -> None:
    assert GatewayNodes("gw-a", ["other"]).at(BOTH, "all") == ()


def test_they_follow_the_catalog() -> None:
    nodes = GatewayNodes("gw-a", ["all"])
    assert len(nodes.at(BOTH, "all")) == 2
    third = BOTH.apply([Member("gw-c", 3, {"all": "c.example:9401"})], 3)
    assert [one.host for one in nodes.at(third, "all")] == ["::1", "::1", "c.example"]
    left = BOTH.apply([Removal(("member", "gw-b"))], 3)
    assert nodes.at(left, "all") == ()
    assert len(nodes.at(BOTH, "all")) == 2
