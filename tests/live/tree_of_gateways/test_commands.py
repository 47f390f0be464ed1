"""The operators' commands about a tree of gateways, with three serving gateways."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devkit.gateway_process import gateway_command
from tests.live.tree_of_gateways.sites import (
    LA,
    NAMES,
    NUMBERS,
    ROOT,
    TRACKING,
    VOLUMES,
    Site,
    Tree,
)

SECONDS = 120


def command(*words: str | Path) -> tuple[int, Any]:
    """Exit status and JSON of an operator's command."""
    line = [gateway_command(), *map(str, words), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, json.loads(done.stdout)


def of(site: Site, name: str, *words: str) -> tuple[int, Any]:
    """Run a command that takes the configuration of a site's gateway."""
    return command(name, "--config", site.gateway.config_path, *words)


def volumes(node: Any) -> Iterator[tuple[str, int]]:
    """The path and the number of every volume in the output of ``tree``."""
    if node.get("volume"):
        yield node["path"], node["volume"]["number"]
    for below in node["below"]:
        yield from volumes(below)


@pytest.mark.parametrize("site", VOLUMES, ids=NAMES.get)
def test_the_whole_tree_from_each_gateway(tree: Tree, site: str) -> None:
    status, root = of(tree[site], "tree", "--all")
    assert status == 0
    assert dict(volumes(root)) == {f":{mount}": NUMBERS[mount] for mount in VOLUMES}


@pytest.mark.parametrize(
    ("site", "mount", "way"),
    [
        (ROOT, TRACKING, ["root", "la", "tracking"]),
        (TRACKING, ROOT, ["tracking", "la", "root"]),
        (LA, TRACKING, ["la", "tracking"]),
    ],
)
def test_every_gateway_on_the_way_is_shown(
    tree: Tree, site: str, mount: str, way: list[str]
) -> None:
    path = mount.replace(":", "/")
    name = f"/{path}/clicks" if path else "/clicks"
    status, told = of(tree[site], "explain", "--name", name)
    assert status == 0
    assert told["outcome"] == "ANSWERED"
    assert told["owner"]["mount"] == f":{mount}"
    assert told["owner"]["number"] == NUMBERS[mount]
    assert [hop["gateway"] for hop in told["hops"]] == way
    assert all(hop["micros"] > 0 for hop in told["hops"])


@pytest.mark.parametrize("site", VOLUMES, ids=NAMES.get)
def test_check_finds_that_the_peers_agree(tree: Tree, site: str) -> None:
    """Its ports are taken by the serving gateway, which is only a problem of the configuration."""
    _, told = command("check", tree[site].gateway.config_path, "--peers")
    assert [one for one in told["problems"] if "address already in use" not in str(one)] == []
    assert {one["name"] for one in told["peers"]} == {peer.name for peer in tree[site].place.peers}
    assert all(one["responds"] for one in told["peers"])
