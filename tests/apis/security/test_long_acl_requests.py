"""Requests about ACLs of a delegate beside many ACLs of others: no turn is long."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import pytest

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
from gateway.slices import InSlices, Slices, Turns
from tests.changes.acl_requests import access, delete, describe, filtering, put
from tests.changes.fakes import FakeGateway, World

MANY = 20_000
"""Patterns with ACLs."""

LONGEST_SECONDS = 0.025
"""CPU seconds of a turn, which are made to take 5 ms."""

DELEGATED = "ALLOW ALTER User:bob TOPIC:LITERAL:org:"
OWN = "ALLOW READ User:eve TOPIC:LITERAL:org:x"
FILTERS = 4


@pytest.fixture(scope="module")
def gateway() -> FakeGateway:
    world = World(["org"])
    world.log.append(
        [
            ResourceAcls(
                ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, f"other:t{number}"),
                frozenset({AclEntry(who, "*", Operation.READ, Permission.ALLOW)}),
            )
            for number in range(MANY)
            for who in [ANY_USER if number % 8 else f"User:u{number % 1_000}"]
        ]
    )
    put(world, DELEGATED, OWN)
    return world.gateway()


async def described(gateway: FakeGateway) -> None:
    """DescribeAcls of all, most of which the delegate may not see."""
    assert await describe(gateway, access(gateway, "User:bob")) == {DELEGATED, OWN}


async def described_for_one(gateway: FakeGateway) -> None:
    """DescribeAcls of a principal with many ACLs."""
    asked = filtering(principal=ANY_USER)
    assert await describe(gateway, access(gateway, "User:bob"), asked) == set()


async def deleted(gateway: FakeGateway) -> None:
    """DeleteAcls of what nobody has, by filters that scan all."""
    asked = [filtering(principal=f"User:none{number}") for number in range(FILTERS)]
    assert await delete(gateway, access(gateway, "User:bob"), *asked) == [set()] * FILTERS


async def deleted_elsewhere(gateway: FakeGateway) -> None:
    """DeleteAcls of what many have, all of it where the delegate has no right."""
    asked = [filtering(principal=ANY_USER) for _ in range(FILTERS)]
    assert await delete(gateway, access(gateway, "User:bob"), *asked) == [set()] * FILTERS


async def denied(gateway: FakeGateway) -> None:
    """DescribeAcls of a principal without any right, by the many ACLs of everybody."""
    found = await describe(gateway, access(gateway, "User:nobody"))
    assert isinstance(found, tuple)


@pytest.mark.alone
@pytest.mark.parametrize("ask", [described, described_for_one, deleted, deleted_elsewhere, denied])
async def test_no_turn_is_long(
    gateway: FakeGateway,
    ask: Callable[[FakeGateway], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step, turns = Slices.step, list[float]()

    def timed(slices: Slices[object], *first_seconds: float) -> bool:
        began = thread_time()
        try:
            return step(slices, *first_seconds)
        finally:
            turns.append(thread_time() - began)

    monkeypatch.setattr(Slices, "step", timed)
    longest = 1.0
    for _ in range(3):
        turns.clear()
        await InSlices(Turns(), ask(gateway))  # type: ignore[arg-type]
        longest = min(longest, max(turns))
    assert longest < LONGEST_SECONDS
