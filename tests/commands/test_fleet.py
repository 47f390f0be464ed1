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

    async def answers(address: str, *, tls: bool) -> bool:
        return not address.startswith("gw-b") and not tls

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fleet, "answers", answers)
    config_samples.write(tmp_path)
    catalog = Snapshot().apply([CatalogFormat(4), *GATEWAYS, *MEMBERS], 6)
    FakeBackend(catalog, {}).take_place(monkeypatch)


async def test_the_page_shows_what_it_prints() -> None:
    (step,) = steps("fleet")
    said = await command(*step.words)
    assert (said.status, said.out + said.printed) == (step.status, step.output)


async def test_as_json() -> None:
    said = await command("fleet", "--config", "gateway.yaml", "--json")
    assert said.status == 0
    first, second, third = json.loads(said.out)["gateways"]
    assert [one["up"] for one in first["listeners"]] == [True, True]
    assert second == {
        "gateway_id": "gw-b",
        "software": "0.1.0",
        "node_id": 2**30 + 2,
        "listeners": [
            {"listener": "all", "address": "gw-b.example:9196", "up": False, "taken_by": None}
        ],
    }
    assert (third["node_id"], third["listeners"]) == (None, [])


async def test_without_gateways(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeBackend(Snapshot().apply([CatalogFormat(4)], 1), {}).take_place(monkeypatch)
    said = await command("fleet", "--config", "gateway.yaml")
    assert (said.status, said.out) == (0, "")
    assert "no gateway of cluster 'main' is known" in said.err
    assert "kafka-gateway serve --config gateway.yaml" in said.err
    said = await command("fleet", "--config", "gateway.yaml", "--json")
    assert (said.status, said.json) == (0, {"gateways": []})


async def test_a_cluster_that_is_not_in_the_file() -> None:
    said = await command("fleet", "--config", "gateway.yaml", "--cluster", "other")
    assert said.status != 0
    assert "other" in said.err


async def test_a_ghost_is_not_up_because_another_gateway_has_its_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A container that is made anew has another host name, and therefore another gateway_id."""
    renamed = Member("gw-d", 4, {"all": "gw-a.example:9196"})
    ghosts = Snapshot().apply(
        [CatalogFormat(4), *GATEWAYS, Gateway("gw-d", 4, "0.1.0"), *MEMBERS, renamed], 8
    )
    FakeBackend(ghosts, {}).take_place(monkeypatch)
    said = await command("fleet", "--config", "gateway.yaml", "--json")
    first, *_, last = json.loads(said.out)["gateways"]
    assert [(one["up"], one["taken_by"]) for one in first["listeners"]] == [
        (False, "gw-d"),
        (True, None),
    ]
    assert [(one["up"], one["taken_by"]) for one in last["listeners"]] == [(True, None)]
    said = await command("fleet", "gateway.yaml")
    assert "catalog forget --config gateway.yaml --gateway gw-a" in said.err
