"""kafka-gateway fleet: gateways, their nodes, and which of them are up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.catalog.entities import CatalogFormat, Gateway, Member
from gateway.catalog.snapshot import Snapshot
from gateway.commands import fleet
from tests.commands.cli_page import steps
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import command
from tests.config import config_samples

GATEWAYS = [Gateway(f"gw-{one}", 4, "0.1.0") for one in "abc"]
MEMBERS = [
    Member("gw-a", 1, {"all": "gw-a.example:9196", "partners": "gw-a.example:9296"}),
    Member("gw-b", 2, {"all": "gw-b.example:9196"}),
]


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration, the catalog of its cluster, and a network in which gw-b is down."""

    async def accepts(address: str) -> bool:
        return not address.startswith("gw-b")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fleet, "accepts", accepts)
    config_samples.write(tmp_path)
    catalog = Snapshot().apply([CatalogFormat(4), *GATEWAYS, *MEMBERS], 6)
    FakeBackend(catalog, {}).take_place(monkeypatch)


async def test_the_page_shows_what_it_prints() -> None:
    (step,) = steps("fleet")
    said = await command(*step.words)
    assert (said.status, said.out + said.err) == (step.status, step.output)


async def test_as_json() -> None:
    said = await command("fleet", "--config", "gateway.yaml", "--json")
    assert said.status == 0
    first, second, third = json.loads(said.out)["gateways"]
    assert [one["up"] for one in first["listeners"]] == [True, True]
    assert second == {
        "gateway_id": "gw-b",
        "software": "0.1.0",
        "node_id": 2**30 + 2,
        "listeners": [{"listener": "all", "address": "gw-b.example:9196", "up": False}],
    }
    assert (third["node_id"], third["listeners"]) == (None, [])


async def test_a_cluster_that_is_not_in_the_file() -> None:
    said = await command("fleet", "--config", "gateway.yaml", "--cluster", "other")
    assert said.status != 0
    assert "other" in said.err
