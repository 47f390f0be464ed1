"""ACLs that go along with what they are about: renamed with a topic, removed with a namespace.

A topic's ACLs are its LITERAL ones; a pattern that covers more stays where it is. Whether they may
go along, ``name_changes`` decides. Pure decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gateway.acl_model import AclEntry, PatternType, ResourcePattern, ResourceType, namespace_of
from gateway.catalog.entities import Change, Removal, ResourceAcls, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_limits import is_too_large
from gateway.changes.base.rejected import Rejected
from gateway.error_codes import POLICY_VIOLATION
from gateway.names import LogicalName, parents
from protocol.pausing import paced


@dataclass(frozen=True, slots=True)
class Carried:
    """The ACLs that a topic takes along from its pattern ``old`` to ``new``. ``moved`` are all of
    them, ``known`` those that the new name had already: there are ACLs before there is a topic."""

    old: ResourcePattern
    new: ResourcePattern
    moved: frozenset[AclEntry]
    known: frozenset[AclEntry]

    def around(self, changes: Sequence[Change]) -> list[Change]:
        """The changes that rename the topic with its ACLs, in an order in which it is never
        without: they are under the new name before it is, and under the old one until then."""
        made = ResourceAcls(self.new, self.known | self.moved)
        before = [made] if made.entries != self.known else []
        return [*before, *changes, Removal(key_of(ResourceAcls(self.old, self.moved)))]

    def back(self, snapshot: Snapshot, changes: Sequence[Change]) -> list[Change]:
        """The reverse, as long as nobody has changed them: what was revoked stays revoked, and
        what was added under the new name stays there."""
        now = _entries(snapshot, self.new)
        returned = _entries(snapshot, self.old) | (self.moved & now)
        left = now - (self.moved - self.known)
        before = [ResourceAcls(self.old, returned)] if returned else []
        after: list[Change] = []
        if left != now:
            acls = ResourceAcls(self.new, left)
            after = [acls if left else Removal(key_of(acls))]
        return [*before, *changes, *after]


def carried(snapshot: Snapshot, former: LogicalName, name: LogicalName) -> Carried | None:
    """The ACLs that a topic with the ``former`` name takes along to another, or None if there are
    none.

    Raises :class:`Rejected` where that would be too many ACLs.
    """
    old, new = _pattern(former), _pattern(name)
    moved = _entries(snapshot, old)
    if not moved or old == new:
        return None
    known = _entries(snapshot, new)
    if is_too_large(ResourceAcls(new, moved | known)):
        raise Rejected(
            POLICY_VIOLATION,
            f"The ACLs of topic '{former}' and those that there are for '{name}' already are too"
            " many for one name; remove some first.",
        )
    return Carried(old, new, moved, known)


def carrying(
    snapshot: Snapshot,
    changes: Sequence[Change],
    renamed: Iterable[tuple[LogicalName, LogicalName]],
) -> list[Change]:
    """Changes that rename topics, with the ACLs of these. Raises :class:`Rejected`."""
    result = list(changes)
    for former, name in renamed:
        found = carried(snapshot, former, name)
        if found is not None:
            result = found.around(result)
    return result


def inside(
    snapshot: Snapshot, paths: Collection[str], managed: Callable[[ResourcePattern], bool]
) -> Iterator[ResourceAcls]:
    """The ACLs of namespaces, and of what is in or below them, that who deletes these could remove
    one by one: what is made anew is not to inherit them. All others outlive the namespace and bind
    again. Homes in it stay: a principal whose home is gone reaches nothing, and without a home it
    would reach everything."""
    for acls in paced(list(snapshot.acls.values())):
        namespace = namespace_of(acls.pattern)
        if namespace is None or not any(tier in paths for tier in parents(namespace)):
            continue
        if managed(acls.pattern):
            yield acls


def without(snapshot: Snapshot, acls: Iterable[ResourceAcls]) -> list[Change]:
    """The changes that remove these entries; those added to their patterns since then stay."""
    changes: list[Change] = []
    for one in acls:
        present = _entries(snapshot, one.pattern)
        left = present - one.entries
        if left != present:
            changes.append(ResourceAcls(one.pattern, left) if left else Removal(key_of(one)))
    return changes


def _entries(snapshot: Snapshot, pattern: ResourcePattern) -> frozenset[AclEntry]:
    found = snapshot.acls.get(pattern)
    return frozenset() if found is None else found.entries


def _pattern(name: LogicalName) -> ResourcePattern:
    return ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, str(name))
