"""gateway.acls.index: it follows the catalog, change by change."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import ANY_USER, ResourcePattern, ResourceType, covers, pattern_of
from gateway.acls.index import AclIndex, differing
from gateway.catalog.entities import Change, Removal, ResourceAcls
from gateway.catalog.snapshot import Snapshot
from tests.acls.samples import KINDS, NAMES, PRINCIPALS, acls, patterns, resource_acls, snapshots

changes = resource_acls | patterns.map(lambda pattern: Removal(("acl", str(pattern))))

Acls = dict[ResourcePattern, ResourceAcls]


def followed(before: Acls, after: Acls) -> Acls:
    """The first state after every difference was applied, in order."""
    result = dict(before)
    for was, now in differing(before, after):
        assert was is not now
        if was is not None:
            assert result.pop(was.pattern) is was
        if now is not None:
            assert now.pattern not in result
            result[now.pattern] = now
    return result


@given(snapshots, st.lists(changes, max_size=6))
def test_what_differs_leads_from_one_state_to_the_next(
    before: Snapshot, step: list[Change]
) -> None:
    after = before.apply(step, 2)
    assert followed(dict(before.acls), dict(after.acls)) == after.acls
    told = list(differing(before.acls, after.acls))
    assert len(told) <= len(step), "no more than was changed"


@given(snapshots, snapshots, st.randoms(use_true_random=False))
def test_so_it_does_between_states_that_have_nothing_in_common(
    before: Snapshot, after: Snapshot, chance: random.Random
) -> None:
    items = list(after.acls.items()) + [
        item for item in before.acls.items() if item[0] not in after.acls and chance.random() < 0.5
    ]
    chance.shuffle(items)
    assert followed(dict(before.acls), dict(items)) == dict(items)


def shape(index: AclIndex) -> dict[str, object]:
    """The content of an index."""
    kinds = [kind for kind in ResourceType if kind > ResourceType.ANY]
    found: dict[str, object] = {"own": index.own_acls, "acls": index.acls}
    for kind in kinds:
        for principal in (*PRINCIPALS, ANY_USER):
            for number, rules in enumerate(index.own_rules(kind, principal)):
                assert rules
                found[f"{kind} {principal} {number}"] = {
                    grant.pattern: set(grant.entries) for grant in rules.grants()
                }
                found[f"{kind} {principal} {number} allows"] = {
                    operation: set(held) for operation, held in rules.allowing.items()
                }
        found[f"present {kind}"] = {name for name in NAMES if index.present(kind).covers(name)}
    return found


@given(snapshots, st.lists(st.lists(changes, max_size=3), max_size=4))
def test_it_holds_what_one_holds_that_was_made_at_once(
    snapshot: Snapshot, steps: list[list[Change]]
) -> None:
    index = AclIndex()
    index.see(snapshot.acls)
    for step in steps:
        snapshot = snapshot.apply(step, snapshot.version + 1)
        index.see(snapshot.acls)
    at_once = AclIndex()
    at_once.see(snapshot.acls)
    assert shape(index) == shape(at_once)
    for kind in KINDS:
        for name in NAMES:
            covered = any(covers(pattern, kind, name) for pattern in snapshot.acls)
            assert index.present(kind).covers(name) is covered


def test_whom_a_change_concerns() -> None:
    index = AclIndex()
    lines = ["TOPIC:LITERAL:x ALLOW READ a", "TOPIC:LITERAL:x ALLOW READ b"]
    first = Snapshot().apply(acls(lines), 1)
    assert index.see(first.acls) == {"User:a", "User:b"}
    second = first.apply(acls([*lines, "TOPIC:LITERAL:x DENY ALL b"]), 2)
    assert index.see(second.acls) == {"User:b"}
    assert index.see(second.apply([], 3).acls) == set()
    everyone = second.apply(acls("GROUP:LITERAL:x ALLOW READ *"), 4)
    assert index.see(everyone.acls) is None
    gate = everyone.apply(acls("TOPIC:LITERAL:org: ALLOW READ a"), 5)
    assert index.see(gate.acls) is None, "it is closed to everyone else"
    again = gate.apply(acls("TOPIC:LITERAL:org: ALLOW WRITE a"), 6)
    assert index.see(again.acls) == {"User:a"}
    gone = again.apply([Removal(("acl", "TOPIC:LITERAL:org:"))], 7)
    assert index.see(gone.acls) is None
    assert index.own_acls == set()


def test_of_a_pattern_with_many_entries_only_those_are_touched_that_change() -> None:
    lines = [f"TOPIC:LITERAL:x ALLOW READ u{number}" for number in range(100)]
    index = AclIndex()
    before = Snapshot().apply(acls(lines), 1)
    index.see(before.acls)
    (kept,) = index.own_rules(ResourceType.TOPIC, "User:u5")
    (grant,) = kept.grants()
    after = before.apply(acls([*lines, "TOPIC:LITERAL:x ALLOW WRITE new"]), 2)
    assert index.see(after.acls) == {"User:new"}
    assert list(kept.grants()) == [grant]


def test_a_pattern_without_entries_is_none() -> None:
    index = AclIndex()
    pattern = pattern_of("TOPIC:LITERAL:org:")
    index.see({pattern: ResourceAcls(pattern, frozenset())})
    assert index.own_acls == set()
    assert not index.present(ResourceType.TOPIC).covers("org:")
