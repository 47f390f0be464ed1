"""gateway.virtual_brokers: addresses of brokers, by port and by name."""

from __future__ import annotations

import pytest

from gateway.broker_names import BrokerNames
from gateway.node_ids import NodeIdRanges
from gateway.virtual_brokers import ListenerAddresses


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
