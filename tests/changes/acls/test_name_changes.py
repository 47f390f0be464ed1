"""A name that a topic gets, by a move or a link, allows no operation that the client could not have
granted, and removes no ACL that the client could not have removed."""

from __future__ import annotations

import pytest

from gateway.acl_model import ResourcePattern, pattern_of
from gateway.catalog.entities import CatalogFormat
from gateway.changes.acls.name_changes import NameChange, applying
from gateway.decision import Denied
from gateway.names import LogicalName
from gateway.views.access import DESCRIBE, READ, WRITE, Access
from tests.changes.acl_requests import access, entities, held, put
from tests.changes.config_requests import alter, deleting, moving
from tests.changes.fakes import FakeGateway, World, allowed

BOB = "User:bob"
DONE = (0, None)
LEADS_A = f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:a:"
LEADS_B = f"ALLOW ALTER {BOB} TOPIC:LITERAL:org:b:"
PASSES = f"ALLOW DESCRIBE {BOB} TOPIC:LITERAL:org:"
OTHER = f"ALLOW ALL {BOB} TOPIC:LITERAL:other:"
ALTERS_FLAT = f"ALLOW ALTER {BOB} TOPIC:LITERAL:orders"
PUB = f"ALLOW CREATE {BOB} TOPIC:PREFIXED:pub-"
ADMIN = f"ALLOW ALTER {BOB} CLUSTER:LITERAL:kafka-cluster"

X, Y, ORDERS = LogicalName("org:a", "x"), LogicalName("org:b", "y"), LogicalName("", "orders")


@pytest.fixture
def gateway(world: World) -> FakeGateway:
    return world.gateway()


@pytest.fixture
def world() -> World:
    world = World(["org:a", "org:b", "other"])
    world.broker.make("org.a..x", "orders", "other..mine")
    world.log.append([CatalogFormat(3)])
    return world


def bob(gateway: FakeGateway) -> Access:
    return access(gateway, BOB)


# -- the patterns that apply -----------------------------------------------------------------------


def test_the_patterns_that_apply_to_a_name() -> None:
    texts = [
        "TOPIC:LITERAL:*",
        "TOPIC:PREFIXED:org:",
        "TOPIC:LITERAL:org:",
        "TOPIC:LITERAL:org:a:",
        "TOPIC:PREFIXED:org:a:x",
        "TOPIC:LITERAL:org:a:x",
    ]
    others = [
        "TOPIC:PREFIXED:or",
        "TOPIC:PREFIXED:org:a",
        "TOPIC:PREFIXED:org:a:xy",
        "TOPIC:LITERAL:org:a",
        "TOPIC:LITERAL:org:a:x:",
        "GROUP:LITERAL:org:a:x",
        "CLUSTER:LITERAL:kafka-cluster",
    ]
    made = entities(f"DENY READ User:a {text}" for text in [*others, *texts])
    acls = {one.pattern: one for one in made}
    assert list(applying(acls, X)) == [pattern_of(text) for text in texts]
    plain = {pattern_of(f"TOPIC:PREFIXED:{name}"): made[0] for name in ("o", "orders", "ordersx")}
    assert [one.name for one in applying(plain, ORDERS)] == ["o", "orders"]
    empty: dict[ResourcePattern, object] = {}
    assert list(applying(empty, ORDERS)) == []  # type: ignore[arg-type]


# -- the rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acls", "former", "name"),
    [
        # ACLs that apply to both names go on applying.
        ([LEADS_A, LEADS_B, PASSES, "DENY READ User:eve TOPIC:LITERAL:org:"], X, Y),
        ([LEADS_A, LEADS_B, "DENY READ User:eve TOPIC:LITERAL:*"], X, Y),
        # An ACL that bob could remove does not bind him.
        (
            [LEADS_A, OTHER, "DENY READ User:eve TOPIC:LITERAL:org:a:x"],
            X,
            LogicalName("other", "x"),
        ),
        ([LEADS_A, PUB, "DENY READ User:eve TOPIC:PREFIXED:org:a:"], X, LogicalName("", "pub-x")),
        # ACLs at the new name only deny more, or allow operations that bob could have granted.
        ([LEADS_A, PUB, "ALLOW READ User:eve TOPIC:LITERAL:pub-x"], X, LogicalName("", "pub-x")),
        # Bob may grant nothing on a topic of the default namespace, so its rights may not change.
        ([ALTERS_FLAT.replace("LITERAL", "PREFIXED")], ORDERS, LogicalName("", "orders2")),
        ([ADMIN, "DENY READ User:eve TOPIC:LITERAL:orders"], ORDERS, LogicalName("other", "x")),
    ],
)
def test_names_that_a_topic_may_get(
    acls: list[str], former: LogicalName, name: LogicalName
) -> None:
    assert _why_not(acls, former, name) is None


@pytest.mark.parametrize(
    ("acls", "former", "name", "named"),
    [
        # The move would shed a DENY, a gate, or others' ALLOW above the namespace that bob leads.
        ([LEADS_A, OTHER, PASSES, f"DENY READ {BOB} TOPIC:LITERAL:org:"], X, "other:x", ""),
        ([LEADS_A, OTHER, f"DENY READ {BOB} TOPIC:PREFIXED:org:"], X, "other:x", ""),
        ([LEADS_A, OTHER, "ALLOW DESCRIBE User:* TOPIC:LITERAL:org:"], X, "other:x", ""),
        ([LEADS_A, PUB, "ALLOW READ User:eve TOPIC:LITERAL:org:"], X, "pub-x", ""),
        # The message names the ACLs that bob may see.
        (
            [
                f"ALLOW DESCRIBE {BOB} CLUSTER:LITERAL:kafka-cluster",
                LEADS_A,
                OTHER,
                f"DENY READ {BOB} TOPIC:LITERAL:org:",
            ],
            X,
            "other:x",
            "DENY READ for User:bob on TOPIC:LITERAL:org:",
        ),
        # ALTER on a topic never allows access to its records.
        ([ALTERS_FLAT, OTHER], ORDERS, "other:x", ""),
        ([ALTERS_FLAT, OTHER, f"DENY READ {BOB} TOPIC:LITERAL:orders"], ORDERS, "other:x", ""),
        ([f"ALLOW ALL {BOB} TOPIC:LITERAL:orders", OTHER], ORDERS, "other:x", ""),
        ([ALTERS_FLAT, PUB], ORDERS, "pub-x", ""),
        ([ALTERS_FLAT, "ALLOW READ User:eve TOPIC:LITERAL:orders2"], ORDERS, "orders2", ""),
        # A right on all topics is no right on the cluster.
        ([f"ALLOW ALL {BOB} TOPIC:LITERAL:*"], ORDERS, "other:x", ""),
    ],
)
def test_names_that_it_may_not_get(
    acls: list[str], former: LogicalName, name: str, named: str
) -> None:
    namespace, _, topic = name.rpartition(":")
    why = _why_not(
        [one for one in acls if not one.endswith("PREFIXED:")],
        former,
        LogicalName(namespace, topic),
    )
    assert why is not None
    assert (why.code, why.rule, why.operation) == (29, "acl", "ALTER")
    assert named in why.message
    if not named:
        assert " for User:" not in why.message, "it tells nothing of what bob may not see"


def _why_not(acls: list[str], former: LogicalName, name: LogicalName) -> Denied | None:
    world = World(["org:a", "org:b", "other"])
    put(world, *acls)
    return NameChange(bob(world.gateway()), former, name).why_not(str(former), str(name))


def test_without_an_authorizer_every_name_is_as_good_and_acls_go_along(world: World) -> None:
    put(world, "DENY READ User:eve TOPIC:LITERAL:org:")
    change = NameChange(allowed(world.gateway()), X, ORDERS)
    assert change.why_not("x", "y") is None
    assert change.carries_acls()


@pytest.mark.parametrize(
    ("acls", "former", "name", "goes"),
    [
        ([LEADS_A, LEADS_B], X, Y, True),
        ([LEADS_A, PUB], X, LogicalName("", "pub-x"), False),
        ([LEADS_A], X, Y, False),
        ([ADMIN], X, LogicalName("", "pub-x"), True),
    ],
)
def test_acls_go_along_between_patterns_that_the_principal_manages(
    acls: list[str], former: LogicalName, name: LogicalName, goes: bool
) -> None:
    world = World(["org:a", "org:b"])
    put(world, *acls)
    assert NameChange(bob(world.gateway()), former, name).carries_acls() is goes


# -- moves and links as they are requested ---------------------------------------------------------


async def test_into_the_default_namespace_and_not_back(world: World, gateway: FakeGateway) -> None:
    """Bob leads other: and may create pub-*. The ACLs that he has granted stay behind, and the
    administrator's ACLs on pub-mine stay where they are."""
    granted = "ALLOW ALL User:eve TOPIC:LITERAL:other:mine"
    there = {
        "ALLOW READ User:ann TOPIC:LITERAL:pub-mine",
        "DENY READ User:eve TOPIC:LITERAL:pub-mine",
    }
    put(world, OTHER, PUB, PUB.replace("CREATE", "ALTER"), granted, *there)
    before = held(world.snapshot)
    moved = await alter(gateway, "other:mine", moving("", "pub-mine"), access=bob(gateway))
    assert moved == DONE
    assert held(world.snapshot) == before
    assert isinstance(access(gateway, "User:eve").topic(READ, b"pub-mine"), Denied)
    assert not isinstance(access(gateway, "User:ann").topic(READ, b"pub-mine"), Denied)
    code, text = await alter(gateway, "pub-mine", moving("other", "mine"), access=bob(gateway))
    assert code == 29, text
    assert held(world.snapshot) == before


@pytest.mark.parametrize(
    "change", [moving("other"), [("gateway.link", 2, "other:x")]], ids=["move", "link"]
)
async def test_a_deny_that_bob_cannot_remove_is_not_shed(
    world: World, gateway: FakeGateway, change: list[tuple[str, int, str | None]]
) -> None:
    put(world, LEADS_A, OTHER, PASSES, f"DENY READ {BOB} TOPIC:LITERAL:org:")
    code, text = await alter(gateway, "org:a:x", change, access=bob(gateway))
    assert code == 29, text
    assert (world.snapshot.topics, dict(world.snapshot.links)) == ({}, {})


async def test_a_move_needs_create_where_it_goes(world: World, gateway: FakeGateway) -> None:
    put(world, LEADS_A, LEADS_B, PASSES, f"DENY CREATE {BOB} TOPIC:LITERAL:org:")
    code, text = await alter(gateway, "org:a:x", moving("org:b"), access=bob(gateway))
    assert code == 29, text
    assert "CREATE" in str(text)


async def test_alter_on_a_flat_topic_does_not_link_it_home(
    world: World, gateway: FakeGateway
) -> None:
    put(world, OTHER, ALTERS_FLAT, f"DENY READ {BOB} TOPIC:LITERAL:orders")
    for change in ([("gateway.link", 2, "other:o")], moving("other")):
        code, text = await alter(gateway, "orders", change, access=bob(gateway))
        assert code == 29, text
    put(world, ADMIN)
    linked = await alter(gateway, "orders", [("gateway.link", 2, "other:o")], access=bob(gateway))
    assert linked == DONE


# -- under a link ----------------------------------------------------------------------------------


async def test_a_deny_at_the_topic_binds_under_its_links(
    world: World, gateway: FakeGateway
) -> None:
    put(world, "ALLOW ALL User:eve TOPIC:LITERAL:other:", "ALLOW ALL User:eve TOPIC:LITERAL:mine")
    link = [("gateway.link", 2, "other:x")]
    assert await alter(gateway, "org:a:x", link) == DONE
    (linked,) = world.snapshot.links.values()
    flat = linked.flat.encode()
    eve = access(gateway, "User:eve")
    assert not isinstance(eve.to_read(b"other:x"), Denied)
    for deny, left in [
        ("DENY READ User:eve TOPIC:LITERAL:org:a:x", {WRITE, DESCRIBE}),
        ("DENY WRITE User:* TOPIC:PREFIXED:org:a:", {DESCRIBE}),
        ("DENY DESCRIBE User:eve TOPIC:LITERAL:org:", set()),
    ]:
        put(world, deny)
        eve = access(gateway, "User:eve")
        for operation in (READ, WRITE, DESCRIBE):
            found = eve.topic(operation, b"other:x")
            assert isinstance(found, Denied) is (operation not in left), (deny, operation)
            by_id = eve.by_id(operation, flat, linked.topic_id)
            assert (by_id is None) is (operation in left)
            if isinstance(found, Denied):
                assert "'other:x'" in found.message
                assert "org:a" not in found.message
                assert "org:" in found.because
    assert isinstance(eve.subscribed(b"other:x"), Denied)
    assert eve.shown(flat) is None
    # A dangling link leads to no topic; and the link itself may be removed.
    assert await alter(gateway, "other:x", deleting("gateway.link.to"), access=eve) == DONE


async def test_a_super_user_is_denied_nothing_under_a_link(
    world: World, gateway: FakeGateway
) -> None:
    put(world, "DENY ALL User:* TOPIC:LITERAL:*")
    assert await alter(gateway, "org:a:x", [("gateway.link", 2, "other:x")]) == DONE
    assert not isinstance(access(gateway).to_read(b"other:x"), Denied)
