"""DeleteAcls as a client sees it, and the ACLs in the catalog afterwards."""

from __future__ import annotations

import pytest

from gateway.acl_model import Operation, PatternType, ResourceType
from gateway.apis.security import acl_requests as module
from gateway.views.access import Access
from tests.changes.acl_requests import access, delete, filtering, held, put
from tests.changes.fakes import FakeGateway, World, once

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ_X = "ALLOW READ User:bob TOPIC:LITERAL:org:x"
WRITE_X = "ALLOW WRITE User:eve TOPIC:LITERAL:org:x"
PREFIX = "ALLOW READ User:bob TOPIC:PREFIXED:org:"
GROUPS = "ALLOW READ User:bob GROUP:PREFIXED:team-a:"
CLUSTER = "ALLOW DESCRIBE User:sam CLUSTER:LITERAL:kafka-cluster"
DELEGATED = "ALLOW ALTER User:dan TOPIC:LITERAL:org:"
ALL = {READ_X, WRITE_X, PREFIX, GROUPS, CLUSTER, DELEGATED}


@pytest.fixture
def world() -> World:
    world = World(["org:apache", "team-a:sub", "team-b"])
    put(world, *ALL)
    return world


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_by_name_and_by_principal(world: World, gateway: FakeGateway, version: int) -> None:
    by_name = filtering(
        "org..x", kind=TOPIC, pattern_type=PatternType.LITERAL, principal="User:bob"
    )
    assert await delete(gateway, access(gateway), by_name, version=version) == [{READ_X}]
    assert held(world.snapshot) == ALL - {READ_X}
    by_principal = filtering(principal="User:bob")
    assert await delete(gateway, access(gateway), by_principal) == [{PREFIX, GROUPS}]
    assert held(world.snapshot) == {WRITE_X, CLUSTER, DELEGATED}


async def test_a_pattern_without_entries_is_no_more(world: World, gateway: FakeGateway) -> None:
    await delete(gateway, access(gateway), filtering("org:x", kind=TOPIC))
    assert not any(pattern.name == "org:x" for pattern in world.snapshot.acls)


async def test_every_filter_looks_at_the_same_state(world: World, gateway: FakeGateway) -> None:
    one, other = filtering("org:x", kind=TOPIC), filtering(principal="User:eve")
    nothing = filtering(operation=Operation.CLUSTER_ACTION)
    results = await delete(gateway, access(gateway), one, other, nothing)
    assert results == [{READ_X, WRITE_X}, {WRITE_X}, set()]
    assert held(world.snapshot) == ALL - {READ_X, WRITE_X}
    decisions = len(world.log.decisions)
    assert await delete(gateway, access(gateway), one, nothing) == [set(), set()]
    assert len(world.log.decisions) == decisions


async def test_all_that_covers_a_name(world: World, gateway: FakeGateway) -> None:
    match = filtering("org:x", kind=TOPIC, pattern_type=PatternType.MATCH)
    assert await delete(gateway, access(gateway), match) == [{READ_X, WRITE_X, PREFIX}]


async def test_under_a_home(world: World, gateway: FakeGateway) -> None:
    home = access(gateway, home="team-a")
    results = await delete(gateway, home, filtering(), filtering(":org:x"), filtering("org:x"))
    assert results == [{"ALLOW READ User:bob GROUP:LITERAL:*"}, set(), set()]
    assert held(world.snapshot) == ALL - {GROUPS}


async def test_a_delegate_deletes_what_is_inside(world: World, gateway: FakeGateway) -> None:
    dan = access(gateway, "User:dan")
    other, wildcard = filtering("team-b:x", kind=TOPIC), filtering("*", kind=TOPIC)
    named, cluster, everything = await delete(gateway, dan, other, wildcard, filtering())
    for rejected in (named, cluster):
        assert isinstance(rejected, tuple)
        assert rejected[0] == 31
    assert everything == {READ_X, WRITE_X, PREFIX, DELEGATED}
    assert held(world.snapshot) == {GROUPS, CLUSTER}


async def test_nobody_else(world: World, gateway: FakeGateway) -> None:
    for principal in ("User:bob", "User:sam"):
        asking = access(gateway, principal)
        results = await delete(gateway, asking, filtering(), filtering("org:x"))
        assert results == [(31, f"{principal} is not allowed to ALTER cluster.")] * 2
    results = await delete(gateway, Access(gateway.view(), "", ""), filtering())
    assert isinstance(results[0], tuple)
    assert results[0][0] == 54
    assert held(world.snapshot) == ALL


async def test_a_filter_that_makes_no_sense(world: World, gateway: FakeGateway) -> None:
    bad = {**filtering(), "pattern_type_filter": 0}
    rejected, done = await delete(gateway, access(gateway), bad, filtering("org:x"))
    assert isinstance(rejected, tuple)
    assert rejected[0] == 42
    assert done == {READ_X, WRITE_X}


async def test_it_is_decided_on_the_newest_state(world: World, gateway: FakeGateway) -> None:
    admin = access(gateway)
    new = "ALLOW READ User:new TOPIC:LITERAL:org:x"
    world.step = once("change", lambda: put(world, READ_X, WRITE_X, new))
    asked = filtering("org:x", kind=TOPIC)
    assert await delete(gateway, admin, asked) == [{READ_X, WRITE_X, new}]
    assert READ_X not in held(world.snapshot)


async def test_an_unavailable_catalog(world: World, gateway: FakeGateway) -> None:
    admin = access(gateway)
    gateway.catalog.down = True
    results = await delete(gateway, admin, filtering())
    assert results == [(7, "The catalog cannot be written now; try again later.")]
    assert await delete(gateway, admin) == []


async def test_too_many_at_once(
    world: World, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DELETIONS", 3)
    monkeypatch.setattr(module, "MAX_OPEN_FILTERS", 2)
    one, bob, eve = (
        filtering("org:x"),
        filtering(principal="User:bob"),
        filtering("org:", kind=TOPIC),
    )
    results = await delete(gateway, access(gateway), one, bob, eve, filtering(), filtering())
    codes = [result[0] if isinstance(result, tuple) else 0 for result in results]
    # Two of org:x, PREFIX and GROUPS would be four; DELEGATED and PREFIX are two more.
    assert codes == [0, 44, 44, 44, 44]
    assert held(world.snapshot) == ALL - {READ_X, WRITE_X}
