"""YAML with line numbers: values for the models, and the line of each value.

Sequences become tuples. Duplicate keys, keys that are not text and values that YAML cannot read are
problems of their own, so that a single run finds them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gateway.config.errors import Key, Problem
from gateway.config.yaml_nodes import TAGS, Limits, parse_nodes, read_nodes, scalar, unreadable
from gateway.files import Reader, read_input

MAX_VALUES: Final = 100_000
"""The most values of a file, because aliases can make a small file huge; no real file comes
near."""

LIMITS: Final = Limits(file_bytes=2 * 1024 * 1024, values=MAX_VALUES)

_MERGE: Final = f"{TAGS}merge"
_TEXT: Final = f"{TAGS}str"


@dataclass(slots=True)
class Document:
    """The content of a file. ``lines`` has the line of each key or list item, from 1."""

    value: dict[str, Any] = field(default_factory=dict)
    lines: dict[Key, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line_of(self, key: Key) -> int:
        """The line of a key, or, if it is not in the file, of the innermost key around it; at least
        1."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)


def read_document(path: Path, read: Reader = read_input) -> Document:
    """Read a file. Raises UnreadableError if the file has no mapping to check further."""
    return _document(read_nodes(path, LIMITS, read))


def parse_document(text: str) -> Document:
    """Parse a text, as :func:`read_document` does a file."""
    return _document(parse_nodes(text, LIMITS))


def _document(root: Node | None) -> Document:
    if root is None:
        raise unreadable(1, "is empty; config/quickstart.yaml is an example to start from")
    if not isinstance(root, MappingNode):
        line = root.start_mark.line + 1
        raise unreadable(line, "holds no settings; write them as `key: value` lines")
    reader = _Reader()
    value = reader.read(root, ())
    reader.document.value = value if isinstance(value, dict) else {}
    return reader.document


class _Reader:
    """Turns nodes into values, and notes their lines."""

    def __init__(self) -> None:
        self.document = Document()
        self._merger = yaml.SafeLoader("")

    def read(self, node: Node, key: Key) -> Any:
        if isinstance(node, MappingNode):
            return self._read_mapping(node, key)
        if isinstance(node, SequenceNode):
            return tuple(self._read_item(item, (*key, i)) for i, item in enumerate(node.value))
        return self._read_scalar(node, key)

    def _read_item(self, node: Node, key: Key) -> Any:
        self.document.lines[key] = node.start_mark.line + 1
        return self.read(node, key)

    def _read_mapping(self, node: MappingNode, key: Key) -> dict[str, Any]:
        self._find_duplicates(node, key)
        self._merge(node, key)
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

    def _merge(self, node: MappingNode, key: Key) -> None:
        """Replace `<<: *alias` by the keys of the alias; the mapping's own keys override them."""
        try:
            self._merger.flatten_mapping(node)
        except yaml.constructor.ConstructorError:
            text = "merges something else than mappings; write it like <<: *name"
            self._problem(node, (*key, "<<"), text)

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
            return scalar(node)
        except ValueError as error:
            self._problem(node, key, f"cannot be read as {error}; put it in quotes")
            return None

    def _problem(self, node: Node, key: Key, text: str) -> None:
        self.document.problems.append(Problem(key, text, node.start_mark.line + 1))
