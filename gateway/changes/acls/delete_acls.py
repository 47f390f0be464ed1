"""DescribeAcls and DeleteAcls: the ACLs that filters mean.

A deletion is decided whole, on the newest state of the catalog, in the writer's turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from gateway.acl_model import AclBinding, AclEntry, Operation, ResourcePattern
from gateway.catalog.entities import Change, Removal, ResourceAcls, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_rights import NO_AUTHORIZER, AclRights, admitted
from gateway.changes.base.batch import Answered, Batch
from gateway.changes.base.context import Context
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, POLICY_VIOLATION
from gateway.rules.acl_messages import (
    deletion_response,
    description_error,
    description_response,
    filter_of,
)
from gateway.rules.acl_names import ResolvedFilter
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages

_AT_ONCE: Final = 1_000
"""ACLs that are looked at in one go."""


async def describe_acls(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    asked = messages.parse("DescribeAclsRequest", version, body)

    def reject(why: Denied) -> bytes:
        return description_error(version, why)

    async def describe(access: Access, rights: AclRights) -> Answered:
        wanted = filter_of(access.view, asked)
        if isinstance(wanted, Denied):
            return Answered(reject(wanted))
        shown = await _shown(access, rights, wanted)
        if len(shown) <= _AT_ONCE:
            return Answered(description_response(version, shown))
        # Seconds for 100,000 of them, in which others want to go on.
        return Answered(await asyncio.to_thread(description_response, version, shown))

    if not access.authorizes:
        return Answered(reject(NO_AUTHORIZER))
    return await admitted(
        context, access, lambda newest: AclRights.some(newest, Operation.DESCRIBE), reject, describe
    )


async def _shown(access: Access, rights: AclRights, wanted: ResolvedFilter) -> list[AclBinding]:
    """The ACLs, once each, with their patterns as they are shown."""
    # All at once, before anyone changes them.
    found = dict.fromkeys(binding for one in wanted.filters for binding in access.acls(one))
    patterns: dict[ResourcePattern, ResourcePattern | None] = {}
    shown: list[AclBinding] = []
    for number, binding in enumerate(found, 1):
        if not number % _AT_ONCE:
            await asyncio.sleep(0)
        pattern = binding.pattern
        if pattern not in patterns:
            patterns[pattern] = wanted.shown(pattern) if rights.cover(pattern) else None
        as_shown = patterns[pattern]
        if as_shown is not None:
            shown.append(AclBinding(as_shown, binding.entry))
    return shown


MAX_DELETIONS: Final = 10_000
"""ACLs that one request deletes, as in Kafka (AclControlManager)."""

MAX_OPEN_FILTERS: Final = 100
"""Filters of one request for which all ACLs are looked through."""

Result = list[AclBinding] | Denied
"""What one filter has deleted, as it is shown, or why it has deleted nothing."""


class Deletions(Batch[int, Any, list[AclBinding]]):
    """What one request's filters delete, as it is shown: all of them look at the same state. They
    are decided anew each time that :meth:`decide` is called."""

    def __init__(
        self, context: Context, access: Access, rights: AclRights, filters: Sequence[Any]
    ) -> None:
        super().__init__(context, access, range(len(filters)))
        self._rights = rights
        self._filters = filters

    def decide(self, snapshot: Snapshot) -> Sequence[Change]:
        """The patterns that lose entries; one that has none left is no more."""
        self.clear()
        view = View(self.view.settings, snapshot)
        gone: dict[ResourcePattern, set[AclEntry]] = {}
        still_open = MAX_OPEN_FILTERS
        for number, one in enumerate(self._filters):
            wanted = filter_of(view, one)
            if isinstance(wanted, ResolvedFilter) and wanted.scans:
                still_open -= 1
            if still_open < 0:
                wanted = _TOO_MANY_FILTERS
            name = one.resource_name_filter
            result = (
                wanted
                if isinstance(wanted, Denied)
                else self._why_not(wanted, name) or self._delete(snapshot, wanted, gone)
            )
            if isinstance(result, Denied) and result.code == CLUSTER_AUTHORIZATION_FAILED:
                self.deny(number, result, name or "*")
            else:
                self.answer(number, result)
        changes: list[Change] = []
        for pattern, entries in gone.items():
            known = snapshot.acls[pattern]
            left = known.entries - entries
            changes.append(ResourceAcls(pattern, left) if left else Removal(key_of(known)))
        return changes

    def _why_not(self, wanted: ResolvedFilter, name: str) -> Denied | None:
        """Why nothing that a filter names may be deleted; of one that names nothing, less is
        deleted."""
        named = wanted.patterns() if wanted.names else []
        refusals = [self._rights.why_not(pattern, name) for pattern in named]
        return refusals[0] if refusals and all(refusals) else None

    def _delete(
        self, snapshot: Snapshot, wanted: ResolvedFilter, gone: dict[ResourcePattern, set[AclEntry]]
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

    def reject(why: Denied) -> bytes:
        return deletion_response(version, [why] * len(asked))

    async def delete(access: Access, rights: AclRights) -> Answered:
        deletions = Deletions(context, access, rights, asked)
        if asked:
            await context.catalog.change(deletions.decide)
        results = [result for _, result in deletions.results()]
        return Answered(deletion_response(version, results), deletions.denied)

    if not access.authorizes:
        return Answered(reject(NO_AUTHORIZER))
    return await admitted(
        context, access, lambda newest: AclRights.some(newest, Operation.ALTER), reject, delete
    )


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
