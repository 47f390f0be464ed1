"""gateway.commands.adopt_group: what is refused, what is said, and that nothing is half done in
silence. Real groups are carried in tests/live/test_adopt_group.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.commands.groups import Partition, Position
from tests.commands.fake_groups import FakeGroups
from tests.commands.running import Said, adopt

A, B = Partition("crm:a", 0), Partition("crm:a", 1)
HELD = {A: Position(5_010, 3, "x\0"), B: Position(7, -1, "")}
TO_CRM = ("--group", "app", "--home", "crm")


def holding() -> FakeGroups:
    gateway = FakeGroups("crm").add("crm:a", partitions=2)
    gateway.offsets["app"] = dict(HELD)
    return gateway


def refused(said: Said, text: str) -> bool:
    return said.status == 1 and text in said.err


async def test_there_and_back() -> None:
    async with holding() as gateway:
        said = await adopt(gateway, *TO_CRM)
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            "Carried 2 offsets of group 'app' into home 'crm': the brokers' group 'crm..app' has"
            " all 2.\n"
        )
        assert gateway.offsets == {"app": HELD, "crm..app": HELD}
        gateway.offsets["crm..app"][A] = later = Position(5_020, 4, "y")
        said = await adopt(gateway, *TO_CRM, "--undo")
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            "Carried 1 offset of group 'app' out of home 'crm': the brokers' group 'app' has"
            " all 2.\n"
        )
        assert gateway.offsets["app"] == {A: later, B: HELD[B]}


async def test_done_already() -> None:
    async with holding() as gateway:
        gateway.offsets["crm..app"] = dict(HELD)
        said = await adopt(gateway, *TO_CRM)
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            "All 2 offsets of group 'app' are in group 'crm..app' already; nothing was changed.\n"
        )
        assert gateway.asked("OffsetCommit") == []


async def test_a_dry_run() -> None:
    async with holding() as gateway:
        said = await adopt(gateway, *TO_CRM, "--dry-run")
        assert (said.status, said.err) == (0, "")
        assert said.lines == [
            "topic  partition  offset  leader epoch  in crm..app",
            "crm:a  0          5010    3             -            carry",
            "crm:a  1          7       -             -            carry",
            "2 offsets of group 'app' could be carried into home 'crm'.",
        ]
        said = await adopt(gateway, *TO_CRM, "--dry-run", "--json")
        told = said.json
        assert (told["from"], told["to"], told["dry_run"]) == ("app", "crm..app", True)
        assert (told["carried"], told["refused"]) == (0, None)
        assert told["offsets"][0] == {
            "topic": "crm:a",
            "partition": 0,
            "source": {"offset": 5010, "leader_epoch": 3, "metadata": "x\0"},
            "target": None,
            "action": "carry",
        }
        assert gateway.asked("OffsetCommit") == []


@pytest.mark.parametrize("group", ["app", "crm..app"])
@pytest.mark.parametrize("more", [(), ("--undo",), ("--force",), ("--dry-run",)])
async def test_members(group: str, more: tuple[str, ...]) -> None:
    async with holding() as gateway:
        gateway.offsets["crm..app"] = {A: Position(1, 0, "")}
        gateway.states[group] = "Reconciling"
        said = await adopt(gateway, *TO_CRM, *more)
        assert refused(said, f"group '{group}' has active members (state Reconciling); stop all")
        assert "crm:a  0 " in said.out
        said = await adopt(gateway, *TO_CRM, *more, "--json")
        assert said.json["refused"].startswith("nothing was carried: group")
        assert said.status == 1
        assert gateway.asked("OffsetCommit") == []


async def test_nothing_to_carry() -> None:
    async with FakeGroups("crm") as gateway:
        said = await adopt(gateway, *TO_CRM)
        assert refused(said, "group 'app' has no committed offsets")


@pytest.mark.parametrize("spelling", ["colon", "legal"])
async def test_topics_outside_of_the_home(spelling: str) -> None:
    names = ["other:x", "plain", "crm:a", "crm:deep:a"]
    if spelling == "legal":
        names = ["other..x", "plain", "crm..a", "crm.deep..a"]
    async with FakeGroups("crm:deep", "other", spelling=spelling) as gateway:
        gateway.offsets["app"] = {Partition(name, 0): Position(1, 0, "") for name in names}
        said = await adopt(gateway, *TO_CRM)
        assert refused(said, f"home 'crm' does not reach: {', '.join(sorted(names[:2]))}; adopt")
        assert "kafka-gateway adopt --group app --home crm --force" in said.err
        assert (await adopt(gateway, *TO_CRM, "--force")).status == 0
        assert gateway.offsets["crm..app"] == gateway.offsets["app"]


async def test_what_the_target_has() -> None:
    mine = {A: Position(9, 0, ""), Partition("crm:b", 0): Position(1, 0, "")}
    async with holding() as gateway:
        gateway.offsets["crm..app"] = dict(mine)
        said = await adopt(gateway, *TO_CRM)
        assert refused(said, "group 'crm..app' has other offsets: crm:a-0, crm:b-0; if nobody")
        assert gateway.offsets["crm..app"] == mine
        said = await adopt(gateway, *TO_CRM, "--force")
        assert (said.status, gateway.offsets["crm..app"]) == (0, {**mine, **HELD})
        assert said.err == "kafka-gateway: group 'crm..app' keeps what it alone has: crm:b-0\n"


async def test_not_all_was_taken() -> None:
    async with holding() as gateway:
        gateway.refused[B] = 29
        said = await adopt(gateway, *TO_CRM)
        assert refused(said, "not all was carried: 1 offset of 2 of group 'app' were refused")
        assert "crm:a-1 (TOPIC_AUTHORIZATION_FAILED)" in said.err
        assert gateway.offsets["crm..app"] == {A: HELD[A]}
        gateway.refused.clear()
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
        assert refused(said, told)
        assert said.out == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--group", "app", "--home", ""), "--home is the path of a namespace"),
        (("--group", "app", "--home", ":crm"), "--home is the path of a namespace"),
        (("--group", "app", "--home", "c m"), "tier 'c m' of namespace 'c m' is not"),
        (("--group", "", "--home", "crm"), "--group is empty"),
        (("--group", "crm..app", "--home", "crm"), "the application uses: --group app"),
    ],
)
async def test_what_cannot_be_meant(words: tuple[str, ...], told: str) -> None:
    async with holding() as gateway:
        said = await adopt(gateway, *words)
        assert (said.status, told in said.err) == (2, True)
        assert gateway.requests == []


async def test_a_home_that_is_not_there() -> None:
    async with holding() as gateway:
        said = await adopt(gateway, "--group", "app", "--home", "none")
        assert refused(said, "namespace 'none' does not exist; create it first")


async def test_where_a_home_is_in_force() -> None:
    """What begins at the root is refused there, or is something else."""
    async with holding() as gateway:
        gateway.refusals["DescribeConfigs"].append((17, "':crm' is outside namespace 'crm'."))
        said = await adopt(gateway, *TO_CRM)
        assert refused(said, "a home is in force at this address")
        assert gateway.asked("OffsetFetch") == []


async def test_a_group_s_name_is_quoted() -> None:
    async with FakeGroups("crm") as gateway:
        gateway.offsets["my app"] = {A: HELD[A]}
        gateway.states["my app"] = "Stable"
        said = await adopt(gateway, "--group", "my app", "--home", "crm:")
        assert "kafka-gateway adopt --group 'my app' --home crm\n" in said.err
