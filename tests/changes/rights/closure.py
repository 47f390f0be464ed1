"""The rights that a delegate could have granted: the rights that ACLs give after the delegate has
used CreateAcls and DeleteAcls as far as it may.

All DENYs on each pattern that it manages are removed, and everything is allowed to everyone on it.
That may give it further patterns, so this is repeated until nothing changes. It can also remove a
namespace's own ACLs, and then the namespace is no gate: a DENY on topics, which closes even a gate
open to everyone, does not reach the groups and ids behind it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    is_namespace,
    tiers_of,
)
from gateway.catalog.entities import Change, Removal, ResourceAcls, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_rights import AclRights
from gateway.names import DELIMITER, owner_of_id
from tests.changes.rights.worlds import DELEGATE, HOME_HOST, Rights, State

OPEN = AclEntry(ANY_USER, WILDCARD, Operation.ALL, Permission.ALLOW)


class Closure:
    """The rights that the delegate could have given in a state, and the patterns it manages."""

    def __init__(self, state: State) -> None:
        snapshot = state.snapshot
        patterns = _patterns(state)
        while True:
            rights = Rights(state, snapshot)
            managed = AclRights(rights.access(DELEGATE, HOME_HOST), Operation.ALTER)
            changes = _granted(snapshot, patterns, managed)
            if not changes:
                break
            snapshot = snapshot.apply(changes, snapshot.version + 1)
        self.rights = rights
        self._managed = managed
        gates = [one for one in snapshot.acls.values() if _is_gate(one.pattern)]
        gone = [Removal(key_of(one)) for one in gates if managed.cover(one.pattern)]
        self._ungated = Rights(state, snapshot.apply(gone, snapshot.version + 1))

    def may(self, allowed: Callable[..., bool], *asked: object) -> bool:
        """Whether something is allowed by rights that the delegate could have given."""
        return allowed(self.rights, *asked) or allowed(self._ungated, *asked)

    def manages(self, pattern: ResourcePattern) -> bool:
        """Whether the delegate could have changed the ACLs of a pattern."""
        return self._managed.cover(pattern)


def _is_gate(pattern: ResourcePattern) -> bool:
    return pattern.pattern_type is PatternType.LITERAL and is_namespace(pattern)


def _granted(
    snapshot: Snapshot, patterns: set[ResourcePattern], managed: AclRights
) -> list[Change]:
    changes: list[Change] = []
    for pattern in patterns | set(snapshot.acls):
        if not managed.cover(pattern):
            continue
        held = snapshot.acls.get(pattern)
        wanted = frozenset({OPEN})
        if held is None or held.entries != wanted:
            changes.append(ResourceAcls(pattern, wanted))
    return changes


def _patterns(state: State) -> set[ResourcePattern]:
    """The patterns that open the most if all of them are opened: namespaces, and the names that
    exist."""
    topics: set[str] = set()
    for flat in state.topics:
        topics.add(str(state.snapshot.owner(flat)))
        topics.update(map(str, state.snapshot.links_of(flat)))
    tiers = {tier for name in topics for tier in tiers_of(name)}
    tiers |= {tier for path in state.snapshot.namespaces for tier in tiers_of(path + DELIMITER)}
    found = {_literal(ResourceType.TOPIC, name) for name in topics}
    for kind, names in (
        (ResourceType.GROUP, state.groups),
        (ResourceType.TRANSACTIONAL_ID, state.ids),
    ):
        for name in names:
            found.add(id_pattern(kind, name))
            owned = owner_of_id(name)
            path = owned[0] + DELIMITER if owned else ""
            tiers |= set(tiers_of(path))
    # A prefix of a namespace covers the names below it, and passes the gates there.
    found |= {_literal(ResourceType.TOPIC, tier) for tier in tiers}
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    prefixed = product(kinds, tiers)
    return found | {ResourcePattern(kind, PatternType.PREFIXED, tier) for kind, tier in prefixed}


def id_pattern(kind: ResourceType, name: str) -> ResourcePattern:
    """The LITERAL pattern of a group or transactional id at the broker: ``org..g`` is ``org:g``."""
    owned = owner_of_id(name)
    return _literal(kind, name if owned is None else DELIMITER.join(owned))


def _literal(kind: ResourceType, name: str) -> ResourcePattern:
    return ResourcePattern(kind, PatternType.LITERAL, name)
