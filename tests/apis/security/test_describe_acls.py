"""DescribeAcls as a client sees it: the ACLs that match its filter, in its spelling, if it may see
them."""

from __future__ import annotations

import pytest

from gateway.acl_model import PatternType, ResourceType
from gateway.apis.security import acl_messages
from gateway.views.access import Access
from tests.changes.acl_requests import access, describe, filtering, put
from tests.changes.fakes import FakeGateway, World

ACLS = (
    "ALLOW READ User:bob TOPIC:LITERAL:org:x",
    "ALLOW READ User:bob TOPIC:PREFIXED:org:",
    "ALLOW READ User:bob GROUP:PREFIXED:team-a:",
    "ALLOW WRITE User:eve TOPIC:LITERAL:team-a:sub:y",
    "ALLOW ALTER User:dan TOPIC:LITERAL:org:",
    "ALLOW DESCRIBE User:sam CLUSTER:LITERAL:kafka-cluster",
    "DENY READ User:*@10.0.0.1 TOPIC:LITERAL:*",
)


@pytest.fixture
def world() -> World:
    world = World(["org:apache", "team-a:sub", "team-b"])
    put(world, *ACLS)
    return world


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("principal", ["User:admin", "User:sam"])
async def test_all_of_them(gateway: FakeGateway, version: int, principal: str) -> None:
    assert await describe(gateway, access(gateway, principal), version=version) == set(ACLS)


async def test_in_the_listener_s_spelling(gateway: FakeGateway) -> None:
    asked = filtering("org:x", kind=ResourceType.TOPIC)
    legal = access(gateway, legal=True)
    assert await describe(gateway, legal, asked) == {"ALLOW READ User:bob TOPIC:LITERAL:org..x"}
    asked = filtering("org..x", kind=ResourceType.TOPIC)
    assert await describe(gateway, access(gateway), asked) == {ACLS[0]}


async def test_of_one_principal_and_what_covers_a_name(gateway: FakeGateway) -> None:
    admin = access(gateway)
    assert await describe(gateway, admin, filtering(principal="User:eve")) == {ACLS[3]}
    match = filtering("org:x", kind=ResourceType.TOPIC, pattern_type=PatternType.MATCH)
    assert await describe(gateway, admin, match) == {ACLS[0], ACLS[1], ACLS[6]}
    nothing = filtering("org:nothing", kind=ResourceType.TOPIC)
    assert await describe(gateway, admin, nothing) == set()


async def test_under_a_home(gateway: FakeGateway) -> None:
    home = access(gateway, home="team-a")
    assert await describe(gateway, home) == {
        "ALLOW READ User:bob GROUP:LITERAL:*",
        "ALLOW WRITE User:eve TOPIC:LITERAL:sub:y",
    }
    literal = filtering("*", pattern_type=PatternType.LITERAL)
    assert await describe(gateway, home, literal) == {"ALLOW READ User:bob GROUP:LITERAL:*"}


async def test_a_delegate_sees_what_is_inside(gateway: FakeGateway) -> None:
    dan = access(gateway, "User:dan")
    assert await describe(gateway, dan) == {ACLS[0], ACLS[1], ACLS[4]}
    match = filtering("org:x", kind=ResourceType.TOPIC, pattern_type=PatternType.MATCH)
    assert await describe(gateway, dan, match) == {ACLS[0], ACLS[1]}
    other = filtering("team-a:sub:y", kind=ResourceType.TOPIC)
    assert await describe(gateway, dan, other) == set()


async def test_nobody_else(gateway: FakeGateway) -> None:
    for principal in ("User:bob", "User:eve", "User:nobody"):
        text = f"{principal} is not allowed to DESCRIBE cluster."
        assert await describe(gateway, access(gateway, principal)) == (31, text)


async def test_without_an_authorizer(gateway: FakeGateway) -> None:
    told = await describe(gateway, Access(gateway.view(), "", ""))
    assert isinstance(told, tuple)
    assert told[0] == 54


async def test_a_filter_that_makes_no_sense(gateway: FakeGateway) -> None:
    told = await describe(gateway, access(gateway), {**filtering(), "operation": 0})
    assert isinstance(told, tuple)
    assert told[0] == 42
    assert await describe(gateway, access(gateway), {**filtering(), "operation": 99}) == set()


async def test_the_newest_state(world: World, gateway: FakeGateway) -> None:
    gateway.catalog.lags = True
    put(world, "ALLOW READ User:new TOPIC:LITERAL:x")
    admin = access(gateway)
    assert await describe(gateway, admin, filtering(principal="User:new")) == {
        "ALLOW READ User:new TOPIC:LITERAL:x"
    }
    gateway.catalog.down = True
    assert await describe(gateway, admin, filtering(principal="User:bob"))
    gateway.catalog.fresh = False
    assert await describe(gateway, admin) == (
        7,
        "The catalog cannot be written now; try again later.",
    )


async def test_many(world: World, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_messages, "_SORTED_AT_ONCE", 3)
    more = [f"ALLOW READ User:{n} TOPIC:LITERAL:org:many{n % 7}" for n in range(50)]
    put(world, *more)
    assert await describe(gateway, access(gateway)) == {*ACLS, *more}
