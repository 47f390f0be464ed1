"""ACLs that follow their topic or namespace: renamed with a topic, removed with a namespace.

A topic's own ACLs are those of its LITERAL pattern; a pattern that covers more names stays as it
is. ``name_changes`` decides whether the ACLs may follow. Pure decisions.
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
    """The ACLs that a topic takes along from its pattern ``old`` to ``new``.

    ``moved``: all of these ACLs. ``known``: the ACLs that the new name had before; a name may have
    ACLs before it has a topic.
    """

    old: ResourcePattern
    new: ResourcePattern
    moved: frozenset[AclEntry]
    known: frozenset[AclEntry]

    def around(self, changes: Sequence[Change]) -> list[Change]:
        """The changes that rename the topic with its ACLs. The new name gets the ACLs before the
        topic gets the new name, and the old name loses them last, so the topic always has them."""
        made = ResourceAcls(self.new, self.known | self.moved)
        before = [made] if made.entries != self.known else []
        return [*before, *changes, Removal(key_of(ResourceAcls(self.old, self.moved)))]

    def back(self, snapshot: Snapshot, changes: Sequence[Change]) -> list[Change]:
        """The changes that undo :meth:`around`. ACLs that were revoked since stay revoked, and ACLs
        that were added under the new name stay there."""
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
    """The ACLs that a topic with the ``former`` name takes along to ``name``; None if it has no
    ACLs.

    Raises :class:`Rejected` if the new name would have too many ACLs.
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
    """These changes, which rename topics, with the changes of the topics' ACLs around them. Raises
    :class:`Rejected`."""
    result = list(changes)
    for former, name in renamed:
        found = carried(snapshot, former, name)
        if found is not None:
            result = found.around(result)
    return result


def inside(
    snapshot: Snapshot, paths: Collection[str], managed: Callable[[ResourcePattern], bool]
) -> Iterator[ResourceAcls]:
    """The ACLs in and below these namespaces that the principal deleting them may change.

    They are removed with the namespaces: a namespace that is created under the same name later must
    not inherit them. All other ACLs outlive the namespace and apply again to such a namespace. The
    homes of principals stay: a principal whose home is gone reaches nothing, whereas a principal
    without a home would reach everything.
    """
    for acls in paced(list(snapshot.acls.values())):
        namespace = namespace_of(acls.pattern)
        if namespace is None or not any(tier in paths for tier in parents(namespace)):
            continue
        if managed(acls.pattern):
            yield acls


def without(snapshot: Snapshot, acls: Iterable[ResourceAcls]) -> list[Change]:
    """The changes that remove these entries; entries added to the same patterns since stay."""
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
