"""gateway.fleet.hung_gateways: which gateways hang, by how they treated connections."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.catalog.entities import Member
from gateway.catalog.probe import Reaction
from gateway.catalog.snapshot import Snapshot
from gateway.fleet import hung_gateways
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.fleet.hung_gateways import HungGateways
from tests.catalog.skipped_time import skipping

LISTENER = "all"
LISTENERS = {LISTENER: False, "tls": True}

UP, SILENT, GONE = Reaction.RESPONDS, Reaction.SILENT, Reaction.NO_CONNECTION


class Fleet:
    """Three gateways, seen from ``gw-a``; ``reactions`` by the host of an address."""

    def __init__(self) -> None:
        self.reactions: dict[str, Reaction] = defaultdict(lambda: UP)
        self.asked: list[tuple[str, bool, float]] = []
        members = [
            Member("gw-a", 1, {LISTENER: "gw-a:9300"}),
            Member("gw-b", 2, {LISTENER: "gw-b:9300", "tls": "gw-b:9400"}),
            Member("gw-c", 3, {"tls": "gw-c:9400", LISTENER: "gw-c:9300"}),
            Member("gw-d", 4, {"other": "gw-d:9300"}),
        ]
        self.snapshot = Snapshot().apply(members, 4)
        self.nodes = GatewayNodes("gw-a", [LISTENER])
        volume = SimpleNamespace(catalog=SimpleNamespace(snapshot=self.snapshot))
        self.hung = HungGateways("gw-a", cast(Any, [volume]), [self.nodes], LISTENERS)

    async def reaction(self, address: str, *, tls: bool) -> Reaction:
        self.asked.append((address, tls, asyncio.get_running_loop().time()))
        found = self.reactions[address.partition(":")[0]]
        await asyncio.sleep(3.0 if found is SILENT else 0.0)
        return found

    @property
    def hosts(self) -> list[str]:
        """The hosts at which clients find the nodes of gateways."""
        return [one.host for one in self.nodes.at(self.snapshot, LISTENER)]


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    fleet = Fleet()
    monkeypatch.setattr(hung_gateways, "reaction", fleet.reaction)
    return fleet


@pytest.mark.parametrize(
    ("seen", "hangs"),
    [
        pytest.param([SILENT], False, id="silent-once"),
        pytest.param([SILENT, SILENT], True, id="silent-twice"),
        pytest.param([SILENT, UP, SILENT], False, id="it-answered-between"),
        pytest.param([SILENT, GONE, SILENT], False, id="no-connection-between"),
        pytest.param([GONE, GONE, GONE], False, id="cannot-be-reached"),
        pytest.param([SILENT, SILENT, GONE, GONE], True, id="its-queue-is-full"),
        pytest.param([SILENT, SILENT, UP], False, id="it-answers-again"),
        pytest.param([SILENT, SILENT, GONE, UP], False, id="it-is-started-again"),
    ],
)
@skipping
async def test_it_hangs(fleet: Fleet, seen: Sequence[Reaction], hangs: bool) -> None:
    for one in seen:
        fleet.reactions["gw-b"] = one
        await fleet.hung.look()
    assert fleet.hung.now == ({"gw-b"} if hangs else set())
    assert fleet.hosts == (["gw-c", "gw-c", "gw-c"] if hangs else ["gw-b", "gw-b", "gw-c"])


@skipping
async def test_it_is_noticed_within_eleven_seconds_and_seen_again_within_five(
    fleet: Fleet,
) -> None:
    loop = asyncio.get_running_loop()
    watching = asyncio.create_task(fleet.hung.watch())
    await asyncio.sleep(0.1)
    fleet.reactions["gw-c"] = SILENT
    began = loop.time()
    while not fleet.hung.now:
        await asyncio.sleep(0.1)
    assert loop.time() - began < 11.1
    fleet.reactions["gw-c"] = UP
    began = loop.time()
    while fleet.hung.now:
        await asyncio.sleep(0.1)
    assert loop.time() - began < 5.1
    watching.cancel()


@skipping
async def test_one_port_of_each_is_asked_without_tls_if_possible(fleet: Fleet) -> None:
    await fleet.hung.look()
    assert [one[:2] for one in fleet.asked] == [("gw-b:9300", False), ("gw-c:9300", False)]
