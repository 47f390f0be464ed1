"""Groups, transactional ids and their ACLs that a new namespace would take over.

Only an id's spelling decides its namespace (``owner_of_id``), so ACLs allow the same on an id
whether or not the namespace exists. But a namespace's groups are deleted with it, and from then on
their clients are denied: by a principal that may have no right on these groups. And ids with the
prefix look like the namespace's own from then on, in ACLs and to its administrators. So ids are
captured, as topics are. Ids whose names fold into each other do not collide, as topics do:
``a_x__g`` is in no namespace.

An id that is created between the listing and the decision is like an id that is created right after
the decision: its client spells it so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from gateway.acl_model import (
    Operation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from gateway.changes.acls.acl_rights import AclRights
from gateway.changes.base.existing_ids import Ids
from gateway.changes.base.flat_acls import FlatAcls
from gateway.changes.base.rejected import Rejected, list_names, shown_namespace
from gateway.decision import Denied
from gateway.error_codes import INVALID_TOPIC_EXCEPTION
from gateway.names import DELIMITER, is_reserved_id, owner_of_id
from gateway.views.access import ALTER, DESCRIBE, Access
from gateway.views.view import View
from protocol.pausing import paced

Captured = Mapping[str, Sequence[str | None]]
"""The names that would be taken over, by kind; None for a name that the client may not describe."""


def captured_ids(tiers: Collection[str], ids: Iterable[str]) -> dict[str, list[str]]:
    """The ids, as brokers know them, that would be in these tiers, sorted, by tier."""
    found: dict[str, list[str]] = {}
    for one in paced(ids):
        owned = owner_of_id(one)
        if owned is not None and owned[0] in tiers and not is_reserved_id(one):
            found.setdefault(owned[0], []).append(one)
    return {tier: sorted(inside) for tier, inside in found.items()}


def captured_ids_and_acls(
    access: Access, tiers: Collection[str], ids: Ids, acls: FlatAcls
) -> Captured:
    """The ids and ACLs that these tiers would take over, on the snapshot of ``access``. The ACLs of
    such ids apply as before."""
    found: dict[str, list[str | None]] = {}
    for what, kind, listed in (
        ("groups", ResourceType.GROUP, ids.groups),
        ("transactional ids", ResourceType.TRANSACTIONAL_ID, ids.transactional),
    ):
        inside = [one for some in captured_ids(tiers, listed).values() for one in some]
        found[what] = [_seen(access, kind, one) for one in paced(inside)]
    if access.authorizes:  # otherwise ACLs decide nothing
        rights = AclRights(access, Operation.DESCRIBE)
        patterns = acls.inside(access.view.snapshot.acls, tiers)
        found["ACLs"] = [str(one) if rights.cover(one) else None for one in patterns]
    return found


def reject_captured(view: View, path: str, captured: Captured) -> None:
    """Raise :class:`Rejected` if the namespace at ``path`` would take over anything. For names that
    the client may not describe, the error has only their number."""
    if not any(captured.values()):
        return
    seen = {kind: [one for one in found if one is not None] for kind, found in captured.items()}
    named = [f"{kind}: {list_names(names)}" for kind, names in seen.items() if names]
    hidden = sum(map(len, captured.values())) - sum(map(len, seen.values()))
    if hidden:
        unnamed = list_names((), hidden)
        named.append(unnamed if named else f"names: {unnamed}")
    raise Rejected(
        INVALID_TOPIC_EXCEPTION,
        f"Namespace '{shown_namespace(view, path)}' would take over existing {'; '.join(named)}."
        " To adopt them, create it with the config gateway.adopt=true.",
    )


def why_not_adopted(access: Access, tiers: Collection[str], *, topics: bool) -> Denied | None:
    """Why these tiers may not take over existing topics and ids, or None if they may.

    Taking over needs ALTER on the cluster. If there are no ``topics``, the right to change the ACLs
    of every id in the tiers is enough, which a principal has to which a namespace around them is
    delegated.
    """
    why = access.cluster(ALTER)
    if why is None or not access.authorizes:
        return None
    rights = AclRights(access, Operation.ALTER)
    if topics or not all(rights.cover(_everything(kind, tier)) for kind in _IDS for tier in tiers):
        return why
    return None


_IDS = (ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


def _everything(kind: ResourceType, tier: str) -> ResourcePattern:
    return ResourcePattern(kind, PatternType.PREFIXED, tier + DELIMITER)


def _seen(access: Access, kind: ResourceType, one: str) -> str | None:
    """An id in this view's spelling; None without a spelling in this view, and without the right to
    describe it."""
    spelled = access.view.id_to_client(one.encode())
    if spelled is None:
        return None
    if kind is ResourceType.GROUP:
        return spelled.decode() if access.lists_group(one.encode()) else None
    denied = access.denial(DESCRIBE, access.broker_id_resource(kind, one.encode()))
    return None if denied is not None else spelled.decode()
