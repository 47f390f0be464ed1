"""The ACLs that the bench asks about: 100,000 of them for 1,000 principals, as large clusters have.

Each principal has topics, prefixes, groups and transactional ids of its own, in the default
namespace and in one of 100 teams' namespaces; every second team's namespace has ACLs of its own.
Some ACLs are for every user, and some deny. The worst that can be met are ten further principals:
their topic has 200 characters, and they and every user have prefixes of each length up to that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from gateway.acl_model import (
    ANY_USER,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.catalog.entities import ResourceAcls

ACLS: Final = 100_000
PRINCIPALS: Final = 1_000
TEAMS: Final = 100
HOST: Final = "10.1.2.3"
LONG_NAME: Final = "long-" * 40
WORST: Final = tuple(f"User:worst-{number}" for number in range(10))

_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP


def principal(number: int) -> str:
    """One of the principals."""
    return f"User:service-{number}"


def team(number: int) -> str:
    """The namespace of a principal's team, with its final ``:``."""
    return f"org:unit-{number % 10}:team-{number % TEAMS}:"


def resource_acls(count: int = ACLS, principals: int = PRINCIPALS) -> list[ResourceAcls]:
    """Every ACL of the population, by resource pattern."""
    found: dict[ResourcePattern, set[AclEntry]] = {}
    for pattern, entry in islice(_every(count, principals), count):
        found.setdefault(pattern, set()).add(entry)
    return [ResourceAcls(pattern, frozenset(entries)) for pattern, entries in found.items()]


def _every(count: int, principals: int) -> Iterator[tuple[ResourcePattern, AclEntry]]:
    yield from _common()
    yield from _worst()
    for turn in range(count):
        for number in range(principals):
            yield from _own(number, turn)


def _common() -> Iterator[tuple[ResourcePattern, AclEntry]]:
    """The ACLs that every user has, and those that open namespaces."""
    for size in range(1, len(LONG_NAME) + 1):
        yield _acl(_TOPIC, _PREFIXED, LONG_NAME[:size], ANY_USER, Operation.DESCRIBE)
    for number in range(TEAMS):
        yield _acl(_TOPIC, _PREFIXED, f"public-{number}-", ANY_USER, Operation.READ)
    yield _acl(_TOPIC, _LITERAL, "org:", ANY_USER, Operation.DESCRIBE)


def _worst() -> Iterator[tuple[ResourcePattern, AclEntry]]:
    for who in WORST:
        for size in range(1, len(LONG_NAME) + 1):
            yield _acl(_TOPIC, _PREFIXED, LONG_NAME[:size], who, Operation.READ)


def _own(number: int, turn: int) -> Iterator[tuple[ResourcePattern, AclEntry]]:
    """Five ACLs of a principal, others each turn."""
    who, space = principal(number), team(number)
    if turn == 0:
        yield _acl(_TOPIC, _LITERAL, "*", f"{who}-former", Operation.ALL, Permission.DENY)
        yield _acl(_GROUP, _PREFIXED, f"service-{number}-", who, Operation.ALL)
        if number % 2 and number < TEAMS:
            yield _acl(_TOPIC, _LITERAL, space, ANY_USER, Operation.DESCRIBE)
    yield _acl(_TOPIC, _LITERAL, f"{space}events-{turn}", who, Operation.WRITE)
    yield _acl(_TOPIC, _PREFIXED, f"{space}{'x' * (turn % 20)}-{number}-", who, Operation.READ)
    yield _acl(_TOPIC, _LITERAL, f"shared-{turn}", who, Operation.READ)
    yield _acl(_TOPIC, _PREFIXED, f"service-{number}-{'y' * (turn % 20)}", who, Operation.WRITE)
    denied = Permission.DENY if turn % 2 else Permission.ALLOW
    yield _acl(_TOPIC, _LITERAL, f"service-{number}-{turn}", who, Operation.ALTER, denied, HOST)


def _acl(
    kind: ResourceType,
    pattern_type: PatternType,
    name: str,
    who: str,
    operation: Operation,
    permission: Permission = Permission.ALLOW,
    host: str = "*",
) -> tuple[ResourcePattern, AclEntry]:
    pattern = ResourcePattern(kind, pattern_type, name)
    return pattern, AclEntry(who, host, operation, permission)
