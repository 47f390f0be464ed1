from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker_names import BrokerNames
from gateway.virtual_brokers import (
    MAX_CLUSTER_INDEX,
    MAX_NODE_ID,
    NO_NODE,
    ListenerAddresses,
    NodeIdRanges,
    split_virtual_node_id,
    virtual_node_id,
)

node_ids = st.integers(0, MAX_NODE_ID)


def test_the_first_cluster_keeps_the_ids_of_its_brokers() -> None:
    assert virtual_node_id(0, 0) == 0
    assert virtual_node_id(0, 1001) == 1001


def test_the_layout_is_cluster_then_24_bits_of_node_id() -> None:
    assert virtual_node_id(1, 0) == 0x01000000
    assert virtual_node_id(127, 0xABCDEF) == 0x7FABCDEF


@given(st.integers(0, MAX_CLUSTER_INDEX), node_ids)
def test_virtual_node_ids_can_be_split_and_are_positive_int32(cluster: int, node: int) -> None:
    virtual = virtual_node_id(cluster, node)
    assert 0 <= virtual < 2**31
    assert split_virtual_node_id(virtual) == (cluster, node)


@pytest.mark.parametrize("node_id", [-1, -2, MAX_NODE_ID + 1, 2**31 - 1])
def test_what_no_broker_can_be_is_no_node(node_id: int) -> None:
    assert virtual_node_id(0, node_id) == virtual_node_id(3, node_id) == NO_NODE


@pytest.mark.parametrize("cluster", [-1, 128])
def test_an_impossible_cluster_is_refused(cluster: int) -> None:
    with pytest.raises(ValueError, match=f"cluster index {cluster} is not in 0..127"):
        virtual_node_id(cluster, 1)


def test_no_node_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="names no broker"):
        split_virtual_node_id(NO_NODE)


def test_places_are_counted_through_the_ranges_as_configured() -> None:
    ranges = NodeIdRanges.parse(["10-12", "1", 7])
    assert ranges.size == 5
    assert list(ranges) == [10, 11, 12, 1, 7]
    assert [ranges.place(node) for node in (10, 11, 12, 1, 7)] == [0, 1, 2, 3, 4]
    assert [ranges.node_at(place) for place in range(5)] == [10, 11, 12, 1, 7]
    assert str(ranges) == "10-12, 1, 7"


@pytest.mark.parametrize("node_id", [-1, 0, 2, 9, 13])
def test_outside_the_ranges_there_is_no_place(node_id: int) -> None:
    assert NodeIdRanges.parse(["10-12", "1"]).place(node_id) is None


@pytest.mark.parametrize("place", [-1, 4, 100])
def test_beyond_the_last_place_there_is_no_node(place: int) -> None:
    assert NodeIdRanges.parse(["10-12", "1"]).node_at(place) is None


def test_spaces_are_allowed() -> None:
    assert list(NodeIdRanges.parse([" 1 - 3 ", " 5 "])) == [1, 2, 3, 5]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ([], "node_ids names no node id; give ranges such as 1-3"),
        (["one"], "node_ids 'one' is not a node id or a range such as 1-3"),
        (["1-"], "node_ids '1-' is not a node id or a range such as 1-3"),
        (["1-2-3"], "node_ids '1-2-3' is not a node id or a range such as 1-3"),
        (["1.5"], "node_ids '1.5' is not a node id or a range such as 1-3"),
        (["\u0661"], "node_ids '\u0661' is not a node id or a range such as 1-3"),
        ([True], "node_ids 'True' is not a node id or a range such as 1-3"),
        (["9" * 5000], f"node_ids '{'9' * 64}' is not a node id or a range such as 1-3"),
        (["-1"], "node_ids -1: a node id cannot be negative"),
        (["-3--1"], "node_ids -3--1: a node id cannot be negative"),
        (["3-1"], "node_ids 3-1 is reversed; write 1-3"),
        (["1-16777216"], "node_ids 1-16777216: the largest node id is 16777215"),
        (["1-3", "3-5"], "node_ids 1-3 and 3-5 overlap"),
        (["5-9", "1-5"], "node_ids 1-5 and 5-9 overlap"),
        (["1-9", "20", "4-5"], "node_ids 1-9 and 4-5 overlap"),
        ([7, "7"], "node_ids 7 and 7 overlap"),
    ],
)
def test_bad_ranges_are_refused_in_a_sentence(texts: list[str | int], sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        NodeIdRanges.parse(texts)
    assert str(refused.value) == sentence


@given(st.sets(st.integers(0, 60), min_size=1))
def test_place_and_node_are_each_others_reverse(nodes: set[int]) -> None:
    ranges = NodeIdRanges.parse(sorted(nodes, key=str))
    for node in range(62):
        place = ranges.place(node)
        assert (place is not None) == (node in nodes)
        if place is not None:
            assert 0 <= place < ranges.size
            assert ranges.node_at(place) == node


@pytest.mark.parametrize(("texts", "highest"), [(["1-3", "10"], 10), (["10", "1-3"], 10), ([7], 7)])
def test_the_highest_node_id(texts: list[str | int], highest: int) -> None:
    assert NodeIdRanges.parse(texts).highest == highest


def addresses(cluster_index: int = 0, **options: object) -> ListenerAddresses:
    ranges = NodeIdRanges.parse(["1-3", "10"])
    return ListenerAddresses("gw.example", 9100, ranges, cluster_index, **options)  # type: ignore[arg-type]


def test_a_broker_has_the_port_of_its_place() -> None:
    listener = addresses()
    assert [listener.port_of(node) for node in (1, 2, 3, 10)] == [9100, 9101, 9102, 9103]
    assert listener.ports() == {9100: 1, 9101: 2, 9102: 3, 9103: 10}


def test_an_endpoint_is_ready_for_the_wire() -> None:
    endpoint = addresses().endpoint(10)
    assert endpoint is not None
    assert (endpoint.host, endpoint.port, endpoint.node_id) == ("gw.example", 9103, 10)
    assert endpoint.host_legacy == b"\x00\x0agw.example"
    assert endpoint.host_compact == b"\x0bgw.example"
    assert endpoint.port_bytes == b"\x00\x00\x23\x8f"


def test_a_long_host_has_a_two_byte_compact_length() -> None:
    host = "a" * 200
    endpoint = ListenerAddresses(host, 9100, NodeIdRanges.parse([1]), 0).endpoint(1)
    assert endpoint is not None
    assert endpoint.host_compact == b"\xc9\x01" + host.encode()


def named(port: int = 9443) -> ListenerAddresses:
    ranges = NodeIdRanges.parse(["1-3", "10"])
    names = BrokerNames("b-{node_id}.gw.example", "gw.example", ranges)
    return ListenerAddresses("gw.example", port, ranges, names=names)


def test_with_names_all_brokers_are_at_one_port() -> None:
    listener = named()
    found = [listener.endpoint(node) for node in (1, 3, 10)]
    assert [(each.host, each.port, each.node_id) for each in found if each is not None] == [
        ("b-1.gw.example", 9443, 1),
        ("b-3.gw.example", 9443, 3),
        ("b-10.gw.example", 9443, 10),
    ]
    assert listener.ports() == {}
    assert listener.port_of(10) == 9443
    assert listener.endpoint(4) is None
    assert listener.outside == {4}


def test_a_name_is_ready_for_the_wire() -> None:
    endpoint = named().endpoint(10)
    assert endpoint is not None
    assert endpoint.host_legacy == b"\x00\x0fb-10.gw.example"
    assert endpoint.host_compact == b"\x10b-10.gw.example"
    assert endpoint.port_bytes == b"\x00\x00\x24\xe3"
    assert named().endpoint(10) == endpoint


def test_with_names_the_last_port_is_good() -> None:
    assert named(65_535).port_of(10) == 65_535
    with pytest.raises(ValueError):
        named(65_536)


def test_an_endpoint_is_made_once() -> None:
    listener = addresses()
    assert listener.endpoint(2) is listener.endpoint(2)


def test_an_endpoint_of_a_later_cluster_carries_it_in_the_node_id() -> None:
    endpoint = addresses(cluster_index=2).endpoint(10)
    assert endpoint is not None
    assert split_virtual_node_id(endpoint.node_id) == (2, 10)
    assert endpoint.port == 9103


def test_a_broker_outside_the_ranges_has_no_address_and_is_told_once() -> None:
    told: list[int] = []
    listener = addresses(on_outside=told.append)
    for node in (4, 11, 4):
        assert listener.endpoint(node) is None
        assert listener.port_of(node) is None
    assert listener.outside == {4, 11}
    assert told == [4, 11]


def test_no_broker_is_not_a_broker_outside_the_ranges() -> None:
    listener = addresses()
    assert listener.endpoint(NO_NODE) is None
    assert listener.outside == set()


def test_brokers_outside_are_remembered_up_to_a_limit() -> None:
    told: list[int] = []
    listener = addresses(on_outside=told.append)
    for node in range(100, 5000):
        assert listener.endpoint(node) is None
    assert len(listener.outside) == len(told) == 1000


@pytest.mark.parametrize(
    ("host", "port", "sentence"),
    [
        ("", 9100, "advertised host '' must have 1 to 253 characters"),
        ("gw", 0, "ports 0-3 for node_ids 1-3, 10 are not within 1-65535"),
        ("gw", 65_533, "ports 65533-65536 for node_ids 1-3, 10 are not within 1-65535"),
    ],
)
def test_impossible_addresses_are_refused_in_a_sentence(
    host: str, port: int, sentence: str
) -> None:
    with pytest.raises(ValueError) as refused:
        ListenerAddresses(host, port, NodeIdRanges.parse(["1-3", "10"]), 0)
    assert str(refused.value) == sentence


def test_an_impossible_cluster_has_no_addresses() -> None:
    with pytest.raises(ValueError, match="cluster index 128"):
        addresses(cluster_index=128)
