"""What a tool that declares ACLs reads back: Terraform's providers and Strimzi's User Operator
create the ACLs that they do not find among the described ACLs, and would do so for ever if a name
came back changed."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.acl_model import Operation, PatternType, Permission, ResourceType
from tests.changes.acl_requests import access, create, delete, describe, filtering, held
from tests.changes.fakes import FakeGateway, World

EVERYWHERE = (
    "TOPIC:LITERAL:orders",
    "TOPIC:LITERAL:*",
    "TOPIC:PREFIXED:or",
    "TOPIC:LITERAL:not-there",
    "GROUP:LITERAL:billing",
    "GROUP:LITERAL:*",
    "GROUP:PREFIXED:bil",
    "TRANSACTIONAL_ID:LITERAL:*",
    "TRANSACTIONAL_ID:PREFIXED:tx-",
)
WITH_COLONS = (
    "TOPIC:LITERAL:sub:",
    "TOPIC:PREFIXED:sub:",
    "TOPIC:LITERAL:sub:y",
    "GROUP:LITERAL:sub:g",
)
LEGAL = (
    "TOPIC:LITERAL:sub..",
    "TOPIC:PREFIXED:sub..",
    "TOPIC:LITERAL:sub..y",
    "GROUP:LITERAL:sub..g",
)
CLUSTER = "CLUSTER:LITERAL:kafka-cluster"

LISTENERS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "colon": ({}, (*EVERYWHERE, *WITH_COLONS, CLUSTER)),
    "legal": ({"legal": True}, (*EVERYWHERE, *LEGAL, CLUSTER)),
    "home": ({"home": "team-a"}, (*EVERYWHERE, *WITH_COLONS, "TOPIC:LITERAL::")),
}
"""The listener's settings, and the patterns in its own spelling."""

RESPELLED = {
    "colon": ("TOPIC:LITERAL:sub..y", "TOPIC:LITERAL:sub:y"),
    "legal": ("TOPIC:LITERAL:sub:y", "TOPIC:LITERAL:sub..y"),
    "home": ("TOPIC:PREFIXED::", "TOPIC:LITERAL:*"),
}
"""A pattern that is read in another spelling, and the pattern that is described for it: a
declaration has to use the listener's own spelling."""

TYPES = (
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.CLUSTER,
    ResourceType.TRANSACTIONAL_ID,
)


def acl(pattern: str) -> str:
    return f"ALLOW READ User:bob {pattern}"


@pytest.fixture
def gateway() -> FakeGateway:
    return World(["sub", "team-a:sub", "team-b"]).gateway()


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("version", [1, 3])
async def test_what_is_declared_is_read(gateway: FakeGateway, listener: str, version: int) -> None:
    """One creation in a request, and a description for each type without a name, as the provider of
    Mongey does both (kafka_acls.go, CreateACL and ListACLs, version 1)."""
    settings, patterns = LISTENERS[listener]
    asking = access(gateway, **settings)
    declared = {acl(pattern) for pattern in patterns}
    for _ in range(2):
        for each in sorted(declared):
            assert await create(gateway, asking, each, version=version) == [(0, None)]
        read: set[str] = set()
        for kind in TYPES:
            found = await describe(gateway, asking, filtering(kind=kind), version)
            assert isinstance(found, set)
            read |= found
        assert read == declared
        assert len(held(gateway.catalog.snapshot)) == len(declared)


@pytest.mark.parametrize("listener", LISTENERS)
async def test_what_is_read_is_deleted_one_by_one(gateway: FakeGateway, listener: str) -> None:
    settings, patterns = LISTENERS[listener]
    asking = access(gateway, **settings)
    await create(gateway, asking, *map(acl, patterns))
    left = {acl(pattern) for pattern in patterns}
    for pattern in patterns:
        kind, how, name = pattern.split(":", 2)
        exactly = filtering(
            name,
            kind=ResourceType[kind],
            pattern_type=PatternType[how],
            principal="User:bob",
            host="*",
            operation=Operation.READ,
            permission=Permission.ALLOW,
        )
        assert await delete(gateway, asking, exactly) == [{acl(pattern)}]
        left.remove(acl(pattern))
        assert await describe(gateway, asking) == left


@pytest.mark.parametrize("listener", LISTENERS)
async def test_another_spelling_comes_back_in_the_listener_s_own(
    gateway: FakeGateway, listener: str
) -> None:
    asking = access(gateway, **LISTENERS[listener][0])
    written, shown = RESPELLED[listener]
    await create(gateway, asking, acl(written))
    assert await describe(gateway, asking) == {acl(shown)}
