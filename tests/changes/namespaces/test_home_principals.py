"""``gateway.principals`` of a namespace: set by stock tools, decided by the newest state."""

from __future__ import annotations

import pytest

from gateway.changes.base.rejected import Rejected
from gateway.changes.namespaces.namespace_settings import principals_of, read_principals
from gateway.error_codes import INVALID_CONFIG
from tests.changes.admin_requests import create, delete
from tests.changes.config_requests import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    TOPIC,
    Change,
    alter,
    alter_all,
    describe,
    describe_all,
    replace_configs,
)
from tests.changes.fakes import FakeGateway, World, once

KEY = "gateway.principals"
DONE = (0, None)


def change(operation: int, value: str | None = None) -> list[Change]:
    return [(KEY, operation, value)]


@pytest.fixture
def world() -> World:
    world = World(["team-a:sub", "team-b"])
    world.broker.make("team-a..x")
    return world


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()


async def test_set_append_subtract_delete(world: World, gateway: FakeGateway) -> None:
    assert await alter(gateway, "team-a:", change(SET, "User:bob, User:al")) == DONE
    assert world.snapshot.homes == {"User:al": "team-a", "User:bob": "team-a"}
    assert await alter(gateway, "team-a..", change(APPEND, "User:eve,User:bob")) == DONE
    assert set(world.snapshot.homes) == {"User:al", "User:bob", "User:eve"}
    assert await alter(gateway, "team-a:", change(SUBTRACT, "User:bob,User:joe")) == DONE
    assert set(world.snapshot.homes) == {"User:al", "User:eve"}
    assert await alter(gateway, "team-a:", change(SET, "User:sue")) == DONE
    assert set(world.snapshot.homes) == {"User:sue"}
    assert await alter(gateway, "team-a:", change(DELETE)) == DONE
    assert world.snapshot.homes == {}


async def test_what_is_so_already_is_not_written(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "team-a:", change(SET, "User:bob"))
    for one in (change(SET, "User:bob"), change(APPEND, ""), change(SUBTRACT, "User:eve")):
        assert await alter(gateway, "team-a:", one) == DONE
    assert len(world.log.decisions) == 1


async def test_a_principal_has_one_home(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "team-a:", change(SET, "User:bob,User:eve"))
    await alter(gateway, "team-b:", change(APPEND, "User:bob"))
    assert world.snapshot.homes == {"User:bob": "team-b", "User:eve": "team-a"}
    await alter(gateway, "team-a:", change(DELETE))
    assert world.snapshot.homes == {"User:bob": "team-b"}
    await alter(gateway, "team-a:sub:", change(SET, "User:bob"))
    assert world.snapshot.homes == {"User:bob": "team-a:sub"}


async def test_it_is_described(gateway: FakeGateway) -> None:
    assert KEY not in await describe(gateway, "team-a:")
    await alter(gateway, "team-a:", change(SET, "User:eve,User:bob"))
    assert (await describe(gateway, "team-a:"))[KEY] == ("User:bob,User:eve", 5)
    assert (await describe(gateway, "team-a..", view=gateway.view(legal=True)))[KEY][1] == 5
    for other in ("team-b:", "team-a:sub:", "team-a:x", ":"):
        assert KEY not in await describe(gateway, other)
    (result,) = await describe_all(gateway, [(TOPIC, "team-a:", (KEY,))], documentation=True)
    (config,) = result.configs
    assert (config.config_type, config.read_only) == (7, True)
    assert config.documentation.startswith("The principals whose home")


@pytest.mark.parametrize("home", ["team-a", "team-b"])
@pytest.mark.parametrize("escape", [False, True])
async def test_not_from_a_home(world: World, gateway: FakeGateway, home: str, escape: bool) -> None:
    view = gateway.view(home, escape=escape)
    name = "sub:" if home == "team-a" else ":"
    code, text = await alter(gateway, name, change(SET, "User:bob"), view=view)
    assert code in (31, 42)  # a home itself is not configured from inside either
    assert f"'{home}'" in str(text)
    assert world.snapshot.homes == {}


@pytest.mark.parametrize(
    ("name", "operation", "value", "code"),
    [
        ("nowhere:", SET, "User:bob", 3),
        (":", SET, "User:bob", 42),
        ("team-a:", SET, "bob", 40),
        ("team-a:", SET, "User:", 40),
        ("team-a:", SET, ":bob", 40),
        ("team-a:", APPEND, "User:a,bob", 40),
        ("team-a:", APPEND, "bob,User:a", 40),
        ("team-a:", SET, "User:" + "x" * 1024, 40),
        ("team-a:", 9, "User:bob", 42),
        ("team-a:x", SET, "User:bob", 40),
    ],
)
async def test_what_cannot_be(
    world: World, gateway: FakeGateway, name: str, operation: int, value: str, code: int
) -> None:
    answer = await alter(gateway, name, change(operation, value))
    assert answer[0] == code, answer
    assert world.snapshot.homes == {}


async def test_alone_in_its_item(world: World, gateway: FakeGateway) -> None:
    both = [*change(SET, "User:bob"), ("retention.ms", SET, "1")]
    code, text = await alter(gateway, "team-a:", both)
    assert (code, "is changed alone" in str(text)) == (42, True)
    assert world.log.decisions == []
    asked = [(TOPIC, "team-a:", change(SET, "User:bob")), (TOPIC, "team-b:", both[1:])]
    assert await alter_all(gateway, asked) == [DONE, DONE]
    assert world.snapshot.homes == {"User:bob": "team-a"}
    assert world.snapshot.namespaces["team-b"].configs == {"retention.ms": "1"}


async def test_for_validation_only(world: World, gateway: FakeGateway) -> None:
    one = change(SET, "User:bob")
    assert await alter(gateway, "team-a:", one, validate_only=True) == DONE
    assert (await alter(gateway, "nowhere:", one, validate_only=True))[0] == 3
    assert world.log.decisions == []


async def test_the_whole_of_the_configs_anew_leaves_it(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "team-a:", change(SET, "User:bob"))
    described = {KEY: "User:bob", "retention.ms": "1"}
    for configs in (described, {"retention.ms": "2"}):
        assert await replace_configs(gateway, [("team-a:", configs)]) == [DONE]
        assert world.snapshot.homes == {"User:bob": "team-a"}
    assert world.snapshot.namespaces["team-a"].configs == {"retention.ms": "2"}
    ((code, _),) = await replace_configs(gateway, [("team-a:", {KEY: "User:eve"})])
    assert code == 40


async def test_not_when_a_namespace_is_made(world: World, gateway: FakeGateway) -> None:
    (told,) = await create(gateway, "new:", configs={KEY: "User:bob"})
    assert told.code == 40
    assert "by IncrementalAlterConfigs" in told.message


async def test_a_namespace_that_goes_meanwhile(world: World, gateway: FakeGateway) -> None:
    other = world.gateway()

    async def mark() -> None:
        await delete(other, "team-b:")

    world.step = once("change", mark)
    code, text = await alter(gateway, "team-b:", change(SET, "User:bob"))
    assert (code, "is being deleted" in str(text)) == (17, True)
    assert world.snapshot.homes == {}


@pytest.mark.parametrize(
    ("value", "principals"),
    [
        ("", set()),
        (" User:a ,, User:b", {"User:a", "User:b"}),
        ("User:CN=al,OU=dev, O=x,User:bob", {"User:CN=al,OU=dev, O=x", "User:bob"}),
        (r"User:CN=a,O=Foo\, Inc,C=x,User:b", {r"User:CN=a,O=Foo\, Inc,C=x", "User:b"}),
        ("User:a:b,Group:c", {"User:a:b", "Group:c"}),
    ],
)
def test_lists(value: str, principals: set[str]) -> None:
    assert read_principals(value) == principals


def test_a_list_is_read_back(world: World, gateway: FakeGateway) -> None:
    assert principals_of(world.snapshot, "team-a") == ""
    with pytest.raises(Rejected, match="more than 10,000"):
        read_principals(",".join(f"User:{n}" for n in range(10_001)))


@pytest.mark.parametrize("value", ["[User:carol]", "[User:carol,User:dave]", " [ User:carol ]"])
async def test_brackets_are_rejected(world: World, gateway: FakeGateway, value: str) -> None:
    """kafka-configs removes them, so a value with brackets names no principal that a login could
    have."""
    for operation in (SET, APPEND, SUBTRACT):
        code, message = await alter(gateway, "team-a:", change(operation, value))
        assert code == INVALID_CONFIG
        assert message is not None
        assert "a list like User:alice,User:bob, without brackets, and '[" in message
    assert world.snapshot.homes == {}


@pytest.mark.parametrize("value", ["{User:carol}", '"User:carol"', "1:carol", "Us er:carol"])
def test_a_principal_begins_with_its_type(value: str) -> None:
    with pytest.raises(Rejected, match="is no principal"):
        read_principals(value)


def test_a_name_may_have_brackets() -> None:
    assert read_principals("User:CN=[x]") == {"User:CN=[x]"}
