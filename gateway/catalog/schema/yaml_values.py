"""YAML read by the types that its reader asks for: every value knows its line.

The configuration's reader (gateway/config_file/yaml_lines.py) collects all problems of a file that
people write; this reader is for files with a hundred thousand entries that a program wrote, so it
uses libyaml if it is there, and makes no copy of the whole.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gateway.config.errors import ConfigError, Key, Problem, nearest
from gateway.config.yaml_nodes import (
    TAGS,
    Limits,
    UnreadableError,
    parse_nodes,
    read_nodes,
    scalar,
    unreadable,
)

LIMITS: Final = Limits(file_bytes=64 * 1024 * 1024, values=5_000_000, names=True)
"""A catalog of 100,000 entries has 15 MiB, and a million values."""

_WHOLE: Final = re.compile(r"-?[0-9]+")
_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)

MAX_TIME: Final = 10**15 - 1
"""The latest time that a request can set: milliseconds since the epoch, in 15 digits."""

MAX_NUMBER: Final = (1 << 31) - 1
"""The largest number of a field: no request has a larger one (int32)."""


class BadValue(Exception):
    """A value that does not belong there; ``problem`` names its key and line."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class Value:
    """A value of a file, and its line. Every method but ``line`` raises BadValue."""

    __slots__ = ("_node", "key", "line")

    def __init__(self, node: Node, key: Key, line: int) -> None:
        self._node = node
        self.key = key
        self.line = line

    def reject(self, text: str) -> NoReturn:
        """Raises BadValue; ``text`` is ``problem; advice``."""
        raise BadValue(Problem(self.key, text, self.line))

    def fields(self, *known: str) -> dict[str, Value]:
        """The fields of a mapping that may have only these keys; an empty value counts as a
        mapping."""
        found = dict(self.entries())
        for name, value in found.items():
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean '{near}'?" if near else f"the keys are {', '.join(known)}"
                value.reject(f"unknown key '{name}'; {hint}")
        return found

    def entries(self) -> Iterator[tuple[str, Value]]:
        """The keys, all of them text, and values of a mapping; an empty value counts as a
        mapping."""
        node = self._node
        if isinstance(node, ScalarNode) and node.tag == f"{TAGS}null":
            return
        if not isinstance(node, MappingNode):
            self.reject("must hold keys of its own; indent them below it")
        seen: set[str] = set()
        for name, value in node.value:
            line = name.start_mark.line + 1
            if not isinstance(name, ScalarNode) or name.tag != f"{TAGS}str":
                Value(name, self.key, line).reject("has a key that is no text; put it in quotes")
            inner = Value(value, (*self.key, name.value), line)
            if name.value in seen:
                inner.reject("is there a second time; keep one of the two")
            seen.add(name.value)
            yield name.value, inner

    def items(self) -> Iterator[Value]:
        """The items of a list; an empty value counts as a list."""
        node = self._node
        if isinstance(node, ScalarNode) and node.tag == f"{TAGS}null":
            return
        if not isinstance(node, SequenceNode):
            self.reject("must be a list; write it like [a, b]")
        for index, item in enumerate(node.value):
            yield Value(item, (*self.key, index), item.start_mark.line + 1)

    def content(self, lines: dict[Key, int]) -> Any:
        """The whole value as mappings, tuples and scalars, for a model that checks it. ``lines``
        gets the line of each key and item."""
        lines[self.key] = self.line
        if isinstance(self._node, MappingNode):
            return {name: inner.content(lines) for name, inner in self.entries()}
        if isinstance(self._node, SequenceNode):
            return tuple(item.content(lines) for item in self.items())
        try:
            return scalar(self._node)
        except ValueError as error:
            self.reject(f"cannot be read as {error}; put it in quotes")

    def text(self) -> str:
        """Text. A number is rejected, so that nobody guesses the meaning of ``0x1F`` or
        ``1_000``."""
        if self._is("str"):
            return str(self._node.value)
        self.reject("must be text; put it in quotes")

    def number(self) -> int:
        """A whole number, in decimal digits, from 0 to :data:`MAX_NUMBER`."""
        text = self.plain()
        if not (self._is("int") and _WHOLE.fullmatch(text)):
            self.reject("must be a whole number; write it without quotes")
        return self._within(text, MAX_NUMBER, f"must be 0 to {MAX_NUMBER:,}; correct it")

    def flag(self) -> bool:
        """``true`` or ``false``."""
        if self._is("bool") and self._node.value in {"true", "false"}:
            return bool(self._node.value == "true")
        self.reject("must be true or false; write one of them")

    def time(self) -> int:
        """Milliseconds since the epoch, from ISO 8601 (UTC, unless it has an offset) or such a
        number; at most :data:`MAX_TIME`."""
        text, wrong = self.plain(), "is a time before 1970 or after the year 33,000; correct it"
        if _WHOLE.fullmatch(text):
            return self._within(text, MAX_TIME, wrong)
        try:
            time = datetime.datetime.fromisoformat(text)
        except ValueError:
            self.reject("is no time; write it like 2026-12-01T10:00:00Z")
        if time.tzinfo is None:
            time = time.replace(tzinfo=datetime.UTC)
        if time < _EPOCH:
            self.reject(wrong)
        return (time - _EPOCH) // _MILLISECOND

    def plain(self) -> str:
        """A scalar as it is written, regardless of the type that YAML gives it."""
        if isinstance(self._node, ScalarNode):
            return str(self._node.value)
        self.reject("must be one value, not a list or keys of its own")

    def _within(self, text: str, most: int, wrong: str) -> int:
        # Python fails to read thousands of digits.
        if len(text) <= 20 and 0 <= (number := int(text)) <= most:
            return number
        self.reject(wrong)

    def _is(self, tag: str) -> bool:
        return isinstance(self._node, ScalarNode) and self._node.tag == f"{TAGS}{tag}"


def required(value: Value, fields: Mapping[str, Value], name: str) -> Value:
    """A field that must be there. Raises BadValue."""
    if name not in fields:
        value.reject(f"has no '{name}'; add it")
    return fields[name]


def read_file(path: Path) -> Value:
    """The content of a YAML file. Raises ConfigError if it cannot be read as YAML."""
    try:
        return _value(read_nodes(path, LIMITS))
    except UnreadableError as error:
        raise ConfigError(path, [error.problem]) from None


def parse(text: str) -> Value:
    """The content of a YAML text. Raises BadValue."""
    try:
        return _value(parse_nodes(text, LIMITS))
    except UnreadableError as error:
        raise BadValue(error.problem) from None


def _value(root: Node | None) -> Value:
    if root is None:
        raise unreadable(1, "is empty; kafka-gateway catalog export writes such a file")
    return Value(root, (), root.start_mark.line + 1)


def write(content: Any) -> str:
    """Lists, mappings and scalars as YAML, in their order."""
    text = yaml.dump(
        content,
        Dumper=_DUMPER,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=100,
    )
    return str(text)


def time_text(milliseconds: int) -> str | int:
    """Milliseconds since the epoch as ISO 8601, UTC; the number itself if no calendar has the
    time."""
    try:
        time = _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        return milliseconds
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
