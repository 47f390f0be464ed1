"""The table of log lines in docs/operations.md is made from devkit/log_lines, which has exactly the
log calls of the gateway."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import pytest

from devkit.log_lines.table import ALL, with_table
from tests.docs import markdown

GATEWAY = markdown.ROOT / "gateway"

_MADE = "logging.getLogger("

LEVELS = {
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "error": "error",
    "exception": "error",
    "critical": "critical",
}
"""The levels by the logger's methods; ``log`` has its own as an argument."""


class Call(NamedTuple):
    """A log call: where, its level (empty if it is computed), and a format that it may have."""

    where: str
    level: str
    pattern: str


def trees() -> Iterator[tuple[str, ast.Module]]:
    """The gateway's modules, by their path in it."""
    for path in sorted(GATEWAY.rglob("*.py")):
        yield str(path.relative_to(GATEWAY)), ast.parse(path.read_text())


def calls_in(where: str, tree: ast.AST) -> Iterator[Call]:
    """Every log call of a module. An assertion fails if a format is not written there."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        method, logger = node.func.attr, node.func.value
        if isinstance(logger, ast.Name) and logger.id == "log":
            at = f"{where}:{node.lineno}"
            assert method in {*LEVELS, "log"}, f"{at}: log.{method}"
            patterns = list(_patterns(node.args[method == "log"]))
            assert all(patterns), f"{at}: the format is computed"
            yield from (Call(where, LEVELS.get(method, ""), one) for one in patterns)


def _patterns(node: ast.expr) -> Iterator[str]:
    """The formats that an expression may be, or an empty format if it is computed."""
    if isinstance(node, ast.IfExp):
        yield from _patterns(node.body)
        yield from _patterns(node.orelse)
    else:
        written = isinstance(node, ast.Constant) and isinstance(node.value, str)
        yield ast.literal_eval(node) if written else ""


def key(pattern: str, where: str) -> tuple[str, str]:
    """The key that a log call and its row share: the format and, if this has only a value in it,
    the module."""
    return pattern, where if pattern == "%s" else ""


@cache
def called() -> Mapping[tuple[str, str], set[str]]:
    """The levels of the log calls, by their keys."""
    found = defaultdict(set)
    for where, tree in trees():
        for call in calls_in(where, tree):
            found[key(call.pattern, call.where)].add(call.level)
    return dict(found)


ROWS = {key(one.pattern, one.at): one for one in ALL}


def test_every_log_call_has_a_row() -> None:
    assert sorted(called().keys() - ROWS.keys()) == []


def test_every_row_has_a_log_call() -> None:
    assert sorted(ROWS.keys() - called().keys()) == []


def test_levels_are_those_of_the_calls() -> None:
    """If a call computes its level, its row has the possible levels."""
    wrong = []
    for found, one in ROWS.items():
        levels, shown = called().get(found, set()), one.level.split(", ")
        computed = "" in levels
        is_right = len(shown) > 1 and set(shown) <= set(LEVELS) if computed else {*shown} == levels
        wrong += [] if is_right else [one]
    assert wrong == []


def test_no_line_stands_twice() -> None:
    keys = Counter(key(one.pattern, one.at) for one in ALL) + Counter(one.line for one in ALL)
    assert [one for one, times in keys.items() if times > 1] == []


def test_the_page_has_the_table() -> None:
    """``make log-lines`` writes it."""
    page = markdown.read("docs/operations.md")
    assert len(markdown.table(page, "line")) == len(ALL)
    assert with_table(page) == page


def test_loggers_are_called_log() -> None:
    """So that the tests here find every call; ``root`` is set up, and logs nothing itself."""
    named: set[str] = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Constant):
                continue
            if ast.unparse(node.value).startswith(_MADE):
                named.update(map(ast.unparse, node.targets))
    assert named == {"log", "root"}


def test_nothing_is_logged_without_a_logger() -> None:
    methods = {*LEVELS, "log"}
    functions = (
        node.func
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    named = {ast.unparse(one) for one in functions if one.attr in methods}
    assert named.isdisjoint(f"logging.{method}" for method in methods)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("log.warning('a %s', b)", [("warning", "a %s")], id="a-method"),
        pytest.param("log.exception('a')", [("error", "a")], id="with-a-traceback"),
        pytest.param("log.log(level, 'a')", [("", "a")], id="a-level-that-is-computed"),
        pytest.param(
            "log.info('a' if b else 'c')", [("info", "a"), ("info", "c")], id="one-of-two"
        ),
        pytest.param("warning('a')", [], id="no-log-call"),
    ],
)
def test_calls_are_found(source: str, expected: list[tuple[str, str]]) -> None:
    found = [call[1:] for call in calls_in("a.py", ast.parse(source))]
    assert found == expected


@pytest.mark.parametrize("source", ["log.warning(f'a {b}')", "log.error(text)", "log.warn('a')"])
def test_a_format_that_is_computed_fails(source: str) -> None:
    with pytest.raises(AssertionError):
        list(calls_in("a.py", ast.parse(source)))
