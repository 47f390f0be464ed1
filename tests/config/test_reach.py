"""gateway.config.reach: which clusters a listener has ports for, and in which order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.config.models import Config
from gateway.config.reach import broker_addresses, listener_ranges, reach_addresses


def config(listener: dict[str, Any], *mounts: str | None) -> Config:
    clusters: list[dict[str, Any]] = [
        {"name": f"c{place}", "bootstrap_servers": ["b:9092"], "node_ids": ["1-2"]}
        for place, _ in enumerate(mounts)
    ]
    for place, mount in enumerate(mounts):
        if mount is not None:
            clusters[place] |= {"mount": mount, "number": place + 1}
    return Config.model_validate_json(
        json.dumps(
            {"clusters": clusters, "listeners": [{"name": "main", "port": 9092, **listener}]}
        )
    )


@pytest.mark.parametrize(
    ("listener", "names"),
    [
        ({}, ["c0", "c1", "c2"]),
        ({"volume": "nyc"}, ["c0", "c1", "c2"]),
        ({"reach": ["nyc", ":"]}, ["c2", "c0"]),
        ({"reach": ["nyc", "la:tracking"], "volume": "nyc"}, ["c2", "c1"]),
        # Its own volume's brokers are always listed.
        ({"reach": ["nyc"], "volume": "la:tracking"}, ["c1", "c2"]),
        # What another gateway has mounted has no ports here.
        ({"reach": ["nyc", "elsewhere"], "volume": "far"}, ["c2"]),
    ],
)
def test_the_order_of_the_ports(listener: dict[str, Any], names: list[str]) -> None:
    given = config(listener, "", "la:tracking", "nyc")
    found = listener_ranges(given, given.listeners[0])
    assert [cluster.name for cluster, _ in found] == names
    ports = reach_addresses(given, given.listeners[0]).ports()
    assert list(ports) == list(range(9093, 9093 + 2 * len(names)))
    assert [target.node_id for target in ports.values()] == [1, 2] * len(names)


def test_without_mounts_there_is_one_cluster() -> None:
    given = config({}, None)
    reached = reach_addresses(given, given.listeners[0])
    assert list(reached.by_volume) == [""]
    assert reached.bootstrap.addresses.number == 0
    assert [target.node_id for target in reached.ports().values()] == [1, 2]


def test_one_volume_of_a_configuration_has_its_own_ports_alone() -> None:
    given = config({"reach": ["nyc"], "volume": "nyc"}, "", "la:tracking", "nyc")
    alone = given.of_volume(given.clusters[2])
    assert [cluster.name for cluster, _ in listener_ranges(alone, alone.listeners[0])] == ["c2"]


@pytest.mark.parametrize(
    ("listener", "addresses"),
    [
        ({}, [{}, {}]),
        ({"gateway_port": 9090}, [{"main": "127.0.0.1:9093"}, {"main": "127.0.0.1:9095"}]),
        (
            {"gateway_port": 9090, "reach": ["nyc"], "volume": "nyc"},
            [{}, {"main": "127.0.0.1:9093"}],
        ),
        (
            {"gateway_port": 9090, "advertised_host": "::1"},
            [{"main": "[::1]:9093"}, {"main": "[::1]:9095"}],
        ),
    ],
)
def test_where_a_listener_begins_with_each_clusters_brokers(
    listener: dict[str, Any], addresses: list[dict[str, str]]
) -> None:
    given = config(listener, "", "nyc")
    assert [broker_addresses(given, cluster) for cluster in given.clusters] == addresses
