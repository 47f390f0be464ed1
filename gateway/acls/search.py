"""The ACLs that a filter means (KIP-290), found in the index where it names anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, Protocol

from gateway.acl_model import (
    WILDCARD,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import AclFilter, Verdict
from gateway.acls.index import AclIndex
from gateway.acls.patterns import covers


def matching_acls(index: AclIndex, matching: AclFilter) -> Iterator[AclBinding]:
    """All ACLs that a filter means."""
    for pattern, entries in _candidates(index, matching):
        if means_pattern(matching, pattern):
            for entry in entries:
                if means_entry(matching, entry):
                    yield AclBinding(pattern, entry)


def _candidates(
    index: AclIndex, matching: AclFilter
) -> Iterator[tuple[ResourcePattern, Iterable[AclEntry]]]:
    """All that a filter can mean, found by its name or its principal if it has one."""
    kinds = [kind for kind in ResourceType if kind > ResourceType.ANY]
    if matching.type is not ResourceType.ANY:
        kinds = [matching.type]
    if matching.name is not None:
        for pattern in _named(index, kinds, matching.name, matching.pattern_type):
            found = index.acls.get(pattern)
            if found is not None:
                yield pattern, found.entries
    elif matching.principal is not None:
        for kind in kinds:
            rules = index.own_rules(kind, matching.principal)
            for grant in () if rules is None else list(rules.grants()):
                yield grant.pattern, grant.entries
    else:
        for acls in index.acls.values():
            yield acls.pattern, acls.entries


def _named(
    index: AclIndex, kinds: Iterable[ResourceType], name: str, pattern_type: PatternType
) -> Iterator[ResourcePattern]:
    """The patterns of a name; with MATCH all those that cover it."""
    for kind in kinds:
        literals, prefixes = [name], [name]
        if pattern_type is PatternType.MATCH:
            literals = list({name, WILDCARD})
            prefixes = list(index.present(kind).prefixes_of(name))
        yield from (ResourcePattern(kind, PatternType.LITERAL, one) for one in literals)
        yield from (ResourcePattern(kind, PatternType.PREFIXED, one) for one in prefixes)


MOST: Final = 10_000
"""Verdicts, and ACLs, that are remembered of one principal."""

_ALLOW: Final = f"{Permission.ALLOW.name} "


class AllowedBy:
    """The ACLs that have allowed one principal something. Their text is made when somebody wants to
    read it."""

    def __init__(self) -> None:
        self._verdicts: list[Verdict] = []
        self._told: dict[str, None] = {}

    def add(self, verdict: Verdict) -> None:
        """An ACL, or what stands for one, has allowed something."""
        if len(self._verdicts) < MOST:
            self._verdicts.append(verdict)

    def texts(self) -> Collection[str]:
        """They, as ``ALLOW READ for User:alice on TOPIC:LITERAL:org:orders``."""
        verdicts, self._verdicts = self._verdicts, []
        for verdict in verdicts:
            if len(self._told) < MOST and (text := verdict.rule).startswith(_ALLOW):
                self._told[text] = None
        return self._told.keys()


class HasRights(Protocol):
    """What somebody may do (gateway/views/access.py)."""

    principal: str
    allowed_by: AllowedBy


def needed_acls(clients: Iterable[HasRights]) -> set[tuple[str, str]]:
    """The principals of clients that are busy, each with every ACL that it needs."""
    rights = {(one.principal, one.allowed_by) for one in clients}
    return {(principal, text) for principal, acls in rights for text in acls.texts()}


def means_pattern(matching: AclFilter, pattern: ResourcePattern) -> bool:
    """Whether a filter means a pattern."""
    if matching.type not in (ResourceType.ANY, pattern.type):
        return False
    if matching.pattern_type is PatternType.MATCH:
        return matching.name is None or covers(pattern, pattern.type, matching.name)
    if matching.pattern_type not in (PatternType.ANY, pattern.pattern_type):
        return False
    return matching.name in (None, pattern.name)


def means_entry(matching: AclFilter, entry: AclEntry) -> bool:
    """Whether a filter means an entry, whatever its pattern."""
    return (
        matching.principal in (None, entry.principal)
        and matching.host in (None, entry.host)
        and matching.operation in (Operation.ANY, entry.operation)
        and matching.permission in (Permission.ANY, entry.permission)
    )
