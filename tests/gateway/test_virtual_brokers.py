"""gateway.virtual_brokers: addresses of brokers, by port and by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.broker_names import BrokerNames, UnknownName
from gateway.node_ids import NodeIdRanges
from gateway.virtual_brokers import ListenerAddresses, PeerBrokers, ReachAddresses, Volume


def addresses(**options: object) -> ListenerAddresses:
    ranges = NodeIdRanges.parse(["1-3", "10"])
    return ListenerAddresses("gw.example", 9100, ranges, **options)  # type: ignore[arg-type]


def port(listener: ListenerAddresses, node_id: int) -> int:
    endpoint = listener.endpoint(node_id)
    assert endpoint is not None
    return endpoint.port


def test_a_broker_has_the_port_of_its_place() -> None:
    listener = addresses()
    assert [port(listener, node) for node in (1, 2, 3, 10)] == [9100, 9101, 9102, 9103]
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
    endpoint = ListenerAddresses(host, 9100, NodeIdRanges.parse([1])).endpoint(1)
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
    assert port(listener, 10) == 9443
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
    assert port(named(65_535), 10) == 65_535
    with pytest.raises(ValueError):
        named(65_536)


def test_an_endpoint_is_made_once() -> None:
    listener = addresses()
    assert listener.endpoint(2) is listener.endpoint(2)


def test_a_broker_outside_the_ranges_has_no_address_and_is_told_once() -> None:
    told: list[int] = []
    listener = addresses(on_outside=told.append)
    for node in (4, 11, 4):
        assert listener.endpoint(node) is None
    assert listener.outside == {4, 11}
    assert told == [4, 11]


def test_no_broker_is_not_a_broker_outside_the_ranges() -> None:
    listener = addresses()
    assert listener.endpoint(-1) is None
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
def test_impossible_addresses_are_rejected_in_a_sentence(
    host: str, port: int, sentence: str
) -> None:
    with pytest.raises(ValueError) as rejected:
        ListenerAddresses(host, port, NodeIdRanges.parse(["1-3", "10"]))
    assert str(rejected.value) == sentence


NUMBER = 7
TREE = (
    Volume("la", NUMBER, NodeIdRanges.parse(["1-3", "10"])),
    Volume("", 1, NodeIdRanges.parse(["0-1"])),
)


def test_a_tree_has_the_ports_of_its_volumes_end_to_end() -> None:
    reached = ReachAddresses("gw.example", 9100, TREE, own="la")
    assert {port: (at.volume, at.node_id) for port, at in reached.ports().items()} == {
        **{9100: ("la", 1), 9101: ("la", 2), 9102: ("la", 3), 9103: ("la", 10)},
        **{9104: ("", 0), 9105: ("", 1)},
    }
    assert port(reached.by_volume["la"], 10) == 9103
    assert port(reached.by_volume[""], 1) == 9105
    assert (reached.bootstrap.volume, reached.bootstrap.node_id) == ("la", None)
    assert reached.bootstrap.addresses is reached.by_volume["la"]
    assert reached.by_volume["la"].endpoint(4) is None


def test_names_in_a_tree_have_virtual_node_ids() -> None:
    pattern = "b{node_id}.gw.example"
    reached = ReachAddresses("gw.example", 9093, TREE, pattern=pattern)
    assert reached.ports() == {}
    endpoint = reached.by_volume["la"].endpoint(10)
    assert endpoint is not None
    virtual = NUMBER * 65_536 + 10
    assert (endpoint.host, endpoint.port, endpoint.node_id) == (
        *(f"b{virtual}.gw.example", 9093, 10),
    )
    found = reached.broker_of(f"b{virtual}.gw.example")
    assert (found.volume, found.addresses, found.node_id) == ("la", reached.by_volume["la"], 10)
    assert reached.broker_of("b65536.gw.example").node_id == 0
    assert reached.broker_of("gw.example") is reached.bootstrap
    for other in ("b10.gw.example", "b65538.gw.example", f"b{virtual + 1}.gw.example"):
        with pytest.raises(UnknownName):
            reached.broker_of(other)


def test_the_largest_number_has_names() -> None:
    volume = Volume("", 16_383, NodeIdRanges.parse(["65535"]))
    reached = ReachAddresses("gw.example", 9093, [volume], pattern="b{node_id}.gw.example")
    assert reached.broker_of("b1073741823.gw.example").node_id == 65_535


def test_without_a_tree_a_name_has_the_brokers_own_id() -> None:
    volume = Volume("", 0, NodeIdRanges.parse(["16777215", "70000"]))
    reached = ReachAddresses("gw.example", 9093, [volume], pattern="b{node_id}.gw.example")
    assert reached.broker_of("b16777215.gw.example").node_id == 16_777_215
    assert reached.broker_of("b70000.gw.example").node_id == 70_000


def test_a_bootstrap_of_a_volume_elsewhere_has_the_first_ones_addresses() -> None:
    reached = ReachAddresses("gw.example", 9100, TREE, own="far")
    assert reached.bootstrap.volume == "far"
    assert reached.bootstrap.addresses is reached.by_volume["la"]


def test_a_listener_that_reaches_nothing_is_rejected() -> None:
    with pytest.raises(ValueError, match="reaches no cluster of this gateway; correct its reach"):
        ReachAddresses("gw.example", 9100, [])


def test_too_many_ports_for_a_tree_are_rejected() -> None:
    with pytest.raises(ValueError, match="ports 65535-65536 for node_ids 0-1 are not within"):
        ReachAddresses("gw.example", 65_531, TREE)


@pytest.mark.parametrize("own", [addresses, named])
@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("other.example:9200", [("other.example", 9201), ("other.example", 9203)]),
        ("[::1]:9200", [("::1", 9201), ("::1", 9203)]),
        ("b-{node_id}.other:9443", [("b-2.other", 9443), ("b-10.other", 9443)]),
    ],
)
def test_brokers_at_another_gateway(
    own: Callable[[], ListenerAddresses], peer: str, expected: list[tuple[str, int]]
) -> None:
    listener = own()
    assert listener.endpoint(2) is not None, "it is remembered, and forgotten below"
    listener.hand_over(PeerBrokers(peer, ["1-3", "10"]))
    found = [listener.endpoint(node) for node in (2, 10)]
    assert [(each.host, each.port) for each in found if each is not None] == expected
    assert listener.endpoint(4) is None


def test_a_place_that_the_other_gateway_lacks_stays() -> None:
    listener = addresses()
    listener.hand_over(PeerBrokers("other.example:9200", ["10"]))
    assert [port(listener, node) for node in (1, 10)] == [9100, 9200]


def test_names_of_brokers_of_a_tree_have_virtual_ids() -> None:
    peer = PeerBrokers("b-{node_id}.other:9443", ["1-2"])
    assert peer.address(2, 3 << 16 | 2) == ("b-196610.other", 9443)
