"""gateway.config.yaml_nodes: the size of a file's content, and the limits that end its reading."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable

import pytest
from yaml.nodes import ScalarNode

from gateway.catalog.schema.yaml_values import BadValue, parse
from gateway.config.yaml_nodes import MAX_DEPTH, Limits, UnreadableError, parse_nodes, scalar
from gateway.config_file.yaml_lines import parse_document
from tests.pace import Pace

LIMITS = Limits(file_bytes=1_000_000, values=1_000)

SECONDS = 0.5
MEMORY = 50 * 1024 * 1024


def bomb(links: int, merge: str = "") -> str:
    """Each level holds the level before, twenty times, by aliases or by merge keys."""
    held = ", ".join
    rows = [f"a0: &a0 {{{held(f'k{number}: x' for number in range(20))}}}"]
    for level in range(1, links):
        below = held([f"*a{level - 1}"] * 20)
        rows.append(f"a{level}: &a{level} " + (f"{{<<: [{below}]}}" if merge else f"[{below}]"))
    return "\n".join(rows)


def rejected(text: str, read: Callable[[str], object] | None = None) -> tuple[object, int, str]:
    with pytest.raises((UnreadableError, BadValue)) as caught:
        (read or (lambda content: parse_nodes(content, LIMITS)))(text)
    problem = caught.value.problem  # type: ignore[attr-defined]
    return problem.key, problem.line, problem.text


READERS: dict[str, Callable[[str], object]] = {
    "configuration": parse_document,
    "export of a catalog": parse,
}


@pytest.mark.alone
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("merge", ["", "merge keys"])
def test_aliases_are_counted_before_they_are_written_out(
    reader: str, merge: str, pace: Pace
) -> None:
    text = bomb(12, merge)
    tracemalloc.start()
    began = time.process_time()
    try:
        told = rejected(text, READERS[reader])
        spent = time.process_time() - began
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "values; shorten it" in told[2]
    assert spent < pace.stretched(SECONDS)
    assert peak < MEMORY


def test_the_bound_of_values_is_exact() -> None:
    fits = "a: &a [" + "x, " * 247 + "x]\n" + "".join(f"b{n}: *a\n" for n in range(3))
    root = parse_nodes(fits, LIMITS)  # 1 + 4 * 249 = 997
    assert root is not None
    assert parse_nodes(fits + "c: [x, x]\n", LIMITS) is not None
    assert rejected(fits + "c: [x, x, x]\n") == (
        (),
        5,
        "holds more than 1000 values; shorten it",
    )


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ["[" * 300_000, "{a: " * 100_000, "- " * 100_000])
def test_no_nesting_reaches_the_end_of_a_stack(reader: str, text: str) -> None:
    """libyaml's binding in PyYAML calls itself without a bound, so the process would end."""
    assert f"at most {MAX_DEPTH} levels" in rejected(text, READERS[reader])[2]


def test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for() -> None:
    rows = ["a0: &a0 []"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, MAX_DEPTH)]
    assert parse_nodes("\n".join(rows), Limits(10**6, 10**6)) is not None
    rows.append(f"b: [[*a{MAX_DEPTH - 1}]]")
    with pytest.raises(UnreadableError, match=f"at most {MAX_DEPTH} levels"):
        parse_nodes("\n".join(rows), Limits(10**6, 10**6))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "key"),
    [("a:\n  b: &x [*x]", ("a", "b", 0)), ("a:\n  b: &x {<<: *x}", ("a", "b", "<<"))],
)
def test_what_contains_itself(reader: str, text: str, key: object) -> None:
    assert rejected(text, READERS[reader]) == (
        key,
        2,
        "contains itself; write it out without the alias",
    )


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (reader, text)
        for reader in READERS
        for text in ('"\\ud800"', '"x\\udfff"', '"\\ud83d\\ude00"')
    ]
    + [(reader, '"x\\0y"') for reader in READERS if reader != "export of a catalog"],
)
@pytest.mark.parametrize("place", ["a:\n  - {text}", "a:\n  {text}: 1"])
def test_text_that_no_path_can_carry(reader: str, text: str, place: str) -> None:
    """libyaml rejects an escape for half of a surrogate pair itself."""
    _, line, told = rejected(place.replace("{text}", text), READERS[reader])
    assert line == 2
    assert "is no text" in told or "is not YAML" in told


def test_a_merge_of_what_is_no_mapping_is_a_problem_of_its_key() -> None:
    for value in ("5", "[1]", "text", "", "[[{}]]"):
        (problem,) = parse_document(f"a: 1\nb: {{<<: {value}}}").problems
        assert (problem.key, problem.line) == (("b", "<<"), 2)


@pytest.mark.alone
@pytest.mark.parametrize(
    "text",
    [
        "1" * 5_000,
        "0x" + "f" * 100_000,
        "0b" + "1" * 100_000,
        "1" + ":59" * 50_000,
        "1" * 5_000 + ".5",
        "2024-01-01 00:00:00." + "1" * 5_000,
        "!!binary YWJj",
        "!!set x",
        "!!omap x",
        "!!map x",
        "!!seq x",
        "!!float .",
        "!!timestamp x",
        "!!bool x",
        "!!python/name:os.system x",
        "2024-13-45",
    ],
)
def test_a_scalar_that_has_no_value_costs_nothing(text: str, pace: Pace) -> None:
    root = parse_nodes(f"a: {text}", LIMITS)
    assert root is not None
    node = root.value[0][1]
    assert isinstance(node, ScalarNode)
    began = time.process_time()
    with pytest.raises(ValueError, match=r"^[a-z/:.]+$"):
        scalar(node)
    assert time.process_time() - began < pace.stretched(SECONDS)


def test_numbers_as_long_as_any_that_is_meant_are_read() -> None:
    root = parse_nodes(f"a: {sys.maxsize}\nb: 1e999\nc: 0x1f", LIMITS)
    assert root is not None
    assert [scalar(value) for _, value in root.value] == [sys.maxsize, "1e999", 31]
