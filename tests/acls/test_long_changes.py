"""gateway.acls.index: a change of many ACLs is made in slices, and becomes visible at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    resource,
)
from gateway.acls import index as index_module
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Change, Removal, ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.slices import Slices
from protocol import pausing
from tests.acls.samples import (
    HOST,
    KINDS,
    NAMES,
    OPERATIONS,
    PRINCIPALS,
    authorizer,
    patterns,
    resource_acls,
    snapshots,
)
from tests.pauses import pause_everywhere

MANY = 10_000
"""ACLs of one CreateAcls request at most, in Kafka."""

changes = resource_acls | patterns.map(lambda pattern: Removal(("acl", str(pattern))))
steps = st.lists(st.lists(changes, max_size=12), max_size=4)


def verdicts(made: StandardAuthorizer) -> list[object]:
    """The decisions about everything in a small world."""
    found: list[object] = [
        made.authorize(principal, HOST, operation, resource(kind, name)).allowed
        for principal in PRINCIPALS
        for operation in OPERATIONS[:2]
        for kind in KINDS[:2]
        for name in NAMES
    ]
    found += [
        made.authorize_any(principal, HOST, operation, kind).allowed
        for principal in PRINCIPALS
        for operation in OPERATIONS[:2]
        for kind in KINDS[:2]
    ]
    return found


@given(snapshots, steps)
def test_nothing_of_a_long_change_is_decided_by_before_all_of_it_is(
    snapshot: Snapshot, decisions: list[list[Change]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "FEW", 2)
        patch.setattr(index_module, "MAX_BESIDE", 1)
        patch.setattr(pausing, "FEW", 0)
        pause_everywhere(patch)
        made = authorizer(snapshot)
        for decision in decisions:
            before = verdicts(made)
            snapshot = snapshot.apply(decision, snapshot.version + 1)
            preparing = Slices(partial(made.prepare, snapshot))
            while not preparing.step():
                assert verdicts(made) == before
            preparing.result()
            assert verdicts(made) == before
            made.see(snapshot)
            assert verdicts(made) == verdicts(authorizer(snapshot))


def test_what_was_prepared_for_a_state_that_never_came_is_forgotten() -> None:
    made = authorizer(Snapshot())
    never = Snapshot().apply(of_one_principal(PatternType.LITERAL), 1)
    made.prepare(never)
    came = Snapshot().apply(of_one_principal(PatternType.PREFIXED)[:300], 1)
    made.see(came)
    assert allowed(made, "User:a", "t000001x") and not allowed(made, "User:a", "t000999")
    made.see(never)
    assert allowed(made, "User:a", "t000999") and not allowed(made, "User:a", "t000001x")


def test_prefixes_that_are_prepared_decide_nothing_yet() -> None:
    prefixed = of_one_principal(PatternType.PREFIXED)
    one = Snapshot().apply(prefixed[:5], 1)
    two = one.apply([*prefixed[5:400], Removal(("acl", str(prefixed[0].pattern)))], 2)
    made = authorizer(one)
    made.prepare(two)
    assert allowed(made, "User:a", "t000000x") and not allowed(made, "User:a", "t000005x")
    made.see(two)
    assert allowed(made, "User:a", "t000005x") and not allowed(made, "User:a", "t000000x")


def test_after_a_long_change_short_ones_leave_the_former_state_alone() -> None:
    """The copy shares unchanged parts with the index that it was made of."""
    prefixed = of_one_principal(PatternType.PREFIXED)[:400]
    one = Snapshot().apply(prefixed, 1)
    two = one.apply(of_one_principal(PatternType.LITERAL)[:400], 2)
    made = authorizer(one)
    made.prepare(two)
    made.see(two)
    three = two.apply([Removal(("acl", str(prefixed[7].pattern)))], 3)
    made.see(three)
    assert not allowed(made, "User:a", "t000007x") and allowed(made, "User:a", "t000008x")
    assert allowed(made, "User:a", "t000007")
    made.see(one)
    assert allowed(made, "User:a", "t000007x")


def allowed(made: StandardAuthorizer, principal: str, topic: str) -> bool:
    """Whether a principal may READ a topic."""
    named = resource(ResourceType.TOPIC, topic)
    return made.authorize(principal, HOST, Operation.READ, named).allowed


def acls_of(pattern_type: PatternType, name: str, *principals: str) -> ResourceAcls:
    """READ on a topic for these principals."""
    entries = (AclEntry(one, "*", Operation.READ, Permission.ALLOW) for one in principals)
    return ResourceAcls(ResourcePattern(ResourceType.TOPIC, pattern_type, name), frozenset(entries))


def of_one_principal(pattern_type: PatternType) -> list[ResourceAcls]:
    """As many ACLs as are allowed, each of another name."""
    return [acls_of(pattern_type, f"t{number:06}", "User:a") for number in range(MANY)]


def of_a_namespace() -> list[ResourceAcls]:
    """As many ACLs as are allowed, in a namespace."""
    return [acls_of(PatternType.PREFIXED, f"org:t{number:06}", "User:a") for number in range(MANY)]


def of_many_principals() -> list[ResourceAcls]:
    """ACLs that each have another name and another principal."""
    return [
        acls_of(PatternType.LITERAL, f"t{number:06}", f"User:{number}") for number in range(MANY)
    ]


def of_few_names() -> list[ResourceAcls]:
    """As many principals as fit on a name."""
    return [
        acls_of(PatternType.LITERAL, name, *(f"User:{number}" for number in range(MANY // 2)))
        for name in ("a", "b")
    ]


LONG: dict[str, Callable[[], list[ResourceAcls]]] = {
    "one principal": partial(of_one_principal, PatternType.LITERAL),
    "prefixes": partial(of_one_principal, PatternType.PREFIXED),
    "prefixes in a namespace": of_a_namespace,
    "many principals": of_many_principals,
    "few names": of_few_names,
}


@pytest.mark.alone
@pytest.mark.parametrize("way", LONG)
def test_no_turn_is_long_while_10_000_acls_are_made_and_deleted(way: str) -> None:
    longest = min(_longest_turn(LONG[way]()) for _ in range(3))
    assert longest < 0.025


def _longest_turn(made: list[ResourceAcls]) -> float:
    """CPU seconds of the longest callback of creating ACLs, and of deleting them."""
    decisions: list[list[Change]] = [[*made]]
    decisions.append([Removal(("acl", str(one.pattern))) for one in made])
    decided_by, snapshot, longest = authorizer(Snapshot()), Snapshot(), 0.0
    for decision in decisions:
        snapshot = snapshot.apply(decision, snapshot.version + 1)
        preparing, done = Slices(partial(decided_by.prepare, snapshot)), False
        while not done:
            began = thread_time()
            done = preparing.step()
            longest = max(longest, thread_time() - began)
        began = thread_time()
        preparing.result()
        decided_by.see(snapshot)
        longest = max(longest, thread_time() - began)
    return longest


@pytest.mark.alone
def test_one_prefix_beside_10_000_others_takes_no_long_turn_either() -> None:
    snapshot = Snapshot().apply(of_one_principal(PatternType.PREFIXED), 1)
    decided_by = authorizer(snapshot)

    def turn() -> float:
        nonlocal snapshot
        more = acls_of(PatternType.PREFIXED, f"x{snapshot.version}", "User:a")
        snapshot = snapshot.apply([more], snapshot.version + 1)
        preparing, longest, done = Slices(partial(decided_by.prepare, snapshot)), 0.0, False
        while not done:
            began = thread_time()
            done = preparing.step()
            longest = max(longest, thread_time() - began)
        began = thread_time()
        decided_by.see(snapshot)
        return max(longest, thread_time() - began)

    assert min(turn() for _ in range(3)) < 0.01
