"""Groups that have a deleted namespace's prefix are deleted with it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.changes.jobs.group_removal import GroupRemoval
from gateway.changes.jobs.namespace_deletion import NamespaceDeletion
from gateway.cluster.link import ClusterUnreachable
from gateway.error_codes import GROUP_AUTHORIZATION_FAILED
from protocol import messages
from protocol.messages import Request, element_class, make
from protocol.schema import api_key_of, response_name
from tests.changes.fakes import START, World
from tests.changes.jobs.test_deletion_job import task

LOADING, NON_EMPTY, NOT_FOUND = 14, 68, 69
ONE, TWO = ("10.0.0.1", 9092), ("10.0.0.2", 9092)

INSIDE = [
    "team-a..app",
    "team-a..x y..z",
    "team-a.sub..app",
    "team-a..team-b..app",
    "team-a..",  # the group without a name of a client at that home
]
OUTSIDE = [
    "app",
    "team-a",
    "team-a.",
    "team-a.other..app",  # there is no such namespace
    "team-b..app",
    "team-ab..app",
    "x.team-a..app",
    "TEAM-A..app",
    "__kafka_gateway..x",
]
SNAPSHOT = Snapshot.of(["team-a:sub", "team-b", "team-ab", "x"]).apply(
    [Namespace("team-a", deleting=START)], 99
)


async def always() -> bool:
    """The namespace is still the namespace that is deleted."""
    return True


class Coordinators:
    """Two brokers, with the groups that each coordinates."""

    def __init__(self, one: list[str], two: list[str]) -> None:
        self.groups = {ONE: one, TWO: two}
        self.codes: dict[str, int] = {}
        self.loading = False
        self.down = False
        self.removal = GroupRemoval(lambda: self.groups, self.ask)

    async def ask(self, address: tuple[str, int], request: Request) -> Any:
        """Respond as BrokerAdmin.ask_at; requests and responses are written and parsed."""
        if self.down:
            raise ClusterUnreachable("main", "refused the connection")
        name = response_name(api_key_of(request.name))
        cls = messages.message_class(name, request.at_most)
        written = messages.write(request.entity(request.at_most))
        entity = messages.parse(request.name, request.at_most, written)
        answer = self._list if request.name == "ListGroupsRequest" else self._delete
        body = messages.write(make(cls, answer(address, entity, cls)))
        return messages.parse(name, request.at_most, body)

    def _list(self, address: tuple[str, int], _: Any, cls: type) -> dict[str, object]:
        group = element_class(cls, "groups")
        listed = () if self.loading else self.groups[address]
        groups = tuple(make(group, {"group_id": one}) for one in listed)
        return {"error_code": LOADING if self.loading else 0, "groups": groups}

    def _delete(self, address: tuple[str, int], request: Any, cls: type) -> dict[str, object]:
        result = element_class(cls, "results")
        results = []
        for one in request.groups_names:
            code = self.codes.get(one, 0 if one in self.groups[address] else NOT_FOUND)
            if not code:
                self.groups[address].remove(one)
            results.append(make(result, {"group_id": one, "error_code": code}))
        return {"results": tuple(results)}

    @property
    def left(self) -> list[str]:
        return [*self.groups[ONE], *self.groups[TWO]]


async def test_all_that_carry_its_prefix_and_no_others() -> None:
    brokers = Coordinators([*INSIDE[:2], *OUTSIDE[:4]], [*OUTSIDE[4:], *INSIDE[2:]])
    assert await brokers.removal.remove(SNAPSHOT, "team-a", always)
    assert brokers.left == OUTSIDE


@pytest.mark.parametrize("code", [NON_EMPTY, 16])
async def test_what_has_members_or_moves_is_waited_for(code: int) -> None:
    brokers = Coordinators([INSIDE[0]], [])
    brokers.codes[INSIDE[0]] = code
    assert not await brokers.removal.remove(SNAPSHOT, "team-a", always)
    del brokers.codes[INSIDE[0]]
    assert await brokers.removal.remove(SNAPSHOT, "team-a", always)
    assert brokers.left == []


async def test_a_coordinator_that_loads_may_have_more() -> None:
    brokers = Coordinators([INSIDE[0]], [])
    brokers.loading = True
    assert not await brokers.removal.remove(SNAPSHOT, "team-a", always)


async def test_a_right_that_the_gateway_lacks_holds_nothing_up() -> None:
    brokers = Coordinators([INSIDE[0]], [])
    brokers.codes[INSIDE[0]] = GROUP_AUTHORIZATION_FAILED
    assert await brokers.removal.remove(SNAPSHOT, "team-a", always)


async def test_groups_of_a_namespace_that_was_made_anew_stay() -> None:
    async def never() -> bool:
        return False

    brokers = Coordinators([INSIDE[0]], [INSIDE[1]])
    assert not await brokers.removal.remove(SNAPSHOT, "team-a", never)
    assert brokers.left == INSIDE[:2]


async def test_one_that_is_gone_already_is_gone() -> None:
    brokers = Coordinators([INSIDE[0]], [])
    brokers.codes[INSIDE[0]] = NOT_FOUND
    assert await brokers.removal.remove(SNAPSHOT, "team-a", always)


async def test_the_namespace_stays_until_its_groups_are_gone() -> None:
    world = World(["org", "other"])
    world.log.append([Namespace("org", deleting=START)])
    brokers = Coordinators(["org..app", "other..app"], [])
    brokers.codes["org..app"] = NON_EMPTY
    job = NamespaceDeletion(world.gateway().context, brokers.removal)
    marked = task(world)
    world.clock.forward(seconds=await job.run(marked) or 0)
    again = await job.run(marked)
    assert again
    assert "org" in world.snapshot.namespaces
    brokers.codes.clear()
    brokers.down = True
    with pytest.raises(OSError, match="refused"):
        await job.run(marked)
    brokers.down = False
    assert await job.run(marked) is None
    assert set(world.snapshot.namespaces) == {"other"}
    assert brokers.left == ["other..app"]
