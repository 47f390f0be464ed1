"""gateway.commands.groups.carriage: its rejections, and that no half-done work is silent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.commands.groups.coordinator import Partition, Position
from tests.commands.fake_groups import FakeGroups
from tests.commands.running import Said, adopt

A, B = Partition("crm:a", 0), Partition("crm:a", 1)
HELD = {A: Position(5_010, 3, "x\0"), B: Position(7, -1, "")}
TO_CRM = ("--group", "app", "--home", "crm")


def holding() -> FakeGroups:
    gateway = FakeGroups("crm").add("crm:a", partitions=2)
    gateway.offsets["app"] = dict(HELD)
    return gateway


def rejected(said: Said, text: str) -> bool:
    return said.status == 1 and text in said.err


@pytest.mark.parametrize("group", ["app", "crm..app"])
@pytest.mark.parametrize("more", [(), ("--undo",), ("--force",), ("--dry-run",)])
async def test_members(group: str, more: tuple[str, ...]) -> None:
    async with holding() as gateway:
        gateway.offsets["crm..app"] = {A: Position(1, 0, "")}
        gateway.states[group] = "Reconciling"
        said = await adopt(gateway, *TO_CRM, *more)
        assert rejected(said, f"group '{group}' has active members (state Reconciling); stop all")
        assert "crm:a  0 " in said.out
        said = await adopt(gateway, *TO_CRM, *more, "--json")
        assert said.json["refused"].startswith("nothing was carried: group")
        assert said.status == 1
        assert gateway.asked("OffsetCommit") == []


async def test_nothing_to_carry() -> None:
    async with FakeGroups("crm") as gateway:
        said = await adopt(gateway, *TO_CRM)
        assert rejected(said, "group 'app' has no committed offsets")


@pytest.mark.parametrize("spelling", ["colon", "legal"])
async def test_topics_outside_of_the_home(spelling: str) -> None:
    names = ["other:x", "plain", "crm:a", "crm:deep:a"]
    if spelling == "legal":
        names = ["other..x", "plain", "crm..a", "crm.deep..a"]
    async with FakeGroups("crm:deep", "other", spelling=spelling) as gateway:
        gateway.offsets["app"] = {Partition(name, 0): Position(1, 0, "") for name in names}
        said = await adopt(gateway, *TO_CRM)
        assert rejected(said, f"home 'crm' does not reach: {', '.join(sorted(names[:2]))}; adopt")
        assert "kafka-gateway adopt --group app --home crm --force" in said.err
        assert (await adopt(gateway, *TO_CRM, "--force")).status == 0
        assert gateway.offsets["crm..app"] == gateway.offsets["app"]


async def test_what_the_target_has() -> None:
    mine = {A: Position(9, 0, ""), Partition("crm:b", 0): Position(1, 0, "")}
    async with holding() as gateway:
        gateway.offsets["crm..app"] = dict(mine)
        said = await adopt(gateway, *TO_CRM)
        assert rejected(said, "group 'crm..app' has other offsets: crm:a-0, crm:b-0; if nobody")
        assert gateway.offsets["crm..app"] == mine
        said = await adopt(gateway, *TO_CRM, "--force")
        assert (said.status, gateway.offsets["crm..app"]) == (0, {**mine, **HELD})
        assert said.err == "kafka-gateway: group 'crm..app' keeps what it alone has: crm:b-0\n"


async def test_not_all_was_taken() -> None:
    async with holding() as gateway:
        gateway.rejected[B] = 29
        said = await adopt(gateway, *TO_CRM)
        assert rejected(said, "not all was carried: 1 offset of 2 of group 'app' were refused")
        assert "crm:a-1 (TOPIC_AUTHORIZATION_FAILED)" in said.err
        assert gateway.offsets["crm..app"] == {A: HELD[A]}
        gateway.rejected.clear()
        assert (await adopt(gateway, *TO_CRM)).status == 0
        assert gateway.offsets["crm..app"] == HELD


def _target_moves(gateway: FakeGroups) -> None:
    gateway.offsets["crm..app"][A] = Position(1, 0, "")


def _source_moves(gateway: FakeGroups) -> None:
    gateway.offsets["app"][B] = Position(8, 0, "")


def _source_joins(gateway: FakeGroups) -> None:
    gateway.states["app"] = "Stable"


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (_target_moves, "group 'crm..app' has other offsets than were written: crm:a-0"),
        (_source_moves, "group 'app' was used meanwhile: it has committed crm:a-1"),
        (_source_joins, "group 'app' was used meanwhile: it has members (state Stable)"),
    ],
)
async def test_what_happens_meanwhile_is_told(
    happens: Callable[[FakeGroups], None], told: str
) -> None:
    async with holding() as gateway:
        gateway.committed = lambda: happens(gateway)
        said = await adopt(gateway, *TO_CRM)
        assert rejected(said, told)
        assert said.out == ""
