"""gateway.commands.groups.adopt: the command line, its output, and its requests. Real groups are
carried in tests/live/groups/test_adopt_group.py."""

from __future__ import annotations

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
        assert rejected(said, "namespace 'none' does not exist; create it first")


async def test_where_a_home_is_in_force() -> None:
    """A name that begins at the root is rejected there, or is another name."""
    async with holding() as gateway:
        gateway.rejections["DescribeConfigs"].append((17, "':crm' is outside namespace 'crm'."))
        said = await adopt(gateway, *TO_CRM)
        assert rejected(said, "a home is in force at this address")
        assert gateway.asked("OffsetFetch") == []


async def test_a_group_s_name_is_quoted() -> None:
    async with FakeGroups("crm") as gateway:
        gateway.offsets["my app"] = {A: HELD[A]}
        gateway.states["my app"] = "Stable"
        said = await adopt(gateway, "--group", "my app", "--home", "crm:")
        assert "kafka-gateway adopt --group 'my app' --home crm\n" in said.err


@pytest.mark.parametrize(("operations", "warned"), [(0b1_1000_0000, False), (0b1_0000_0000, True)])
async def test_who_may_not_see_all_is_warned(operations: int, warned: bool) -> None:
    """Kafka leaves out groups that may not be described, and does not report that."""
    async with holding() as gateway:
        gateway.operations = operations
        gateway.authorizes = True
        said = await adopt(gateway, *TO_CRM)
        assert said.status == 0
        assert not gateway.asked("Metadata")
        assert ("warning: offsets on topics that you may not Describe" in said.err) is warned


@pytest.mark.parametrize(("code", "warned"), [(3, False), (29, True)])
async def test_without_acls_of_the_gateway_those_of_the_brokers_count(
    code: int, warned: bool
) -> None:
    """The operations on the cluster are for the gateway's user, who needs none."""
    async with holding() as gateway:
        gateway.operations = 0
        gateway.rejections["Metadata"].append((code, ""))
        said = await adopt(gateway, *TO_CRM)
        assert said.status == 0
        assert ("warning: offsets on topics that you may not Describe" in said.err) is warned
        (request,) = gateway.asked("Metadata")
        assert not request.allow_auto_topic_creation
