"""DeleteAcls: decided whole, on the newest state of the catalog, in the writer's turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gateway.acl_model import AclBinding, AclEntry, Operation, ResourcePattern
from gateway.catalog.entities import Change, Removal, ResourceAcls, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acl_rights import NO_AUTHORIZER, AclRights
from gateway.changes.answered import Answered
from gateway.changes.context import Context
from gateway.changes.refused import unavailable
from gateway.changes.resources import renewed
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, POLICY_VIOLATION
from gateway.rules.acl_filters import Meant
from gateway.rules.acl_messages import deletion_response, filter_of
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages

MAX_DELETIONS: Final = 10_000
"""ACLs that one request deletes, as in Kafka (AclControlManager)."""

MAX_OPEN_FILTERS: Final = 100
"""Filters of one request for which all ACLs are looked through."""

Result = list[AclBinding] | Denied
"""What one filter has deleted, as it is shown, or why it has deleted nothing."""


class Deletions:
    """What one request's filters delete: all of them look at the same state. ``results`` has one
    for each, in order, as of the last time that :meth:`decide` was asked."""

    def __init__(self, access: Access, rights: AclRights, asked: Sequence[Any]) -> None:
        self.results: list[Result] = []
        self._access = access
        self._rights = rights
        self._asked = asked

    def decide(self, snapshot: Snapshot) -> Sequence[Change]:
        """The patterns that lose entries; one that has none left is no more."""
        view = View(self._access.view.settings, snapshot)
        gone: dict[ResourcePattern, set[AclEntry]] = {}
        still_open = MAX_OPEN_FILTERS
        self.results = []
        for one in self._asked:
            wanted = filter_of(view, one)
            if isinstance(wanted, Meant) and wanted.scans:
                still_open -= 1
            if still_open < 0:
                self.results.append(_TOO_MANY_FILTERS)
            elif isinstance(wanted, Denied):
                self.results.append(wanted)
            else:
                why = self._why_not(wanted, one.resource_name_filter)
                self.results.append(why or self._delete(snapshot, wanted, gone))
        changes: list[Change] = []
        for pattern, entries in gone.items():
            known = snapshot.acls[pattern]
            left = known.entries - entries
            changes.append(ResourceAcls(pattern, left) if left else Removal(key_of(known)))
        return changes

    def denied(self) -> dict[str, Denied]:
        """What may not be done by whoever asks."""
        return {
            asked.resource_name_filter or "*": why
            for asked, why in zip(self._asked, self.results, strict=True)
            if isinstance(why, Denied) and why.code == CLUSTER_AUTHORIZATION_FAILED
        }

    def _why_not(self, wanted: Meant, name: str) -> Denied | None:
        """Why nothing that a filter names may be deleted; of one that names nothing, less is
        deleted."""
        named = wanted.patterns() if wanted.names else []
        refusals = [self._rights.why_not(pattern, name) for pattern in named]
        return refusals[0] if refusals and all(refusals) else None

    def _delete(
        self, snapshot: Snapshot, wanted: Meant, gone: dict[ResourcePattern, set[AclEntry]]
    ) -> Result:
        found: dict[ResourcePattern, frozenset[AclEntry]] = {}
        result: list[AclBinding] = []
        count = sum(map(len, gone.values()))
        for pattern, shown, entries in wanted.in_catalog(snapshot):
            if self._rights.cover(pattern):
                count += len(entries - gone.get(pattern, set()))
                if count > MAX_DELETIONS:
                    return _TOO_MANY
                found[pattern] = entries
                result += [AclBinding(shown, entry) for entry in entries]
        for pattern, entries in found.items():
            gone.setdefault(pattern, set()).update(entries)
        return result


async def delete_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("DeleteAclsRequest", version, body).filters
    if not access.authorizes:
        return _all(version, asked, NO_AUTHORIZER)
    try:
        access = access.over(await renewed(context, access.view))
        rights = AclRights(access, Operation.ALTER)
        denied = rights.why_none()
        if denied is not None:
            return Answered(_all(version, asked, denied).body, {"kafka-cluster": denied})
        deletions = Deletions(access, rights, asked)
        if asked:
            await context.catalog.change(deletions.decide)
    except OSError as error:
        return _all(version, asked, unavailable(error))
    return Answered(deletion_response(version, deletions.results), deletions.denied())


def _all(version: int, asked: Sequence[Any], why: Denied) -> Answered:
    return Answered(deletion_response(version, [why] * len(asked)))


_TOO_MANY: Final = Denied(
    POLICY_VIOLATION,
    f"One request deletes at most {MAX_DELETIONS:,} ACLs; this filter means more. Delete some of"
    " them first, by principal or resource.",
    "request",
)
_TOO_MANY_FILTERS: Final = Denied(
    POLICY_VIOLATION,
    f"One request has at most {MAX_OPEN_FILTERS:,} filters without a resource name, or of type"
    " MATCH; send the others in requests of their own.",
    "request",
)
