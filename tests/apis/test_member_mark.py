"""The names that a broker keeps of a KIP-848 member are enough to go on, or the member joins
again."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apis.groups.member_mark import (
    MAX_MARK,
    MAX_MARKS,
    PREFIX,
    TOO_LONG,
    Spellings,
    is_mark,
    marks_of,
    recall,
    with_expressions,
    with_mark,
    without_marks,
)
from gateway.rules.group_members import Member
from protocol import messages
from protocol.messages import element_class
from tests.rules.heartbeats import heartbeat

API, HEARTBEAT = "ConsumerGroupDescribe", "ConsumerGroupHeartbeat"

SHOWN: Mapping[bytes, str] = {
    b"team-a..orders": "a:orders",
    b"team-a..users": "a:users",
    b"team-a..moved": "b:moved",
}
"""A client's names for the topics with these flat names."""


def shown(flat: bytes) -> bytes | None:
    name = SHOWN.get(flat)
    return None if name is None else name.encode()


SPELLINGS = Spellings("all/team-a", shown, lambda flat: flat == b"team-a..moved")


def flats(*names: str) -> list[str]:
    return [flat.decode() for flat, name in SHOWN.items() if name in names]


def reached(*names: str) -> dict[bytes, str]:
    return {flat: name for flat, name in SHOWN.items() if name in names}


def kept(names: Sequence[str], pattern: str, *subscribed: str) -> list[str]:
    """The names that a broker has of such a member, including its mark."""
    member = Member(names=tuple(names), pattern=pattern)
    return [
        *flats(*subscribed),
        *marks_of(member, flats(*subscribed), reached(*subscribed), SPELLINGS),
    ]


def test_names_that_say_all_need_no_mark() -> None:
    assert kept(["a:users", "a:orders"], "", "a:orders", "a:users") == flats("a:orders", "a:users")


@pytest.mark.parametrize(
    ("names", "pattern", "subscribed"),
    [
        ([], "a:.*", ["a:orders", "a:users"]),
        ([], "a:.*", []),
        (["a:orders", "a:later"], "", ["a:orders"]),
        (["b:moved"], "", ["b:moved"]),
        (["a:users"], "b:.*", ["a:users", "b:moved"]),
    ],
    ids=["expression", "that matches nothing", "missing", "moved", "both"],
)
def test_what_names_do_not_tell_is_recalled(
    names: list[str], pattern: str, subscribed: list[str]
) -> None:
    at_broker = kept(names, pattern, *subscribed)
    assert sum(name.startswith(PREFIX) for name in at_broker) == 1
    member = recall(at_broker, "", SPELLINGS)
    assert member is not None
    assert sorted(member.names) == sorted(names)
    assert member.pattern == pattern
    assert member.accepted == tuple(sorted(subscribed))
    assert member.reached == reached(*subscribed)


def test_a_name_of_a_link_is_recalled_as_such() -> None:
    member = Member(names=("b:link",))
    marks = marks_of(member, ["team-a..orders"], {b"team-a..orders": "b:link"}, SPELLINGS)
    assert len(marks) == 1
    found = recall(["team-a..orders", *marks], "", SPELLINGS)
    assert found is not None
    assert found.reached == {b"team-a..orders": "b:link"}


@given(
    names=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=5),
    pattern=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
def test_any_names_and_any_expression_are_recalled(names: list[str], pattern: str) -> None:
    member = recall(kept(names, pattern, "a:orders"), None, SPELLINGS)
    assert member is not None
    if {*names} == {"a:orders"} and not pattern:
        assert member.names == ("a:orders",)
    else:
        assert (sorted(member.names), member.pattern) == (sorted(names), pattern)


def test_equal_subscriptions_are_equal_at_the_broker() -> None:
    """Its assignors are quicker if all members of a group have the same subscription."""
    assert kept(["a:x", "a:y"], "a:.*") == kept(["a:y", "a:x"], "a:.*")


@pytest.mark.parametrize(
    "at_broker",
    [
        ["team-a..unknown"],
        ["team-a..moved"],
        [PREFIX + "{", "team-a..orders"],
        [PREFIX + "[]"],
        [PREFIX + json.dumps({"scope": "all/team-a", "regex": 1, "names": [], "called": {}})],
        [PREFIX + json.dumps({"scope": "all/team-a", "regex": "", "names": [1], "called": {}})],
        [PREFIX + json.dumps({"scope": "all/team-a", "regex": "", "names": [], "called": []})],
        [PREFIX + "[" * 20_000],
        [TOO_LONG],
        kept([], "a:.*") * 2,
    ],
    ids=[
        "not to be seen",
        "moved since",
        "cut short",
        "a list",
        "no text",
        "no names",
        "no mapping",
        "deep",
        "too long",
        "two",
    ],
)
def test_what_is_not_certain_has_to_join_again(at_broker: list[str]) -> None:
    assert recall(at_broker, "", SPELLINGS) is None


def test_another_listeners_member_has_to_join_again() -> None:
    elsewhere = Spellings("other/team-a", SPELLINGS.spell, SPELLINGS.moved)
    assert recall(kept([], "a:.*"), "", elsewhere) is None


def test_a_brokers_own_expression_has_to_join_again() -> None:
    assert recall(["team-a..orders"], "team-a.*", SPELLINGS) is None


def test_a_mark_is_never_longer_than_a_string() -> None:
    longest = MAX_MARK - len(kept([], "x", "a:orders")[-1]) + 1
    fits, not_any_more = (kept([], "x" * size, "a:orders") for size in (longest, longest + 1))
    assert [len(mark) for mark in fits[1:]] == [MAX_MARK]
    assert recall(fits, "", SPELLINGS) is not None
    first, second = not_any_more[1:]
    assert len(first) <= MAX_MARK
    assert len(second) < 100


def names_of_length(size: int) -> list[str]:
    """Names of 20 characters, which together have some ``size``."""
    return [f"a:name-{number:013d}" for number in range(size // 20)]


@pytest.mark.parametrize("size", [MAX_MARK, 3 * MAX_MARK, MAX_MARKS * MAX_MARK * 4 // 5])
def test_what_is_too_long_for_a_name_is_divided(size: int) -> None:
    """Brokers keep names in no order."""
    names = names_of_length(size)
    at_broker = kept(names, "a:.*", "a:orders")
    marks = at_broker[1:]
    assert 1 < len(marks) <= MAX_MARKS
    assert max(map(len, marks)) <= MAX_MARK
    random.Random(size).shuffle(at_broker)
    member = recall(at_broker, "", SPELLINGS)
    assert member is not None
    assert (list(member.names), member.pattern) == (names, "a:.*")
    body, expressions = without_marks(API, 1, described(at_broker))
    assert (body, expressions) == (described([]), {(0, "m"): "a:.*"})


def test_a_member_with_more_names_has_to_join_again() -> None:
    at_broker = kept(names_of_length(MAX_MARKS * MAX_MARK), "a:.*", "a:orders")
    assert at_broker[1:] == [TOO_LONG]


def test_a_part_that_is_missing_or_of_another_mark() -> None:
    one, other = (kept(names_of_length(size * MAX_MARK), "a:.*") for size in (2, 3))
    assert recall(one, "", SPELLINGS) is not None
    for at_broker in (one[1:], [*one, one[0]], [*one[1:], one[1]], [*one[1:], other[0]], one[:1]):
        assert recall(at_broker, "", SPELLINGS) is None
        body, expressions = without_marks(API, 1, described([*flats("a:orders"), *at_broker]))
        assert (body, expressions) == (described(flats("a:orders")), {})


def test_a_heartbeat_that_says_no_names_gets_none() -> None:
    body = heartbeat(5)
    assert with_mark(HEARTBEAT, 1, body, Member(pattern="a:.*"), {}, SPELLINGS) == body


def described(names: Sequence[str], regex: str | None = None) -> bytes:
    """A group of one member, in a broker's response."""
    cls = messages.message_class("ConsumerGroupDescribeResponse", 1)
    group = element_class(cls, "groups")
    member = element_class(group, "members")
    values = {"subscribed_topic_names": tuple(names), "subscribed_topic_regex": regex}
    one: Any = messages.build(member, member_id="m", **values)
    whole: Any = messages.build(group, group_id="g", members=(one,))
    return messages.write(messages.build(cls, groups=(whole,)))


def test_clients_are_not_shown_marks() -> None:
    at_broker = kept(["a:missing", "a:orders"], "", "a:orders")
    assert any(map(is_mark, at_broker))
    body, expressions = without_marks(API, 1, described(at_broker))
    assert body == described(flats("a:orders"))
    assert not expressions
    assert without_marks(API, 1, body) == (body, {})


@pytest.mark.parametrize(
    ("named", "shown"), [([], []), (["a:orders"], ["a:orders"]), (["a:missing"], [])]
)
def test_clients_are_shown_expressions(named: list[str], shown: list[str]) -> None:
    """As a broker shows them: beside the names in the client's own subscription."""
    at_broker = kept(named, "a:.*", "a:orders", "a:users")
    body, expressions = without_marks(API, 1, described(at_broker))
    assert body == described(flats(*shown))
    assert expressions == {(0, "m"): "a:.*"}
    assert with_expressions(1, body, expressions) == described(flats(*shown), "a:.*")
    assert with_expressions(1, body, {(1, "m"): "x", (0, "other"): "x"}) == body


@pytest.mark.parametrize(
    "marks",
    [
        [TOO_LONG],
        [PREFIX + "[]"],
        [PREFIX + '{"regex":1}'],
        [PREFIX + '{"regex":"x","by_name":5}'],
        [PREFIX + '{"regex":"x"}', PREFIX + '{"regex":"y"}'],
    ],
    ids=["too long", "a list", "no text", "no names", "two"],
)
def test_all_names_are_shown_where_the_mark_says_no_expression(marks: list[str]) -> None:
    body, expressions = without_marks(API, 1, described([*flats("a:orders"), *marks]))
    assert (body, expressions) == (described(flats("a:orders")), {})


HALF = "\ud800"
"""Half of a surrogate pair, which JSON can hold, but no message of Kafka."""


def mark_with(**values: object) -> str:
    """A mark that no gateway wrote."""
    told = {"scope": SPELLINGS.scope, "regex": "", "names": [], "called": {}}
    return PREFIX + json.dumps(told | values)


@pytest.mark.parametrize(
    "mark", [mark_with(regex=HALF), mark_with(names=[HALF]), mark_with(called={"t": HALF})]
)
def test_a_mark_that_holds_what_no_message_can_has_to_join_again(mark: str) -> None:
    assert recall([mark], "", SPELLINGS) is None


def test_a_mark_that_holds_what_no_message_can_is_not_shown() -> None:
    """Otherwise no client could describe the group through the gateway, because the connection
    would end."""
    at_broker = [*flats("a:orders"), mark_with(regex=HALF)]
    body, expressions = without_marks(API, 1, described(at_broker))
    assert (body, expressions) == (described(flats("a:orders")), {})
