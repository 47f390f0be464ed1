"""gateway.config_file.tree_rules: mounts, numbers, settings of each cluster, and trust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.config_file.parts import Parts
from gateway.config_file.rules import port_claims
from gateway.node_ids import MAX_GATEWAYS
from tests.config import config_samples
from tests.config_file.written import load

MOUNTS = "the mounts are 'la:tracking', 'ny:tracking'"


def tree(*clusters: dict[str, Any], listeners: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """The values of a tree with changes to its clusters and listeners, in order (None: the key is
    left out)."""
    values = config_samples.tree_values()
    for changes, them in ((clusters, values["clusters"]), (listeners, values["listeners"])):
        for one, changed in zip(them, changes, strict=False):
            one |= changed
            for name in [name for name, value in one.items() if value is None]:
                del one[name]
    return values


def told(directory: Path, values: dict[str, Any]) -> list[str]:
    """The errors of a file with these values, without its name and lines."""
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    try:
        load_config(path)
    except ConfigError as error:
        return [line.partition(": ")[2] for line in str(error).splitlines()]
    return []


def test_two_clusters_load_and_survive_the_way_to_a_worker(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path)
    assert Config.from_json(config.to_json()) == config
    assert told(tmp_path, tree()) == []


@pytest.mark.parametrize("path", ["la:tracking", ":la:tracking", "/la/tracking", "la/tracking"])
def test_a_path_may_be_written_in_either_spelling(tmp_path: Path, path: str) -> None:
    values = tree({"mount": path}, listeners=({"volume": path, "reach": [path]},))
    assert told(tmp_path, values) == []


@pytest.mark.parametrize(
    ("path", "tier"),
    [("la//tracking", "(empty)"), ("la tracking", "la tracking"), ("la:", "(empty)")],
)
def test_a_path_that_is_none(tmp_path: Path, path: str, tier: str) -> None:
    (line, *_) = told(tmp_path, tree({"mount": path}))
    assert line == (
        f"clusters[0].mount: tier '{tier}' of path '{path}' is not one or more of [a-zA-Z0-9.-]; "
        "write it like la:tracking"
    )


def test_a_tree_of_one(tmp_path: Path) -> None:
    values = config_samples.values()
    values["clusters"][0] |= {"mount": "", "number": 16_383}
    assert told(tmp_path, values) == []
    values["listeners"][0] |= {"volume": "", "reach": [""], "list_tree": True}
    assert told(tmp_path, values) == []


@pytest.mark.parametrize("name", ["mount", "number", "catalog", "namespaces", "trust"])
def test_a_key_that_is_null_is_as_good_as_none(tmp_path: Path, name: str) -> None:
    values = tree()
    values["clusters"][1][name] = None
    nulls = told(tmp_path, values)
    del values["clusters"][1][name]
    assert told(tmp_path, values) == nulls or any(f"clusters[1].{name}" in one for one in nulls)
    assert nulls or name not in ("mount", "number")


def test_mount_and_number_go_together(tmp_path: Path) -> None:
    for name, other in (("mount", "number"), ("number", "mount")):
        values = config_samples.values()
        values["clusters"][0][name] = {"mount": "la", "number": 1}[name]
        (line,) = told(tmp_path, values)
        assert line.startswith(f"clusters[0].{other}: is missing, as the cluster has a {name}; ")


def test_several_clusters_need_both(tmp_path: Path) -> None:
    without = {"mount": None, "number": None}
    assert told(tmp_path, tree({}, without)) == [
        "clusters[1].mount: is missing, as there are several clusters; write its path in the "
        "tree, like la:tracking",
        "clusters[1].number: is missing, as there are several clusters; choose one of 1-16383 "
        "that no cluster of the tree has or had",
    ]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [("mount", "la:tracking", "'la:tracking'"), ("number", 1, "1"), ("name", "la", "'la'")],
)
def test_no_two_alike(tmp_path: Path, name: str, value: object, shown: str) -> None:
    values = tree({}, {name: value}, listeners=({}, {"volume": "la:tracking"}))
    assert told(tmp_path, values) == [
        f"clusters[1].{name}: {shown} is the {name} of clusters[0] too; choose another"
    ]


@pytest.mark.parametrize("number", [0, 16_384])
def test_numbers_out_of_bounds(tmp_path: Path, number: int) -> None:
    (line,) = told(tmp_path, tree({"number": number}))
    assert line.startswith("clusters[0].number: must be at ")


def test_node_ids_of_a_mounted_cluster_have_16_bits(tmp_path: Path) -> None:
    assert told(tmp_path, tree({"node_ids": ["65535"]})) == []
    assert told(tmp_path, tree({"node_ids": ["65536"]})) == [
        "clusters[0].node_ids: reaches to 65536, and in a tree clients see broker ids in 16 bits; "
        "give none above 65535"
    ]
    values = config_samples.values()
    values["clusters"][0]["node_ids"] = ["65536"]
    assert told(tmp_path, values) == []


@pytest.mark.parametrize(
    ("number", "node_id", "port", "fits"),
    [
        (16_383, 61_439, 9_900, True),
        (16_383, 61_440, 9_900, False),
        (16_383, 61_440, None, True),
        (16_382, 65_535, 9_900, True),
    ],
)
def test_java_s_ids_of_coordinators_are_not_those_of_gateways(
    tmp_path: Path, number: int, node_id: int, port: int | None, fits: bool
) -> None:
    cluster = {"number": number, "node_ids": [str(node_id)]}
    problems = told(tmp_path, tree(cluster, listeners=({"gateway_port": port},)))
    coordinator = 2**31 - 1 - (number << 16 | node_id)  # as KafkaConsumer has it
    assert fits is (port is None or not 2**30 < coordinator <= 2**30 + MAX_GATEWAYS)
    assert (problems == []) is fits
    assert fits or problems[0].startswith("clusters[0].node_ids: reaches above 61439: ")


def test_what_is_a_clusters_own_is_not_at_the_top(tmp_path: Path) -> None:
    values = tree() | {"namespaces": ["search"], "policies": {}}
    assert told(tmp_path, values) == [
        f"{name}: would be for one cluster, and there are several; write it below the one that it "
        f"is for, as clusters[0].{name}"
        for name in ("namespaces", "policies")
    ]


def test_nor_in_two_places(tmp_path: Path) -> None:
    values = config_samples.values()
    values["clusters"][0] |= {"mount": "la", "number": 1, "namespaces": ["team-a"]}
    assert told(tmp_path, values) == [
        "clusters[0].namespaces: is at the top of the file too; keep one of the two"
    ]


def test_without_a_tree_a_cluster_has_nothing_of_its_own(tmp_path: Path) -> None:
    values = config_samples.values()
    values["clusters"][0] |= {"catalog": {}, "namespaces": [], "policies": {}, "trust": []}
    assert told(tmp_path, values) == [
        *(
            f"clusters[0].{name}: means nothing without a mount; write it at the top of the file"
            for name in ("catalog", "namespaces", "policies")
        ),
        "clusters[0].trust: means nothing without a mount; remove it, or give mount and number",
    ]


def test_without_a_tree_listeners_say_nothing_of_one(tmp_path: Path) -> None:
    values = config_samples.values()
    values["listeners"][0] |= {"volume": "la", "reach": ["la"], "list_tree": False}
    assert {line.partition(": ")[0] for line in told(tmp_path, values)} == {
        "listeners[0].volume",
        "listeners[0].reach",
        "listeners[0].list_tree",
    }


@pytest.mark.parametrize(
    ("listener", "problems"),
    [
        (
            {"volume": None},
            [
                "volume: is missing, as there are several clusters; write the mount of the one "
                "that relative names are in, one of 'la:tracking', 'ny:tracking'"
            ],
        ),
        (
            {"volume": "la:trackin"},
            ["volume: 'la:trackin' is no mount of this file; did you mean 'la:tracking'?"],
        ),
        ({"volume": "zzz"}, [f"volume: 'zzz' is no mount of this file; {MOUNTS}"]),
        (
            {"reach": ["la:tracking", "zzz"]},
            [f"reach[1]: 'zzz' is no mount of this file; {MOUNTS}"],
        ),
        (
            {"reach": ["ny:tracking"]},
            ["reach: lacks the listener's own volume, 'la:tracking'; add it"],
        ),
        (
            {"reach": ["la:tracking", "la:tracking"]},
            ["reach: 'la:tracking' is there 2 times; once is enough"],
        ),
        ({"reach": ["ny:tracking", "la:tracking"]}, []),
        ({"list_tree": True}, []),
    ],
)
def test_what_listeners_say(tmp_path: Path, listener: dict[str, Any], problems: list[str]) -> None:
    found = told(tmp_path, tree(listeners=(listener,)))
    assert found == [f"listeners[0].{one}" for one in problems]


def test_a_mount_that_is_not_valid_hides_no_other_mistake(tmp_path: Path) -> None:
    values = tree({"mount": "l a"}, {"number": 1}, listeners=({"volume": None},))
    lines = told(tmp_path, values)
    assert [line.partition(": ")[0] for line in lines] == [
        "clusters[0].mount",
        "clusters[1].number",
        "listeners[0].volume",
    ]


def test_logins_pass_through_to_one_cluster(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("gateway-secret\n")
    sasl = {"mechanism": "PLAIN", "username": "gateway", "password": {"file": str(secret)}}
    security = {"security": {"protocol": "SASL_PLAINTEXT", "sasl": sasl}}
    through = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl": {"mechanisms": ["PLAIN"], "pass_through": True},
    }
    assert told(tmp_path, tree(security, listeners=(through,))) == [
        "listeners[0].sasl.pass_through: makes brokers of one cluster authenticate the clients, "
        "and the listener reaches 2 clusters; give the listener reach: ['la:tracking']"
    ]
    alone = through | {"reach": ["la:tracking"]}
    assert told(tmp_path, tree(security, listeners=(alone,))) == []
    # The protocols of the listener's own cluster, wherever its place in the list.
    assert told(tmp_path, tree({}, security, listeners=(alone,))) == [
        "listeners[0].sasl.pass_through: needs brokers that let clients log in, not PLAINTEXT; "
        "make clusters[0].security.protocol SASL_PLAINTEXT or SASL_SSL"
    ]


def test_trust(tmp_path: Path) -> None:
    trust = [
        {"listener": "ny", "principals": {"User:a": "User:b"}},
        {"listener": "ny"},
        {"listener": "la"},
        {"listener": "n"},
    ]
    assert told(tmp_path, tree({"trust": trust[:1]})) == []
    assert told(tmp_path, tree({"trust": trust})) == [
        "clusters[0].trust[1].listener: 'ny' is in clusters[0].trust[0] too; keep one of the two",
        "clusters[0].trust[2].listener: 'la' is a listener of this cluster, which knows its "
        "principals; remove it",
        "clusters[0].trust[3].listener: there is no listener 'n'; did you mean 'ny'?",
    ]
    (line,) = told(tmp_path, tree({"trust": trust[3:]}, listeners=({}, {"port": 0})))
    assert line.startswith("listeners[1].port: ")


def test_mistakes_in_what_is_a_clusters_own_have_its_key(tmp_path: Path) -> None:
    own: dict[str, Any] = {
        "catalog": {"key_file": "/no/keys", "security": {"protocol": "SASL_SSL"}},
        "security": {"protocol": "SASL_SSL"},
        "policies": {"everywhere": {"partitions": {"max": 1, "min": 2}}},
    }
    keys = [line.partition(": ")[0] for line in told(tmp_path, tree({}, own))]
    assert keys == [
        "clusters[1].catalog.key_file",
        "clusters[1].catalog.security.sasl",
        "clusters[1].policies.everywhere.partitions",
        "clusters[1].security.sasl",
    ]


def test_lines_below_a_clusters_policies(tmp_path: Path) -> None:
    text = """\
clusters:
  - {name: la, bootstrap_servers: [a:1], node_ids: [1], mount: la, number: 1}
  - name: ny
    bootstrap_servers: [b:1]
    node_ids: [1]
    mount: ny
    number: 2
    policies:
      everywhere:
        partitions: {max: 12}
      namespaces:
        search:
          partition: {max: 3}
listeners:
  - {name: la, port: 9192, volume: la}
"""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{tmp_path / 'g.yaml'}:13: clusters[1].policies.namespaces.search.")
    assert "unknown key 'partition'; did you mean 'partitions'?" in line


def test_homes_are_in_the_listeners_own_cluster(tmp_path: Path) -> None:
    clusters: tuple[dict[str, Any], ...] = ({"namespaces": ["a"]}, {"namespaces": ["b"]})
    homes = ({"home": "a"}, {"home": "b"})
    assert told(tmp_path, tree(*clusters, listeners=homes)) == []
    assert told(tmp_path, tree(*clusters, listeners=homes[::-1])) == [
        "listeners[0].home: 'b' is not among the namespaces; add it to clusters[0].namespaces",
        "listeners[1].home: 'a' is not among the namespaces; add it to clusters[1].namespaces",
    ]


# -- ports ----------------------------------------------------------------------------------------


def test_a_listener_has_ports_for_all_that_it_reaches(tmp_path: Path) -> None:
    values = tree(
        {"node_ids": ["1-4"]},
        {"node_ids": ["7-8"]},
        listeners=({"port": 9000}, {"port": 9100, "reach": ["ny:tracking"]}),
    )
    claims = port_claims(Parts.of(Config.model_validate(_tuples(values), strict=False)))
    ports = [(one.first, one.last) for one in claims if one.key[-1] == "broker_base_port"]
    assert ports == [(9001, 9006), (9101, 9102)]


def test_ports_that_overlap_for_another_cluster(tmp_path: Path) -> None:
    listeners: tuple[dict[str, Any], ...] = ({"port": 9000}, {"port": 9005})
    lines = told(tmp_path, tree(listeners=listeners))
    assert (
        "listeners[1].port: the bootstrap port of listener 'ny' (9005) and the broker ports of "
        "listener 'la' (9001-9006) overlap; move one of them"
    ) in lines
    alone = ({"port": 9000, "reach": ["la:tracking"]}, {"port": 9005})
    assert told(tmp_path, tree(listeners=alone)) == []


def _tuples(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
