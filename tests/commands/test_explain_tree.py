"""gateway.commands.explain, viewed and resolution: names of a tree, mount by mount."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.catalog.entities import Namespace, PrincipalHome, ResourceAcls
from gateway.catalog.snapshot import Snapshot
from tests.commands import fake_clusters
from tests.commands.fake_clusters import FakeVolume, down
from tests.commands.running import Said, command
from tests.config import config_samples

SEARCH = Namespace("search")
PATTERN = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, "search:clicks")
READ = AclEntry("User:guest", "*", Operation.READ, Permission.ALLOW)

LA = Snapshot().apply([SEARCH, PrincipalHome("User:carol", "search")], 2)
NY = Snapshot().apply([SEARCH, ResourceAcls(PATTERN, frozenset({READ}))], 2)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    volumes = {
        "la": FakeVolume(LA, {"orders": 1, "search..clicks": 1}),
        "ny": FakeVolume(NY, {"search..clicks": 1}),
    }
    return fake_clusters.take_place(monkeypatch, volumes)


async def explain(path: Path, name: str, *words: str, **values: Any) -> Said:
    config = config_samples.write_tree(path, **values)
    return await command("explain", "--config", str(config), "--name", name, *words)


@pytest.mark.parametrize(
    "spelled",
    [":ny:tracking:search:clicks", "/ny/tracking/search/clicks", "..ny.tracking.search..clicks"],
)
async def test_an_absolute_name_of_the_other_cluster(
    tmp_path: Path, opened: list[str], spelled: str
) -> None:
    said = await explain(tmp_path, spelled)
    assert (said.status, said.err) == (0, "")
    answer, facts, *_ = said.out.split("\n\n")
    assert "search..clicks" in answer
    assert facts == (
        f"name          {spelled}\n"
        "principal     User:ANONYMOUS\n"
        "listener      la\n"
        "home          none\n"
        "cluster       ny\n"
        "view          that of :ny:tracking (cluster ny, number 2); the listener's volume is"
        " :la:tracking\n"
        "mount         :ny:tracking (cluster ny) owns it\n"
        "absolute      :ny:tracking:search:clicks\n"
        "is            topic\n"
        "logical name  search:clicks\n"
        "namespace     search (exists)\n"
        "stored as     search..clicks\n"
        "topic exists  yes\n"
        "topic id      AAAAAAAAAAAAAAAAAAAAAQ"
    )
    assert opened == ["la", "ny"]


async def test_relative_names_are_of_the_listeners_volume(
    tmp_path: Path, opened: list[str]
) -> None:
    said = await explain(tmp_path, "search:clicks", "--listener", "ny", "--json")
    told = said.json
    assert (told["cluster"], told["volume"]) == ("ny", ":ny:tracking")
    assert told["listener_volume"] == ":ny:tracking"
    assert told["absolute_name"] == ":ny:tracking:search:clicks"
    assert told["mounts"] == [{"mount": ":ny:tracking", "cluster": "ny", "verdict": "owns it"}]
    assert opened == ["ny"]
    said = await explain(tmp_path, "search:", "--json")
    assert (said.json["kind"], said.json["absolute_name"]) == ("namespace", ":la:tracking:search:")


async def test_what_is_in_no_volume(tmp_path: Path, opened: list[str]) -> None:
    """DESIGN.md: a path that only leads to mounts is a directory and holds no topics."""
    said = await explain(tmp_path, ":ny:orders")
    assert said.status == 0
    assert "directory that leads to mounts" in said.out
    assert "absolute   none\n" in said.out
    said = await explain(tmp_path, ":sf:orders", "--json")
    assert (said.json["kind"], said.json["mounts"]) == (None, [])
    assert said.json["refusal"] == "no cluster is mounted at ':sf' or above it"


def nested() -> dict[str, Any]:
    """Cluster la at the root, and ny in it."""
    values = config_samples.tree_values()
    values["clusters"][0]["mount"] = ""
    values["listeners"][0]["volume"] = ""
    return values


async def test_a_mount_hides_what_is_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under = Snapshot().apply([Namespace("ny"), Namespace("ny:tracking")], 2)
    volumes = {"la": FakeVolume(under, {"ny.tracking..x": 1}), "ny": FakeVolume(NY)}
    fake_clusters.take_place(monkeypatch, volumes)
    said = await explain(tmp_path, ":ny:tracking:x", **nested())
    assert "cluster       ny\n" in said.out
    assert (
        "mount         : (cluster la) does not: :ny:tracking hides what it has there\n"
        "mount         :ny:tracking (cluster ny) owns it\n"
        "absolute      :ny:tracking:x\n"
    ) in said.out
    said = await explain(tmp_path, "ny:tracking:x", **nested())
    assert "cluster       la\n" in said.out
    assert (
        "mount         : (cluster la) has it, hidden: relative names alone reach it\n"
        "mount         :ny:tracking (cluster ny) hides it: absolute names there are its own\n"
        "absolute      none\n"
    ) in said.out
    assert "topic exists  yes\n" in said.out
    said = await explain(tmp_path, "ny:other", "--json", **nested())
    assert said.json["absolute_name"] == ":ny:other"


async def test_rights_in_another_volume_are_those_of_who_it_trusts(
    tmp_path: Path, opened: list[str]
) -> None:
    values = config_samples.tree_values(authorization={"super.users": []})
    name = ":ny:tracking:search:clicks"
    words = ("--principal", "User:alice", "--json")
    for trust, allowed in (
        ([], set()),
        ([{"listener": "la", "principals": {"User:alice": "User:guest"}}], {"READ", "DESCRIBE"}),
        ([{"listener": "la"}], set()),
    ):
        values["clusters"][1]["trust"] = trust
        told = (await explain(tmp_path, name, *words, **values)).json
        assert {one["operation"] for one in told["permissions"] if one["allowed"]} == allowed


async def test_a_home_knows_no_absolute_names(tmp_path: Path, opened: list[str]) -> None:
    """By the catalog of the listener's volume."""
    name = ":ny:tracking:search:clicks"
    said = await explain(tmp_path, name, "--principal", "User:carol", "--json")
    assert (said.json["home"], said.json["cluster"]) == ("search", "la")
    assert said.json["kind"] is None
    said = await explain(tmp_path, "clicks", "--principal", "User:carol", "--json")
    assert said.json["absolute_name"] == ":la:tracking:search:clicks"


async def test_a_volume_out_of_reach(tmp_path: Path, opened: list[str]) -> None:
    values = config_samples.tree_values()
    values["listeners"][0]["reach"] = ["la:tracking"]
    said = await explain(tmp_path, ":ny:tracking:search:clicks", **values)
    assert said.lines[-1] == (
        "warning: ':ny:tracking' is not in the reach of listener 'la': add it to `reach`"
    )


async def test_the_listeners_volume_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volumes = {"la": FakeVolume(failure=down("la")), "ny": FakeVolume(NY, {"search..clicks": 1})}
    fake_clusters.take_place(monkeypatch, volumes)
    said = await explain(tmp_path, ":ny:tracking:search:clicks")
    assert (said.status, said.err) == (0, "")
    assert "topic exists  yes\n" in said.out
    said = await explain(tmp_path, "orders")
    assert said.status == 69
    assert "cluster 'la' is not reachable" in said.err
