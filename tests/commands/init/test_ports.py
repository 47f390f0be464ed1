"""gateway.commands.init.ports: room for future brokers, and ports that are free."""

from __future__ import annotations

import socket
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.commands.errors import CommandError, UsageError
from gateway.commands.init.ports import Probe, bindable, choose, ranges_for, shown, why_taken
from gateway.config_file.binding import IN_USE
from gateway.node_ids import MAX_NODE_ID, NodeIdRanges

NAMES = ("colon", "home", "legal")
NODE_IDS = st.sets(st.integers(0, MAX_NODE_ID) | st.integers(0, 40), min_size=1, max_size=30)


def taken(ports: Collection[int]) -> Probe:
    """A machine on which these ports are in use."""
    return lambda _, port: IN_USE if port in ports else None


@pytest.mark.parametrize(
    ("node_ids", "expected"),
    [
        ([], ["1-6"]),
        ([0], ["0-5"]),
        ([1], ["1-6"]),
        ([1, 2, 3], ["1-8"]),
        ([3], ["1-8"]),  # 1 and 2 may be down, or controllers that become brokers
        ([4, 5, 6], ["1-11"]),
        (range(1, 21), ["1-40"]),
        (range(1, 201), ["1-250"]),
        ([1001, 1002, 1003], ["1001-1008"]),
        ([1, 2, 3, 101, 102], ["1-8", "101-107"]),
        ([1, 12], ["1-6", "12-17"]),
        ([1, 13, 25], ["1-6", "13-18", "25-30"]),
        ([MAX_NODE_ID], [str(MAX_NODE_ID)]),
        ([MAX_NODE_ID - 1], [f"{MAX_NODE_ID - 1}-{MAX_NODE_ID}"]),
    ],
)
def test_room(node_ids: Collection[int], expected: list[str]) -> None:
    assert ranges_for(node_ids) == expected


@given(NODE_IDS)
def test_every_broker_has_a_place_and_there_is_room(node_ids: set[int]) -> None:
    """The parser rejects ranges that overlap."""
    ranges = NodeIdRanges.parse(ranges_for(node_ids))
    assert all(ranges.place(node) is not None for node in node_ids)
    assert ranges.size > len(node_ids) or MAX_NODE_ID in node_ids


def test_the_first_ports_are_those_of_the_quickstart() -> None:
    ports = choose("127.0.0.1", NAMES, ["1-8"], probe=taken(()))
    assert dict(ports.listeners) == {"colon": 9192, "home": 9292, "legal": 9392}
    assert ports.metrics == 9404
    assert list(ports.brokers("home")) == list(range(9293, 9301))
    assert ports.reserve("home") == 9301


@given(
    node_ids=NODE_IDS,
    names=st.sampled_from([NAMES, NAMES[:2], NAMES[:1]]),
    used=st.sets(st.integers(9_000, 12_000), max_size=40),
    first=st.none() | st.integers(1, 65_535),
)
def test_no_port_is_given_twice_or_taken(
    node_ids: set[int], names: tuple[str, ...], used: set[int], first: int | None
) -> None:
    ranges = ranges_for(node_ids)
    try:
        ports = choose("127.0.0.1", names, ranges, first, probe=taken(used))
    except CommandError as error:
        assert first is not None
        assert str(first) in str(error) or "in use" in str(error)
        return
    given_ports = [ports.metrics]
    for name in names:
        given_ports += [ports.listeners[name], *ports.brokers(name), ports.reserve(name)]
    assert len(set(given_ports)) == len(given_ports)
    assert used.isdisjoint(given_ports)
    assert max(given_ports) <= 65_535
    assert ports.places == NodeIdRanges.parse(ranges).size
    assert first is None or ports.listeners[names[0]] == first


def test_a_block_with_a_port_in_use_is_left_out_as_a_whole() -> None:
    ports = choose("127.0.0.1", NAMES, ["1-8"], probe=taken({9195, 9404, 9405}))
    assert dict(ports.listeners) == {"colon": 9292, "home": 9392, "legal": 9492}
    assert ports.metrics == 9406


def test_many_brokers_need_longer_distances() -> None:
    ports = choose("127.0.0.1", NAMES, ["1-150"], probe=taken(()))
    assert dict(ports.listeners) == {"colon": 9192, "home": 9392, "legal": 9592}
    assert ports.metrics == 9544  # behind 9392, its 150 brokers and the port in reserve


def test_a_port_that_was_asked_for_and_is_in_use() -> None:
    with pytest.raises(CommandError) as caught:
        choose("127.0.0.1", NAMES, ["1-8"], 9192, probe=taken({9300}))
    assert str(caught.value) == (
        "port 9300 of listener 'home' cannot be bound on '127.0.0.1': address already in use;"
        " free it, or give --port 9392"
    )


def test_ports_beyond_the_last_one() -> None:
    with pytest.raises(UsageError, match=r"--port 65530: 3 listeners of 10 ports each.* 65535"):
        choose("127.0.0.1", NAMES, ["1-8"], 65_530, probe=taken(()))
    last = choose("127.0.0.1", NAMES, ["1-8"], 65_506, probe=taken(()))
    assert list(last.listeners.values()) == [65_506, 65_516, 65_526]


def test_more_brokers_than_ports() -> None:
    with pytest.raises(CommandError, match=r"one port for all brokers \(docs/tls.md\)"):
        choose("127.0.0.1", NAMES, ["1-10000"], probe=taken(()))


def test_an_address_of_another_machine() -> None:
    with pytest.raises(CommandError, match=r"'192\.0\.2\.1' cannot be bound: .*address of this"):
        bindable("192.0.2.1")
    assert bindable("127.0.0.1") == "127.0.0.1"


def test_what_listens_here_is_found() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        port = server.getsockname()[1]
        assert why_taken("127.0.0.1", port) == IN_USE
    assert why_taken("127.0.0.1", port) is None


@pytest.mark.parametrize(
    ("node_ids", "text"),
    [
        ([1], "1"),
        ([1, 2], "1, 2"),
        ([3, 1, 2], "1-3"),
        ([1, 2, 3, 11, 20, 21, 22], "1-3, 11, 20-22"),
    ],
)
def test_shown(node_ids: list[int], text: str) -> None:
    assert shown(node_ids) == text
