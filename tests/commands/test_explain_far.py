"""gateway.commands.explain_far: names of other gateways' volumes, and the way to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.catalog.entities import PrincipalHome
from gateway.catalog.snapshot import Snapshot
from gateway.commands.asking import PRINCIPAL
from gateway.referrals.questions import Kind
from tests.commands import fake_clusters
from tests.commands.fake_clusters import FakeVolume, down
from tests.commands.fake_tree import FakeTree, around
from tests.commands.running import Said, command
from tests.config import config_samples

DEEP, BELOW = "la:tracking:deep", "la:tracking:deep:er"
REACH = ["la:tracking", "ny", DEEP]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    la = Snapshot().apply([PrincipalHome("User:carol", "search")], 2)
    volumes = {"la": FakeVolume(la, {"orders": 1}), "ny": FakeVolume()}
    return fake_clusters.take_place(monkeypatch, volumes)


@pytest.fixture
def tree(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> FakeTree:
    return around().take_place(monkeypatch)


async def explain(directory: Path, name: str, *words: str, **listener: Any) -> Said:
    """Explain a name at a listener of la:tracking that reaches two mounts of other gateways; its
    times are replaced by 0.0 ms."""
    values = config_samples.peer_values(directory)
    values["listeners"][0] |= {"reach": REACH, **listener}
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    said = await command("explain", "--config", str(path), "--name", name, *words)
    return Said(said.status, re.sub(r"\d+\.\d ms", "0.0 ms", said.out), said.err)


@pytest.mark.parametrize("name", [":ny:team:x", "/ny/team/x", "..ny.team..x"])
async def test_every_hop_is_shown(tmp_path: Path, tree: FakeTree, name: str) -> None:
    said = await explain(tmp_path, name)
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        f"name       {name}\n"
        "principal  User:ANONYMOUS\n"
        "listener   la\n"
        "home       none\n"
        "cluster    none of this gateway's\n"
        "path       :ny:team\n"
        "absolute   :ny:team:x\n"
        "owner      :ny (number 4) of gateway root\n"
        "found in   0.0 ms\n"
        "\n"
        "gateway            time    way\n"
        "gw (this command)  0.0 ms  not in its cache\n"
        "root               0.0 ms  owns it\n"
    )
    asked = tree["root"].asked
    assert [(one.kind, one.target, one.principal) for one in asked] == [
        (Kind.LOCATE, "ny:team", PRINCIPAL),
        (Kind.LOCATE, "ny", PRINCIPAL),
    ]
    assert all(link.closed for link in tree.links)


async def test_a_gateway_on_the_way_that_knows_it(tmp_path: Path, tree: FakeTree) -> None:
    """Gateways remember where mounts are, so the first question for a mount is not answered from a
    cache."""
    ways = []
    for _ in range(2):
        said = await explain(tmp_path, f":{BELOW}:x", "--json", reach=[*REACH, BELOW])
        ways.append([(one["gateway"], one["cached"], one["way"]) for one in said.json["hops"]])
    assert ways == [
        [
            ("gw", False, "not in its cache"),
            ("deep", cached, "known by its cache" if cached else "not in its cache"),
            ("er", False, "owns it"),
        ]
        for cached in (False, True)
    ]


async def test_json(tmp_path: Path, tree: FakeTree) -> None:
    said = await explain(tmp_path, ":sf:b:c:x", "--json")
    told = said.json
    assert told["micros"] == told["hops"][0]["micros"]
    assert [one["gateway"] for one in told.pop("hops")] == ["gw", "root", "top", "sf"]
    assert told.pop("micros") > 0
    assert told == {
        "name": ":sf:b:c:x",
        "principal": "User:ANONYMOUS",
        "listener": "la",
        "cluster": None,
        "home": None,
        "path": ":sf:b:c",
        "absolute_name": None,
        "refusal": None,
        "outcome": "ANSWERED",
        "message": None,
        "owner": {"mount": ":sf:b", "number": 6, "gateway": "sf"},
        "warnings": ["':sf:b' is not in the reach of listener 'la': add it to `reach`"],
    }


async def test_a_mount_below_one_that_the_file_knows(tmp_path: Path, tree: FakeTree) -> None:
    said = await explain(tmp_path, f":{BELOW}:x")
    assert f"owner      :{BELOW} (number 8) of gateway er\n" in said.out
    assert said.lines[-1] == (
        f"warning: ':{BELOW}' is not in the reach of listener 'la': add it to `reach`; until then "
        f"its clients are led to ':{DEEP}', which has it not"
    )


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        (f":{DEEP}:", "is a mount, not a namespace in it"),
        (f":{DEEP}:a b", "holds characters"),
        (f":{DEEP}:a b:x", "is not one or more of"),
    ],
)
async def test_what_names_nothing_there(
    tmp_path: Path, tree: FakeTree, name: str, is_there: str
) -> None:
    said = await explain(tmp_path, name)
    assert said.status == 0
    assert "is         no name there: " in said.out
    assert is_there in said.out
    assert f"owner      :{DEEP} (number 7) of gateway deep\n" in said.out


async def test_nobody_has_it(
    tmp_path: Path, tree: FakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree["root"].parents = ()
    FakeTree(*tree.gateways.values()).take_place(monkeypatch)
    said = await explain(tmp_path, ":gone:x")
    assert (said.status, said.err) == (0, "")
    assert "owner      not found: No cluster is mounted at ':gone'.\n" in said.out
    assert "root               0.0 ms" in said.out


async def test_nobody_that_knows_it_responds(tmp_path: Path, tree: FakeTree) -> None:
    tree["top"].down = True
    said = await explain(tmp_path, ":sf:x")
    assert said.status == 1
    why = "Gateway 'top' does not respond; try again later."
    assert f"owner      not found: {why}\n" in said.out
    said = await explain(tmp_path, ":sf:x", "--json")
    assert (said.json["outcome"], said.json["message"]) == ("UNREACHABLE", why)
    assert (said.status, said.json["owner"]) == (1, None)


@pytest.mark.parametrize(
    ("name", "volume"),
    [
        ("orders", ":la:tracking"),
        ("search:x", ":la:tracking"),
        (":la:tracking:x", ":la:tracking"),
        (":la:tracking:search:", ":la:tracking"),
        ("/ny/tracking/x", ":ny:tracking"),
    ],
)
async def test_own_names_never_ask(tmp_path: Path, tree: FakeTree, name: str, volume: str) -> None:
    said = await explain(tmp_path, name, "--json", reach=[*REACH, "ny:tracking"])
    assert (said.status, said.json["volume"]) == (0, volume)
    assert tree.links == []


async def test_an_own_volume_out_of_reach_never_asks(tmp_path: Path, tree: FakeTree) -> None:
    said = await explain(tmp_path, ":ny:tracking:x")
    assert said.lines[-1].startswith("warning: ':ny:tracking' is not in the reach")
    assert tree.links == []


async def test_a_mount_of_another_gateway_above_an_own_one(tmp_path: Path, tree: FakeTree) -> None:
    said = await explain(tmp_path, ":ny:tracking:x", reach=[*REACH, "ny:tracking"])
    assert (
        "mount         :ny (another gateway's) does not: :ny:tracking hides what it has there\n"
        "mount         :ny:tracking (cluster ny) owns it\n"
    ) in said.out
    words = (":ny:tracking:x", "--json")
    said = await explain(tmp_path, *words, reach=[*REACH, "ny:tracking"])
    assert [one["cluster"] for one in said.json["mounts"]] == [None, "ny"]


async def test_a_home_knows_no_absolute_names(tmp_path: Path, tree: FakeTree) -> None:
    said = await explain(tmp_path, ":ny:x", "--principal", "User:carol", "--json")
    assert (said.json["kind"], said.json["home"], tree.links) == (None, "search", [])
    said = await explain(tmp_path, ":ny:x", "--json", home="search", escape=True)
    assert (said.json["owner"]["mount"], said.json["home"]) == (":ny", "search")


async def test_the_cluster_whose_view_is_wanted_explains_it_itself(
    tmp_path: Path, tree: FakeTree
) -> None:
    said = await explain(tmp_path, ":ny:x", "--cluster", "la", "--json")
    assert "is in the volume mounted at ':ny'" in said.json["refusal"]
    assert tree.links == []


async def test_a_listener_of_another_gateways_volume(tmp_path: Path, tree: FakeTree) -> None:
    """Relative names are in that volume, and names of own volumes are still here."""
    listener = {"volume": DEEP}
    said = await explain(tmp_path, "search:x", "--json", **listener)
    assert (said.json["path"], said.json["absolute_name"]) == (
        f":{DEEP}:search",
        f":{DEEP}:search:x",
    )
    assert said.json["owner"]["gateway"] == "deep"
    said = await explain(tmp_path, "search:", "--json", **listener)
    assert said.json["absolute_name"] == f":{DEEP}:search:"
    asked = len(tree.links)
    said = await explain(tmp_path, ":la:tracking:orders", **listener)
    assert "view          that of :la:tracking (cluster la, number 1); the listener's" in said.out
    assert f"volume is :{DEEP}\n" in said.out
    assert len(tree.links) == asked


async def test_the_own_cluster_is_down(
    tmp_path: Path, tree: FakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_clusters.take_place(monkeypatch, {"la": FakeVolume(failure=down("la"))})
    said = await explain(tmp_path, ":ny:x", "--json")
    assert (said.status, said.json["owner"]["gateway"]) == (0, "root")


async def test_without_other_gateways_it_stays_as_it_was(tmp_path: Path, opened: list[str]) -> None:
    config = str(config_samples.write_tree(tmp_path))
    said = await command("explain", "--config", config, "--name", ":sf:x", "--json")
    assert said.json["refusal"] == "no cluster is mounted at ':sf' or above it"
