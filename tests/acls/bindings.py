"""ACLs as tools list them, and as the catalog keeps them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gateway.acl_model import AclBinding, AclEntry, ResourcePattern
from gateway.catalog.entities import ResourceAcls


def by_pattern(acls: Iterable[AclBinding]) -> list[ResourceAcls]:
    """An entity for each pattern, with all its entries."""
    entries: defaultdict[ResourcePattern, set[AclEntry]] = defaultdict(set)
    for acl in acls:
        entries[acl.pattern].add(acl.entry)
    return [ResourceAcls(pattern, frozenset(found)) for pattern, found in entries.items()]
