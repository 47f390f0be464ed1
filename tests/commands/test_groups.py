"""gateway.commands.groups.coordinator: its requests, and how it reads the responses."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.commands.client import GatewayClient
from gateway.commands.errors import CommandError, Unavailable
from gateway.commands.groups import coordinator as groups_module
from gateway.commands.groups.coordinator import Groups, Partition, Position
from gateway.config.addresses import Address
from tests.commands.fake_gateway import HOST, drop_before
from tests.commands.fake_groups import FakeGroups
from tests.commands.running import admin_at

A0, A1, B0 = Partition("org:a", 0), Partition("org:a", 1), Partition("b", 0)
HELD = {A1: Position(7, 3, "x\0é"), A0: Position(0, -1, ""), B0: Position(5_010, 0, "")}


@asynccontextmanager
async def asking(gateway: FakeGroups, timeout: float = 10) -> AsyncIterator[Groups]:
    async with gateway, admin_at(gateway, timeout) as admin:
        groups = Groups(admin.client)
        yield groups
        groups.close()


def holding() -> FakeGroups:
    gateway = FakeGroups()
    gateway.offsets["app"] = dict(HELD)
    return gateway


async def test_positions_in_order() -> None:
    async with asking(holding()) as groups:
        found = await groups.positions("app")
        assert found == HELD
        assert list(found) == [B0, A0, A1]
        assert await groups.positions("nobody") == {}


async def test_no_offset_is_none() -> None:
    gateway = holding()
    gateway.offsets["app"] = {A0: Position(-1, -1, "")}
    async with asking(gateway) as groups:
        assert await groups.positions("app") == {}


@pytest.mark.parametrize("version", [6, 7, 8, 9, 10])
async def test_all_of_a_position_is_committed(version: int) -> None:
    gateway = FakeGroups()
    gateway.highest["OffsetCommit"] = version
    async with asking(gateway) as groups:
        assert await groups.commit("crm..app", HELD) == {}
        assert gateway.offsets["crm..app"] == HELD


async def test_many_are_committed_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_module, "_AT_ONCE", 2)
    gateway = FakeGroups()
    gateway.rejected[A0] = 25
    async with asking(gateway) as groups:
        assert await groups.commit("app", HELD) == {A0: "UNKNOWN_MEMBER_ID"}
        assert len(gateway.asked("OffsetCommit")) == 2
        assert gateway.offsets["app"] == {one: HELD[one] for one in (A1, B0)}


async def test_a_partition_without_an_answer_is_not_committed() -> None:
    gateway = FakeGroups()
    async with asking(gateway) as groups:
        handlers = gateway.handlers()
        silent = handlers | {"OffsetCommit": lambda request, response: {"topics": ()}}
        gateway.handlers = lambda: silent  # type: ignore[method-assign]
        assert await groups.commit("app", {A0: HELD[A0]}) == {A0: "no answer"}


async def test_states() -> None:
    gateway = holding()
    gateway.states["busy"] = "Stable"
    async with asking(gateway) as groups:
        states = [await groups.state(name) for name in ("app", "busy", "nobody")]
        assert states == ["Empty", "Stable", "Dead"]


async def test_a_coordinator_that_moves_is_looked_up_anew() -> None:
    gateway = holding()
    gateway.codes = {"OffsetFetch": deque([16, 14]), "FindCoordinator": deque([15])}
    async with asking(gateway) as groups:
        assert await groups.positions("app") == HELD
        assert len(gateway.asked("FindCoordinator")) == 3  # not there yet; there; moved
        gateway.codes["OffsetCommit"] = deque([16])
        assert await groups.commit("app", HELD) == {}
        assert len(gateway.asked("FindCoordinator")) == 4


async def test_a_lost_connection_is_made_anew() -> None:
    gateway = holding()
    async with asking(gateway) as groups:
        assert await groups.positions("app") == HELD
        gateway.faults["OffsetFetch"].append(drop_before)
        assert await groups.positions("app") == HELD


async def test_offsets_of_an_open_transaction() -> None:
    """They are waited for; with ``stable=False`` the offsets are taken as they are."""
    gateway = holding()
    gateway.unstable.add(A1)
    async with asking(gateway, timeout=0.5) as groups:
        told = "has offsets in a transaction that is not completed \\(org:a-1\\)"
        with pytest.raises(CommandError, match=told):
            await groups.positions("app")
        assert await groups.positions("app", stable=False) == HELD


@pytest.mark.parametrize(
    ("api", "told"),
    [
        ("OffsetFetch", "group 'app': OffsetFetchRequest is answered GROUP_AUTHORIZATION_FAILED"),
        ("FindCoordinator", "FindCoordinatorRequest is answered GROUP_AUTHORIZATION_FAILED; ask"),
    ],
)
async def test_what_is_denied(api: str, told: str) -> None:
    gateway = holding()
    gateway.codes = {api: deque([30])}
    async with asking(gateway) as groups:
        with pytest.raises(CommandError, match=told):
            await groups.positions("app")


async def test_who_has_read_a_topic() -> None:
    gateway = holding()
    gateway.offsets |= {"other": {A0: HELD[A0]}, "third": {Partition("c", 0): HELD[A0]}}
    async with asking(gateway) as groups:
        found = await groups.having(["org:a", "b"])
        assert found == {"app": {"org:a", "b"}, "other": {"org:a"}}
        # The broker that lists a group coordinates it, so no request for its coordinator is sent.
        assert gateway.asked("FindCoordinator") == []
        gateway.codes = {"OffsetFetch": deque([30])}
        assert await groups.having(["org:a", "b"]) == {"other": {"org:a"}}


@pytest.mark.parametrize(
    ("api", "version"), [("OffsetFetch", 6), ("OffsetCommit", 5), ("ListGroups", 3)]
)
async def test_brokers_that_are_too_old(api: str, version: int) -> None:
    gateway = FakeGroups()
    async with asking(gateway) as groups:
        await groups.check_versions()
    gateway = FakeGroups()
    gateway.highest[api] = version
    async with asking(gateway) as groups:
        with pytest.raises(CommandError, match=f"{api}Request v{version + 1}"):
            await groups.check_versions()


async def test_nobody_answers() -> None:
    groups = Groups(GatewayClient([Address(HOST, 1)], timeout=1))
    with pytest.raises(Unavailable):
        await groups.check_versions()
