"""YAML read by its reader's needs: every value knows its line, and is text only if it says so.

The configuration's reader (gateway/config_file/yaml_lines.py) collects all problems of a file that
people write; this one is for files with a hundred thousand entries that a program wrote, so it uses
libyaml where there is one and makes no copy of the whole.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gateway.config.errors import ConfigError, Key, Problem, nearest

_TAGS: Final = "tag:yaml.org,2002:"
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)


class BadValue(Exception):
    """A value that is not what belongs there."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class Value:
    """A value of a file, and where it stands. Every method but ``line`` raises BadValue."""

    __slots__ = ("_node", "key", "line")

    def __init__(self, node: Node, key: Key, line: int) -> None:
        self._node = node
        self.key = key
        self.line = line

    def reject(self, text: str) -> NoReturn:
        """Raises BadValue; ``text`` is ``what is wrong; what to do``."""
        raise BadValue(Problem(self.key, text, self.line))

    def fields(self, *known: str) -> dict[str, Value]:
        """A mapping with no other keys than these, and none where it is left empty."""
        found = dict(self.entries())
        for name, value in found.items():
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean '{near}'?" if near else f"the keys are {', '.join(known)}"
                value.reject(f"unknown key '{name}'; {hint}")
        return found

    def entries(self) -> Iterator[tuple[str, Value]]:
        """The keys, all of them text, and values of a mapping; none where it is left empty."""
        node = self._node
        if isinstance(node, ScalarNode) and node.tag == f"{_TAGS}null":
            return
        if not isinstance(node, MappingNode):
            self.reject("must hold keys of its own; indent them below it")
        seen: set[str] = set()
        for name, value in node.value:
            line = name.start_mark.line + 1
            if not isinstance(name, ScalarNode) or name.tag != f"{_TAGS}str":
                Value(name, self.key, line).reject("has a key that is no text; put it in quotes")
            inner = Value(value, (*self.key, name.value), line)
            if name.value in seen:
                inner.reject("is there a second time; keep one of the two")
            seen.add(name.value)
            yield name.value, inner

    def items(self) -> Iterator[Value]:
        """The items of a list; none where it is left empty."""
        node = self._node
        if isinstance(node, ScalarNode) and node.tag == f"{_TAGS}null":
            return
        if not isinstance(node, SequenceNode):
            self.reject("must be a list; write it like [a, b]")
        for index, item in enumerate(node.value):
            yield Value(item, (*self.key, index), item.start_mark.line + 1)

    def content(self, lines: dict[Key, int]) -> Any:
        """All that is in the value, for a model that checks it: mappings, tuples and scalars.
        ``lines`` gets the line of each key and item."""
        lines[self.key] = self.line
        try:
            if isinstance(self._node, MappingNode):
                return {name: inner.content(lines) for name, inner in self.entries()}
            if isinstance(self._node, SequenceNode):
                return tuple(item.content(lines) for item in self.items())
            return yaml.SafeLoader("").construct_document(self._node)
        except RecursionError:
            self.reject("contains itself; write it out without the alias")
        except (yaml.YAMLError, ValueError):
            self.reject("cannot be read as YAML; put it in quotes")

    def text(self) -> str:
        """Text. A number is none, so that nobody guesses what ``0x1F`` or ``1_000`` means."""
        if self._is("str"):
            return str(self._node.value)
        self.reject("must be text; put it in quotes")

    def number(self) -> int:
        """A whole number, in decimal digits."""
        text = self.plain()
        if self._is("int") and text.lstrip("-").isdigit():
            return int(text)
        self.reject("must be a whole number; write it without quotes")

    def flag(self) -> bool:
        """``true`` or ``false``."""
        if self._is("bool") and self._node.value in {"true", "false"}:
            return bool(self._node.value == "true")
        self.reject("must be true or false; write one of them")

    def time(self) -> int:
        """Milliseconds since the epoch, of ISO 8601 (UTC, if it says nothing) or such a number."""
        text = self.plain()
        if text.lstrip("-").isdigit():
            return int(text)
        try:
            time = datetime.datetime.fromisoformat(text)
        except ValueError:
            self.reject("is no time; write it like 2026-12-01T10:00:00Z")
        if time.tzinfo is None:
            time = time.replace(tzinfo=datetime.UTC)
        return (time - _EPOCH) // _MILLISECOND

    def plain(self) -> str:
        """A scalar as it is written, whatever YAML takes it for."""
        if isinstance(self._node, ScalarNode):
            return str(self._node.value)
        self.reject("must be one value, not a list or keys of its own")

    def _is(self, tag: str) -> bool:
        return isinstance(self._node, ScalarNode) and self._node.tag == f"{_TAGS}{tag}"


def required(value: Value, fields: Mapping[str, Value], name: str) -> Value:
    """A field that must be there. Raises BadValue."""
    if name not in fields:
        value.reject(f"has no '{name}'; add it")
    return fields[name]


def read_file(path: Path) -> Value:
    """The content of a YAML file. Raises ConfigError when it cannot be read as YAML."""
    try:
        return parse(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        reason = error.strerror or str(error)
        problem = Problem((), f"cannot be read: {reason}; give the path of a YAML file")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = Problem((), "is not UTF-8 text; save it as UTF-8", line)
    except BadValue as error:
        problem = error.problem
    raise ConfigError(path, [problem])


def parse(text: str) -> Value:
    """Like :func:`read_file`, of a text. Raises BadValue."""
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        what = f"{error.problem or error.context}".replace("\n", " ")
        raise BadValue(Problem((), f"is not YAML: {what}; correct it", line)) from None
    except (yaml.YAMLError, RecursionError):
        raise BadValue(Problem((), "is not YAML that can be read; correct it", 1)) from None
    if root is None:
        raise BadValue(Problem((), "is empty; kafka-gateway catalog export writes such a file", 1))
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
    """Milliseconds since the epoch as ISO 8601, UTC; as they are where no calendar has them."""
    try:
        time = _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        return milliseconds
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
