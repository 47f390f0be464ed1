"""The truth table of docs/access.md, parsed: ACLs, the operation of a user, and the result."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gateway.acl_model import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from tests.docs import markdown

PAGE: Final = "docs/access.md"
ALLOWED: Final = "allowed"
EVERYONE: Final = "allow.everyone.if.no.acl.found"

# The world that the page describes above the table.
NAMESPACES: Final = ("org", "org:apache", "other", "team-a")
TOPICS: Final = ("orders", "org:orders", "org:abc", "org:apache:orders", "team-a:orders")
MOVED: Final = ("org:moved", "org:apache:moved")
"""A topic's alias, and its name."""
HOMES: Final = {"carol": "team-a"}
SUPER_USER: Final = "admin"
HOST: Final = "127.0.0.1"

_ACL = re.compile(r"(?P<permission>allow|deny) (?P<user>\S+)(?: from (?P<host>\S+))? (?P<rest>.+)")
_OPERATIONS = {operation.name.replace("_", "").lower(): operation for operation in Operation}
_TYPES = {
    "--topic": ResourceType.TOPIC,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
}


@dataclass(frozen=True, slots=True)
class Does:
    """An operation on the resource that a pattern names."""

    operation: Operation
    pattern: ResourcePattern


@dataclass(frozen=True, slots=True)
class AddsAcls:
    """Creating an ACL on a pattern."""

    pattern: ResourcePattern


@dataclass(frozen=True, slots=True)
class Moves:
    """Moving a topic to another namespace."""

    topic: str
    namespace: str


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """The first request of an idempotent producer."""


Action = Does | AddsAcls | Moves | InitProducerId


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. ``answer`` is ``allowed`` or the name of an error."""

    number: int
    acls: tuple[AclBinding, ...]
    everyone: bool
    user: str
    action: Action
    answer: str

    def __str__(self) -> str:
        return f"row-{self.number}"


def rows() -> list[Row]:
    """The table, top to bottom."""
    return [_row(cells) for cells in markdown.table(markdown.read(PAGE), "row")]


def _row(cells: list[str]) -> Row:
    number, acls, asked, answer, because = cells
    assert because, f"row {number} gives no reason"
    spans = markdown.spans(acls)
    assert spans or acls == "none", f"row {number}: {acls!r} are no ACLs"
    user, _, action = markdown.code(asked).partition(" ")
    bindings = tuple(binding(span) for span in spans if span != EVERYONE)
    return Row(int(number), bindings, EVERYONE in spans, user, _action(action), answer)


def binding(text: str) -> AclBinding:
    """The ACL in a code span of the page."""
    match = _ACL.fullmatch(text)
    assert match is not None, f"{text!r} is no ACL"
    done = _does(match["rest"])
    entry = AclEntry(
        f"User:{match['user']}",
        match["host"] or WILDCARD,
        done.operation,
        Permission[match["permission"].upper()],
    )
    return AclBinding(done.pattern, entry)


def _action(text: str) -> Action:
    if text == "InitProducerId":
        return InitProducerId()
    if text.startswith("adds ACLs "):
        return AddsAcls(_pattern(text.removeprefix("adds ACLs ").split()))
    if text.startswith("moves --topic "):
        topic, to, namespace = text.removeprefix("moves --topic ").split()
        assert to == "to", text
        return Moves(topic, namespace)
    return _does(text)


def _does(text: str) -> Does:
    operation, *what = text.split()
    return Does(_OPERATIONS[operation.lower()], _pattern(what))


def _pattern(words: list[str]) -> ResourcePattern:
    if words == ["--cluster"]:
        return ResourcePattern(ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME)
    flag, name, *more = words
    assert more in ([], ["prefixed"]), words
    return ResourcePattern(
        _TYPES[flag], PatternType.PREFIXED if more else PatternType.LITERAL, name
    )
