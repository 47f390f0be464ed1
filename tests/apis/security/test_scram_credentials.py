"""The SCRAM APIs as a client sees them: the rights for them, and the users in the catalog."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.security.scram_credentials import (
    alter_user_scram_credentials,
    describe_user_scram_credentials,
)
from gateway.changes.base.rejected import MAX_CHANGES
from gateway.views.access import Access
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.acl_requests import access, put
from tests.changes.fakes import FakeGateway, World, once

SHA_256 = 1
POLICY_VIOLATION, NOT_FOUND = 44, 91


@pytest.fixture
def world() -> World:
    world = World(["team-a"])
    put(world, "ALLOW DESCRIBE User:sam CLUSTER:LITERAL:kafka-cluster")
    return world


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()


async def alter(
    gateway: FakeGateway,
    asking: Access,
    *users: str,
    salt: bytes = b"salt of some bytes",
    gone: str = "",
) -> dict[str, tuple[int, str | None]]:
    cls = messages.message_class("AlterUserScramCredentialsRequest", 0)
    one, deletion = element_class(cls, "upsertions"), element_class(cls, "deletions")
    values = {"mechanism": SHA_256, "iterations": 4096, "salt": salt, "salted_password": b"p" * 32}
    deletions = (make(deletion, {"name": gone, "mechanism": SHA_256}),) if gone else ()
    upsertions = tuple(make(one, {"name": user, **values}) for user in users)
    body = messages.write(make(cls, {"upsertions": upsertions, "deletions": deletions}))
    answered = await alter_user_scram_credentials(gateway.context, asking, 0, body)
    response = messages.parse("AlterUserScramCredentialsResponse", 0, answered.body)
    assert [(name, why.code) for name, why in answered.denied] == [
        (r.user, int(r.error_code)) for r in response.results if r.error_code not in (0, 7)
    ]
    return {r.user: (int(r.error_code), r.error_message) for r in response.results}


async def describe(gateway: FakeGateway, asking: Access, *users: str) -> Any:
    cls = messages.message_class("DescribeUserScramCredentialsRequest", 0)
    name = element_class(cls, "users")
    asked = tuple(make(name, {"name": user}) for user in users) if users else None
    body = messages.write(make(cls, {"users": asked}))
    answered = await describe_user_scram_credentials(gateway.context, asking, 0, body)
    response = messages.parse("DescribeUserScramCredentialsResponse", 0, answered.body)
    if response.error_code:
        assert response.results == ()
        return int(response.error_code), response.error_message
    return {r.user: int(r.error_code) or len(r.credential_infos) for r in response.results}


@pytest.fixture(params=["admin", "without an authorizer"])
def asking(request: pytest.FixtureRequest, gateway: FakeGateway) -> Access:
    if request.param == "admin":
        return access(gateway)
    return Access(gateway.view(), "", "")


async def test_users_are_made_described_and_deleted(
    world: World, gateway: FakeGateway, asking: Access
) -> None:
    assert await alter(gateway, asking, "bob", "eve") == {"bob": (0, None), "eve": (0, None)}
    assert len(world.log.decisions) - 1 == 1  # a single decision for the whole request
    assert await describe(gateway, asking) == {"bob": 1, "eve": 1}
    assert await describe(gateway, asking, "eve", "sue") == {"eve": 1, "sue": 91}
    assert (await alter(gateway, asking, gone="bob"))["bob"] == (0, None)
    assert set(world.snapshot.scram) == {("SCRAM-SHA-256", "eve")}
    assert (await alter(gateway, asking, gone="bob"))["bob"][0] == 91


async def test_no_salted_password_is_kept(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, access(gateway), "bob")
    (credential,) = world.snapshot.scram.values()
    assert b"p" * 32 not in (credential.stored_key, credential.server_key, credential.salt)


async def test_who_may(world: World, gateway: FakeGateway) -> None:
    sam, bob = access(gateway, "User:sam"), access(gateway, "User:bob")
    await alter(gateway, access(gateway), "bob")
    assert await describe(gateway, sam) == {"bob": 1}
    assert await describe(gateway, bob) == (31, "User:bob is not allowed to DESCRIBE cluster.")
    text = "{} is not allowed to ALTER cluster.".format
    assert await alter(gateway, sam, "eve", "joe", gone="bob") == {
        user: (31, text("User:sam")) for user in ("bob", "eve", "joe")
    }
    assert set(world.snapshot.scram) == {("SCRAM-SHA-256", "bob")}


@pytest.mark.parametrize("escape", [False, True])
async def test_not_from_a_home(world: World, gateway: FakeGateway, escape: bool) -> None:
    for home in (
        access(gateway, home="team-a", escape=escape),
        Access(gateway.view("team-a", escape=escape), "", ""),
    ):
        ((code, text),) = (await alter(gateway, home, "bob")).values()
        assert (code, "and 'team-a' is here" in str(text)) == (31, True)
        assert await describe(gateway, home) == {}
        assert await describe(gateway, home, "bob", "eve") == {"bob": 31, "eve": 31}
    assert world.snapshot.scram == {}


async def test_it_is_decided_on_the_newest_state(world: World, gateway: FakeGateway) -> None:
    admin, other = access(gateway), world.gateway()
    await alter(gateway, admin, "bob")

    async def elsewhere() -> None:
        await alter(other, access(other), gone="bob")

    world.step = once("change", elsewhere)
    assert (await alter(gateway, admin, gone="bob"))["bob"][0] == 91


async def test_an_unavailable_catalog(gateway: FakeGateway) -> None:
    admin = access(gateway)
    gateway.catalog.down = True
    assert (await alter(gateway, admin, "bob"))["bob"][0] == 7
    gateway.catalog.fresh = False
    assert (await describe(gateway, admin))[0] == 7


async def test_more_items_than_a_request_may_change_are_not_decided(
    world: World, gateway: FakeGateway
) -> None:
    cls = messages.message_class("AlterUserScramCredentialsRequest", 0)
    deletion = element_class(cls, "deletions")
    names = [str(number) for number in range(MAX_CHANGES)]
    most = tuple(make(deletion, {"name": name, "mechanism": SHA_256}) for name in names)
    codes = {}
    for deletions in (most, (*most, most[0])):
        body = messages.write(make(cls, {"deletions": deletions}))
        answered = await alter_user_scram_credentials(gateway.context, access(gateway), 0, body)
        response = messages.parse("AlterUserScramCredentialsResponse", 0, answered.body)
        assert [result.user for result in response.results] == names
        codes[len(deletions)] = {int(result.error_code) for result in response.results}
    # Each item would be RESOURCE_NOT_FOUND, and the last DUPLICATE_RESOURCE.
    assert codes == {MAX_CHANGES: {NOT_FOUND}, MAX_CHANGES + 1: {POLICY_VIOLATION}}
