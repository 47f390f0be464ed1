"""gateway.commands.volumes: the cluster that a command is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.catalog.entities import CatalogFormat, Namespace, Volume
from gateway.catalog.members import takes_its_place
from gateway.catalog.snapshot import Snapshot
from gateway.commands.errors import CommandError, UsageError
from gateway.commands.volumes import of_cluster
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import command
from tests.config import config_samples


def test_the_only_cluster_need_not_be_named(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    for name in (None, "main"):
        assert of_cluster(config, name).clusters == config.clusters
    with pytest.raises(CommandError, match="no cluster 'x' in the file; the clusters are main"):
        of_cluster(config, "x")


def test_one_of_several_has_to_be_named(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path)
    with pytest.raises(UsageError, match="several clusters; give one of them: --cluster la, ny"):
        of_cluster(config, None)
    found = of_cluster(config, "ny")
    assert [one.name for one in found.clusters] == ["ny"]
    assert found.cluster_key == ("clusters", 1)
    assert found.security_key == "clusters[1].security"
    assert found.namespaces == ("search",)
    assert found.key_of("namespaces") == ("clusters", 1, "namespaces")
    assert found.key_of("catalog") == ("catalog",)
    assert found.whole is config


async def test_explain_and_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = config_samples.tree_values()
    values["clusters"][1]["policies"] = {"everywhere": {"partitions": {"max": 12}}}
    path = str(config_samples.write_tree(tmp_path, **values))
    snapshot = Snapshot().apply([CatalogFormat(3), Volume(2), Namespace("search")], 3)
    FakeBackend(snapshot).take_place(monkeypatch)
    words = ("explain", "--config", path, "--name", "search:clicks")
    said = await command(*words)
    assert (said.status, said.err) == (0, "")
    assert "cluster       la\n" in said.out  # relative names are of the first listener's volume
    said = await command(*words, "--cluster", "ny")
    assert (said.status, said.err) == (0, "")
    assert "listener      ny\n" in said.out
    assert "cluster       ny\n" in said.out
    assert f"clusters[1].policies.everywhere in {path}" in said.out
    said = await command("catalog", "status", "--config", path, "--cluster", "ny", "--json")
    told = json.loads(said.out)
    assert (told["cluster"], told["number"]) == ("ny", 2)
    assert (await command("catalog", "status", "--config", path)).status == 2


async def test_renumber(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(config_samples.write_tree(tmp_path))
    words = ("catalog", "renumber", "--config", path, "--cluster", "ny")
    backend = FakeBackend(Snapshot().apply([CatalogFormat(3), Volume(9)], 2))
    backend.take_place(monkeypatch)
    said = await command(*words)
    assert said.status == 0
    assert said.out.startswith("The cluster has number 2 in the tree, and had 9. Gateways with 9 ")
    assert backend.catalog.snapshot.number == 2
    backend = FakeBackend(Snapshot())
    backend.take_place(monkeypatch)
    assert (await command(*words)).out.startswith("The cluster has no number yet; ")
    assert backend.catalog.commits == []


async def test_renumber_of_a_cluster_that_leaves_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("catalog", "renumber", "--config", str(config_samples.write(tmp_path)))
    backend = FakeBackend(Snapshot().apply([CatalogFormat(3), Volume(9)], 2))
    backend.take_place(monkeypatch)
    said = await command(*words)
    assert (said.status, backend.catalog.snapshot.number) == (0, 0)
    assert "number 9" in said.out
    takes_its_place(0)(backend.catalog.snapshot)
    said = await command(*words)
    assert (said.status, said.out) == (0, "The cluster has no number.\n")
