"""gateway.rules.group_members: what is kept of members, and what makes room for others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.rules import group_members
from gateway.rules.group_members import GroupMembers, Member, MemberKey
from gateway.rules.topic_regex import TopicRegex


def key(member: str, scope: str = "s") -> MemberKey:
    return scope, "group", member


class Listing:
    """Names that count how often they are looked at."""

    def __init__(self, *names: str, version: int = 1) -> None:
        self.version = version
        self.looks = 0
        self._names = names

    @property
    def names(self) -> Sequence[str]:
        self.looks += 1
        return self._names


def test_the_longest_unheard_member_makes_room() -> None:
    members = GroupMembers(2)
    first, second, third = Member(), Member(), Member()
    members.remember(key("1"), first)
    members.remember(key("2"), second)
    assert members.heard(key("1"), first, 0)
    members.remember(key("3"), third)
    assert (members.get(key("1")), members.get(key("2")), len(members)) == (first, None, 2)


def test_a_member_that_was_replaced_is_not_heard() -> None:
    members = GroupMembers()
    before = Member()
    members.remember(key("1"), before)
    members.remember(key("1"), Member())
    assert not members.heard(key("1"), before, 0)
    assert not members.heard(key("2"), before, 0)


def test_names_make_room_but_for_the_last_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted as they are kept, as they grow, and as they go."""
    monkeypatch.setattr(group_members, "MAX_NAMES_KEPT", 4)
    members = GroupMembers()
    first = Member(("a",))
    members.remember(key("1"), first)
    first.names = ("a", "b")
    assert members.heard(key("1"), first, 1)
    members.remember(key("2"), Member(("c", "d")))
    assert len(members) == 2
    members.remember(key("3"), Member(("e",)))
    assert members.get(key("1")) is None
    members.forget(key("2"))
    members.remember(key("4"), Member(("f", "g", "h")))
    assert len(members) == 2
    members.remember(key("5"), Member(("x",) * 9))
    assert (members.get(key("5")) is None, len(members)) == (False, 1)


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
        assert members.matching("s", TopicRegex("a:.*"), before) == ("a:x",)
        assert before.looks == 1
    assert members.matching("other", TopicRegex("a:.*"), before) == ("a:x",)
    assert members.matching("s", TopicRegex("a:.*"), after) == ("a:x", "a:y")
    assert (before.looks, after.looks) == (2, 1)


def test_evaluations_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_members, "MAX_EVALUATIONS", 2)
    members, names = GroupMembers(), Listing("a")
    for pattern in ("a", "b", "a", "c", "a"):
        members.matching("s", TopicRegex(pattern), names)
    assert names.looks == 3, "what is used is kept"
    members.matching("s", TopicRegex("b"), names)
    assert names.looks == 4
