"""gateway.broker_names: a name for each broker, and which broker's name a client requested."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker_names import BrokerNames, UnknownName, is_host_name
from gateway.node_ids import FIRST_GATEWAY_ID, NodeIdRanges

PATTERN = "broker-{node_id}.kafka.example"
BOOTSTRAP = "kafka.example"


def names(pattern: str = PATTERN, bootstrap: str = BOOTSTRAP) -> BrokerNames:
    return BrokerNames(pattern, bootstrap, NodeIdRanges.parse(["1-3", "10"]))


def test_each_broker_has_its_name() -> None:
    assert [names().host(node) for node in (1, 10)] == [
        "broker-1.kafka.example",
        "broker-10.kafka.example",
    ]


def test_the_gateway_has_a_name_of_its_own() -> None:
    ranges = NodeIdRanges.parse(["1-3"])
    found = BrokerNames(PATTERN, BOOTSTRAP, ranges, "GW-A.kafka.example")
    assert found.node_id("gw-a.kafka.example.") == FIRST_GATEWAY_ID
    assert found.admits("gw-a.Kafka.example")
    assert found.node_id(BOOTSTRAP) is None
    assert not names().admits("gw-a.kafka.example")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gw a", "is no host name"),
        ("127.0.0.1", "is no host name"),
        ("Kafka.example", "is the bootstrap's name too"),
        ("broker-2.kafka.example", "is the name of a broker too"),
        ("broker-4711.kafka.example", "is the name of a broker too"),
    ],
)
def test_names_that_a_gateway_cannot_have(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        BrokerNames(PATTERN, BOOTSTRAP, NodeIdRanges.parse(["1-3"]), name)


@pytest.mark.parametrize(
    ("name", "node_id"),
    [
        ("broker-1.kafka.example", 1),
        ("broker-10.kafka.example", 10),
        ("BROKER-10.Kafka.Example", 10),  # names know no case (RFC 4343)
        ("broker-2.kafka.example.", 2),
        ("kafka.example", None),
        ("KAFKA.example.", None),
        (None, None),
    ],
)
def test_what_a_client_asked_for(name: str | None, node_id: int | None) -> None:
    assert names().node_id(name) == node_id
    assert names().admits(name)


@pytest.mark.parametrize(
    "name",
    [
        "broker-4.kafka.example",  # outside the ranges
        "broker-.kafka.example",
        "broker-01.kafka.example",
        "broker-+1.kafka.example",
        "broker- 1.kafka.example",
        "broker-1_0.kafka.example",
        "broker-\uff11.kafka.example",  # a digit, but not an ASCII one
        "broker--1.kafka.example",
        "broker-99999999999999999999.kafka.example",
        "broker-1.kafka.example.evil.example",
        "x.broker-1.kafka.example",
        "broker-1",
        "other.example",
        "127.0.0.1",
        "",
        ".",
    ],
)
def test_names_that_nobody_has(name: str) -> None:
    with pytest.raises(UnknownName):
        names().node_id(name)
    assert not names().admits(name)


def test_a_bootstrap_by_address_has_no_name() -> None:
    by_address = names(bootstrap="192.0.2.1")
    assert by_address.node_id(None) is None
    assert by_address.node_id("broker-1.kafka.example") == 1
    with pytest.raises(UnknownName):
        by_address.node_id("kafka.example")


@given(st.sets(st.integers(0, 16_777_215), min_size=1, max_size=20))
def test_name_and_node_are_each_others_reverse(nodes: set[int]) -> None:
    made = BrokerNames("b{node_id}.example", "example", NodeIdRanges.parse(sorted(nodes)))
    for node in nodes:
        assert made.node_id(made.host(node)) == node
        assert is_host_name(made.host(node))


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("broker.kafka.example", "must hold {node_id} once"),
        ("{node_id}.{node_id}.example", "must hold {node_id} once"),
        ("", "must hold {node_id} once"),
        ("broker_{node_id}.example", "gives no host names"),
        ("-{node_id}.example", "gives no host names"),
        ("{node_id}-.example", "gives no host names"),
        ("{node_id}..example", "gives no host names"),
        ("{node_id}.example.", "gives no host names"),
        ("{node_id}.exämple", "gives no host names"),
        ("a" * 62 + "{node_id}", "gives no host names"),  # 62 + "10": too long for a label
        ("{node_id}." + "a.b." * 63 + "c", "gives no host names"),
        ("{node_id}", None),
        ("127.0.0.{node_id}", "gives no host names"),  # SNI has no addresses
        ("a" * 61 + "{node_id}", None),
        ("Broker-{node_id}", None),
    ],
)
def test_patterns(pattern: str, problem: str | None) -> None:
    if problem is None:
        assert names(pattern).node_id(names(pattern).host(10)) == 10
    else:
        with pytest.raises(ValueError) as caught:
            names(pattern)
        assert str(caught.value).startswith(f"'{pattern}' {problem}")


def test_the_bootstrap_is_no_broker() -> None:
    with pytest.raises(ValueError) as caught:
        names(bootstrap="broker-2.kafka.example")
    assert str(caught.value) == (
        "'broker-2.kafka.example' is the name of broker 2 too; the bootstrap needs its own"
    )
    assert names(bootstrap="broker-7.kafka.example").node_id("broker-7.kafka.example") is None
