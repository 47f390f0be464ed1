"""gateway.rules.group_members: the members that are kept, and the members that make room for
others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.rules import group_members
from gateway.rules.group_members import (
    MAX_EVALUATIONS,
    UNHEARD_SECONDS,
    GroupMembers,
    KnownNames,
    Member,
    MemberKey,
    Subscription,
)


def key(member: str, scope: str = "s") -> MemberKey:
    return scope, "group", member


class Listing:
    """Names that count how often they are looked at."""

    def __init__(self, *names: str, version: int = 1) -> None:
        self.version = version
        self.looks = 0
        self._names = names

    @property
    def known(self) -> KnownNames:
        return KnownNames(self.version, self._look)

    def _look(self) -> Sequence[str]:
        self.looks += 1
        return self._names


def test_the_longest_unheard_member_makes_room() -> None:
    members = GroupMembers(2)
    first, second, third = Member(), Member(), Member()
    members.remember(key("1"), first)
    members.remember(key("2"), second)
    assert members.heard(key("1"), first)
    members.remember(key("3"), third)
    assert (members.get(key("1")), members.get(key("2")), len(members)) == (first, None, 2)


def test_a_member_that_was_replaced_is_not_heard() -> None:
    members = GroupMembers()
    before = Member()
    members.remember(key("1"), before)
    members.remember(key("1"), Member())
    assert not members.heard(key("1"), before)
    assert not members.heard(key("2"), before)


def names(letters: str) -> tuple[str, ...]:
    """A name of a thousand characters for each letter."""
    return tuple(letter * 1_000 for letter in letters)


def test_names_make_room_but_for_the_last_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count as they are kept, as they grow, and as they are removed."""
    monkeypatch.setattr(group_members, "MAX_BYTES_KEPT", 4 * 1_100 + 3 * 600)
    members = GroupMembers()
    first = Member(names("a"))
    members.remember(key("1"), first)
    first.names = names("ab")
    assert members.heard(key("1"), first)
    members.remember(key("2"), Member(names("cd")))
    assert len(members) == 2
    members.remember(key("3"), Member(names("e")))
    assert members.get(key("1")) is None
    members.forget(key("2"))
    members.remember(key("4"), Member(names("fgh")))
    assert len(members) == 2
    members.remember(key("5"), Member(names("stuvwxyz")))
    assert (members.get(key("5")) is None, len(members)) == (False, 1)


def test_a_member_whose_names_grow_makes_others_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_members, "MAX_BYTES_KEPT", 4 * 1_100 + 2 * 600)
    members = GroupMembers()
    first, second = Member(names("a")), Member(names("b"))
    members.remember(key("1"), first)
    members.remember(key("2"), second)
    first.names = names("abcd")
    assert members.heard(key("1"), first)
    assert (members.get(key("1")), members.get(key("2"))) == (first, None)


def test_scopes_are_apart() -> None:
    members = GroupMembers(1)
    members.remember(key("1", "a"), Member())
    members.fence(key("2", "a"))
    members.remember(key("1", "b"), Member())
    members.fence(key("2", "b"))
    assert len(members) == 2
    assert members.is_fenced(key("2", "a"))
    assert not members.is_fenced(key("1", "a"))


def test_fenced_members_are_bounded_and_forgotten() -> None:
    members = GroupMembers(2)
    for member in "123":
        members.fence(key(member))
    assert [members.is_fenced(key(member)) for member in "123"] == [False, True, True]
    members.forget(key("2"))
    assert not members.is_fenced(key("2"))


def test_an_expression_is_evaluated_once_for_each_version_of_the_names() -> None:
    members = GroupMembers()
    before, after = Listing("a:x", "b:x"), Listing("a:x", "a:y", version=2)
    for _ in range(2):
        assert members.matching("s", "a:.*", before.known) == ("a:x",)
        assert before.looks == 1
    assert members.matching("other", "a:.*", before.known) == ("a:x",)
    assert members.matching("s", "a:.*", after.known) == ("a:x", "a:y")
    assert (before.looks, after.looks) == (2, 1)


def test_evaluations_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_members, "MAX_EVALUATIONS", 2)
    members, names = GroupMembers(), Listing("a")
    for pattern in ("a", "b", "a", "c", "a"):
        members.matching("s", pattern, names.known)
    assert names.looks == 3, "what is used is kept"
    members.matching("s", "b", names.known)
    assert names.looks == 4


def test_long_expressions_and_ids_make_room_as_names_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members with 32 KB each, of which there is room for 50."""
    monkeypatch.setattr(group_members, "MAX_BYTES_KEPT", 50 * 33_000)
    members = GroupMembers()
    for number in range(60):
        members.remember(key(str(number)), Member(pattern=f"{number}" + "a" * 32_000))
    assert len(members) == 50
    for number in range(60):
        members.forget(key(str(number)))
    assert len(members) == 0
    for number in range(60):
        members.remember(key(f"{number}" + "a" * 32_000), Member())
    assert len(members) == 50
    for number in range(60):
        members.forget(key(f"{number}" + "a" * 32_000))
    (scope,) = members._scopes.values()
    assert (scope.ids_bytes, scope.kept.total, len(scope.kept)) == (0, 0, 0)


def test_what_members_share_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_members, "MAX_BYTES_KEPT", 10 * 1_100 + 100 * 600)
    members, shared = GroupMembers(), names("abcdefghij")
    for number in range(100):
        members.remember(key(str(number)), Member(shared))
    assert len(members) == 100
    members.forget(key("7"))
    members.remember(key("7"), Member(names("abcdefghij")))
    assert len(members) < 100, "another object takes room of its own"


def test_evaluated_subscriptions_are_bounded_by_what_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_members, "MAX_BYTES_KEPT", 100_000)
    members, listing = GroupMembers(), Listing()
    for number in range(50):
        one = Member(tuple(f"{number}:{other}" for other in range(100)))
        found = members.subscription("s", one, listing.known, 1, str.encode)
        assert members.subscription("s", one, listing.known, 1, str.encode) is found
        (scope,) = members._scopes.values()
        assert scope.subscriptions_bytes == sum(one.size for one in scope.subscriptions.values())
        assert scope.subscriptions_bytes <= 100_000
    assert 1 < len(scope.subscriptions) < 50


def test_members_that_left_without_a_word_are_forgotten() -> None:
    now = [0.0]
    members = GroupMembers(clock=lambda: now[0])
    silent, heard = Member(pattern="a.*"), Member(pattern="b.*")
    members.remember(key("silent"), silent)
    members.remember(key("heard"), heard)
    members.fence(key("fenced"))
    now[0] = UNHEARD_SECONDS - 1
    members.heard(key("heard"), heard)
    now[0] = UNHEARD_SECONDS + 1
    members.expire()
    assert (members.get(key("silent")), members.get(key("heard"))) == (None, heard)
    assert not members.is_fenced(key("fenced"))
    now[0] = 3 * UNHEARD_SECONDS
    members.expire()
    assert (len(members), len(members._scopes)) == (0, 0)


def test_what_was_evaluated_serves_until_names_or_their_meaning_change() -> None:
    members, names = GroupMembers(), Listing("a:x", "b:y")
    one, other = Member(("c",), "a:.*"), Member(("c",), "a:.*")

    def subscription(member: Member, meaning: int | None) -> Subscription:
        return members.subscription("s", member, names.known, meaning, str.encode)

    first = subscription(one, 1)
    assert first.wanted == ("a:x", "c")
    assert subscription(other, 1) is first
    assert subscription(one, 2) is not first
    assert subscription(one, None) is not subscription(one, None)
    assert names.looks == 1, "the expression itself has to do with the names alone"


def test_compiled_expressions_are_few() -> None:
    members = GroupMembers()
    first = members.compiled("s", "a0")
    assert members.compiled("s", "a0") is first
    for number in range(MAX_EVALUATIONS + 1):
        members.compiled("s", f"a{number}")
    assert members.compiled("s", "a0") is not first
