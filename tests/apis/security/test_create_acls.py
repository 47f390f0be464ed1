"""CreateAcls as a client sees it, and the ACLs in the catalog."""

from __future__ import annotations

import logging

import pytest

from gateway.acl_model import AclEntry, Operation, Permission, pattern_of
from gateway.apis.security import acl_requests as module
from gateway.apis.security.acl_requests import create_acls
from gateway.catalog.entities import ResourceAcls
from gateway.changes.acls import acl_limits
from gateway.changes.acls.acl_limits import is_too_large
from gateway.views.access import Access
from protocol import messages
from tests.changes.acl_requests import (
    access,
    acl,
    create,
    create_raw,
    fields,
    held,
    put,
)
from tests.changes.fakes import FakeGateway, World, once

DONE = (0, None)
READ_X = "ALLOW READ User:bob TOPIC:LITERAL:org:x"
WRITE_X = "ALLOW WRITE User:bob TOPIC:LITERAL:org:x"


@pytest.fixture
def world() -> World:
    return World(["org:apache", "team-a:sub", "team-b"])


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_acls_are_made(world: World, gateway: FakeGateway, version: int) -> None:
    asked = [READ_X, "DENY ALL User:*@10.0.0.1 TOPIC:PREFIXED:or", WRITE_X]
    assert await create(gateway, access(gateway), *asked, version=version) == [DONE] * 3
    assert held(world.snapshot) == set(asked)
    assert len(world.log.decisions) == 1  # a single decision for the whole request


async def test_what_is_there_is_not_made_again(world: World, gateway: FakeGateway) -> None:
    await create(gateway, access(gateway), READ_X)
    assert await create(gateway, access(gateway), READ_X, READ_X) == [DONE, DONE]
    assert len(world.log.decisions) == 1
    assert await create(gateway, access(gateway), READ_X, WRITE_X) == [DONE, DONE]
    assert held(world.snapshot) == {READ_X, WRITE_X}


async def test_either_spelling_and_namespaces_that_are_not_there(
    world: World, gateway: FakeGateway
) -> None:
    asked = ["ALLOW READ User:bob TOPIC:LITERAL:org..x", "ALLOW READ User:b TOPIC:PREFIXED:new:"]
    assert await create(gateway, access(gateway, legal=True), *asked) == [DONE, DONE]
    assert held(world.snapshot) == {READ_X, asked[1]}


async def test_under_a_home(world: World, gateway: FakeGateway) -> None:
    home = access(gateway, home="team-a")
    answers = await create(
        gateway,
        home,
        "ALLOW READ User:bob TOPIC:LITERAL:orders",
        "ALLOW READ User:bob GROUP:LITERAL:*",
        "ALLOW READ User:bob TOPIC:LITERAL::",
        "ALLOW READ User:bob TOPIC:LITERAL::org:x",
        "ALLOW ALTER User:bob CLUSTER:LITERAL:kafka-cluster",
    )
    assert [code for code, _ in answers] == [0, 0, 0, 42, 31]
    assert held(world.snapshot) == {
        "ALLOW READ User:bob TOPIC:LITERAL:team-a:orders",
        "ALLOW READ User:bob GROUP:PREFIXED:team-a:",
        "ALLOW READ User:bob TOPIC:LITERAL:team-a:",
    }


async def test_a_malformed_one_does_not_stop_the_others(world: World, gateway: FakeGateway) -> None:
    bad = {**fields(acl(READ_X)), "operation": 1}
    asked = [bad, fields(acl(READ_X)), {**bad, "resource_name": ""}]
    answers = await create_raw(gateway, access(gateway), asked)
    assert [code for code, _ in answers] == [42, 0, 42]
    assert held(world.snapshot) == {READ_X}


async def test_nothing_asked_for(world: World, gateway: FakeGateway) -> None:
    assert await create(gateway, access(gateway)) == []
    assert world.log.decisions == []


async def test_without_an_authorizer(world: World, gateway: FakeGateway) -> None:
    ((code, text), other) = await create(gateway, Access(gateway.view(), "", ""), READ_X, WRITE_X)
    assert code == other[0] == 54
    assert text is not None
    assert text.startswith("No Authorizer is configured")
    assert world.log.decisions == []


async def test_without_the_right(world: World, gateway: FakeGateway) -> None:
    answers = await create(gateway, access(gateway, "User:eve"), READ_X, WRITE_X)
    assert answers == [(31, "User:eve is not allowed to ALTER cluster.")] * 2
    assert world.log.decisions == []


async def test_a_delegate_makes_those_inside_alone(world: World, gateway: FakeGateway) -> None:
    put(world, "ALLOW ALTER User:dan TOPIC:LITERAL:org:")
    dan = access(gateway, "User:dan")
    inside = [
        "ALLOW READ User:bob TOPIC:LITERAL:org:x",
        "ALLOW READ User:bob TOPIC:PREFIXED:org:",
        "ALLOW ALL User:bob GROUP:LITERAL:org:apache:g",
        "DENY ALL User:eve TRANSACTIONAL_ID:PREFIXED:org:t",
    ]
    assert await create(gateway, dan, *inside) == [DONE] * 4
    outside = [
        "ALLOW READ User:bob TOPIC:LITERAL:team-b:x",
        "ALLOW READ User:bob TOPIC:PREFIXED:or",
        "ALLOW READ User:bob TOPIC:LITERAL:*",
        "ALLOW READ User:bob TOPIC:LITERAL:x",
        "ALLOW ALTER User:dan CLUSTER:LITERAL:kafka-cluster",
    ]
    answers = await create(gateway, dan, *outside, inside[0])
    assert [code for code, _ in answers] == [31, 31, 31, 31, 31, 0]
    assert held(world.snapshot) == {*inside, "ALLOW ALTER User:dan TOPIC:LITERAL:org:"}


async def test_a_delegate_under_its_home(world: World, gateway: FakeGateway) -> None:
    put(world, "ALLOW ALTER User:dan TOPIC:LITERAL:team-a:")
    dan = access(gateway, "User:dan", home="team-a")
    assert await create(gateway, dan, "ALLOW READ User:bob TOPIC:LITERAL:*") == [DONE]
    assert "ALLOW READ User:bob TOPIC:PREFIXED:team-a:" in held(world.snapshot)


async def test_what_is_denied_is_told_for_the_audit(world: World, gateway: FakeGateway) -> None:
    asked = [fields(acl(f"ALLOW READ User:bob TOPIC:LITERAL:org:{name}")) for name in "xxy"]
    body = messages.made("CreateAclsRequest", 3, {"creations": asked})
    answered = await create_acls(gateway.context, access(gateway, "User:eve"), 3, body)
    assert [name for name, _ in answered.denied] == ["org:x", "org:x", "org:y"]
    assert {(why.operation, why.resource) for _, why in answered.denied} == {
        ("ALTER", "TOPIC org:")
    }
    # Names outside of namespaces need the right on the cluster.
    asked = [fields(acl("ALLOW READ User:bob TOPIC:LITERAL:plain"))]
    body = messages.made("CreateAclsRequest", 3, {"creations": asked})
    answered = await create_acls(gateway.context, access(gateway, "User:eve"), 3, body)
    assert [(why.operation, why.resource) for _, why in answered.denied] == [
        ("ALTER", "CLUSTER kafka-cluster")
    ]


async def test_it_is_decided_on_the_newest_state(world: World, gateway: FakeGateway) -> None:
    admin = access(gateway)
    world.step = once("change", lambda: put(world, WRITE_X))
    assert await create(gateway, admin, READ_X) == [DONE]
    assert held(world.snapshot) == {READ_X, WRITE_X}


async def test_a_right_that_was_taken_just_now(world: World, gateway: FakeGateway) -> None:
    put(world, "ALLOW ALTER User:dan CLUSTER:LITERAL:kafka-cluster")
    dan = access(gateway, "User:dan")
    gateway.catalog.lags = True
    put(world, "DENY ALTER User:dan CLUSTER:LITERAL:kafka-cluster")
    ((code, _),) = await create(gateway, dan, READ_X)
    assert code == 31


async def test_an_unavailable_catalog(world: World, gateway: FakeGateway) -> None:
    admin = access(gateway)
    gateway.catalog.down = True
    ((code, text),) = await create(gateway, admin, READ_X)
    assert (code, text) == (7, "The catalog cannot be written now; try again later.")


# -- limits ----------------------------------------------------------------------------------------


async def test_entries_of_a_pattern(
    world: World, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl_limits, "MAX_ENTRIES", 2)
    users = [f"ALLOW READ User:{n} TOPIC:LITERAL:org:x" for n in range(3)]
    admin = access(gateway)
    answers = await create(gateway, admin, *users, "ALLOW READ User:0 TOPIC:LITERAL:org:y")
    assert [code for code, _ in answers] == [44, 44, 44, 0]
    assert await create(gateway, admin, *users[:2]) == [DONE, DONE]
    answers = await create(gateway, admin, *users)
    assert [code for code, _ in answers] == [0, 0, 44]  # two of them exist
    assert answers[2][1] is not None
    assert answers[2][1].startswith("A pattern has at most 5,000 ACLs")


def test_bytes_of_a_pattern() -> None:
    def acls(count: int, size: int) -> ResourceAcls:
        names = (f"User:{n:06}".ljust(size, "ä") for n in range(count))
        read = (Operation.READ, Permission.ALLOW)
        entries = frozenset(AclEntry(name, "*", *read) for name in names)
        return ResourceAcls(pattern_of("TOPIC:LITERAL:x"), entries)

    assert not is_too_large(acls(5_000, 11))
    assert is_too_large(acls(5_001, 11))
    assert not is_too_large(acls(1_000, 100))
    assert is_too_large(acls(1_000, 200))
    assert is_too_large(acls(30, 32_000))


async def test_creations_in_a_request(
    world: World, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CREATIONS", 1)
    answers = await create(gateway, access(gateway), READ_X, WRITE_X)
    assert [code for code, _ in answers] == [44, 44]
    assert await create(gateway, access(gateway), READ_X) == [DONE]


# -- KIP-679 ---------------------------------------------------------------------------------------


async def test_granting_idempotent_write_is_counted_and_logged(
    world: World, gateway: FakeGateway, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = "CLUSTER:LITERAL:kafka-cluster"
    asked = [f"ALLOW IDEMPOTENT_WRITE User:{n} {cluster}" for n in range(12)]
    asked += [f"DENY IDEMPOTENT_WRITE User:eve {cluster}", f"ALLOW ALL User:eve {cluster}"]
    with caplog.at_level(logging.WARNING):
        await create(gateway, access(gateway), *asked)
        assert gateway.context.deprecated_grants == {"IDEMPOTENT_WRITE": 12}
        await create(gateway, access(gateway), *asked)  # they all exist already
    assert gateway.context.deprecated_grants == {"IDEMPOTENT_WRITE": 12}
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("'User:admin' grants IDEMPOTENT_WRITE, which is deprecated (KIP-679:")
    assert line.endswith("'User:7' and 2 more")


async def test_what_is_rejected_is_not_counted(world: World, gateway: FakeGateway) -> None:
    grant = "ALLOW IDEMPOTENT_WRITE User:bob CLUSTER:LITERAL:kafka-cluster"
    await create(gateway, access(gateway, "User:eve"), grant)
    assert not gateway.context.deprecated_grants
