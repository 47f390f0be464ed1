"""Authorizers asked about a state of the catalog that is only being decided: each judges as if it
had seen that state, and the authorizer that others ask stays where it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from time import thread_time
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.acl_model import AclBinding, AclFilter, Operation, PatternType, resource
from gateway.acls import index as index_module
from gateway.acls.authorizer import Authorizer
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.slices import Slices
from protocol import pausing
from protocol.pausing import FEW
from tests.acls.custom import ListAuthorizer
from tests.acls.samples import HOST, KINDS, NAMES, PRINCIPALS, allows, authorizer, named, snapshots
from tests.acls.test_long_changes import (
    acls_of,
    changes,
    of_many_principals,
    of_one_principal,
    steps,
    verdicts,
)
from tests.pauses import pause_everywhere


def judged(made: Authorizer) -> list[object]:
    """All that an authorizer says about a small world."""
    found = verdicts(cast(StandardAuthorizer, made))
    who = AclFilter(principal=PRINCIPALS[0])
    return [*found, {*made.acls(AclFilter())}, {*made.acls(who)}]


def asked_for(made: Authorizer) -> None:
    """Ask for all that without making sets of it, whose hashes take this test's own time."""
    verdicts(cast(StandardAuthorizer, made))
    for wanted in (AclFilter(), AclFilter(principal=PRINCIPALS[0])):
        deque(made.acls(wanted), maxlen=0)


def said(made: Authorizer) -> list[object]:
    """Some of that."""
    asked = [(who, name) for who in PRINCIPALS[:2] for name in NAMES[::4]]
    named = [(who, resource(KINDS[0], name)) for who, name in asked]
    found = [made.authorize(who, HOST, Operation.READ, one).allowed for who, one in named]
    filters = [AclFilter(), *(AclFilter(principal=who) for who in PRINCIPALS[:2])]
    return [found, *({*made.acls(one)} for one in filters)]


@contextmanager
def long_changes() -> Iterator[pytest.MonkeyPatch]:
    """Changes of three ACLs are long already, and pause wherever they may."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "FEW", 2)
        patch.setattr(index_module, "MAX_BESIDE", 1)
        patch.setattr(pausing, "FEW", 0)
        pause_everywhere(patch)
        yield patch


def states(snapshot: Snapshot, decisions: list[list[object]]) -> list[Snapshot]:
    """The states after each of these decisions, the first without any."""
    found = [snapshot]
    for decision in decisions:
        found.append(found[-1].apply(decision, found[-1].version + 1))  # type: ignore[arg-type]
    return found


@given(snapshots, steps, st.randoms(use_true_random=False))
def test_each_state_is_judged_as_if_it_had_been_seen(
    snapshot: Snapshot, decisions: list[list[object]], rng: Random
) -> None:
    with long_changes():
        drafts = states(snapshot, decisions)
        expected = [judged(authorizer(one)) for one in drafts]
        made = authorizer(snapshot)
        asked = [made.at(one) for one in drafts]
        for number in rng.choices(range(len(drafts)), k=6):
            assert judged(asked[number]) == expected[number]
            assert judged(asked[0].at(drafts[number])) == expected[number]
            assert judged(made) == expected[0]
        for number, one in enumerate(drafts):
            made.see(one)
            assert judged(made) == expected[number]
            # What is older by now is judged by what has been seen since.
            assert judged(asked[number]) == judged(asked[0]) == expected[number]
            assert judged(asked[-1]) == expected[-1]


@settings(max_examples=50)
@given(snapshots, steps, st.lists(changes, max_size=4), st.integers(0, 2**32))
def test_decisions_that_pause_do_not_disturb_each_other(
    snapshot: Snapshot, decisions: list[list[object]], seen: list[object], seed: int
) -> None:
    rng = Random(seed)
    with long_changes():
        drafts = states(snapshot, decisions)
        expected = [said(authorizer(one)) for one in drafts]
        made = authorizer(snapshot)
        later = snapshot.apply(seen, snapshot.version)  # type: ignore[arg-type]
        work = [
            (number, Slices(partial(said, made.at(drafts[number]))))
            for number in rng.choices(range(len(drafts)), k=3)
        ]
        running = list(work)
        while running:
            one = rng.choice(running)
            if rng.random() < 0.1:
                made.see(rng.choice([snapshot, later]))
            if one[1].step():
                running.remove(one)
        for number, slices in work:
            known = drafts[number].acls is snapshot.acls
            assert known or slices.result() == expected[number]
        made.see(snapshot)
        assert said(made) == expected[0]


def test_a_verdict_tells_the_acl_of_its_state() -> None:
    made = authorizer(Snapshot())
    draft = Snapshot().apply([acls_of(PatternType.LITERAL, "orders", "User:alice")], 1)
    found = made.at(draft).authorize("User:alice", HOST, Operation.READ, named("TOPIC orders"))
    made.at(Snapshot().apply([Namespace("org")], 1))
    assert found.rule == "ALLOW READ for User:alice on TOPIC:LITERAL:orders"


def test_super_users_stay_super_users() -> None:
    made = authorizer(Snapshot(), super_users=["User:root"])
    draft = Snapshot().apply([acls_of(PatternType.LITERAL, "orders", "User:alice")], 1)
    assert allows(cast(StandardAuthorizer, made.at(draft)), "root READ TOPIC x")


def test_an_authorizer_without_a_catalog_is_asked_as_it_is() -> None:
    made = ListAuthorizer()
    made.follow(Snapshot())
    assert made.at(Snapshot(version=9)) is made


class Seeing(ListAuthorizer):
    """An authorizer of one's own that goes by the catalog, and can only be shown a state."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[int] = []

    def see(self, snapshot: Snapshot) -> None:
        self.states.append(snapshot.version)
        acls = snapshot.acls.values()
        self.bindings = [AclBinding(one.pattern, entry) for one in acls for entry in one.entries]


def test_an_authorizer_of_ones_own_sees_a_draft_only_while_it_is_asked() -> None:
    made, orders = Seeing(), named("TOPIC orders")
    one = Snapshot().apply([acls_of(PatternType.LITERAL, "orders", "User:alice")], 1)
    two = one.apply([acls_of(PatternType.LITERAL, "orders", "User:bob")], 2)
    made.follow(one)

    def allowed(asked: Authorizer, *principals: str) -> list[bool]:
        return [asked.authorize(w, HOST, Operation.READ, orders).allowed for w in principals]

    both = ("User:alice", "User:bob")
    ahead = made.at(two)
    assert allowed(ahead, *both) == [False, True]
    assert allowed(made, *both) == [True, False]
    assert [each.entry.principal for each in ahead.acls(AclFilter())] == ["User:bob"]
    assert made.states == [1, 2, 1, 2, 1, 2, 1, 2, 1]
    made.follow(two)
    three = two.apply([acls_of(PatternType.LITERAL, "orders", *both)], 3)
    made.follow(three)
    assert allowed(ahead, *both) == [True, True], "never by less than it has seen"


class LookingLate(Seeing):
    """An authorizer of one's own that looks at its ACLs as they are taken."""

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        yield from iter(super().acls(matching))


@pytest.mark.parametrize("made", [Seeing(), LookingLate()])
def test_many_acls_of_a_draft_are_taken_in_parts(made: Seeing) -> None:
    few = Snapshot().apply([acls_of(PatternType.LITERAL, "orders", "User:alice")], 1)
    many = few.apply([acls_of(PatternType.LITERAL, "orders", *map(str, range(1_000)))], 2)
    made.follow(few)
    work, steps = Slices(lambda: [*made.at(many).acls(AclFilter())]), 0
    with pytest.MonkeyPatch.context() as patch:
        pause_everywhere(patch)
        done = False
        while not done:
            done = work.step()
            steps += 1
            assert len([*made.acls(AclFilter())]) == 1, "others ask by the state that is seen"
    assert {one.entry.principal for one in work.result()} == {*map(str, range(1_000))}
    assert steps > 1_000 // FEW


@pytest.mark.alone
@pytest.mark.parametrize("of_one", [False, True])
def test_no_turn_is_long_while_many_acls_are_judged_in_a_transaction(of_one: bool) -> None:
    many = of_one_principal(PatternType.PREFIXED) if of_one else of_many_principals()
    snapshot = Snapshot().apply(many[:-20], 1)
    made, longest = authorizer(snapshot), 1.0
    for one in many[-20:]:
        snapshot = snapshot.apply([one], snapshot.version + 1)
        work, turns, done = Slices(partial(asked_for, made.at(snapshot))), list[float](), False
        while not done:
            began = thread_time()
            done = work.step()
            turns.append(thread_time() - began)
        longest = min(longest, max(turns))
    assert longest < 0.025
