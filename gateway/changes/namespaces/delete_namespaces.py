"""Marks namespaces for deletion (KIP-37: Delete). Pure decisions.

The deletion of a namespace with namespaces below it is rejected, unless the same request names
every one of them, which makes the deletion recursive. Only the outermost of them is marked; all
namespaces below are deleted with it, and clients reach none of them from then on. The ACLs inside
are removed at once, as far as the principal could remove them itself: a DENY that it cannot remove
outlives the namespace.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from typing import Final

from gateway.acl_model import Operation, ResourcePattern
from gateway.catalog.entities import Namespace, ResourceAcls
from gateway.changes.acls.acl_moves import inside
from gateway.changes.acls.acl_rights import AclRights
from gateway.changes.base.rejected import list_names, shown_namespace
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, parents
from gateway.views.access import DESCRIBE, Access

ACLS_AT_ONCE: Final = 5_000
"""Patterns whose ACLs one transaction removes."""


@dataclass(slots=True)
class Deletion:
    """The namespaces of one request: ``denied`` by path, or ``marked``."""

    denied: dict[str, Denied] = field(default_factory=dict)
    marked: list[Namespace] = field(default_factory=list)


def decide(access: Access, paths: Collection[str], now: int) -> Deletion:
    """The namespaces to mark, on the snapshot of ``access``, as of ``now`` (ms)."""
    snapshot = access.view.snapshot
    deletion = Deletion()
    named = frozenset(paths)
    left = sorted(path for path in snapshot.namespaces if path not in named)
    for path in named:
        why = _denied(access, path, left)
        if why is not None:
            deletion.denied[path] = why
    granted = {path for path in named if path not in deletion.denied}
    for path in sorted(granted):
        if not granted.intersection(parents(path)[:-1]):
            found = snapshot.namespaces[path]
            # Configs that are not applied yet need not be applied any more.
            deletion.marked.append(replace(found, deleting=now, apply=()))
    return deletion


def acls_inside(access: Access, marked: Iterable[Namespace]) -> list[ResourceAcls]:
    """The ACLs that are removed with the marked namespaces, on the snapshot of ``access``; all ACLs
    of the catalog are checked."""
    paths = frozenset(one.path for one in marked)
    return list(inside(access.view.snapshot, paths, _managed(access)))


def _managed(access: Access) -> Callable[[ResourcePattern], bool]:
    """Whether the principal may change the ACLs of a pattern; without an authorizer it may
    always."""
    if not access.authorizes:
        return lambda pattern: True
    return AclRights(access, Operation.ALTER).cover


def _denied(access: Access, path: str, left: Sequence[str]) -> Denied | None:
    """Why a namespace may not be marked. ``left``: the namespaces that the request does not name,
    sorted."""
    view, snapshot = access.view, access.view.snapshot
    if path not in snapshot.namespaces:
        text = f"Namespace '{shown_namespace(view, path)}' does not exist."
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, text, "namespace")
    deleting = snapshot.deleting_tier(path)
    if deleting is not None:
        text = f"Namespace '{shown_namespace(view, deleting)}' is being deleted already."
        return Denied(UNKNOWN_TOPIC_OR_PARTITION, text, "namespace")
    prefix = path + DELIMITER
    start = bisect_left(left, prefix)
    inside = takewhile(lambda each: each.startswith(prefix), islice(left, start, None))
    below = [each for each in inside if snapshot.deleting_tier(each) is None]
    if not below:
        return None
    seen = [
        shown_namespace(view, each) for each in below if access.namespace(DESCRIBE, each) is None
    ]
    held = list_names(seen, len(below) - len(seen))
    text = f"Namespace '{shown_namespace(view, path)}' holds namespaces: {held}; delete them too."
    return Denied(INVALID_REQUEST, text, "namespace")
