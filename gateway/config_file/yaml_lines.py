"""YAML with line numbers: values for the models, and the line that each was written on.

Sequences become tuples. Duplicate keys, keys that are no text and values that YAML cannot read
are problems of their own, so that one run finds them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gateway.config.errors import Key, Problem

MAX_VALUES = 100_000
"""Aliases can make a small file huge; no real one comes near."""

MAX_DEPTH = 100
"""Lists and mappings within each other; a real file has no ten."""

_TAGS = "tag:yaml.org,2002:"
_MERGE = f"{_TAGS}merge"
_TEXT = f"{_TAGS}str"


class UnreadableError(Exception):
    """The file cannot be read as YAML at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


@dataclass(slots=True)
class Document:
    """The content of a file. ``lines`` holds the line of each key or list item, from 1."""

    value: dict[str, Any] = field(default_factory=dict)
    lines: dict[Key, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line_of(self, key: Key) -> int:
        """The line of a key, or of the innermost thing around it that was written; 1 at least."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)


def read_document(path: Path) -> Document:
    """Raises :class:`UnreadableError` when there is nothing to look at further."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise _unreadable(0, f"cannot be read: {reason}; give the path of a YAML file") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _unreadable(line, "is not UTF-8 text; save it as UTF-8") from error
    return parse_document(text)


def parse_document(text: str) -> Document:
    """Like :func:`read_document`, of a text."""
    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as error:
        raise _unreadable(*_told(error, text)) from error
    try:
        return _parse(loader, text)
    except RecursionError as error:  # PyYAML calls itself for each level
        raise _too_deep(loader.line + 1) from error


def _parse(loader: yaml.SafeLoader, text: str) -> Document:
    try:
        root = loader.get_single_node()
    except yaml.YAMLError as error:
        raise _unreadable(*_told(error, text)) from error
    if root is None:
        raise _unreadable(1, "is empty; config/quickstart.yaml is an example to start from")
    if not isinstance(root, MappingNode):
        line = root.start_mark.line + 1
        raise _unreadable(line, "holds no settings; write them as `key: value` lines")
    reader = _Reader(loader)
    value = reader.read(root, ())
    reader.document.value = value if isinstance(value, dict) else {}
    return reader.document


class _Reader:
    """Turns nodes into values and notes where they stood."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self.document = Document()
        self._loader = loader
        self._open: set[int] = set()
        self._values = 0

    def read(self, node: Node, key: Key) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            line = node.start_mark.line + 1
            raise _unreadable(line, f"holds more than {MAX_VALUES} values; shorten it")
        if len(key) > MAX_DEPTH:
            raise _too_deep(node.start_mark.line + 1)
        if id(node) in self._open:
            self._problem(node, key, "contains itself; write it out without the alias")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._read_mapping(node, key)
            if isinstance(node, SequenceNode):
                return tuple(self._read_item(item, (*key, i)) for i, item in enumerate(node.value))
            return self._read_scalar(node, key)
        finally:
            self._open.discard(id(node))

    def _read_item(self, node: Node, key: Key) -> Any:
        self.document.lines[key] = node.start_mark.line + 1
        return self.read(node, key)

    def _read_mapping(self, node: MappingNode, key: Key) -> dict[str, Any]:
        self._find_duplicates(node, key)
        self._loader.flatten_mapping(node)  # `<<: *alias`; what the mapping itself says comes last
        values: dict[str, Any] = {}
        for name_node, value_node in node.value:
            name = name_node.value if isinstance(name_node, ScalarNode) else None
            if name is None or name_node.tag != _TEXT:
                self._problem(name_node, key, "has a key that is no text; put it in quotes")
                continue
            inner = (*key, name)
            self.document.lines[inner] = name_node.start_mark.line + 1
            values[name] = self.read(value_node, inner)
        return values

    def _find_duplicates(self, node: MappingNode, key: Key) -> None:
        first: dict[str, int] = {}
        for name_node, _ in node.value:
            if not isinstance(name_node, ScalarNode) or name_node.tag == _MERGE:
                continue
            name, line = name_node.value, name_node.start_mark.line + 1
            if name in first:
                text = f"is set a second time, first on line {first[name]}; keep one of the two"
                self._problem(name_node, (*key, name), text)
            first.setdefault(name, line)

    def _read_scalar(self, node: Node, key: Key) -> Any:
        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError):
            text = f"cannot be read as {node.tag.removeprefix(_TAGS)}; put it in quotes"
            self._problem(node, key, text)
            return None

    def _problem(self, node: Node, key: Key, text: str) -> None:
        self.document.problems.append(Problem(key, text, node.start_mark.line + 1))


def _told(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """The line of a syntax error, and a sentence."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        what = f"{error.problem or error.context}".replace("\n", " ")
        return error.problem_mark.line + 1, f"is not YAML: {what}; correct it here or just before"
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, f"is not YAML: {error.reason}; remove that character"
    return 1, "is not YAML; correct it"


def _too_deep(line: int) -> UnreadableError:
    return _unreadable(line, f"is nested too deeply; write at most {MAX_DEPTH} levels")


def _unreadable(line: int, text: str) -> UnreadableError:
    return UnreadableError(Problem((), text, line))
