"""A link gives no rights to the topic that it leads to, however either of them changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import CatalogFormat, Link, TopicEntry
from gateway.decision import Denied
from gateway.names import LogicalName
from gateway.views.authorized_access import AuthorizedAccess
from tests.acls.custom import ListAuthorizer
from tests.changes.acl_requests import HOST, access, acl, put
from tests.changes.admin_requests import codes, create, delete
from tests.changes.config_requests import APPEND, DELETE, SET, alter, moving
from tests.changes.fakes import FakeGateway, World, once

BOB = "User:bob"
DONE = (0, None)
LEADS_A = f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:a:"
LEADS_B = f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:b:"
PASSES = f"ALLOW DESCRIBE {BOB} TOPIC:LITERAL:org:"
ADMIN = f"ALLOW ALTER {BOB} CLUSTER:LITERAL:kafka-cluster"
OTHER = f"ALLOW ALL {BOB} TOPIC:LITERAL:other:"

BRIEF = {"retention.ms": "1"}

SECRET, LINKED = LogicalName("org:a", "x"), LogicalName("other", "l")


@pytest.fixture
def world() -> World:
    world = World(["org:a", "org:b", "other"])
    world.broker.make("org.a..x", "other..mine")
    world.log.append([CatalogFormat(3)])
    return world


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()


def linked(world: World) -> None:
    """Share a topic of org:a as other:l, as the administrator does."""
    world.log.append([TopicEntry("org.a..x", SECRET, since=1), Link(LINKED, "org.a..x", b"l" * 16)])


@pytest.mark.parametrize(
    ("was", "at"), [("nothing", "list"), ("a topic", "list"), ("a topic", "change")]
)
async def test_what_becomes_a_link_while_it_is_moved_stays(
    world: World, gateway: FakeGateway, at: str, was: str
) -> None:
    put(world, OTHER)
    if was == "a topic":
        world.broker.make("other..l")
        gateway.cluster.list()

    def share() -> None:
        if was == "a topic":
            moved = LogicalName("other", "away")
            world.log.append([TopicEntry("other..l", moved, since=1, topic_id=b"t" * 16)])
        linked(world)

    world.step = once(at, share)
    code, text = await alter(gateway, "other:l", moving("other", "m"), access=access(gateway, BOB))
    assert world.snapshot.owner("org.a..x") == SECRET
    assert (code, "is a link" in str(text)) == (42, True)


# -- the configs that a topic inherits -------------------------------------------------------------


@pytest.mark.parametrize("deny", ["TOPIC:LITERAL:*", "TOPIC:LITERAL:org:"])
async def test_a_move_does_not_change_configs_of_who_is_denied_that(
    world: World, gateway: FakeGateway, deny: str
) -> None:
    """Bob may neither delete the records nor change how long they are kept, not even by making a
    namespace with configs."""
    denies = [f"DENY {operation} {BOB} {deny}" for operation in ("ALTER_CONFIGS", "DELETE")]
    put(world, LEADS_A, PASSES, *denies)
    bob = access(gateway, BOB)
    assert (await alter(gateway, "org:a:x", [("retention.ms", SET, "1")], access=bob))[0] == 29
    assert codes(await create(gateway, "org:a:brief:", configs={**BRIEF}, access=bob)) == [0]
    code, text = await alter(gateway, "org:a:x", moving("org:a:brief"), access=bob)
    assert (code, "ALTER_CONFIGS" in str(text)) == (29, True)
    assert world.broker.topics["org.a..x"].configs == {}
    assert codes(await create(gateway, "org:a:same:", access=bob)) == [0]
    assert await alter(gateway, "org:a:x", moving("org:a:same"), access=bob) == DONE


@pytest.mark.parametrize(
    "deny",
    [
        f"DENY ALTER_CONFIGS {BOB} TOPIC:LITERAL:org:a:",
        f"DENY ALTER_CONFIGS {BOB}@10.0.0.8 TOPIC:LITERAL:*",
        "DENY ALTER_CONFIGS User:eve TOPIC:LITERAL:*",
        f"ALLOW ALTER_CONFIGS {BOB} TOPIC:LITERAL:*",
    ],
    ids=["bob's own", "another host", "another user", "allowed"],
)
async def test_a_move_changes_what_is_inherited_else(
    world: World, gateway: FakeGateway, deny: str
) -> None:
    put(world, LEADS_A, deny)
    bob = access(gateway, BOB)
    assert codes(await create(gateway, "org:a:brief:", configs={**BRIEF}, access=bob)) == [0]
    assert await alter(gateway, "org:a:x", moving("org:a:brief"), access=bob) == DONE
    assert world.broker.topics["org.a..x"].configs == BRIEF


# -- a topic that has links ------------------------------------------------------------------------

LINKING = [("gateway.link", APPEND, "other:l")]


async def test_a_topic_does_not_get_behind_a_gate_with_a_link_around_it(
    world: World, gateway: FakeGateway
) -> None:
    """Other clients go on writing to org:a:x, whose namespace has a gate that bob cannot open.
    Because he may not link it, he may not put a topic of his own there that has a link already."""
    put(world, LEADS_A, PASSES, OTHER)
    bob = access(gateway, BOB)
    assert (await alter(gateway, "org:a:x", LINKING, access=bob))[0] == 29
    assert await alter(gateway, "other:mine", LINKING, access=bob) == DONE
    assert await alter(gateway, "org:a:x", moving("org:a", "old"), access=bob) == DONE
    code, text = await alter(gateway, "other:mine", moving("org:a", "x"), access=bob)
    assert (code, "not to the topic's links" in str(text)) == (29, True)
    assert "org:" not in str(text).replace("'org:a:x'", ""), "it tells of no ACL that he cannot see"
    unlinking = [("gateway.link", DELETE, None)]
    assert await alter(gateway, "other:mine", unlinking, access=bob) == DONE
    assert await alter(gateway, "other:mine", moving("org:a", "x"), access=bob) == DONE


@pytest.mark.parametrize(
    "acls",
    [
        [LEADS_A, OTHER],
        [LEADS_A, OTHER, "DENY READ User:eve TOPIC:LITERAL:org:a:"],
        [LEADS_A, OTHER, "DENY READ User:eve TOPIC:LITERAL:*"],
        [LEADS_A, OTHER, "DENY READ User:eve TOPIC:PREFIXED:org:"],
        [ADMIN, LEADS_A, PASSES, OTHER],
    ],
    ids=["no gate", "a gate of bob's", "everywhere", "it binds there, too", "an administrator"],
)
async def test_links_go_along_where_they_could_be_made(
    world: World, gateway: FakeGateway, acls: list[str]
) -> None:
    put(world, *acls)
    bob = access(gateway, BOB)
    assert await alter(gateway, "other:mine", LINKING, access=bob) == DONE
    assert await alter(gateway, "other:mine", moving("org:a", "y"), access=bob) == DONE
    assert str(world.snapshot.owner("other..mine")) == "org:a:y"


async def test_a_gate_made_after_the_link_does_not_hold_the_topic(
    world: World, gateway: FakeGateway
) -> None:
    put(world, LEADS_A, LEADS_B, OTHER)
    bob = access(gateway, BOB)
    assert await alter(gateway, "org:a:x", LINKING, access=bob) == DONE
    put(world, PASSES)
    assert await alter(gateway, "org:a:x", moving("org:b", "x"), access=bob) == DONE


# -- a topic that is made anew ---------------------------------------------------------------------


async def test_a_link_whose_topic_went_unnoticed_does_not_lead_to_the_next_one(
    world: World, gateway: FakeGateway
) -> None:
    """The gateway that deleted the topic died before it could write that to the catalog."""
    assert await alter(gateway, "org:a:x", LINKING) == DONE
    del world.broker.topics["org.a..x"]
    gateway.cluster.list()
    assert codes(await create(gateway, "org:a:x")) == [0]
    assert isinstance(gateway.view().resolve(b"other:l"), Denied)
    unlinking = [("gateway.link.to", DELETE, None)]
    assert await alter(gateway, "other:l", unlinking) == DONE
    assert await alter(gateway, "org:a:x", LINKING) == DONE
    assert not isinstance(gateway.view().resolve(b"other:l"), Denied)


async def test_nor_one_whose_topic_was_changed_while_the_broker_deleted_it(
    world: World, gateway: FakeGateway
) -> None:
    assert await alter(gateway, "org:a:x", LINKING) == DONE

    def settle() -> None:
        entry = world.snapshot.topics["org.a..x"]
        world.log.append([replace(entry, apply=True, since=entry.since + 1)])

    world.step = once("change", settle)
    assert codes(await delete(gateway, "org:a:x")) == [0]
    assert codes(await create(gateway, "org:a:x")) == [0]
    assert isinstance(gateway.view().resolve(b"other:l"), Denied)


async def test_a_topic_that_is_there_already_keeps_its_links(
    world: World, gateway: FakeGateway
) -> None:
    assert await alter(gateway, "org:a:x", LINKING) == DONE
    assert codes(await create(gateway, "org:a:x")) == [36]
    assert not isinstance(gateway.view().resolve(b"other:l"), Denied)


# -- ACLs of a custom authorizer -------------------------------------------------------------------


@pytest.mark.parametrize("changes", [moving("other"), LINKING], ids=["move", "link"])
async def test_acls_that_are_not_in_the_catalog_are_not_shed(
    world: World, gateway: FakeGateway, changes: list[tuple[str, int, str | None]]
) -> None:
    authorizer = ListAuthorizer()
    leads = [f"ALLOW ALL {BOB} TOPIC:PREFIXED:{one}" for one in ("org:a:", "other:")]
    authorizer.bindings = [acl(one) for one in (*leads, f"DENY READ {BOB} TOPIC:PREFIXED:org:")]
    bob = AuthorizedAccess(gateway.view(), BOB, HOST, authorizer)
    code, text = await alter(gateway, "org:a:x", changes, access=bob)
    assert (code, "may not change all ACLs" in str(text)) == (29, True)
    authorizer.bindings = [acl(one) for one in leads]
    bob = AuthorizedAccess(gateway.view(), BOB, HOST, authorizer)
    assert await alter(gateway, "org:a:x", changes, access=bob) == DONE


# -- allow.everyone.if.no.acl.found ----------------------------------------------------------------


async def test_a_link_that_no_acl_is_about_is_as_open_as_its_topic(
    world: World, gateway: FakeGateway
) -> None:
    assert await alter(gateway, "org:a:x", LINKING) == DONE

    def reads(who: str, name: bytes) -> bool:
        made = StandardAuthorizer()
        configs = {"super.users": ("User:root",), "allow.everyone.if.no.acl.found": True}
        made.configure(configs, lambda: None)
        made.see(world.snapshot)
        asking = AuthorizedAccess(gateway.view(), who, HOST, made)
        return not isinstance(asking.to_read(name), Denied)

    assert reads("User:eve", b"other:l")
    put(world, "ALLOW READ User:ann TOPIC:LITERAL:org:a:x")
    assert not reads("User:eve", b"org:a:x")
    assert not reads("User:eve", b"other:l")
    assert reads("User:ann", b"other:l")
    assert reads("User:root", b"other:l")
    put(world, "ALLOW READ User:eve TOPIC:LITERAL:other:l")
    assert reads("User:eve", b"other:l")
    assert not reads("User:ann", b"other:l")
