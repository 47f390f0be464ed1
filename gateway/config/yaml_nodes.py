"""YAML read into nodes, bounded, for the configuration and for a catalog's export.

A file of a few lines can stand for more values than any memory holds (aliases of aliases), be
nested deeper than any stack, or hold text that no message can carry. Such a file is rejected here,
with the line and the key, before a value is made from a node. libyaml parses, if PyYAML has it,
because that is twice as fast. Nodes are made from its events in Python, because the recursion of
PyYAML's binding has no bound: 200,000 brackets end the process.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode

from gateway.config.errors import Key, Problem
from gateway.files import Reader, UnreadableFile, read_input

TAGS: Final = "tag:yaml.org,2002:"

MAX_DEPTH: Final = 100
"""Levels of lists and mappings; a real file has fewer than ten."""

MAX_NUMBER: Final = 64
"""Characters of a number, or a time, because Python takes seconds for a number of a million
digits."""

_SCALARS: Final = frozenset(
    f"{TAGS}{name}" for name in ("null", "bool", "int", "float", "str", "timestamp")
)
_NUMBERS: Final = frozenset(f"{TAGS}{name}" for name in ("int", "float", "timestamp"))

_UNUSABLE: Final = re.compile(r"[\0\ud800-\udfff]")
"""Characters that no path, variable or message can carry; an escape such as "\\0" makes them."""

# Without libyaml, PyYAML's own parser gives the same events, more slowly.
_LIBYAML: Final = hasattr(yaml, "CSafeLoader")
_PARSER: Final[Any] = yaml.CSafeLoader if _LIBYAML else yaml.SafeLoader


class Limits(NamedTuple):
    """The bounds of a file: its bytes, and its values with all aliases written out. ``names``: its
    texts are names that clients gave, which may hold NUL, as Kafka's may."""

    file_bytes: int
    values: int
    names: bool = False


class UnreadableError(Exception):
    """A file cannot be read as YAML."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class _Extent(NamedTuple):
    """The values of an anchored node with all aliases written out, and the levels below it."""

    values: int
    levels: int


class _Composer(Composer, _PARSER):  # type: ignore[misc]
    """Makes nodes, and counts the values that aliases stand for as if they were written out."""

    def __init__(self, text: str, limits: Limits) -> None:
        _PARSER.__init__(self, text)
        Composer.__init__(self)
        self._limits = limits
        self._path: list[str | int] = []
        self._values = 0
        self._deepest = 0
        self._extents: dict[str, _Extent] = {}

    @property
    def key(self) -> Key:
        """The key of the node that is being read."""
        return tuple(self._path)

    def compose_node(self, parent: Node | None, index: Any) -> Node:
        """Make a node of any kind, or return the node that an alias stands for. Raises
        UnreadableError."""
        if isinstance(parent, MappingNode) and index is None:
            return self._key_node(parent)
        if parent is not None:
            self._path.append(_part(index))
        event = self.peek_event()
        if self.check_event(yaml.AliasEvent):
            self._count_alias(event)
            node = self._composed(parent, index)
        else:
            node = self._written(event, parent, index)
        if parent is not None:
            self._path.pop()
        return node

    def _composed(self, parent: Node | None, index: Any) -> Node:
        node = super().compose_node(parent, index)
        assert node is not None, "PyYAML returns one for every event that begins one"
        return node

    def _key_node(self, parent: MappingNode) -> Node:
        key = self._composed(parent, None)
        if isinstance(key, ScalarNode):
            self._check_text(key)
        return key

    def _written(self, event: Any, parent: Node | None, index: Any) -> Node:
        depth = len(self._path)
        line = event.start_mark.line + 1
        self._add(1, depth, line)
        before, deepest, self._deepest = self._values, self._deepest, depth
        node = self._composed(parent, index)
        if event.anchor is not None:
            self._extents[event.anchor] = _Extent(self._values - before + 1, self._deepest - depth)
        self._deepest = max(deepest, self._deepest)
        if isinstance(node, ScalarNode):
            self._check_text(node)
        return node

    def _count_alias(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if event.anchor in self.anchors and event.anchor not in self._extents:
            self._reject(line, "contains itself; write it out without the alias")
        extent = self._extents.get(event.anchor)
        if extent is not None:
            self._add(extent.values, len(self._path) + extent.levels, line)

    def _add(self, values: int, depth: int, line: int) -> None:
        self._values += values
        self._deepest = max(self._deepest, depth)
        if self._values > self._limits.values:
            self._reject(line, f"holds more than {self._limits.values} values; shorten it", key=())
        if depth > MAX_DEPTH:
            text = f"is nested too deeply; write at most {MAX_DEPTH} levels"
            self._reject(line, text, key=())

    def _check_text(self, node: ScalarNode) -> None:
        found = _UNUSABLE.search(node.value)
        if found is not None and not (found[0] == "\0" and self._limits.names):
            what = "NUL" if found[0] == "\0" else "half of a surrogate pair"
            line = node.start_mark.line + 1
            self._reject(line, f"holds a character that is no text ({what}); remove it")

    def _reject(self, line: int, text: str, key: Key | None = None) -> None:
        raise unreadable(line, text, self.key if key is None else key)


def _part(index: object) -> str | int:
    """An index of a list, or the text of a key's node, as a part of a path."""
    return index if isinstance(index, int) else str(getattr(index, "value", ""))[:64]


def read_nodes(path: Path, limits: Limits, read: Reader = read_input) -> Node | None:
    """Read the root node of a file, or None if the file is empty. Raises UnreadableError."""
    try:
        text = read(path, limits.file_bytes).decode("utf-8-sig")
    except UnreadableFile as error:
        raise unreadable(0, f"cannot be read: {error}; give the path of a YAML file") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise unreadable(line, "is not UTF-8 text; save it as UTF-8") from error
    return parse_nodes(text, limits)


def parse_nodes(text: str, limits: Limits) -> Node | None:
    """Parse a text, as :func:`read_nodes` does a file."""
    composer = None
    try:
        composer = _Composer(text, limits)
        root: Node | None = composer.get_single_node()
    except yaml.YAMLError as error:
        key = () if composer is None else composer.key
        raise unreadable(*_told(error, text), key) from error
    # A text may hold a surrogate, which no file can have.
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise unreadable(line, "holds half of a surrogate pair; remove it") from error
    return root


def scalar(node: Node) -> Any:
    """The value of a scalar: None, a bool, a number, text or a time. Raises ValueError, with the
    node's kind as its text, if it cannot be read as that kind."""
    kind = node.tag.removeprefix(TAGS)
    if node.tag not in _SCALARS or (node.tag in _NUMBERS and len(node.value) > MAX_NUMBER):
        raise ValueError(kind)
    try:
        return SafeConstructor().construct_document(node)
    except (yaml.YAMLError, ValueError, OverflowError, LookupError, AttributeError):
        raise ValueError(kind) from None


def _told(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """The line of a syntax error, and a sentence that describes it."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        what = f"{error.problem or error.context}".replace("\n", " ")
        return error.problem_mark.line + 1, f"is not YAML: {what}; correct it here or just before"
    if isinstance(error, yaml.reader.ReaderError):
        # libyaml counts bytes.
        before = text.encode()[: error.position] if _LIBYAML else text[: error.position].encode()
        return before.count(b"\n") + 1, f"is not YAML: {error.reason}; remove that character"
    return 1, "is not YAML; correct it"


def unreadable(line: int, text: str, key: Key = ()) -> UnreadableError:
    """The error for a file that cannot be read further; ``line`` is 0 if it concerns the whole
    file."""
    return UnreadableError(Problem(key, text, line))
