"""gateway.checks.volumes, and check of several clusters: places, numbers, shadows, an id used
twice."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from gateway import cli, exit_codes
from gateway.catalog.entities import Change, Namespace, TopicEntry, Volume
from gateway.catalog.snapshot import Snapshot
from gateway.checks import check
from gateway.checks.cluster import ask_clusters
from gateway.checks.volumes import (
    broker_warnings,
    number_problems,
    repeated_problems,
    shadow_warnings,
)
from gateway.commands import backend
from gateway.commands.output import table
from gateway.config.errors import key_text
from gateway.config.models import Config
from gateway.names import LogicalName
from gateway.policies.instance import KEY
from tests.config import config_samples

NODES = {1: 65_537, 2: 65_538, 3: 65_539}
"""Node ids of the cluster with number 1: number << 16 | id."""


def shown(problems: Any) -> list[tuple[str, str]]:
    return [(key_text(problem.key), problem.text) for problem in problems]


# -- on this machine ------------------------------------------------------------------------------


def test_the_table_has_the_clusters(tmp_path: Path) -> None:
    values = config_samples.tree_values()
    values["listeners"] = [
        {"name": "la", "port": 9000, "volume": "la:tracking"},
        {"name": "ny", "port": 9100, "volume": "ny:tracking", "reach": ["ny:tracking"]},
    ]
    config = config_samples.tree(tmp_path, **values)
    plans = check.plan(config)
    assert [row.split() for row in table(check.plan_rows(plans)).splitlines()] == [
        ["listener", "bootstrap.servers", "cluster", "broker", "node", "id", "address"],
        ["la", "127.0.0.1:9000", "la", "1", "65537", "127.0.0.1:9001"],
        ["2", "65538", "127.0.0.1:9002"],
        ["3", "65539", "127.0.0.1:9003"],
        ["ny", "1", "131073", "127.0.0.1:9004"],
        ["2", "131074", "127.0.0.1:9005"],
        ["3", "131075", "127.0.0.1:9006"],
        ["ny", "127.0.0.1:9100", "ny", "1", "131073", "127.0.0.1:9101"],
        ["2", "131074", "127.0.0.1:9102"],
        ["3", "131075", "127.0.0.1:9103"],
    ]
    first, _ = json.loads(check.as_json([], plans))["listeners"]
    assert first["brokers"]["131075"] == "127.0.0.1:9006"
    assert first["clusters"]["la"] == {str(own): str(node) for own, node in NODES.items()}
    assert first["clusters"]["ny"]["3"] == "131075"


def test_names_and_policies_of_every_cluster_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(host: str, *_: object, **__: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    values = config_samples.tree_values()
    wrong = {KEY: "no_such_module:Naming"}
    values["clusters"][1]["policies"] = {"everywhere": wrong}
    config = config_samples.tree(tmp_path, **values)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    keys = [key for key, _ in shown(check.find_problems(config))]
    assert keys[:2] == ["clusters[0].bootstrap_servers[0]", "clusters[1].bootstrap_servers[0]"]
    assert f"clusters[1].policies.everywhere.{KEY}" in keys


def test_a_home_may_be_in_any_of_the_clusters(tmp_path: Path) -> None:
    values = config_samples.tree_values(
        principals={"User:a": {"home": "only-ny"}, "User:b": {"home": "nowhere"}}
    )
    values["clusters"][1]["namespaces"] = ["only-ny"]
    found = shown(check.homes_not_seeded(config_samples.tree(tmp_path, **values)))
    assert [key for key, _ in found] == ["principals.User:b.home"]


# -- at the clusters ------------------------------------------------------------------------------


def test_one_cluster_twice() -> None:
    assert shown(repeated_problems(["a", None, "b", "a", None])) == [
        (
            "clusters[3].bootstrap_servers",
            "leads to cluster id a, as clusters[0] does: a cluster has one mount and one number; "
            "correct the address, or remove one of the two",
        )
    ]


def test_another_number_than_the_catalogs(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path)
    second = config.of_volume(config.clusters[1])
    assert list(number_problems(second, Snapshot())) == []
    assert list(number_problems(second, Snapshot().apply([Volume(2)], 1))) == []
    ((key, text),) = shown(number_problems(second, Snapshot().apply([Volume(9)], 1)))
    assert key == "clusters[1].number"
    assert text.startswith("the cluster has number 9 in the tree, as its catalog says, and this")


def test_a_cluster_of_a_tree_in_a_file_without_a_mount(tmp_path: Path) -> None:
    """Its brokers would have two node ids: 1, and number << 16 | 1 at its other gateways."""
    plain = config_samples.config(tmp_path)
    assert list(number_problems(plain, Snapshot())) == []
    ((key, text),) = shown(number_problems(plain, Snapshot().apply([Volume(9)], 1)))
    assert key == "clusters[0]"
    assert "number: 9" in text


def test_brokers_without_a_place(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path)
    second = config.of_volume(config.clusters[1])
    assert list(broker_warnings(second, [1, 2, 3])) == []
    assert shown(broker_warnings(second, [1, 7, 70_000])) == [
        (
            "clusters[1].node_ids",
            "the cluster has brokers 70000, and a cluster in a tree has none above 65535, so no "
            "client sees them; give such brokers lower ids",
        ),
        (
            "clusters[1].node_ids",
            "the cluster has brokers 7, which are not listed, so no client sees them; add them",
        ),
    ]


def nested(directory: Path) -> Config:
    """Clusters at la, la:tracking, and la:tracking:old below that."""
    values = config_samples.tree_values()
    upper, lower = values["clusters"]
    upper["mount"], lower["mount"] = "la", "la:tracking"
    lowest = {**lower, "name": "old", "number": 3, "mount": "la:tracking:old"}
    values["clusters"].append(lowest)
    values["listeners"] = [{"name": "la", "port": values["listeners"][0]["port"], "volume": "la"}]
    return config_samples.tree(directory, **values)


def shadows(config: Config, place: int, *held: Change, topics: tuple[str, ...] = ()) -> list[Any]:
    snapshot = Snapshot().apply(held, len(held))
    return shown(shadow_warnings(config.of_volume(config.clusters[place]), snapshot, topics))


def test_what_a_mount_hides(tmp_path: Path) -> None:
    config = nested(tmp_path)
    spaces = [Namespace(path) for path in ("tracking", "tracking:old", "trackings", "search")]
    moved = TopicEntry("plain", LogicalName("tracking:old", "moved"))
    topics = ("tracking..clicks", "search..clicks", "plain", "loose", "__kafka_gateway_catalog")
    assert shadows(config, 0, *spaces, moved, topics=topics) == [
        (
            "clusters[1].mount",
            "hides 2 namespaces and 2 topics of cluster 'la', which is mounted at ':la': "
            "tracking:, tracking:old:, tracking:clicks, tracking:old:moved; clients reach them by "
            "relative names alone, so move them, or mount the cluster elsewhere",
        )
    ]
    ((key, text),) = shadows(config, 1, Namespace("old"))
    assert key == "clusters[2].mount"
    assert text.startswith("hides 1 namespace and 0 topics of cluster 'ny', which is mounted at ")
    assert shadows(config, 2, *spaces) == []
    assert shadows(config, 0, Namespace("search"), topics=("loose",)) == []


def test_a_cluster_at_the_root_is_above_all(tmp_path: Path) -> None:
    values = config_samples.tree_values()
    values["clusters"][0]["mount"] = values["listeners"][0]["volume"] = ""
    config = config_samples.tree(tmp_path, **values)
    ((key, text),) = shadows(config, 0, Namespace("ny"), Namespace("ny:tracking"))
    assert key == "clusters[1].mount"
    assert "hides 1 namespace and 0 topics of cluster 'la', which is mounted at ':': ny:tr" in text
    assert shadows(config, 1, Namespace("ny"), Namespace("ny:tracking")) == []


def test_what_the_mount_of_a_child_hides(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path, **config_samples.peer_values(tmp_path))
    ((key, text),) = shadows(config, 0, Namespace("deep"), Namespace("search"))
    assert key == "tree.children[0].mount"
    assert text.startswith("hides 1 namespace and 0 topics of cluster 'la', which is mounted at ")
    assert shadows(config, 1, Namespace("deep")) == []


def test_nothing_is_hidden_where_there_is_no_tree(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    assert shadows(config, 0, Namespace("ny"), topics=("ny..a",)) == []


async def test_every_cluster_is_queried(tmp_path: Path) -> None:
    values = config_samples.tree_values()
    found = await ask_clusters(config_samples.tree(tmp_path, **values))
    for place, one in enumerate(found):
        (problem,) = one.problems
        assert key_text(problem.key) == f"clusters[{place}].bootstrap_servers[0]"
        assert f"see that it runs, and that clusters[{place}] names it" in problem.text
    assert [one.as_json()["mount"] for one in found] == ["la:tracking", "ny:tracking"]
    assert found[1].rows()[:4] == [
        ("cluster", "ny"),
        ("mount", ":ny:tracking"),
        ("number", "2"),
        ("cluster id", "not known"),
    ]


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backend, "START_SECONDS", 0.5)
    path = config_samples.write_tree(tmp_path)
    assert cli.main(["check", str(path), "--json"]) == exit_codes.OK
    assert "clusters" not in json.loads(capsys.readouterr().out)
    assert cli.main(["check", str(path), "--json", "--cluster"]) == exit_codes.FAILED
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["clusters"]] == ["la", "ny"]
    assert "cluster" not in told
    assert ["clusters[0]" in line for line in told["problems"]] == [True, False]
