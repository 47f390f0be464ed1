"""ACLs for tests, written as people write them, and strategies for arbitrary ACLs."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
    pattern_of,
    resource,
)
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Entity, ResourceAcls
from gateway.catalog.snapshot import Snapshot

HOST = "10.0.0.1"
OTHER_HOST = "10.0.0.2"


def entry(text: str) -> AclEntry:
    """``ALLOW READ alice`` or ``DENY ALL * 10.0.0.1``."""
    permission, operation, user, *host = text.split()
    return AclEntry(
        f"User:{user}", host[0] if host else "*", Operation[operation], Permission[permission]
    )


def acls(lines: str | Iterable[str]) -> list[Entity]:
    """One ACL for each line: ``TOPIC:LITERAL:org:orders ALLOW READ alice``."""
    found: dict[ResourcePattern, set[AclEntry]] = {}
    for line in [lines] if isinstance(lines, str) else lines:
        pattern, _, rest = line.partition(" ")
        found.setdefault(pattern_of(pattern), set()).add(entry(rest))
    return [ResourceAcls(pattern, frozenset(entries)) for pattern, entries in found.items()]


def authorizer(
    lines: str | Iterable[str] | Snapshot,
    *,
    super_users: Iterable[str] = (),
    allow_everyone: bool = False,
) -> StandardAuthorizer:
    """An authorizer that has seen these ACLs."""
    made = StandardAuthorizer()
    made.configure(
        {
            "super.users": tuple(super_users),
            "allow.everyone.if.no.acl.found": allow_everyone,
        },
        lambda: None,
    )
    made.see(lines if isinstance(lines, Snapshot) else Snapshot().apply(acls(lines), 1))
    return made


def named(text: str) -> Resource:
    """``TOPIC orders``."""
    kind, _, name = text.partition(" ")
    return resource(ResourceType[kind], name)


def allows(made: StandardAuthorizer, question: str) -> bool:
    """``alice READ TOPIC orders``; ``alice@10.0.0.2 ...`` from another host."""
    who, operation, what = question.split(" ", 2)
    user, _, host = who.partition("@")
    found = made.authorize(f"User:{user}", host or HOST, Operation[operation], named(what))
    return found.allowed


NAMES = [
    *["o", "or", "ord", "orders", "x"],
    *["org:", "org:o", "org:or", "org:orders", "org:x"],
    *["org:or:", "org:or:o", "org:or:x", "org:or:x:", "org:or:x:o"],
    *["other:", "other:o"],
]
"""A small world: default names that begin like a namespace, tiers, and names in them."""

KINDS = [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.USER]
PRINCIPALS = ["User:a", "User:b"]
HOSTS = [HOST, OTHER_HOST]
OPERATIONS = [
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
]

entries = st.builds(
    AclEntry,
    st.sampled_from([*PRINCIPALS, "User:*"]),
    st.sampled_from(["*", "*", HOST]),
    st.sampled_from([*OPERATIONS, Operation.ALL, Operation.ALTER_CONFIGS]),
    st.sampled_from([Permission.ALLOW, Permission.ALLOW, Permission.DENY]),
)
patterns = st.builds(
    ResourcePattern,
    st.sampled_from([ResourceType.TOPIC, *KINDS]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from([*NAMES, "*"]),
)
resource_acls = st.builds(ResourceAcls, patterns, st.frozensets(entries, min_size=1, max_size=3))
snapshots = st.lists(resource_acls, max_size=8).map(lambda some: Snapshot().apply(some, 1))
