"""gateway.fleet.absence: which gateways are listed, by when each was up last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.catalog.entities import Member
from gateway.catalog.snapshot import Snapshot
from gateway.fleet import absence
from gateway.fleet.absence import ABSENT_SECONDS, Absence
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.node_ids import FIRST_GATEWAY_ID

LISTENER = "all"


def members(*ids: str) -> Snapshot:
    return Snapshot().apply(
        [
            Member(one, number, {LISTENER: f"{one}.example:9300"})
            for number, one in enumerate(ids, start=1)
        ],
        len(ids),
    )


class Fleet:
    """Gateways of which each is up or not, seen from ``gw-a``."""

    def __init__(self, *snapshots: Snapshot) -> None:
        self.down: set[str] = set()
        self.asked: list[str] = []
        self.now = 1_000.0
        self.volumes = [
            SimpleNamespace(
                catalog=SimpleNamespace(snapshot=each),
                nodes=GatewayNodes("gw-a", [LISTENER]),
            )
            for each in snapshots
        ]
        nodes = [each.nodes for each in self.volumes]
        self.absence = Absence("gw-a", cast(Any, self.volumes), nodes, lambda: self.now)

    async def is_up(self, member: Member) -> bool:
        self.asked.append(member.gateway_id)
        return member.gateway_id not in self.down

    async def look(self, seconds: float = 0.0) -> list[list[str]]:
        """The hosts that each volume lists after a look ``seconds`` later."""
        self.now += seconds
        await self.absence.look()
        return [self.listed(each) for each in self.volumes]

    def listed(self, volume: Any) -> list[str]:
        snapshot = volume.catalog.snapshot
        ids = {one.number: one.gateway_id for one in snapshot.members.values()}
        nodes = volume.nodes.at(snapshot, LISTENER)
        return [ids[one.node_id - FIRST_GATEWAY_ID] for one in nodes]


Make = Callable[..., Fleet]


@pytest.fixture
def fleet_of(monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(*ids: Sequence[str]) -> Fleet:
        fleet = Fleet(*(members(*each) for each in ids))
        monkeypatch.setattr(absence, "is_up", fleet.is_up)
        return fleet

    return make


async def test_one_that_is_down_is_listed_for_an_hour(fleet_of: Make) -> None:
    fleet = fleet_of(("gw-a", "gw-b", "gw-c"))
    fleet.down = {"gw-b"}
    assert await fleet.look() == [["gw-a", "gw-b", "gw-c"]]
    assert await fleet.look(ABSENT_SECONDS - 1) == [["gw-a", "gw-b", "gw-c"]]
    assert await fleet.look(1) == [["gw-a", "gw-c"]]
    assert fleet.absence.down == {"gw-b"}
    fleet.down.clear()
    assert await fleet.look(1) == [["gw-a", "gw-b", "gw-c"]]
    assert fleet.absence.down == set()
    assert "gw-a" not in fleet.asked


async def test_the_hour_begins_anew_when_it_was_up(fleet_of: Make) -> None:
    fleet = fleet_of(("gw-a", "gw-b", "gw-c"))
    for _ in range(3):
        fleet.down = {"gw-b"}
        await fleet.look(ABSENT_SECONDS / 2)
        fleet.down = set()
        await fleet.look(ABSENT_SECONDS / 3)
    fleet.down = {"gw-b"}
    assert await fleet.look(1) == [["gw-a", "gw-b", "gw-c"]]


async def test_one_that_is_left_alone_lists_nobody(fleet_of: Make) -> None:
    fleet = fleet_of(("gw-a", "gw-b"))
    fleet.down = {"gw-b"}
    await fleet.look()
    assert await fleet.look(ABSENT_SECONDS) == [[]]


async def test_one_that_returns_after_it_was_forgotten_is_listed_at_once(fleet_of: Make) -> None:
    fleet = fleet_of(("gw-a", "gw-b", "gw-c"))
    fleet.down = {"gw-b"}
    await fleet.look()
    await fleet.look(ABSENT_SECONDS)
    (volume,) = fleet.volumes
    known, volume.catalog.snapshot = volume.catalog.snapshot, members("gw-a", "gw-c")
    assert await fleet.look(1) == [["gw-a", "gw-c"]]
    volume.catalog.snapshot = known
    assert await fleet.look(1) == [["gw-a", "gw-b", "gw-c"]]


async def test_each_cluster_of_a_tree_has_its_own_members(fleet_of: Make) -> None:
    fleet = fleet_of(("gw-a", "gw-b", "gw-c"), ("gw-a", "gw-b", "gw-d"))
    fleet.down = {"gw-b", "gw-d"}
    await fleet.look()
    assert await fleet.look(ABSENT_SECONDS) == [["gw-a", "gw-c"], []]
    assert fleet.absence.down == {"gw-b", "gw-d"}
