"""gateway.commands.tree_walk and asking: the subcommand tree with --all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.commands import output
from gateway.commands.asking import PRINCIPAL, Asker
from gateway.commands.output import Progress
from gateway.commands.tree_walk import MAX_WARNINGS, Walked, walk
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.referrals.description import (
    DescribedListener,
    DescribedMount,
    DescribedPeer,
    GatewayDescription,
)
from gateway.referrals.questions import Kind
from tests.commands import fake_clusters
from tests.commands.fake_clusters import FakeVolume
from tests.commands.fake_tree import FakeTree, around
from tests.commands.running import Said, command
from tests.config import config_samples

DEEP, BELOW = "la:tracking:deep", "la:tracking:deep:er"


def written(directory: Path, **tree: Any) -> str:
    """The file of the gateway ``gw``, whose listeners reach only their own clusters."""
    values = config_samples.peer_values(directory, **tree)
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    return str(path)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(Path(written(tmp_path)))


async def walked(config: Config, tree: FakeTree, **limits: float) -> Walked:
    assert config.tree is not None
    with Asker(config, config.tree, tree.link) as asker:
        async with Progress("walking") as progress:
            found = await walk(config, asker, progress, **limits)
    assert all(link.closed for link in tree.links)
    return found


def states(found: Walked) -> dict[str, str]:
    return {each.path: each.text() for each in found.mounts}


async def test_all_mounts_are_found_each_by_one_question(config: Config) -> None:
    """The mounts of peers, of their children, of the parent's parent, which no file names, and of
    its other child."""
    tree = around()
    found = await walked(config, tree)
    assert states(found) == {
        "": "gateway top: cluster c3",
        "ny": "gateway root: cluster c4",
        "sf": "gateway sf: cluster c5",
        "sf:b": "gateway sf: cluster c6",
        DEEP: "gateway deep: cluster c7",
        BELOW: "gateway er: cluster c8",
    }
    assert found.warnings == []
    assert sorted(tree.targets) == [
        ("deep", ""),
        ("deep", BELOW),
        ("root", ""),
        ("root", ""),
        ("root", "sf"),
    ]
    asked = [one for gateway in tree.gateways.values() for one in gateway.asked]
    assert {(one.kind, one.principal) for one in asked} == {(Kind.DESCRIBE, PRINCIPAL)}
    assert [one.hops for one in tree["deep"].asked] == [0, 15]
    ways = {each.path: each.way for each in found.mounts}
    assert ways["sf:b"] == ("root", "top", "sf")
    assert ways[DEEP] == ("deep",)


async def test_a_mount_that_only_a_listener_names(config: Config) -> None:
    tree = around()
    tree["top"].says = described("top", ("", 3)).to_json()
    assert "sf" not in states(await walked(config, tree))
    reach = DescribedListener("all", "", ("", "sf"), "colon", "PLAINTEXT")
    tree["top"].says = replace(described("top", ("", 3)), listeners=(reach,)).to_json()
    assert states(await walked(config, tree))["sf"] == "gateway sf: cluster c5"


async def test_what_does_not_respond(config: Config) -> None:
    """Its mounts are drawn if another gateway names them, with the reason."""
    tree = around()
    tree["er"].down = tree["root"].down = True
    found = await walked(config, tree)
    assert states(found) == {
        DEEP: "gateway deep: cluster c7",
        BELOW: "not known: Gateway 'er' does not respond; try again later",
    }
    assert found.warnings == ["gateway 'root' does not describe itself: 127.0.0.1:9: refused"]


async def test_a_parent_of_a_parent_that_does_not_respond(config: Config) -> None:
    """No gateway names its mount."""
    tree = around()
    tree["top"].down = True
    found = await walked(config, tree)
    assert set(states(found)) == {"ny", DEEP, BELOW}
    assert found.warnings == [
        "what is at ':' is not known: Gateway 'top' does not respond; try again later"
    ]


async def test_it_ends_in_time(config: Config) -> None:
    tree = around()
    tree["er"].hangs = True
    found = await walked(config, tree, seconds=0.2)
    assert states(found)[BELOW] == "not known: the walk ended after 0.2 s"
    assert states(found)[DEEP] == "gateway deep: cluster c7"


async def test_a_path_that_is_no_mount(config: Config) -> None:
    tree = around()
    tree["deep"].reach = ("sf:c:d", f"{BELOW}:x", "la:tracking:gone")
    found = await walked(config, tree)
    assert states(found)["sf:c:d"] == (
        "no cluster is mounted here, though gateway 'deep' names it: it is in ':sf' of gateway sf"
    )
    assert states(found)[f"{BELOW}:x"].endswith(f"it is in ':{BELOW}' of gateway er")
    assert states(found)["la:tracking:gone"] == (
        "no cluster is mounted here, though gateway 'deep' names it"
    )
    assert tree.targets.count(("deep", "la:tracking:gone")) == 0, "it is this gateway's own"


def described(
    gateway: str, *mounts: tuple[str, int], children: tuple[str, ...] = ()
) -> GatewayDescription:
    return GatewayDescription(
        gateway,
        tuple(DescribedMount(path, number, "lie") for path, number in mounts),
        children=tuple(DescribedPeer("x", "CN=x", path) for path in children),
    )


async def test_what_a_gateway_says_of_others_is_looked_up(config: Config) -> None:
    """A child has the mounts below its own, and no others."""
    tree = around()
    said = described("deep", (DEEP, 7), ("sf", 9), ("la:tracking", 1), ("top", 10))
    tree["deep"].says = said.to_json()
    found = await walked(config, tree)
    assert states(found)["sf"] == "gateway sf: cluster c5"
    assert states(found)[DEEP] == "gateway deep: cluster lie"
    assert states(found)["top"].startswith("no cluster is mounted here, though gateway 'deep'")
    assert found.warnings == ["gateway 'deep' has ':la:tracking', too, which is this gateway's own"]


async def test_two_mounts_of_one_number(config: Config) -> None:
    tree = around()
    tree["deep"].says = described("deep", (DEEP, 4)).to_json()
    found = await walked(config, tree)
    assert found.warnings == [
        f"':{DEEP}' of gateway 'deep' has the number 4, as ':ny' has: clients find one of them; "
        "give each its own"
    ]


async def test_two_mounts_of_one_number_behind_others(config: Config) -> None:
    """Which of the two is found depends on which answers first; both are named."""
    tree = around()
    tree["sf"].mounts = {"sf": 4}
    found = await walked(config, tree)
    told = " ".join([*states(found).values(), *found.warnings])
    assert "number 4" in told
    assert "':sf'" in told
    assert "':ny'" in told


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (b"{", "its description is no JSON"),
        (b"{}", "its description lacks gateway, or has something else there"),
    ],
)
async def test_a_description_that_cannot_be_read(config: Config, says: bytes, reason: str) -> None:
    tree = around()
    tree["deep"].says = tree["sf"].says = says
    found = await walked(config, tree)
    assert states(found)["sf"] == states(found)[DEEP] == f"not known: {reason}"
    assert found.warnings == [f"gateway 'deep' does not describe itself: {reason}"]


async def test_a_flood_of_names_is_bounded(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 20
    monkeypatch.setattr("gateway.commands.tree_walk.MOST", most)
    tree = around()
    names = [f"{DEEP}:n{number}" for number in range(1_000)]
    wrong = [f"not a path {number}" for number in range(1_000)]
    tree["deep"].says = described("deep", (DEEP, 7), children=(*wrong, *names)).to_json()
    found = await walked(config, tree)
    assert len(tree.targets) <= most + len(tree.links)
    assert len(found.mounts) <= most + 1
    assert len(found.warnings) == MAX_WARNINGS


async def test_names_that_were_left_out_are_counted(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.commands.tree_walk.MOST", 1)
    tree = around()
    tree["root"].down = True
    tree["deep"].says = described("deep", (DEEP, 7), children=(BELOW, "sf")).to_json()
    found = await walked(config, tree)
    assert found.warnings[-1] == "2 more names of mounts were left out"


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    volumes = {"la": FakeVolume(topics={"x": 1_024}), "ny": FakeVolume(topics={"y": 1})}
    fake_clusters.take_place(monkeypatch, volumes)


async def drawn(directory: Path, *words: str, **values: Any) -> Said:
    return await command("tree", "--config", written(directory, **values), *words)


@pytest.mark.usefixtures("clusters")
async def test_they_are_drawn_in_one_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = around().take_place(monkeypatch)
    tree["er"].down = True
    said = await drawn(tmp_path, "--all")
    assert (said.status, said.err) == (0, "")
    assert said.lines == [
        "namespace            topics  size     state",
        ":                    2       1.0 KiB  gateway top: cluster c3",
        "├── la:              1       1.0 KiB",
        "│   └── tracking:    1       1.0 KiB  cluster la: 1 broker, metadata.version 27, no"
        " catalog yet",
        "│       └── deep:    ?       ?        gateway deep: cluster c7",
        "│           └── er:  ?       ?        not known: Gateway 'er' does not respond; try again"
        " later",
        "├── ny:              1       1 B      gateway root: cluster c4",
        "│   └── tracking:    1       1 B      cluster ny: 1 broker, metadata.version 27, no"
        " catalog yet",
        "└── sf:              ?       ?        gateway sf: cluster c5",
        "    └── b:           ?       ?        gateway sf: cluster c6",
    ]


@pytest.mark.usefixtures("clusters")
async def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = around().take_place(monkeypatch)
    tree["er"].down = True
    said = await drawn(tmp_path, "--all", "--json")
    (deep,) = said.json["below"][0]["below"][0]["below"]
    assert deep["volume"] == {
        "cluster": "c7",
        "mount": f":{DEEP}",
        "number": 7,
        "reachable": True,
        "failure": None,
        "gateway": "deep",
        "way": ["deep"],
    }
    assert (deep["topics"], deep["all_size"]) == (None, None)
    (below,) = deep["below"]
    assert (below["volume"]["reachable"], below["volume"]["gateway"]) == (False, None)
    assert below["volume"]["failure"].startswith("not known: Gateway 'er'")


@pytest.mark.usefixtures("clusters")
async def test_without_the_flag_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = around().take_place(monkeypatch)
    said = await drawn(tmp_path)
    assert (said.status, said.err) == (0, "")
    assert "gateway" not in said.out
    assert tree.links == []


@pytest.mark.usefixtures("clusters")
async def test_warnings_and_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "INTERVAL", 0.0)
    tree = around().take_place(monkeypatch)
    tree["root"].down = True
    said = await drawn(tmp_path, "--all")
    assert said.status == 0
    assert "asking the other gateways: 2 mounts of other gateways found, 0 to look up" in said.err
    assert "warning: gateway 'root' does not describe itself: 127.0.0.1:9: refused" in said.err


@pytest.mark.usefixtures("clusters")
async def test_a_file_that_names_no_other_gateways(tmp_path: Path) -> None:
    config = str(config_samples.write_tree(tmp_path))
    said = await command("tree", "--config", config, "--all")
    assert (said.status, said.out) == (1, "")
    assert "names no other gateways" in said.err
