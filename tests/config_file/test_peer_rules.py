"""gateway.config_file.peer_rules: the other gateways of a tree, and listeners that reach them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config.models import Config
from gateway.config.reach import far_paths
from gateway.config_file.loading import load_config
from gateway.config_file.parts import Parts
from gateway.config_file.rules import port_claims
from tests.config import config_samples
from tests.config_file.test_tree_rules import told

PARENT = {"name": "root", "addresses": ["127.0.0.1:9500"]}
CHILD = {"name": "deep", "mount": "la:tracking:deep", "addresses": ["127.0.0.1:9501"]}
FAR = "la:tracking:deep"


def peers(directory: Path, listener: dict[str, Any] | None = None, **tree: Any) -> dict[str, Any]:
    """A tree with a parent and a child, and changes to its first listener and to ``tree`` (None:
    the key is left out)."""
    values = config_samples.peer_values(directory, **tree)
    values["tree"] = {name: value for name, value in values["tree"].items() if value is not None}
    first = values["listeners"][0] | (listener or {})
    values["listeners"][0] = {name: value for name, value in first.items() if value is not None}
    return values


def far(reach: list[str] | None = None, **settings: Any) -> dict[str, Any]:
    """A listener whose volume is the child's."""
    return {"volume": FAR, "reach": reach or [FAR, "la:tracking"], **settings}


def test_gateways_load_and_survive_the_way_to_a_worker(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(peers(tmp_path, far())))
    config = load_config(path)
    assert Config.from_json(config.to_json()) == config
    assert config.tree is not None
    assert [peer.subject for peer in config.tree.peers] == ["CN=root", "CN=deep"]


def test_without_mounts_there_is_no_tree_of_gateways(tmp_path: Path) -> None:
    values = config_samples.values(tree=config_samples.peer_values(tmp_path)["tree"])
    assert told(tmp_path, values) == [
        "tree: needs to know where this gateway's cluster is; give clusters[0] mount and number, "
        "or remove tree"
    ]


@pytest.mark.parametrize("key", ["certificate", "key", "ca"])
def test_peers_need_certificates_both_ways(tmp_path: Path, key: str) -> None:
    values = peers(tmp_path)
    del values["tree"]["tls"][key]
    assert told(tmp_path, values) == [
        f"tree: tls lacks {key}: peers know each other by certificates; give it"
    ]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    values = peers(tmp_path)
    for key in ("certificate", "ca"):
        changed = {**values, "tree": {**values["tree"], "tls": {**values["tree"]["tls"]}}}
        changed["tree"]["tls"][key] = "/no/file.pem"
        assert told(tmp_path, changed) == [
            f"tree.tls.{key}: '/no/file.pem' cannot be read: no such file or directory; correct it"
        ]


@pytest.mark.parametrize(
    ("tree", "problems"),
    [
        (
            {"parents": [PARENT, {**PARENT, "certificate": "CN=other"}]},
            ["parents[1].name: 'root' is the name of tree.parents[0] too; choose another"],
        ),
        (
            {"children": [{**CHILD, "name": "root"}]},
            ["children[0].name: 'root' is the name of tree.parents[0] too; choose another"],
        ),
        # The same gateway with two clusters.
        ({"children": [CHILD, {**CHILD, "mount": "la:deeper"}]}, []),
        (
            {"children": [CHILD, {**CHILD, "mount": "la:deeper", "principals": "all"}]},
            [
                "children[1].name: 'deep' is the name of tree.children[0] too, which differs in "
                "more than the mount; make addresses, certificate and principals alike if it is "
                "one gateway with two mounts, or choose another"
            ],
        ),
        (
            {"children": [{**CHILD, "certificate": "CN=root"}]},
            [
                "children[0].certificate: 'CN=root' is the certificate of tree.parents[0] too, so "
                "neither can be told from the other; give each gateway a certificate of its own"
            ],
        ),
        (
            {"children": [{**CHILD, "mount": "/ny/tracking"}]},
            [
                "children[0].mount: 'ny:tracking' is the mount of clusters[1], which is here; give "
                "that of a cluster behind the child"
            ],
        ),
        (
            {"children": [CHILD, {**CHILD, "name": "deeper"}]},
            [
                "children[1].mount: 'la:tracking:deep' is the mount of tree.children[0] too; "
                "gateways that stand in for each other are one child with several addresses"
            ],
        ),
    ],
)
def test_peers(tmp_path: Path, tree: dict[str, Any], problems: list[str]) -> None:
    assert told(tmp_path, peers(tmp_path, **tree)) == [f"tree.{one}" for one in problems]


def test_the_peers_port_is_nobody_elses(tmp_path: Path) -> None:
    values = peers(tmp_path)
    values["listeners"] = [{"name": "la", "port": 9000, "volume": "la:tracking"}]
    for port, use in (
        (9000, "bootstrap port of listener 'la'"),
        (9004, "broker ports of listener"),
    ):
        values["tree"]["listener"] = {"port": port}
        (line,) = told(tmp_path, values)
        assert line.startswith(f"tree.listener.port: the peers' port ({port}) and the {use}")
    values["tree"]["listener"] = {"port": values["metrics"]["port"]}
    (line,) = told(tmp_path, values)
    assert "and the metrics port" in line


# -- reach ----------------------------------------------------------------------------------------


def test_without_tree_mounts_of_others_are_errors(tmp_path: Path) -> None:
    values = peers(tmp_path, far())
    del values["tree"]
    assert {line.partition(";")[0] for line in told(tmp_path, values)} == {
        "listeners[0].volume: 'la:tracking:deep' is no mount of this file",
        "listeners[0].reach[0]: 'la:tracking:deep' is no mount of this file",
    }


def test_a_mistake_in_tree_makes_no_error_of_the_mounts(tmp_path: Path) -> None:
    assert told(tmp_path, peers(tmp_path, far(), max_hops=0)) == [
        "tree.max_hops: must be at least 1, not 0; raise it"
    ]


def test_the_numbers_of_mounts_elsewhere_are_numbers_and_each_ones_own(tmp_path: Path) -> None:
    def told_of(numbers: dict[str, int]) -> list[str]:
        return [
            each.partition(":")[0]
            for each in told(tmp_path, peers(tmp_path, far(), numbers=numbers))
        ]

    assert told_of({"ny": 7, "sf": 8}) == []
    assert told_of({"ny": 7, "sf": 7}) == ["tree.numbers"]
    assert told_of({"ny": 0}) != []
    assert told_of({"ny": 16_384}) != []
    assert told_of({"n y": 7}) != []
    assert told_of({"la:tracking": 7}) == ["tree.numbers"], "a mount of this file"
    assert told_of({"ny": 1}) == ["tree.numbers"], "the number of a cluster of this file"


@pytest.mark.parametrize(
    ("listener", "tree", "problems"),
    [
        (far(), {}, []),
        ({"reach": ["la:tracking", FAR]}, {}, []),
        # A child may have more mounts below its own.
        ({"reach": ["la:tracking", f"{FAR}:est"]}, {"parents": None}, []),
        ({"reach": ["la:tracking", "", "sf"]}, {"children": None}, []),
        (
            {"reach": ["la:tracking", "sf"]},
            {"parents": None},
            [
                "reach[1]: 'sf' is no mount of this file, and no child of tree leads there; add "
                "the gateway that has it to tree.children, or a parent"
            ],
        ),
        (
            {"reach": ["la:tracking", "ny:trackin"]},
            {"parents": None},
            [
                "reach[1]: 'ny:trackin' is no mount of this file, and no child of tree leads "
                "there; did you mean 'ny:tracking'?"
            ],
        ),
        # A mount below an own mount is never above, so a parent is no help.
        (
            {"reach": ["la:tracking", "ny:tracking:x"]},
            {},
            [
                "reach[1]: 'ny:tracking:x' is no mount of this file, and below its own mount "
                "'ny:tracking' no child of tree leads there; did you mean 'ny:tracking'?"
            ],
        ),
        (
            {"volume": "sf", "reach": ["sf", "la:tracking"]},
            {"parents": None},
            [
                "volume: 'sf' is no mount of this file, and no child of tree leads there; add the "
                "gateway that has it to tree.children, or a parent"
            ],
        ),
        (
            {"volume": FAR},
            {},
            [
                f"reach: is missing, as '{FAR}' is a mount of another gateway; give a list of "
                f"'{FAR}' and of those whose brokers have ports here, some of 'la:tracking', "
                "'ny:tracking'"
            ],
        ),
        (
            far(["ny:tracking", "la:tracking"]),
            {},
            [f"reach: lacks the listener's own volume, '{FAR}'; add it"],
        ),
        (
            far([FAR, "sf"]),
            {},
            [
                "reach: has no mount of this file, so the listener has no port for any broker; "
                "add one of 'la:tracking', 'ny:tracking'"
            ],
        ),
        (
            far(home="search", escape=True),
            {},
            [
                f"{key}: is about namespaces of '{FAR}', which is a mount of another gateway; "
                "remove it"
                for key in ("escape", "home")
            ],
        ),
    ],
)
def test_listeners(
    tmp_path: Path, listener: dict[str, Any], tree: dict[str, Any], problems: list[str]
) -> None:
    found = told(tmp_path, peers(tmp_path, listener, **tree))
    assert found == [f"listeners[0].{one}" for one in problems]


def through(**settings: Any) -> dict[str, Any]:
    return {"security_protocol": "SASL_PLAINTEXT", "sasl": settings}


def test_brokers_behind_other_gateways_authenticate_nobody(tmp_path: Path) -> None:
    passing = through(mechanisms=["PLAIN"], pass_through=True)
    assert told(tmp_path, peers(tmp_path, far(**passing))) == [
        f"listeners[0].sasl.pass_through: makes brokers of '{FAR}' authenticate the clients, and "
        "those are behind another gateway; let this one do it, and remove it"
    ]
    near = {"reach": ["la:tracking", FAR], **passing}
    assert (
        "listeners[0].sasl.pass_through: makes brokers of one cluster authenticate the clients, "
        "and the listener reaches 2 clusters; give the listener reach: ['la:tracking']"
    ) in told(tmp_path, peers(tmp_path, near))


def test_a_cluster_may_trust_a_listener_of_a_volume_elsewhere(tmp_path: Path) -> None:
    values = peers(tmp_path, far())
    values["clusters"][0]["trust"] = [{"listener": "la"}]
    assert told(tmp_path, values) == []


def test_mounts_of_others_have_no_ports(tmp_path: Path) -> None:
    values = peers(tmp_path, far([FAR, "ny:tracking", "la:tracking"], port=9000))
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    config = load_config(path)
    claims = {one.key: (one.first, one.last) for one in port_claims(Parts.of(config))}
    assert claims["listeners", 0, "broker_base_port"] == (9001, 9006)
    assert config.tree is not None
    assert config.tree.listener is not None
    assert claims["tree", "listener", "port"] == (config.tree.listener.port,) * 2
    assert far_paths(config) == [FAR]
