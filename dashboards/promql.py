"""Reads of PromQL what it asks for: metrics, label matchers, and labels that it groups by.

It is no parser: whether an expression is valid, Prometheus itself says (``promtool check rules``).
What it cannot read raises ValueError, so nothing goes unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<range>\[[^\]]*\])
      | (?P<number>(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)[smhdwy]?)
      | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
      | (?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^(){},=<>])
    )""",
    re.VERBOSE,
)
_GROUPS: Final = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
_WORDS: Final = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})
_MATCHES: Final = frozenset({"=", "!=", "=~", "!~"})


@dataclass(frozen=True, slots=True)
class Matcher:
    """A label, one of ``=``, ``!=``, ``=~``, ``!~``, and a value."""

    label: str
    operator: str
    value: str

    def __call__(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels is matched."""
        value = labels.get(self.label, "")
        found = value == self.value
        if self.operator in {"=~", "!~"}:
            found = re.fullmatch(self.value, value) is not None
        return found is (self.operator in {"=", "=~"})


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric as an expression names it, with its matchers."""

    metric: str
    matchers: tuple[Matcher, ...] = ()

    def __str__(self) -> str:
        inside = ",".join(f'{one.label}{one.operator}"{one.value}"' for one in self.matchers)
        return f"{self.metric}{{{inside}}}" if inside else self.metric


@dataclass(frozen=True, slots=True)
class Reading:
    """What an expression asks for; ``labels`` are those that it groups or joins by."""

    selectors: tuple[Selector, ...]
    labels: frozenset[str]


def read(expression: str) -> Reading:
    """The metrics and labels of an expression. Raises ValueError for what it cannot read."""
    tokens = list(_tokens(expression))
    selectors: list[Selector] = []
    labels: set[str] = set()
    at = 0
    while at < len(tokens):
        kind, text = tokens[at]
        following = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        at += 1
        if text == "{":
            raise ValueError(f"a selector without a metric: {expression}")
        if kind != "name" or text in _WORDS:
            continue
        if text in _GROUPS:
            if following == "(":
                end = _closing(tokens, at, ")")
                labels.update(name for kind, name in tokens[at:end] if kind == "name")
                at = end
        elif following == "{":
            end = _closing(tokens, at, "}")
            selectors.append(Selector(text, tuple(_matchers(tokens[at + 1 : end]))))
            at = end + 1
        elif following != "(" and not (following in _GROUPS and text in AGGREGATIONS):
            selectors.append(Selector(text))
    return Reading(tuple(selectors), frozenset(labels))


AGGREGATIONS: Final = frozenset(
    {"sum", "min", "max", "avg", "count", "topk", "bottomk", "group", "stddev", "quantile"}
)


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    at, text = 0, expression.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise ValueError(f"cannot be read from {text[at : at + 20]!r} on: {expression}")
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def _closing(tokens: list[tuple[str, str]], start: int, sign: str) -> int:
    for index in range(start, len(tokens)):
        if tokens[index] == ("sign", sign):
            return index
    raise ValueError(f"{sign} is missing")


def _matchers(tokens: list[tuple[str, str]]) -> Iterator[Matcher]:
    parts = [token for token in tokens if token != ("sign", ",")]
    if len(parts) % 3:
        raise ValueError(f"these are no label matchers: {tokens}")
    for (kind, label), (_, operator), (third, value) in zip(*[iter(parts)] * 3, strict=True):
        if kind != "name" or operator not in _MATCHES or third != "string":
            raise ValueError(f"{label}{operator}{value} is no label matcher")
        yield Matcher(label, operator, re.sub(r"\\(.)", r"\1", value[1:-1]))
