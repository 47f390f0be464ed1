"""gateway.commands.groups.carriage: warnings about groups when topics are adopted."""

from __future__ import annotations

from collections import deque

from gateway.commands.groups.coordinator import Partition, Position
from tests.commands.fake_groups import FakeGroups
from tests.commands.running import topics

ADOPT = ("--adopt", "--topic", "calls", "--to-namespace", "crm")
BY_PREFIX = ("--adopt", "--prefix", "c", "--to-namespace", "crm")
HELD = {Partition("calls", 0): Position(5, 0, "")}
WARNING = (
    "kafka-gateway: warning: group 'app' has offsets on calls; if it moves to a listener with home"
    " 'crm', carry them: kafka-gateway adopt --group app --home crm\n"
)


def reading(*groups: str) -> FakeGroups:
    gateway = FakeGroups("crm").add("calls", "mails")
    gateway.offsets |= {group: dict(HELD) for group in groups}
    return gateway


async def test_a_line_with_the_command() -> None:
    async with reading("app") as gateway:
        gateway.offsets["other"] = {Partition("mails", 0): Position(5, 0, "")}
        for more in (["--validate-only"], []):
            said = await topics(gateway, *ADOPT, *more)
            assert (said.status, said.err) == (0, WARNING)
        assert gateway.named() == {"crm:calls", "mails"}


async def test_by_prefix_and_in_its_plan() -> None:
    async with reading("app") as gateway:
        said = await topics(gateway, *BY_PREFIX, "--dry-run")
        assert (said.status, said.err) == (0, WARNING)
        said = await topics(gateway, *BY_PREFIX, "--yes", "--json")
        assert (said.status, said.err) == (0, WARNING)
        assert said.json["adopted"] == 1


async def test_a_namespace_that_takes_in_topics() -> None:
    async with FakeGroups().add("org:a") as gateway:
        gateway.offsets["app"] = {Partition("org:a", 0): Position(5, 0, "")}
        create = ("--create", "--namespace", "org", "--adopt-existing")
        said = await topics(gateway, *create)
        assert (said.status, said.out) == (0, "Created namespace org.\n")
        assert said.err.startswith("kafka-gateway: warning: group 'app' has offsets on org:a; if")
        assert said.err.endswith("kafka-gateway adopt --group app --home org\n")


async def test_those_in_the_home_are_where_they_should_be() -> None:
    async with reading("crm..app") as gateway:
        assert (await topics(gateway, *ADOPT)).err == ""


async def test_many() -> None:
    async with reading(*(f"g{number:02}" for number in range(13))) as gateway:
        said = await topics(gateway, *ADOPT)
        lines = said.err.splitlines()
        assert len(lines) == 11
        assert lines[-1].endswith("the same goes for 3 more groups: g10, g11, g12")


async def test_what_cannot_be_known_is_told_and_stops_nothing() -> None:
    async with reading("app") as gateway:
        gateway.codes = {"ListGroups": deque([31])}
        said = await topics(gateway, *ADOPT)
        assert said.status == 0
        assert said.err == (
            "kafka-gateway: warning: groups that have offsets on what is adopted are not known:"
            " ListGroupsRequest is answered CLUSTER_AUTHORIZATION_FAILED\n"
        )
        assert gateway.named() == {"crm:calls", "mails"}
