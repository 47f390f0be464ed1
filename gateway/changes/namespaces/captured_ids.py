"""Groups, transactional ids and their ACLs that a new namespace would take over.

An id is in a namespace by how it is written alone (``owner_of_id``), so what ACLs allow on it does
not depend on whether the namespace exists. But the namespace's groups are deleted along with it,
and their clients are denied then: by someone who may have no right to any of them. And what has the
prefix reads as the namespace's own from then on, in ACLs and to whoever administers it. So they are
captured as topics are. Ids do not collide where they fold into each other, as topics do: ``a_x__g``
is in no namespace.

What is made between the listing and the decision is like what is made right after it: an id that
its client spells so.
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
"""What would be taken over, by kind, each as the client may see it, or None if it may not."""


def captured_ids(tiers: Collection[str], ids: Iterable[str]) -> dict[str, list[str]]:
    """The ids, as brokers know them, that would be these tiers', by tier; each sorted."""
    found: dict[str, list[str]] = {}
    for one in paced(ids):
        owned = owner_of_id(one)
        if owned is not None and owned[0] in tiers and not is_reserved_id(one):
            found.setdefault(owned[0], []).append(one)
    return {tier: sorted(inside) for tier, inside in found.items()}


def captured_ids_and_acls(
    access: Access, tiers: Collection[str], ids: Ids, acls: FlatAcls
) -> Captured:
    """What these tiers would take over, by the snapshot of ``access``. ACLs of what would be theirs
    go on being decided by as before."""
    found: dict[str, list[str | None]] = {}
    for what, kind, listed in (
        ("groups", ResourceType.GROUP, ids.groups),
        ("transactional ids", ResourceType.TRANSACTIONAL_ID, ids.transactional),
    ):
        inside = [one for some in captured_ids(tiers, listed).values() for one in some]
        found[what] = [_seen(access, kind, one) for one in paced(inside)]
    if access.authorizes:  # else nobody can list them, and they decide nothing
        rights = AclRights(access, Operation.DESCRIBE)
        patterns = acls.inside(access.view.snapshot.acls, tiers)
        found["ACLs"] = [str(one) if rights.cover(one) else None for one in patterns]
    return found


def reject_captured(view: View, path: str, captured: Captured) -> None:
    """Raise :class:`Rejected` for the namespace at ``path`` if it would take over anything. Of what
    may not be described the client learns how much there is, not what it is."""
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
    """Why these tiers may not take over what there is, or None if they may.

    That takes ALTER on the cluster; or, if there are no ``topics``, the right to change the ACLs of
    every id in them: so whoever a namespace around them is delegated to may.
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
    """An id in this view's spelling, or None if it has none there, or may not be described."""
    spelled = access.view.id_to_client(one.encode())
    if spelled is None:
        return None
    if kind is ResourceType.GROUP:
        return spelled.decode() if access.lists_group(one.encode()) else None
    denied = access.denial(DESCRIBE, access.broker_id_resource(kind, one.encode()))
    return None if denied is not None else spelled.decode()
