"""gateway.processes.cut_off: when doors close, and when they open again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from gateway.cluster.cluster import Cluster
from gateway.processes import cut_off
from gateway.processes.cut_off import LOOKS, CutOff, Pulse
from tests.cluster.scripted_broker import ClusterState, ScriptedBroker
from tests.waiting import eventually


class Doors:
    """Records calls for a worker's clients: handover, listeners and connections in one."""

    def __init__(self, *, has_peers: bool = True) -> None:
        self.has_peers = has_peers
        self.done: list[str] = []
        self.failing = False
        self.listeners = self
        self.heard = False

    def take_heard(self) -> bool:
        heard, self.heard = self.heard, False
        return heard

    async def begin(self) -> bool:
        self.done.append("lead")
        return True

    def end(self) -> None:
        self.done.append("lead no more")

    def refuse(self) -> None:
        self.done.append("refuse")

    async def start(self) -> None:
        if self.failing:
            raise OSError("address already in use")
        self.done.append("accept")

    def stop(self) -> None:
        self.done.append("stop")


def clusters(count: int) -> list[Cluster]:
    return [Cluster(f"c{number}", [("127.0.0.1", 1)]) for number in range(count)]


def watched(doors: Doors, count: int = 1, *, in_tree: bool = False) -> CutOff:
    return CutOff(clusters(count), cast(Any, doors), cast(Any, doors), in_tree=in_tree)


async def looks(cut: CutOff, count: int, heard: Callable[[int], bool] = lambda _: False) -> None:
    """Look ``count`` times; between two looks clusters are ``heard`` of, by their place."""
    for _ in range(count):
        for place, pulse in enumerate(cut._pulses):
            if heard(place):
                pulse.unheard = 0
        await cut._look()


async def test_clients_are_refused_after_three_seconds_and_accepted_again() -> None:
    doors = Doors()
    cut = watched(doors)
    await looks(cut, LOOKS)
    assert (doors.done, cut.now) == ([], False)
    await looks(cut, 1)
    assert (doors.done, cut.now) == (["lead", "refuse"], True)
    await looks(cut, 5)
    assert len(doors.done) == 2
    await looks(cut, 1, lambda _: True)
    assert (doors.done[2:], cut.now) == (["lead no more", "accept"], False)


async def test_one_cluster_of_a_tree_is_enough() -> None:
    doors = Doors()
    cut = watched(doors, 2)
    await looks(cut, 3 * LOOKS, lambda place: place == 1)
    assert doors.done == []
    await looks(cut, LOOKS + 1)
    assert cut.now
    await looks(cut, 1, lambda place: place == 0)
    assert not cut.now


async def test_a_gateway_that_is_alone_closes_its_ports_alone() -> None:
    """Clients that are refused back off; clients with open connections have nowhere else to go."""
    doors = Doors(has_peers=False)
    cut = watched(doors)
    await looks(cut, LOOKS)
    assert (doors.done, cut.now) == ([], False)
    await looks(cut, 5)
    assert (doors.done, cut.now) == (["stop"], True)
    await looks(cut, 1, lambda _: True)
    assert (doors.done[-1], cut.now) == ("accept", False)
    assert "lead" not in doors.done


@pytest.mark.parametrize("has_peers", [True, False])
async def test_what_brokers_send_to_clients_keeps_the_doors_open(*, has_peers: bool) -> None:
    """A broker that accepts no more connections leaves the gateway's own without a response."""
    doors = Doors(has_peers=has_peers)
    cut = watched(doors)
    for _ in range(3):
        doors.heard = True
        await looks(cut, LOOKS)
    assert (doors.done, cut.now) == ([], False)
    await looks(cut, 2)
    assert cut.now


async def test_one_that_is_alone_opens_when_its_clients_hear_a_broker_again() -> None:
    doors = Doors(has_peers=False)
    cut = watched(doors)
    await looks(cut, LOOKS + 3)
    assert (doors.done, cut.now) == (["stop"], True)
    doors.heard = True
    await looks(cut, 1)
    assert (doors.done[-1], cut.now) == ("accept", False)


async def test_one_that_is_alone_in_a_tree_answers_of_what_it_knows() -> None:
    doors = Doors(has_peers=False)
    cut = watched(doors, in_tree=True)
    await looks(cut, 10 * LOOKS)
    assert (doors.done, cut.now) == ([], False)


async def test_ports_that_cannot_be_bound_are_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    doors = Doors()
    cut = watched(doors)
    await looks(cut, LOOKS + 1)
    doors.failing = True
    await looks(cut, 2, lambda _: True)
    assert cut.now
    assert caplog.text.count("clients cannot be accepted again yet: address already in use") == 2
    doors.failing = False
    await looks(cut, 1, lambda _: True)
    assert (doors.done[-1], cut.now) == ("accept", False)


async def test_a_cluster_is_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_off, "PULSE_SECONDS", 0.2)
    async with ScriptedBroker(ClusterState()) as broker:
        cluster = Cluster("main", [broker.address])
        pulse = Pulse(cluster)
        pulse.unheard = 7
        beating = asyncio.create_task(pulse.beat())
        await eventually(lambda: pulse.unheard == 0, "the first response")
        pulse.unheard = 7
        await eventually(lambda: pulse.unheard == 0, "the next one")
        assert not cluster.suspected
        await broker.stop()
        await eventually(lambda: cluster.suspected, "a request without response")
        pulse.unheard = 7
        await asyncio.sleep(0.5)  # in which it is asked, and does not respond
        assert pulse.unheard == 7
        beating.cancel()
        await asyncio.wait([beating])
