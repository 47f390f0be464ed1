"""The ACLs that a filter means (KIP-290), found in the index where it names anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway.acl_model import (
    WILDCARD,
    AclBinding,
    AclEntry,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import AclFilter
from gateway.acls.filters import means_entry, means_pattern
from gateway.acls.index import AclIndex


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
