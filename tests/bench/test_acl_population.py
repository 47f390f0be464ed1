"""bench.acl_population: the ACLs with which the bench measures."""

from __future__ import annotations

from bench.acl_population import (
    ACLS,
    HOST,
    LONG_NAME,
    PRINCIPALS,
    WORST,
    principal,
    resource_acls,
    team,
)
from gateway.acl_model import ANY_USER, PatternType, Permission


def test_it_has_as_many_as_it_says() -> None:
    acls = resource_acls()
    entries = [entry for one in acls for entry in one.entries]
    assert len(entries) == ACLS
    assert len({one.pattern for one in acls}) == len(acls)
    users = {entry.principal for entry in entries}
    assert {principal(number) for number in range(PRINCIPALS)} < users
    assert {ANY_USER, *WORST} < users


def test_it_has_something_of_everything() -> None:
    acls = resource_acls(20_000, 100)
    entries = [entry for one in acls for entry in one.entries]
    assert {entry.permission for entry in entries} == {Permission.ALLOW, Permission.DENY}
    assert {entry.host for entry in entries} == {"*", HOST}
    patterns = {one.pattern for one in acls}
    assert {pattern.pattern_type for pattern in patterns} == {
        PatternType.LITERAL,
        PatternType.PREFIXED,
    }
    names = {pattern.name for pattern in patterns}
    assert {"*", "org:", team(1)} < names
    assert len(LONG_NAME) == 200
    assert {LONG_NAME[:size] for size in range(1, 201)} < names
