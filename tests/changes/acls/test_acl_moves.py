"""ACLs move with their topic, and are deleted with their namespace."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import AclEntry, Operation, Permission, pattern_of
from gateway.catalog.entities import (
    Change,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    TopicEntry,
)
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls import acl_limits
from gateway.changes.acls.acl_moves import carried, carrying, inside, without
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.virtual_configs import Move, Release
from gateway.changes.jobs.job_runner import Task
from gateway.changes.jobs.namespace_deletion import (
    DELETION,
    NamespaceDeletion,
    deletion_task,
    removals,
)
from gateway.changes.namespaces import delete_namespaces
from gateway.changes.topics.move_topics import move_topic
from gateway.decision import Denied
from gateway.names import LogicalName
from gateway.views.access import READ
from tests.changes.acl_requests import access, entities, held, put
from tests.changes.admin_requests import codes, create, delete
from tests.changes.fakes import FakeGateway, World, allowed, once

X = LogicalName("org", "x")
Y = LogicalName("team", "y")


def on(name: str, *users: str) -> set[str]:
    return {f"ALLOW READ User:{user} TOPIC:LITERAL:{name}" for user in users}


@pytest.fixture
def world() -> World:
    world = World(["org:apache", "team"])
    world.broker.make("org..x", "orders")
    return world


async def move(world: World, name: str, wanted: Move | Release) -> None:
    gateway = world.gateway()
    await move_topic(gateway.context, allowed(gateway), name, wanted)


# -- moves -----------------------------------------------------------------------------------------


async def test_a_topic_s_own_acls_go_along(world: World) -> None:
    stay = {
        "ALLOW READ User:a TOPIC:PREFIXED:org:x",
        "ALLOW READ User:a TOPIC:LITERAL:org:",
        "ALLOW READ User:a GROUP:LITERAL:org:x",
        *on("org:xx", "a"),
    }
    put(world, *on("org:x", "a", "b"), *stay)
    await move(world, "org:x", Move("team", "y"))
    assert held(world.snapshot) == {*on("team:y", "a", "b"), *stay}
    await move(world, "team:y", Move("team", "z", alias_until=world.clock() + 99_000))
    assert held(world.snapshot) == {*on("team:z", "a", "b"), *stay}
    await move(world, "team:z", Move("org", "x"))
    assert held(world.snapshot) == {*on("org:x", "a", "b"), *stay}


async def test_one_decision_in_which_it_is_never_without(world: World) -> None:
    put(world, *on("org:x", "a"))
    before = world.snapshot
    await move(world, "org:x", Move("team", "y"))
    changes = world.log.decisions[1]
    kinds = [type(change) for change in changes]
    assert kinds == [ResourceAcls, TopicEntry, Removal]
    for end in range(len(changes) + 1):
        state = before.apply(changes[:end], before.version + end)
        name = state.owner("org..x")
        assert pattern_of(f"TOPIC:LITERAL:{name}") in state.acls


async def test_adoption_and_release(world: World) -> None:
    put(world, *on("orders", "a"))
    await move(world, "orders", Move("team"))
    assert held(world.snapshot) == on("team:orders", "a")
    await move(world, "team:orders", Release())
    assert held(world.snapshot) == on("orders", "a")
    assert world.snapshot.owner("orders") == LogicalName("", "orders")


async def test_acls_that_are_there_before_the_topic(world: World) -> None:
    put(world, *on("org:x", "a", "b"), *on("team:x", "b", "c"))
    await move(world, "org:x", Move("team"))
    assert held(world.snapshot) == on("team:x", "a", "b", "c")


async def test_too_many_for_one_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_limits, "MAX_ENTRIES", 2)
    put(world, *on("org:x", "a", "b"), *on("team:x", "c"))
    with pytest.raises(Rejected, match="are too many for one name") as caught:
        await move(world, "org:x", Move("team"))
    assert caught.value.why.code == 44
    assert world.snapshot.owner("org..x") == X


async def test_a_move_that_is_taken_back(world: World) -> None:
    put(world, *on("org:x", "a", "b"), *on("team:x", "b", "c"))
    world.step = once("changed", lambda: world.broker.make("team..x"))
    with pytest.raises(Rejected, match="already exists"):
        await move(world, "org:x", Move("team"))
    assert held(world.snapshot) == {*on("org:x", "a", "b"), *on("team:x", "b", "c")}
    assert world.snapshot.topics == {}


async def test_what_changed_meanwhile_counts_when_a_move_is_taken_back(world: World) -> None:
    put(world, *on("org:x", "a", "b"))

    def meanwhile() -> None:
        world.broker.make("team..x")
        # ``a`` is revoked and ``d`` allowed, under the topic's name at that time.
        world.log.append(entities([*on("team:x", "b", "d")]))

    world.step = once("changed", meanwhile)
    with pytest.raises(Rejected):
        await move(world, "org:x", Move("team"))
    assert held(world.snapshot) == {*on("org:x", "b"), *on("team:x", "d")}


def test_nothing_to_carry() -> None:
    snapshot = Snapshot.of(["org"]).apply(entities(on("org:x", "a")), 2)
    assert carried(snapshot, Y, X) is None
    assert carried(snapshot, X, X) is None
    removal: list[Change] = [Removal(("topic", "t"))]
    assert carrying(snapshot, removal, [(Y, X), (X, X)]) == removal


USERS = st.sets(st.sampled_from("abcd"))


def state_of(names: dict[str, set[str]]) -> Snapshot:
    texts = [text for name, users in names.items() for text in on(name, *users)]
    return Snapshot.of(["org", "team"]).apply(entities(texts), 2)


def users_on(snapshot: Snapshot, name: str) -> set[str]:
    found = snapshot.acls.get(pattern_of(f"TOPIC:LITERAL:{name}"))
    return set() if found is None else {one.principal[5:] for one in found.entries}


@given(USERS, USERS, USERS, USERS)
def test_taken_back(x: set[str], y: set[str], later_x: set[str], later_y: set[str]) -> None:
    """A principal that had no right to a name before has none after, unless the right was given
    meanwhile."""
    before = state_of({"org:x": x, "team:y": y})
    found = carried(before, X, Y)
    if found is None:
        assert not x
        return
    record: Sequence[Change] = [TopicEntry("org..x", Y)]
    moved = before.apply(found.around(record), 3)
    assert users_on(moved, "team:y") == x | y
    assert users_on(moved, "org:x") == set()
    undone = moved.apply(found.back(moved, [Removal(("topic", "org..x"))]), 4)
    assert (users_on(undone, "org:x"), users_on(undone, "team:y")) == (x, y)
    meanwhile = state_of({"org:x": later_x, "team:y": later_y})
    undone = meanwhile.apply(found.back(meanwhile, []), 5)
    assert users_on(undone, "org:x") == later_x | (x & later_y)
    assert users_on(undone, "team:y") == later_y - (x - y)


# -- namespaces ------------------------------------------------------------------------------------


async def test_topics_that_a_new_namespace_adopts(world: World) -> None:
    world.broker.make("new..a", "new__b", "new.sub..c")
    stay = {"ALLOW READ User:u TOPIC:PREFIXED:new", *on("newer", "u")}
    put(world, *on("new..a", "u"), *on("new__b", "v"), *on("new.sub..c", "w"), *stay)
    configs: dict[str, str | None] = {"gateway.adopt": "true"}
    assert codes(await create(world.gateway(), "new:sub:", configs=configs)) == [0]
    assert held(world.snapshot) == {
        *on("new:a", "u"),
        *on("new:b", "v"),
        *on("new:sub:c", "w"),
        *stay,
    }


INSIDE = (
    "ALLOW READ User:a TOPIC:LITERAL:org:",
    "ALLOW READ User:a TOPIC:PREFIXED:org:",
    "ALLOW READ User:a TOPIC:LITERAL:org:x",
    "ALLOW READ User:a TOPIC:PREFIXED:org:ap",
    "ALLOW READ User:a TOPIC:LITERAL:org:apache:",
    "DENY READ User:a GROUP:LITERAL:org:apache:g",
    "ALLOW WRITE User:a TRANSACTIONAL_ID:PREFIXED:org:",
)
LATER = "DENY READ User:a TOPIC:LITERAL:org:x"
OUTSIDE = {
    "ALLOW READ User:a TOPIC:LITERAL:*",
    "ALLOW READ User:a TOPIC:PREFIXED:or",
    "ALLOW READ User:a TOPIC:PREFIXED:org",
    "ALLOW READ User:a TOPIC:LITERAL:org",
    "ALLOW READ User:a TOPIC:LITERAL:organ:x",
    "ALLOW READ User:a TOPIC:LITERAL:team:org:",
    "ALLOW READ User:a USER:LITERAL:org:x",
    "ALLOW ALTER User:a CLUSTER:LITERAL:kafka-cluster",
}


async def test_a_deleted_namespace_leaves_no_acls_and_stays_a_home(world: World) -> None:
    put(world, *INSIDE, *OUTSIDE)
    homes = {"User:a": "org", "User:b": "org:apache", "User:c": "team"}
    world.log.append([PrincipalHome(*home) for home in homes.items()])
    gateway = world.gateway()
    assert codes(await delete(gateway, "org:", "org:apache:")) == [0, 0]
    assert held(world.snapshot) == OUTSIDE  # not the deleted ones
    put(world, LATER)
    await run_jobs(world, gateway)
    assert "org" not in world.snapshot.namespaces
    assert held(world.snapshot) == {*OUTSIDE, LATER}
    assert world.snapshot.homes == homes  # without a home they would reach everything


async def run_jobs(world: World, gateway: FakeGateway) -> None:
    job = NamespaceDeletion(gateway.context)
    for _ in range(10):
        for task in job.tasks(world.snapshot):
            world.clock.forward(seconds=await job.run(task) or 0)


async def test_many_acls_of_a_deleted_namespace(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delete_namespaces, "ACLS_AT_ONCE", 3)
    put(world, *INSIDE, *OUTSIDE)
    gateway = world.gateway()
    await delete(gateway, "org:", "org:apache:")
    assert held(world.snapshot) == OUTSIDE
    sizes = [
        sum(c.key[0] == "acl" for c in d if isinstance(c, Removal)) for d in world.log.decisions
    ]
    assert max(sizes) == 3


BOSS = "ALLOW DELETE User:bob TOPIC:LITERAL:org:"
BARRIERS = {
    "DENY READ User:eve TOPIC:LITERAL:org:",
    "DENY READ User:eve TOPIC:LITERAL:org:x",
    "ALLOW DELETE User:bob TOPIC:PREFIXED:org:apache:",
    "DENY WRITE User:* GROUP:LITERAL:org:apache:g",
}


async def test_who_deletes_a_namespace_takes_only_acls_off_that_it_may_remove(
    world: World,
) -> None:
    """CREATE and DELETE on a namespace do not allow removing the DENYs in it."""
    put(world, BOSS, *BARRIERS, *OUTSIDE)
    gateway = world.gateway()
    bob = access(gateway, "User:bob")
    assert codes(await delete(gateway, "org:", "org:apache:", access=bob)) == [0, 0]
    await run_jobs(world, gateway)
    assert "org" not in world.snapshot.namespaces
    assert held(world.snapshot) == {BOSS, *BARRIERS, *OUTSIDE}
    assert codes(await create(gateway, "org:")) == [0]
    eve = access(gateway, "User:eve")
    denial = eve.topic(READ, b"org:x")
    assert isinstance(denial, Denied)
    assert "DENY READ for User:eve" in denial.because


async def test_a_delegate_takes_off_those_of_its_own_namespace(world: World) -> None:
    mine = "ALLOW ALL User:bob TOPIC:LITERAL:org:apache:"
    world.log.append([Namespace("org:closed")])
    closed = "DENY ALTER User:bob TOPIC:LITERAL:org:closed:"
    put(world, mine, *BARRIERS, closed)
    gateway = world.gateway()
    bob = access(gateway, "User:bob")
    assert codes(await delete(gateway, "org:apache:", access=bob)) == [29], "its gate is org's"
    put(world, "ALLOW ALL User:bob TOPIC:LITERAL:org:", *BARRIERS)
    assert codes(await delete(gateway, "org:apache:", access=bob)) == [0]
    kept = {one for one in BARRIERS if "org:apache" not in one}
    assert held(world.snapshot) == {*kept, closed, "ALLOW ALL User:bob TOPIC:LITERAL:org:"}


def test_of_a_namespace_that_is_not_marked_nothing_is_removed() -> None:
    snapshot = Snapshot.of(["org"]).apply(entities(INSIDE), 2)
    assert len(list(inside(snapshot, {"org"}, lambda pattern: True))) == len(INSIDE)
    assert not list(inside(snapshot, {"org"}, lambda pattern: False))
    task = Task(DELETION, "org", 1)
    assert deletion_task(snapshot, "org") is None
    assert removals(snapshot, task) == []


def test_what_was_added_since_stays() -> None:
    snapshot = Snapshot.of(["org"]).apply(entities(INSIDE), 2)
    noted = list(inside(snapshot, {"org"}, lambda pattern: True))
    later = snapshot.apply(entities({*on("org:x", "a", "b")}), 3)
    assert held(later.apply(without(later, noted), 4)) == on("org:x", "b")


def test_an_entry_that_denies_goes_along_too() -> None:
    deny = AclEntry("User:a", "*", Operation.READ, Permission.DENY)
    acls = ResourceAcls(pattern_of("TOPIC:LITERAL:org:x"), frozenset({deny}))
    found = carried(Snapshot.of(["org"]).apply([acls], 2), X, Y)
    assert found is not None
    assert found.moved == {deny}
