"""ACLs for the brokers give no principal more rights than at the gateway, and missing rights are
reported.

The brokers' verdicts are taken from the gateway's StandardAuthorizer on names without namespaces,
which tests/live/oracle compares with Kafka's own.
"""

from __future__ import annotations

import random

import pytest

from gateway.acl_model import (
    ANY_USER,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Link, Namespace, ResourceAcls, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.commands.leave.compared import CarriedAcls, carried, resources
from gateway.commands.leave.flat_acls import translated
from gateway.commands.leave.names import Names
from gateway.names import LogicalName

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = Permission.ALLOW, Permission.DENY

NAMESPACES = ("org", "org:eu", "or")
FLATS = ("orders", "org..a", "org..b", "org.eu..a", "or..a", "moved", "linked")
ENTRIES = [
    TopicEntry("moved", LogicalName("org", "moved")),
    TopicEntry("linked", LogicalName("org:eu", "linked")),
]
LINK = Link(LogicalName("or", "link"), "linked", bytes(16))
GROUPS = ("g", "org..g", "org.eu..g")
USERS = ("User:a", "User:b", ANY_USER)
NAMED = ("org:", "org:eu:", "or:", "org:a", "org:moved", "or:link", "org:eu:linked", "orders", "*")
BEGINNINGS = ("org:", "org:eu:", "or", "org:a", "o")
OPERATIONS = (Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER, Operation.ALL)
ASKED = (Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.DELETE, Operation.ALTER)


def catalog(*acls: tuple[ResourcePattern, AclEntry]) -> Snapshot:
    entries: dict[ResourcePattern, set[AclEntry]] = {}
    for pattern, entry in acls:
        entries.setdefault(pattern, set()).add(entry)
    held = [ResourceAcls(pattern, frozenset(some)) for pattern, some in entries.items()]
    return Snapshot().apply([*map(Namespace, NAMESPACES), *ENTRIES, LINK, *held], 1)


def acl(
    principal: str,
    operation: Operation,
    name: str,
    pattern: PatternType = LITERAL,
    permission: Permission = ALLOW,
    kind: ResourceType = TOPIC,
    host: str = "*",
) -> tuple[ResourcePattern, AclEntry]:
    return ResourcePattern(kind, pattern, name), AclEntry(principal, host, operation, permission)


def authorizer(snapshot: Snapshot, *, everyone: bool = False) -> StandardAuthorizer:
    made = StandardAuthorizer()
    configs = {"super.users": (), "allow.everyone.if.no.acl.found": everyone}
    made.configure(configs, lambda: None)
    made.see(snapshot)
    return made


async def carry(snapshot: Snapshot, names: Names, *, everyone: bool = False) -> CarriedAcls:
    gateway = authorizer(snapshot, everyone=everyone)
    found = resources(snapshot, names, [(GROUP, one) for one in GROUPS])
    bindings = translated(snapshot, names)
    return await carried(bindings, gateway, found, super_users=())


def at_brokers(bindings: list[AclBinding]) -> StandardAuthorizer:
    entries: dict[ResourcePattern, set[AclEntry]] = {}
    for one in bindings:
        entries.setdefault(one.pattern, set()).add(one.entry)
    acls = [ResourceAcls(pattern, frozenset(some)) for pattern, some in entries.items()]
    return authorizer(Snapshot().apply(acls, 1))


def random_acls(chance: random.Random) -> list[tuple[ResourcePattern, AclEntry]]:
    found = []
    for _ in range(chance.randint(1, 6)):
        kind = chance.choice((TOPIC, TOPIC, GROUP))
        pattern = chance.choice((LITERAL, LITERAL, PREFIXED))
        names: tuple[str, ...] = NAMED if pattern is LITERAL else BEGINNINGS
        if kind is GROUP:
            names = (
                ("*", "g", "org:g", "org..g") if pattern is LITERAL else ("org:", "o", "org:eu:")
            )
        permission = chance.choice((ALLOW, ALLOW, DENY))
        host = chance.choice(("*", "*", "*", "10.0.0.7"))
        user, operation = chance.choice(USERS), chance.choice(OPERATIONS)
        found.append(acl(user, operation, chance.choice(names), pattern, permission, kind, host))
    return found


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "flat"])
@pytest.mark.parametrize("everyone", [False, True], ids=["", "everyone"])
@pytest.mark.parametrize("seed", range(60))
async def test_nobody_gets_more(seed: int, everyone: bool, plain: bool) -> None:
    snapshot = catalog(*random_acls(random.Random(seed)))
    names = Names(snapshot, FLATS, plain=plain)
    result = await carry(snapshot, names, everyone=everyone)
    gateway = authorizer(snapshot, everyone=everyone)
    brokers = at_brokers(result.bindings)
    told = set(result.differences)
    for flat in FLATS:
        becomes = names.of_topic(flat)
        if ".." in becomes:
            continue  # that the authorizer would read as a namespace's
        owner = snapshot.owner(flat)
        named = Resource(TOPIC, owner.namespace, owner.topic)
        links = [Resource(TOPIC, one.namespace, one.topic) for one in snapshot.links_of(flat)]
        for user in USERS:
            for operation in ASKED:
                for host in ("192.0.2.1", "10.0.0.7"):
                    here = gateway.authorize(user, host, operation, named).allowed or (
                        operation in (Operation.READ, Operation.WRITE, Operation.DESCRIBE)
                        and any(
                            gateway.authorize(user, host, operation, at).allowed for at in links
                        )
                        and gateway.denying(user, host, operation, named) is None
                    )
                    there = brokers.authorize(
                        user, host, operation, Resource(TOPIC, "", becomes)
                    ).allowed
                    what = f"{operation.name} on TOPIC {becomes}"
                    assert here or not there, f"{user} {what}"
                    # The report may name every principal instead of the user, and leave out the
                    # host.
                    texts = {
                        f"{one}{at} {what}"
                        for one in (user, ANY_USER)
                        for at in ("", f" at {host}")
                    }
                    assert there or not here or texts & told, f"{user} {what}"


async def test_a_closed_namespace_stays_closed() -> None:
    """alice's ACL on the topic does not count at the gateway, because ``org`` has ACLs and none of
    them lets her in (docs/access.md, row 7)."""
    snapshot = catalog(
        acl("User:a", Operation.WRITE, "org:a"), acl("User:b", Operation.READ, "org:")
    )
    result = await carry(snapshot, Names(snapshot, FLATS, plain=False))
    assert {one.entry.principal for one in result.bindings} == {"User:b"}
    (left,) = result.left_out
    assert (left.pattern.name, left.entry.principal) == ("org..a", "User:a")


async def test_a_prefix_of_plain_names_does_not_reach_into_namespaces() -> None:
    """``or`` covers ``orders`` and nothing in ``org`` (docs/access.md, rows 28 and 29), but at
    brokers it would cover ``org..a``. So single names are allowed instead."""
    snapshot = catalog(acl("User:a", Operation.READ, "or", PREFIXED))
    result = await carry(snapshot, Names(snapshot, FLATS, plain=False))
    assert [(one.pattern.name, one.pattern.pattern_type) for one in result.bindings] == [
        ("orders", LITERAL)
    ]
    assert [one.pattern.name for one in result.left_out] == ["or"]


async def test_a_deny_that_covers_more_is_told() -> None:
    snapshot = catalog(
        acl("User:a", Operation.READ, "org:"), acl("User:a", Operation.READ, "o", PREFIXED, DENY)
    )
    result = await carry(snapshot, Names(snapshot, FLATS, plain=False))
    assert "User:a READ on TOPIC org..a" in result.differences
