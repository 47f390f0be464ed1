"""RE2 over names: whole matches, in linear time."""

from __future__ import annotations

import pytest

from gateway.name_regex import InvalidRegex, NameRegex


def test_a_name_matches_as_a_whole() -> None:
    names = ["a:orders", "a:orders.old", "b:orders", "a:", "a:Orders"]
    assert NameRegex("a:orders").matching(names) == ("a:orders",)
    assert NameRegex("a:.*").matching(names) == ("a:orders", "a:orders.old", "a:", "a:Orders")
    assert NameRegex("(?i).*orders").matching(names) == ("a:orders", "b:orders", "a:Orders")
    assert NameRegex("a:|b:").matching(names) == ("a:",)


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", r"(?<=a)b", r"(a)\1", "(a{1000}){1000}"])
def test_what_re2_cannot_read_is_invalid(pattern: str) -> None:
    with pytest.raises(InvalidRegex) as raised:
        NameRegex(pattern)
    assert str(raised.value)
    assert not str(raised.value).startswith("b'")


def test_an_expression_that_takes_too_much_memory_is_invalid() -> None:
    with pytest.raises(InvalidRegex):
        NameRegex("((((.{100}){10}){10}){10})")


def test_no_expression_takes_exponential_time() -> None:
    assert NameRegex("(a|aa)*(a*)*b").matching(["a" * 249]) == ()


def test_many_names_with_wild_cards_are_an_expression() -> None:
    names = [f"orders-of-team-{number}" for number in range(400)]
    assert NameRegex("|".join(f"{name}.*" for name in names)).matching(names) == tuple(names)


def test_groups_of_any_kind_are_no_repetitions() -> None:
    assert NameRegex("(?:a)" * 600).matching(["a" * 600]) == ("a" * 600,)


def test_an_expression_may_be_as_long_as_kafkas_strings() -> None:
    assert NameRegex("a" * 32_767).matching(["a"]) == ()
