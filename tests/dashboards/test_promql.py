"""dashboards.promql: the metrics and labels in an expression."""

from __future__ import annotations

import pytest

from dashboards.promql import Matcher, Reading, Selector, read


def selector(metric: str, *matchers: tuple[str, str, str]) -> Selector:
    return Selector(metric, tuple(Matcher(*each) for each in matchers))


READ = [
    ("up", [selector("up")], set()),
    ("up == 0", [selector("up")], set()),
    ("a:b:rate5m > 14.4 * 0.001", [selector("a:b:rate5m")], set()),
    ('sum by (api) (rate(x{a="1",b=~"2|3"}[5m]))', [("a", "=", "1"), ("b", "=~", "2|3")], {"api"}),
    ("sum(x) by (api, error)", [selector("x")], {"api", "error"}),
    ("sum (x) / count(y) or vector(0)", [selector("x"), selector("y")], set()),
    ("topk(10, sum by (le) (x offset 5m))", [selector("x")], {"le"}),
    (
        "up == 0 and on (job, instance) last_over_time(b_info[1d])",
        [selector("up"), selector("b_info")],
        {"job", "instance"},
    ),
    ("x * on (i) group_left (v) y", [selector("x"), selector("y")], {"i", "v"}),
    ("x > bool 1e3", [selector("x")], set()),
    ('x{a="b}c\\"d,",e!~".*"}', [("a", "=", 'b}c"d,'), ("e", "!~", ".*")], set()),
    ("-x{} + 2", [selector("x")], set()),
]


@pytest.mark.parametrize(("expression", "found", "labels"), READ)
def test_read(expression: str, found: list[object], labels: set[str]) -> None:
    if isinstance(found[0], tuple):
        found = [Selector("x", tuple(Matcher(*each) for each in found))]  # type: ignore[misc]
    assert read(expression) == Reading(tuple(found), frozenset(labels))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "expression",
    [
        "x{",
        "x{a}",
        "x{a=b}",
        'x{"a"="b"}',
        'x{a=="b"}',
        '{a="b"}',
        "sum by (a",
        "x[5m",
        "x # y",
        "€",
    ],
)
def test_what_cannot_be_read(expression: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(expression)


def test_a_selector_is_written_as_it_was_read() -> None:
    assert str(selector("x", ("a", "=", "1"), ("b", "!~", "2"))) == 'x{a="1",b!~"2"}'
    assert str(selector("x")) == "x"


@pytest.mark.parametrize(
    ("operator", "value", "matched"),
    [
        ("=", "Fetch", {"Fetch"}),
        ("!=", "Fetch", {"Produce", ""}),
        ("=~", "Fetch|Prod.*", {"Fetch", "Produce"}),
        ("=~", "Fet", set()),
        ("!~", "Fet", {"Fetch", "Produce", ""}),
        ("=~", ".*", {"Fetch", "Produce", ""}),
    ],
)
def test_matchers_match_as_in_prometheus(operator: str, value: str, matched: set[str]) -> None:
    """Regular expressions match the whole value, and a missing label counts as empty."""
    matches = Matcher("api", operator, value)
    seen = {api for api in ("Fetch", "Produce") if matches({"api": api})}
    assert seen | ({""} if matches({}) else set()) == matched
