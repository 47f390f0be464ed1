"""gateway.commands.tree, tree_nodes and log_dirs: the subcommand tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.commands import output
from gateway.commands.errors import CommandError
from gateway.commands.log_dirs import sizes_in, sums
from gateway.commands.tree import metadata_version
from gateway.commands.tree_nodes import VolumeState, size_text, tree_of
from gateway.commands.tree_walk import FarMount
from gateway.mounts import Mount, Mounts
from gateway.names import LogicalName
from protocol.messages import element_class, make, message_class
from tests.commands import fake_clusters
from tests.commands.fake_clusters import FakeVolume, down
from tests.commands.running import command
from tests.config import config_samples

KIB = 1024

LA = FakeVolume(
    Snapshot().apply(
        [
            Namespace("search"),
            Namespace("search:deep"),
            TopicEntry("moved", LogicalName("search", "here")),
        ],
        12,
    ),
    {
        "orders": KIB,
        "search..clicks": 2 * KIB,
        "search.deep..x": 3 * KIB,
        "moved": 512,
        "__consumer_offsets": 99 * KIB,
        "__kafka_gateway_catalog": KIB,
    },
)
NY = FakeVolume(Snapshot().apply([Namespace("search")], 4), {"search..clicks": 10}, level=None)


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(config_samples.write_tree(tmp_path))


async def test_two_clusters(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = fake_clusters.take_place(monkeypatch, {"la": LA, "ny": NY})
    said = await command("tree", "--config", config)
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        "namespace              topics  size     state\n"
        ":                      5       6.5 KiB\n"
        "├── la:                4       6.5 KiB\n"
        "│   └── tracking:      4       6.5 KiB  cluster la: 1 broker, metadata.version 27,"
        " catalog version 12\n"
        "│       └── search:    3       5.5 KiB\n"
        "│           └── deep:  1       3.0 KiB\n"
        "└── ny:                1       10 B\n"
        "    └── tracking:      1       10 B     cluster ny: 1 broker, catalog version 4\n"
        "        └── search:    1       10 B\n"
    )
    assert sorted(opened) == ["la", "ny"]


async def test_a_cluster_that_is_down_is_no_error(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    volumes = {"la": LA, "ny": FakeVolume(failure=down("ny"))}
    fake_clusters.take_place(monkeypatch, volumes)
    said = await command("tree", "--config", config, "--depth", "2")
    assert said.status == 0
    assert said.lines == [
        "namespace          topics  size     state",
        ":                  4       6.5 KiB",
        "├── la:            4       6.5 KiB",
        "│   └── tracking:  4       6.5 KiB  cluster la: 1 broker, metadata.version 27, catalog"
        " version 12",
        "└── ny:            ?       ?",
        "    └── tracking:  ?       ?        cluster ny: down",
    ]
    why = "cluster 'ny' is not reachable; see that it runs"
    assert said.err == f"kafka-gateway: warning: {why}\n"
    said = await command("tree", "--config", config, "--json")
    (_, ny) = said.json["below"]
    (volume,) = ny["below"]
    assert (volume["topics"], volume["all_size"], volume["below"]) == (None, None, [])
    assert volume["volume"] == {
        "cluster": "ny",
        "mount": ":ny:tracking",
        "number": 2,
        "reachable": False,
        "failure": why,
        "brokers": 0,
        "metadata_version": None,
        "catalog_version": None,
    }


async def test_json(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_clusters.take_place(monkeypatch, {"la": LA, "ny": NY})
    said = await command("tree", "--config", config, "--json")
    la, ny = said.json["below"]
    (tracking,) = la["below"]
    assert (tracking["path"], tracking["topics"], tracking["size"]) == (":la:tracking", 1, KIB)
    assert (tracking["all_topics"], tracking["all_size"]) == (4, 6 * KIB + 512)
    assert tracking["volume"] == {
        "cluster": "la",
        "mount": ":la:tracking",
        "number": 1,
        "reachable": True,
        "failure": None,
        "brokers": 1,
        "metadata_version": 27,
        "catalog_version": 12,
    }
    assert (ny["volume"], ny["all_topics"], said.json["hidden"]) == (None, 1, [])
    said = await command("tree", "--config", config, "--json", "--depth", "0")
    assert (said.json["all_topics"], said.json["below"]) == (5, [])


async def test_without_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(config_samples.write(tmp_path))
    fake_clusters.take_place(monkeypatch, {"main": FakeVolume(topics={"orders": 7})})
    said = await command("tree", "--config", path)
    assert said.lines == [
        "namespace  topics  size  state",
        ":          1       7 B   cluster main: 1 broker, metadata.version 27, no catalog yet",
    ]


async def test_what_a_mount_hides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = config_samples.tree_values()
    values["clusters"][0]["mount"] = ""
    values["listeners"][0]["volume"] = ""
    path = str(config_samples.write_tree(tmp_path, **values))
    hiding = Snapshot().apply([Namespace("ny"), Namespace("ny:tracking")], 2)
    root = FakeVolume(hiding, {"ny..x": 1, "ny.tracking..y": 2})
    fake_clusters.take_place(monkeypatch, {"la": root, "ny": NY})
    said = await command("tree", "--config", path)
    assert said.status == 0
    assert said.lines[1].split()[:4] == [":", "2", "11", "B"]
    assert said.err == (
        "kafka-gateway: warning: namespace 'ny:tracking' of cluster 'la' (1 topic) is hidden by the"
        " mount ':ny:tracking': only relative names reach it\n"
    )
    said = await command("tree", "--config", path, "--json")
    assert said.json["hidden"] == [
        {"cluster": "la", "namespace": "ny:tracking", "mount": ":ny:tracking", "topics": 1}
    ]


async def test_sizes_that_are_not_known(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ny = FakeVolume(NY.snapshot, NY.topics, missing=["the sizes of broker 1 are not known: x"])
    fake_clusters.take_place(monkeypatch, {"la": LA, "ny": ny})
    said = await command("tree", "--config", config, "--depth", "1")
    assert said.status == 0
    assert [line.split() for line in said.lines[1:]] == [
        [":", "5", "?"],
        ["├──", "la:", "4", "6.5", "KiB"],
        ["└──", "ny:", "1", "?"],
    ]
    assert "cluster 'ny': the sizes of broker 1 are not known: x" in said.err


async def test_a_catalog_that_cannot_be_used(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = FakeVolume(failure=CommandError("the catalog cannot be read"))
    fake_clusters.take_place(monkeypatch, {"la": LA, "ny": broken})
    said = await command("tree", "--config", config)
    assert (said.status, said.out) == (1, "")
    assert "the catalog cannot be read (cluster 'ny')" in said.err


async def test_progress(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "INTERVAL", 0.0)
    fake_clusters.take_place(monkeypatch, {"la": LA, "ny": NY})
    said = await command("tree", "--config", config)
    assert said.status == 0
    assert "asking the clusters" in said.err


async def test_what_makes_no_sense(config: str) -> None:
    for words in ([], ["--config", config, "--depth", "-1"], ["--config", config, "--depth", "x"]):
        assert (await command("tree", *words)).status == 2


def log_dirs(error: int = 0, *partitions: tuple[int, bool], directory_error: int = 0) -> Any:
    """A DescribeLogDirs response: partitions of a topic x, (size, is_future_key)."""
    response = message_class("DescribeLogDirsResponse", 4)
    result = element_class(response, "results")
    topic = element_class(result, "topics")
    partition = element_class(topic, "partitions")
    made = tuple(
        make(partition, {"partition_index": n, "partition_size": size, "is_future_key": future})
        for n, (size, future) in enumerate(partitions)
    )
    topics = (make(topic, {"name": "x", "partitions": made}),)
    results = (make(result, {"error_code": directory_error, "log_dir": "/d", "topics": topics}),)
    return make(response, {"error_code": error, "results": results})


def test_sizes_of_one_broker() -> None:
    """KIP-113: a future replica is being moved to another directory."""
    assert sizes_in(log_dirs(0, (5, False), (7, False), (100, True))) == {"x": 12}
    for denied in (log_dirs(31), log_dirs(directory_error=56)):
        with pytest.raises(PermissionError, match=r"CLUSTER_AUTHORIZATION_FAILED|KAFKA_STORAGE"):
            sizes_in(denied)
    assert sums([{"x": 1, "y": 2}, {"x": 3}]) == {"x": 4, "y": 2}


def test_sizes_in_units_that_fit() -> None:
    shown = [size_text(size) for size in (0, 1023, 1024, 10 * 2**20, 3 * 2**60)]
    assert shown == ["0 B", "1023 B", "1.0 KiB", "10.0 MiB", "3072.0 PiB"]


def test_a_broker_without_features() -> None:
    assert metadata_version(None) is None


def test_a_namespace_that_the_mount_of_another_gateway_hides() -> None:
    """Only relative names reach it."""
    mounts = Mounts([Mount("", 1, "main"), Mount("la")], [""])
    snapshot = Snapshot().apply([Namespace("la")], 2)
    volume = VolumeState("main", "", 1, snapshot=snapshot, topics=["la..x"])
    root, (hidden,) = tree_of([volume], mounts, [FarMount("la", "la", "la", 2)])
    assert (hidden.namespace, hidden.mount, hidden.topics) == ("la", ":la", 1)
    assert root.all_topics == 0
