"""RE2 over names: whole matches, in linear time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from time import thread_time

import pytest

from gateway.name_regex import (
    MAX_DEPTH,
    MAX_MATCH_SECONDS,
    MAX_SECONDS,
    MAX_WEIGHT,
    CostsTooMuch,
    InvalidRegex,
    NameRegex,
)
from gateway.slices import SLICE_SECONDS, Slices


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


# -- the time to compile: neither parsing nor compiling can be interrupted ------------------------

MOST_SECONDS = 0.03
"""A turn may take 5 ms; RE2 cannot yield. Measured: at most 0.008 on a machine under load, on which
the longest plain name takes 0.003."""

FLAGS = ("", "(?i)", "(?s)", "(?is)", "(?U)")
PIECES = (
    *(
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\d",
        r"\D",
        r"\b",
        r"\pL",
        r"\x{212a}",
        r"\Q.",
        r"\E",
        r"\W{1000}",
    ),
    *(
        "a",
        "k",
        ".",
        "\u212a",
        "\xe9",
        "|",
        "^",
        "$",
        "ab|",
        "|a",
        "a?",
        "a*",
        "a{1000}",
        ".{1000}",
    ),
    *("(?:a)", "(?:a", "(", "(?:a|b)", "[a]", "[^a]", "[^ka-f]", "[[:^alpha:]]", r"[\W]"),
    *("(?s)", "(?i)", "(?-i)"),
)


HEAVIEST = (r"\w", r"\W", r"\S\W", r"\pL", "k", ".", "|", "(?:a", "a{1000}", r"\W{1000}")


def longest(flags: str, unit: str) -> str:
    """The longest repetition of a unit that is compiled, or rejected by RE2 alone."""
    times = 32_767 // len(unit)
    while True:
        closing = ")" * (times * (unit.count("(") - unit.count(")")))
        pattern = flags + unit * times + closing
        try:
            NameRegex(pattern)
        except InvalidRegex as error:
            ours = str(error).startswith(("it ", "more than"))
            if ours and times > 1:
                times = times * 3 // 4
                continue
        return pattern


def seconds(pattern: str) -> float:
    """The least CPU time of a few runs, each with an expression that RE2 has not seen."""
    least = 9.0
    for suffix in "abcd":
        began = thread_time()
        with suppress(InvalidRegex):
            NameRegex(pattern + suffix)
        least = min(least, thread_time() - began)
        if least < MOST_SECONDS / 2:
            break
    return least


@pytest.mark.parametrize("flags", FLAGS)
def test_no_expression_takes_long_to_compile(flags: str) -> None:
    """The longest repetitions of single pieces that stand for many characters, and of some random
    units of pieces: without weights some took 60 ms, and nested groups 175 ms."""
    drawn = random.Random(flags)
    units = ["".join(drawn.choices(PIECES, k=drawn.randint(1, 4))) for _ in range(8)]
    for unit in (*HEAVIEST, *units):
        taken = seconds(longest(flags, unit))
        assert taken < MOST_SECONDS, (flags, unit)


COUNTED_ATOMS = ("a", "k", "[a-z]", r"\w", r"\W", ".", "\xe9", "(a)", "(?:a|b)", "(?:|a)", "(?:a?)")
COUNTED = (
    "(a){0,1000}",
    "([a-z]){0,1000}",
    "a{0,100}",
    "|a{0,500}",
    "k{2,750}",
    "(?:a|b){2,500}",
    "(?:a{0,30}){0,30}",
    "(?:a{0,500}){2}",
    r"a{0,700}\Q\E",
    "a{1,1000}(?:b{1,2}){2}",
)
"""Those of random expressions that took longest: 105 ms for 134 characters without weights."""


def counted(drawn: random.Random, depth: int = 0) -> str:
    """A random expression of repetitions that are counted, also within each other."""
    least = drawn.choice([0, 0, 1, 2, 10, 100, 500])
    most = drawn.choice([least, least + 1, least + 30, 500, 750, 1_000])
    how = drawn.choice([f"{{{least},{most}}}"] * 4 + [f"{{{most}}}", f"{{{least},}}", "*", "?"])
    if depth > 3 or drawn.random() < 0.5:
        return drawn.choice(COUNTED_ATOMS) + how
    body = "".join(counted(drawn, depth + 1) for _ in range(drawn.randint(1, 3)))
    return drawn.choice([f"(?:{body}){how}", f"(?:{body}|{counted(drawn, depth + 1)})", f"|{body}"])


@pytest.mark.parametrize("flags", FLAGS)
def test_no_counted_repetitions_take_long_to_compile(flags: str) -> None:
    """Any number of them beside each other, because RE2 rejects the longest at once."""
    drawn = random.Random(flags)
    for unit in (*COUNTED, *(counted(drawn) for _ in range(12))):
        for times in (1, 2, 3, 4, 6, 8, 10, 16, 32, 64):
            taken = seconds(flags + unit * times)
            assert taken < MOST_SECONDS, (flags, unit, times)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("orders-[0-9]{1,4}", "orders-17"),
        (".{3,8}", "orders"),
        ("(a|b){2}", "ab"),
        (".{1,249}-.{1,249}", "orders-17"),
        ("[a-zA-Z0-9._-]{1,249}", "orders-17"),
        (r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}", "10.0.0.1"),
        (r"(?:[a-z0-9]{1,63}\.){1,5}[a-z]{2,63}", "orders.example.com"),
        (r"\w{1,100}(?:-\w{1,20}){0,10}", "orders-of-teams"),
        ("|".join(f"orders-{number}-[0-9]{{1,4}}" for number in range(100)), "orders-99-17"),
    ],
)
def test_usual_counted_repetitions_are_expressions(pattern: str, name: str) -> None:
    assert NameRegex(pattern).matching([name, "x" * 3_000]) == (name,)


def test_the_limits_of_an_expression() -> None:
    assert NameRegex("(?:a" * MAX_DEPTH + ")" * MAX_DEPTH).matching(["a" * MAX_DEPTH])
    with pytest.raises(InvalidRegex, match="within each other"):
        NameRegex("(?:a" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1))
    assert NameRegex("." * (MAX_WEIGHT // 17)).matching(["a" * 249]) == ()
    with pytest.raises(InvalidRegex, match="more than 6 classes"):
        NameRegex(r"\pL" * 7)
    assert NameRegex(r"(?i)\pL+:\p{Greek}*\.x").matching(["ab:.X"]) == ("ab:.X",)
    heavy = (r"\W" * 1_300, "(?i)" + "k" * 1_300, "a{1000}" * 220, "|" * 17_000)
    for pattern in ("." * (MAX_WEIGHT // 17 + 1), *heavy):
        with pytest.raises(InvalidRegex, match="too long for the classes"):
            NameRegex(pattern)


def test_hundreds_of_names_with_dots_are_an_expression() -> None:
    names = [f"org.apache.team-{number}.orders" for number in range(400)]
    assert NameRegex("|".join(names)).matching(names) == tuple(names)
    escaped = "(?i)" + "|".join(map(re.escape, names[:250]))
    assert NameRegex(escaped).matching(names) == tuple(names[:250])


# -- the time to match: a turn of a request may take 5 ms ------------------------------------------

SLOWEST = (
    "(a|)" * 5_000,
    "(?:a|aa|){1000}" * 2,
    "(?:[ab]*a){490}a*",
    "(?:(a|b)*){400}",
    "(?:(?:a|b|){60}(?:[ab]*a?){60}){10}",
    "(?:a*){490}(?:a*){490}",
    "b*(?:a|aa|){1000}",
    "(?:a|b)*a(?:a|b){400}",
)
"""Those of random expressions that took longest: up to 12 ms for a name, 90 for 5,000 bytes."""

NAMES = ("a" * 249, "b" * 120 + "a" * 129, "ab" * 2_500)


def longest_turn(pattern: str, name: str) -> tuple[float, int | None]:
    """CPU seconds of the longest turn of matching a name twenty times, and the matches; None: it
    costs too much. A turn is 5 ms and the piece of work that begins within them."""
    longest = 0.0
    slices = Slices(lambda: NameRegex(pattern).matching([name] * 20))
    while not slices.done:
        began = thread_time()
        slices.step()
        longest = max(longest, thread_time() - began)
    try:
        return longest, len(slices.result())
    except CostsTooMuch:
        return longest, None


@pytest.mark.parametrize("pattern", SLOWEST)
def test_no_turn_of_matching_takes_long(pattern: str) -> None:
    for name in NAMES:
        # Other processes share caches with this one: the least of a few runs is the expression's.
        taken = min(longest_turn(pattern, name)[0] for _ in range(3))
        assert taken < 2 * SLICE_SECONDS + MAX_MATCH_SECONDS, name[:130]


def test_an_expression_that_takes_long_for_a_name_is_not_matched_to_its_end() -> None:
    assert longest_turn("(a|)" * 5_000, "a" * 5_000)[1] is None
    # What is left is longer than any text that the expression matches: the first letter ends it.
    assert longest_turn("(a|)" * 5_000, "c" + "a" * 5_000)[1] == 0


def test_hundreds_of_long_names_match_long_names() -> None:
    names = [f"org.apache.team-{number}.orders-of-many-departments" for number in range(500)]
    others = [f"{name}.{'y' * 150}" for name in names]
    listed = NameRegex("|".join(map(re.escape, names)))
    assert listed.longest < 100
    assert listed.matching([*others, *names]) == tuple(names)
    beginnings = NameRegex("|".join(f"{re.escape(name)}.*" for name in names[:250]))
    assert beginnings.matching(others) == tuple(others[:250])


def test_all_matches_of_a_request_have_a_budget_of_cpu_time() -> None:
    regex, texts = NameRegex(".*"), [(number, b"a") for number in range(80)]

    def clock(matches: int) -> Callable[[], float]:
        """The time that a match takes, so that the budget is for so many matches."""
        looks = count()
        return lambda: next(looks) * MAX_SECONDS / matches

    assert regex.keys_of(texts, clock(81)) == list(range(80))
    with pytest.raises(CostsTooMuch, match="more than 1 s"):
        regex.keys_of(texts, clock(79))


def test_the_beginning_of_a_long_text_is_timed() -> None:
    regex = NameRegex("a*")
    text = b"a" * regex.longest * 3
    for seconds, found in ((MAX_MATCH_SECONDS * 0.9, [1]), (MAX_MATCH_SECONDS * 1.1, None)):
        looks = (look * seconds for look in count())
        if found is None:
            with pytest.raises(CostsTooMuch, match="bytes takes too long"):
                regex.keys_of([(1, text)], lambda: next(looks))  # noqa: B023
        else:
            assert regex.keys_of([(1, text)], lambda: next(looks)) == found  # noqa: B023
    assert regex.keys_of([(1, text + b"b")]) == []


def test_a_text_that_is_matched_at_once_is_short() -> None:
    regex = NameRegex("(?:[ab]*a){490}a*")
    assert regex.matches(b"a" * regex.longest) is True
    with pytest.raises(CostsTooMuch):
        regex.matches(b"a" * (regex.longest + 1))
