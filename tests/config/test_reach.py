"""gateway.config.reach: which clusters a listener has ports for, and in which order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.config.models import Config
from gateway.config.reach import (
    broker_addresses,
    far_paths,
    listener_ranges,
    mounts_of,
    reach_addresses,
)
from gateway.mounts import Mount


def config(listener: dict[str, Any], *mounts: str | None) -> Config:
    clusters: list[dict[str, Any]] = [
        {"name": f"c{place}", "bootstrap_servers": ["b:9092"], "node_ids": ["1-2"]}
        for place, _ in enumerate(mounts)
    ]
    for place, mount in enumerate(mounts):
        if mount is not None:
            clusters[place] |= {"mount": mount, "number": place + 1}
    return configured(clusters, {"name": "main", "port": 9092, **listener})


def configured(clusters: list[dict[str, Any]], *listeners: dict[str, Any], **more: Any) -> Config:
    text = json.dumps({"clusters": clusters, "listeners": listeners, **more})
    return Config.model_validate_json(text)


@pytest.mark.parametrize(
    ("listener", "names"),
    [
        ({}, ["c0", "c1", "c2"]),
        ({"volume": "nyc"}, ["c0", "c1", "c2"]),
        ({"reach": ["nyc", ":"]}, ["c2", "c0"]),
        ({"reach": ["nyc", "la:tracking"], "volume": "nyc"}, ["c2", "c1"]),
        # Its own volume's brokers are always listed.
        ({"reach": ["nyc"], "volume": "la:tracking"}, ["c1", "c2"]),
        # Mounts of other gateways have no ports here.
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


# -- mounts of other gateways ----------------------------------------------------------------------


def tree(*listeners: dict[str, Any], children: tuple[str, ...] = (), peers: bool = True) -> Config:
    """A gateway of the clusters ``la`` and ``la:tracking``, with a parent, and children."""
    clusters = [
        {
            "name": f"c{number}",
            "bootstrap_servers": ["b:9092"],
            "node_ids": ["1-2"],
            "mount": mount,
            "number": number,
        }
        for number, mount in enumerate(("la", "la:tracking"), 1)
    ]
    named = [
        {"name": f"l{n}", "port": 9092 + 100 * n, **one} for n, one in enumerate(listeners or ({},))
    ]
    peer = {"addresses": ["peer:9500"], "certificate": "CN=peer"}
    settings = {
        "tls": {"ca": "ca.pem", "certificate": "cert.pem", "key": "key.pem"},
        "parents": [{"name": "root", **peer}],
        "children": [{"name": f"child-{n}", "mount": m, **peer} for n, m in enumerate(children)],
    }
    return configured(clusters, *named, **({"tree": settings} if peers else {}))


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        (tree(), []),
        (tree({"volume": "la", "reach": ["la:tracking", "la"]}), []),
        (tree(children=("la:deep", "sf")), ["la:deep", "sf"]),
        (tree({"volume": "ny", "reach": ["ny", "la", "sf"]}), ["ny", "sf"]),
        (tree({"volume": "ny", "reach": ["ny", "la"]}, {"reach": ["sf", "ny"]}), ["ny", "sf"]),
        (tree({"volume": "la", "reach": ["la", "sf"]}, children=("sf",)), ["sf"]),
        (tree({"volume": "la", "reach": ["la", ":"]}), [""]),
        (tree(peers=False), []),
        (config({}, None), []),
    ],
)
def test_far_paths_are_all_that_are_named_each_once(given: Config, paths: list[str]) -> None:
    assert far_paths(given) == paths


def test_mounts_of_other_gateways_are_far_and_behind_the_own_ones() -> None:
    mounts = mounts_of(tree({"volume": "ny", "reach": ["ny", "la", "la:tracking", "sf"]}))
    assert mounts is not None
    everywhere = mounts.within(["ny", "la", "la:tracking", "sf"])
    assert [mount.path for mount in everywhere] == ["la", "la:tracking", "ny", "sf"]
    assert [mount.path for mount in everywhere if mount.far] == ["ny", "sf"]
    assert everywhere.at("la:tracking") == Mount("la:tracking", 2, "c2")


def test_a_listener_without_reach_reaches_the_own_mounts_alone() -> None:
    mounts = mounts_of(tree({"volume": "la"}, children=("la:deep", "sf")))
    assert mounts is not None
    reached = mounts.within(None)
    assert [mount.path for mount in reached] == ["la", "la:tracking"]
    assert reached.owner("sf:x") is None
    assert reached.owner("la:x") == Mount("la", 1, "c1")
    assert reached.owner("la:deep:x") is None, "a far mount hides what is below it"
    assert reached.of_id(b":sf:app") is None


def test_the_longest_mount_has_a_path_far_or_not() -> None:
    reach = ["la", "la:tracking", "la:deep"]
    mounts = mounts_of(tree({"volume": "la", "reach": reach}, children=("la:deep",)))
    assert mounts is not None
    reached = mounts.within(reach)
    assert reached.owner("la:deep:x") == Mount("la:deep")
    assert reached.owner("la:deeper") == Mount("la", 1, "c1")
    assert reached.of_id(b":la:deep:app") == (Mount("la:deep"), b"app")


def test_without_mounts_there_is_no_tree() -> None:
    assert mounts_of(config({}, None)) is None


def test_without_other_gateways_all_mounts_are_in_reach() -> None:
    mounts = mounts_of(tree({"volume": "la"}, peers=False))
    assert mounts is not None
    assert [mount.path for mount in mounts] == ["la", "la:tracking"]


def test_far_volumes_have_no_ports() -> None:
    given = tree({"volume": "ny", "reach": ["ny", "la:tracking", "sf"]})
    reached = reach_addresses(given, given.listeners[0])
    assert list(reached.by_volume) == ["la:tracking"]
